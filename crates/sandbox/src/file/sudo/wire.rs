//! What the server and its helper say to each other: a line of JSON each way.

use atoll_api::file::{ReadFile, ReplaceInFile, SearchInFile, WriteFile};
use atoll_api::system::Limits;
use atoll_operation::{Error, Kind};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What to do, with the path spelled out.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::file) enum Task {
    Read(ReadFile),
    Write(WriteFile),
    Replace(ReplaceInFile),
    Search(SearchInFile),
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Request {
    pub(super) limits: Limits,
    pub(super) task: Task,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Answer {
    pub(super) outcome: Outcome,
    pub(super) hint: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Outcome {
    Result(Value),
    Failure(Failure),
}

/// An error that crosses from one process to the other.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Failure {
    kind: String,
    code: String,
    message: String,
    details: Option<Value>,
    hint: Option<String>,
}

impl From<&Error> for Failure {
    fn from(error: &Error) -> Self {
        Self {
            kind: format!("{:?}", error.kind()),
            code: error.code().to_owned(),
            message: error.message().to_owned(),
            details: error.details().cloned(),
            hint: error.hint().map(str::to_owned),
        }
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        let kind = Kind::ALL.into_iter().find(|kind| format!("{kind:?}") == failure.kind);
        let mut error = Error::new(kind.unwrap_or(Kind::Internal), failure.code, failure.message);
        if let Some(details) = failure.details {
            error = error.with_details(details);
        }
        if let Some(hint) = failure.hint {
            error = error.with_hint(hint);
        }
        error
    }
}
