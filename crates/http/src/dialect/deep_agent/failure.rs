//! Failures as this family words them, with the status its own server would have answered.

use atoll_operation::Spec;
use axum::http::StatusCode;

use crate::dialect::Failure;

/// The status and the message of a failure of this operation.
pub(crate) fn wording(failure: &Failure, spec: &Spec) -> (StatusCode, String) {
    let Failure { status, error } = failure;
    let message = error.message();
    let of_the_face = ["request.", "auth."].iter().any(|area| error.code().starts_with(area));
    match (*status, error.code()) {
        // What fits and fails all the same, such as code that throws, names no field.
        (StatusCode::UNPROCESSABLE_ENTITY, _) if !error.fields().is_empty() => {
            (StatusCode::BAD_REQUEST, format!("invalid request: {message}"))
        }
        (StatusCode::BAD_REQUEST, code) if of_the_face || code == "input.twice" => {
            (StatusCode::BAD_REQUEST, format!("invalid request: {message}"))
        }
        (status, _) if of_the_face => (status, message.to_owned()),
        (status, "file.not_found") => {
            let path = error.details().and_then(|details| details["path"].as_str());
            (status, format!("file not found: {}", path.unwrap_or(message)))
        }
        (StatusCode::NOT_FOUND, _) => (StatusCode::NOT_FOUND, message.to_owned()),
        _ => (StatusCode::INTERNAL_SERVER_ERROR, prefixed(error.code(), message, spec)),
    }
}

fn prefixed(code: &str, message: &str, spec: &Spec) -> String {
    if code == "bash.directory" && message.contains("No such file") {
        return format!("execution failed: working directory does not exist: {message}");
    }
    match spec.id.split_once('_') {
        Some(("bash", _)) => format!("execution failed: {message}"),
        // Those name what failed themselves.
        Some(("file", _)) | None => message.to_owned(),
        Some((area, verb)) => format!("{area} {} failed: {message}", verb.replace('_', " ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use atoll_operation::{Error, Kind};
    use serde_json::json;

    #[test]
    fn every_kind_of_failure_has_the_status_and_the_words_of_this_family() {
        let read = Spec::post("file_read", "/v1/file/read", "file:read");
        let exec = Spec::post("bash_exec", "/v1/bash/exec", "bash:write");
        let click = Spec::post("browser_click", "/v1/browser/page/click", "browser:write");
        let error = |kind, code, message: &str| Error::new(kind, code, message);
        let missing = error(Kind::NotFound, "file.not_found", "Failed to read file: …")
            .with_details(json!({"path": "/nowhere"}));
        let gone = "the directory /x cannot be used: No such file or directory";
        let table = [
            (
                Error::field("file", "missing", "is required"),
                read,
                400,
                "invalid request: file: is required",
            ),
            (
                error(Kind::InvalidArgument, "input.twice", "a is given twice"),
                read,
                400,
                "invalid request: a is given twice",
            ),
            (
                error(Kind::InvalidArgument, "request.body", "broke off"),
                read,
                400,
                "invalid request: broke off",
            ),
            (missing, read, 404, "file not found: /nowhere"),
            (
                error(Kind::PermissionDenied, "file.permission_denied", "Failed to read file: x"),
                read,
                500,
                "Failed to read file: x",
            ),
            (error(Kind::PermissionDenied, "auth.scope", "lacks"), read, 403, "lacks"),
            (error(Kind::TooLarge, "request.too_large", "over"), read, 413, "over"),
            (
                error(Kind::InvalidArgument, "bash.directory", gone),
                exec,
                500,
                &format!("execution failed: working directory does not exist: {gone}"),
            ),
            (
                error(Kind::ResourceExhausted, "bash.sessions_exhausted", "full"),
                exec,
                500,
                "execution failed: full",
            ),
            (
                error(Kind::NotFound, "bash.session_not_found", "no session"),
                exec,
                404,
                "no session",
            ),
            (
                error(Kind::InvalidArgument, "browser.invalid_selector", "no"),
                click,
                500,
                "browser click failed: no",
            ),
            (
                error(Kind::InvalidInput, "browser.script_failed", "threw"),
                click,
                500,
                "browser click failed: threw",
            ),
            (
                error(Kind::DeadlineExceeded, "browser.timeout", "late"),
                click,
                500,
                "browser click failed: late",
            ),
        ];
        for (error, spec, status, message) in table {
            let code = error.code().to_owned();
            let (answered, told) = wording(&error.into(), &spec);
            assert_eq!((answered.as_u16(), told.as_str()), (status, message), "{code}");
        }
    }
}
