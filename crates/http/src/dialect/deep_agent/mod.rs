//! deep-agent's accent: its routes, its names for fields, its working directory per session, its wording.
//!
//! Every route of that family is one of our operations. What differs is told here as data ([`ROUTES`]) or as small pure
//! functions from an input or a result to another; none of them does anything. The envelope is the one of every other
//! answer, which holds all that this family reads: an integer `code` that is 0 for success, `message` and `data`.

mod base;
mod bash;
mod failure;
mod files;
mod routes;
mod values;

pub(crate) use base::{Base, Rooms};
pub(crate) use bash::Exec;
pub(crate) use failure::wording;
pub(crate) use files::{Form, glob_form, is_shown};
pub(crate) use routes::{Answer, ROUTES, Route};

pub(super) use bash::{answer as bash_answer, event as bash_event, exec};
pub(super) use files::{
    answer_glob, answer_list, answer_upload, read_content, read_glob, read_list, read_search,
};

use serde_json::{Map, Value, json};

/// What this family reads of a sandbox: Go's names for the system.
pub(super) fn describe(result: &mut Value) {
    let system = &result["detail"]["system"];
    let arch = match system["arch"].as_str().unwrap_or_default() {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    let data = json!({
        "workspace": result["workspace"],
        "os": "linux",
        "arch": arch,
        "os_version": system["os_version"],
        "home_dir": result["home_dir"],
    });
    // What lies in `text` is the envelope's `data`.
    result["text"] = data;
}

/// Where a page is said to be instead, on another host: not followed, and an error to this family's client.
pub(super) fn redirect(result: &Value) -> Option<&str> {
    result.get("redirect_url").and_then(Value::as_str).filter(|url| !url.is_empty())
}

/// What this family reads of a browser.
pub(super) fn describe_browser(result: &mut Map<String, Value>) {
    let address = result.get("cdp_url").cloned().unwrap_or_default();
    result.insert("websocket_url".to_owned(), address);
    result.insert("status".to_owned(), json!("connected"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sandbox_is_described_in_gos_words_beside_ours() {
        let system = json!({"arch": "x86_64", "os_version": "12"});
        let mut result = json!({
            "text": "words", "home_dir": "/h", "workspace": "/w", "detail": {"system": system},
        });
        describe(&mut result);
        let data = json!({
            "workspace": "/w", "os": "linux", "arch": "amd64", "os_version": "12", "home_dir": "/h",
        });
        assert_eq!((&result["text"], &result["home_dir"]), (&data, &json!("/h")));
    }
}
