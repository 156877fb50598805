//! Where relative paths of a request begin: its workspace, else its session's directory in ours, else ours.
//!
//! A session's directory is made when somebody who may write comes. Its name is one plain name, so that no session
//! reaches out of the workspace.

use std::sync::Arc;

use atoll_operation::{Bound, Context, Error, Registry};
use axum::http::header::HeaderMap;
use serde_json::{Map, Value, json};

use crate::dialect::Failure;
use crate::dialect::family::{SESSION, WORKSPACE};

/// Bytes of a session's name: those of a file's.
const LONGEST_NAME: usize = 255;
/// The fields of operations on files that hold paths.
const PATHS: [&str; 5] = ["file", "path", "source", "destination", "dir"];

/// Where relative paths begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Base {
    /// In this directory, given by its absolute path.
    Directory(String),
    /// In the directory of this session.
    Session(String),
}

impl Base {
    /// What the headers of a request say.
    pub(crate) fn of(headers: &HeaderMap) -> Result<Option<Self>, Failure> {
        let text = |name: &'static str| {
            let value = headers.get(name)?.as_bytes();
            Some(str::from_utf8(value).map_err(|_| wrong(name, "is not UTF-8")))
        };
        let text = |name| Ok::<_, Failure>(text(name).transpose()?.filter(|text| !text.is_empty()));
        if let Some(workspace) = text(WORKSPACE)? {
            if !workspace.starts_with('/') {
                return Err(wrong(WORKSPACE, "must be an absolute path"));
            }
            return Ok(Some(Self::Directory(workspace.to_owned())));
        }
        let Some(session) = text(SESSION)? else {
            return Ok(None);
        };
        let plain = session.len() <= LONGEST_NAME
            && ![".", ".."].contains(&session)
            && !session.contains(['/', '\0']);
        if !plain {
            return Err(wrong(
                SESSION,
                "names a directory in the workspace: at most 255 bytes, no `/`, and neither `.` nor `..`",
            ));
        }
        Ok(Some(Self::Session(session.to_owned())))
    }

    /// The directory itself; a session's is named from the workspace.
    pub(crate) fn path(&self) -> String {
        match self {
            Self::Directory(path) => path.clone(),
            // `./` keeps a session named `~` from meaning somebody's home.
            Self::Session(name) => format!("./{name}"),
        }
    }

    /// A path as it is meant here.
    pub(crate) fn join(&self, path: &str) -> String {
        if path.is_empty() || path.starts_with('/') || path == "~" || path.starts_with("~/") {
            return path.to_owned();
        }
        format!("{}/{path}", self.path().trim_end_matches('/'))
    }

    /// Makes the paths of an operation on files what they are meant to be.
    pub(crate) fn resolve(&self, input: &mut Map<String, Value>) {
        for name in PATHS {
            if let Some(Value::String(path)) = input.get_mut(name) {
                *path = self.join(path);
            }
        }
    }
}

fn wrong(header: &'static str, problem: &str) -> Failure {
    Error::field(header, "header", problem).into()
}

/// The operations that know where directories are and make them.
#[derive(Debug, Default)]
pub(crate) struct Rooms {
    make: Option<Arc<Bound>>,
    look: Option<Arc<Bound>>,
}

impl Rooms {
    pub(crate) fn of(registry: &Registry) -> Self {
        let find = |id: &str| registry.iter().find(|bound| bound.spec().id == id).map(Arc::clone);
        Self { make: find("file_mkdir"), look: find("file_stat") }
    }

    /// The directory of a base by its absolute path; a session's is made when it is missing.
    pub(crate) async fn settle(&self, base: Option<Base>, cx: &Context) -> Result<Base, Error> {
        let (operation, path) = match &base {
            Some(Base::Directory(path)) => return Ok(Base::Directory(path.clone())),
            Some(session) => (&self.make, session.path()),
            None => (&self.look, ".".to_owned()),
        };
        let Some(operation) = operation else {
            return Ok(Base::Directory("/".to_owned()));
        };
        let known = operation.call(cx.clone(), json!({"path": path})).await?;
        let path = known["path"].as_str().unwrap_or("/");
        Ok(Base::Directory(path.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base(headers: &[(&'static str, &str)]) -> Result<Option<Base>, Failure> {
        let map = headers.iter().map(|(name, value)| {
            (name.parse().unwrap(), axum::http::HeaderValue::from_bytes(value.as_bytes()).unwrap())
        });
        Base::of(&map.collect())
    }

    /// Headers as a table writes them.
    type Headers = &'static [(&'static str, &'static str)];

    #[test]
    fn a_workspace_counts_before_a_session_and_a_session_before_ours() {
        let directory = |path: &str| Some(Base::Directory(path.to_owned()));
        let session = |name: &str| Some(Base::Session(name.to_owned()));
        let table: &[(Headers, Option<Base>)] = &[
            (&[], None),
            (&[("x-workspace", ""), ("x-session-id", "")], None),
            (&[("x-workspace", "/w")], directory("/w")),
            (&[("x-workspace", "/w"), ("x-session-id", "s")], directory("/w")),
            (&[("x-workspace", ""), ("x-session-id", "s")], session("s")),
            (&[("x-session-id", "größe 1")], session("größe 1")),
            (&[("x-session-id", "~")], session("~")),
        ];
        for (headers, expected) in table {
            assert_eq!(base(headers).unwrap(), *expected, "{headers:?}");
        }
    }

    #[test]
    fn no_session_leaves_the_workspace() {
        let long = "x".repeat(256);
        for name in [".", "..", "../x", "a/b", "/etc", "a/../../b", &long] {
            let failure = base(&[("x-session-id", name)]).unwrap_err();
            assert_eq!(failure.error.fields()[0].path, ["x-session-id"], "{name}");
        }
        assert!(base(&[("x-workspace", "relative")]).is_err());
    }

    #[test]
    fn only_relative_paths_begin_at_the_base() {
        let directory = Base::Directory("/w/".to_owned());
        let session = Base::Session("s".to_owned());
        for (path, in_directory, in_session) in [
            ("a/b", "/w/a/b", "./s/a/b"),
            (".", "/w/.", "./s/."),
            ("/abs", "/abs", "/abs"),
            ("~/x", "~/x", "~/x"),
            ("~x", "/w/~x", "./s/~x"),
            ("", "", ""),
        ] {
            assert_eq!(directory.join(path), in_directory, "{path}");
            assert_eq!(session.join(path), in_session, "{path}");
        }
        let mut input = json!({"source": "a", "destination": "/b", "content": "c", "path": 5});
        session.resolve(input.as_object_mut().unwrap());
        let expected = json!({"source": "./s/a", "destination": "/b", "content": "c", "path": 5});
        assert_eq!(input, expected);
    }
}
