//! What can go wrong with the browser, for the caller.

use atoll_browser::element::ElementError;
use atoll_browser::network::NetworkError;
use atoll_browser::state::StateError;
use atoll_browser::{CdpError, Error as Fault};
use atoll_operation::{Error, Kind};
use serde_json::json;

use crate::programs::spawn_failure;

const NOT_INSTALLED: &str = "no browser is installed in this sandbox; install one with `apt-get install chromium` and \
     try again, no restart is needed";

/// Why something could not be done with the browser.
pub(super) fn failure(error: Fault) -> Error {
    let message = error.to_string();
    let (kind, code) = match error {
        Fault::Spawn(error) => return spawn_failure(error, "browser.start_failed"),
        Fault::NotInstalled { .. } => {
            let error = Error::new(Kind::Unavailable, "browser.unavailable", NOT_INSTALLED);
            return error.with_details(json!({"reason": message}));
        }
        Fault::Script { name, message: said, stack } => {
            let error = Error::new(Kind::InvalidInput, "browser.script_failed", message);
            return error.with_details(json!({"name": name, "message": said, "stack": stack}));
        }
        Fault::ContextName { .. } => return Error::field("context", "name", message),
        Fault::Element(error) => return element(error),
        Fault::Network(error) => network(&error),
        Fault::State(error) => state(&error),
        Fault::Protocol(error) => protocol(&error),
        Fault::NotReady { .. } | Fault::Write { .. } => (Kind::Unavailable, "browser.start_failed"),
        Fault::Policies { .. } => (Kind::FailedPrecondition, "browser.policies_unwritable"),
        Fault::BrowserGone { .. } => (Kind::Unavailable, "browser.gone"),
        Fault::TooManyContexts { .. } => (Kind::ResourceExhausted, "browser.contexts_exhausted"),
        Fault::TooManyTabs { .. } => (Kind::ResourceExhausted, "browser.tabs_exhausted"),
        Fault::NoSuchTab { .. } => (Kind::NotFound, "browser.tab_not_found"),
        Fault::TabCrashed { .. } => (Kind::FailedPrecondition, "browser.page_crashed"),
        Fault::TabClosed | Fault::FrameGone | Fault::Navigated => {
            (Kind::Conflict, "browser.page_changed")
        }
        Fault::InvalidUrl { .. } => (Kind::InvalidInput, "browser.invalid_url"),
        Fault::RefusedUrl { .. } => (Kind::PermissionDenied, "browser.refused_url"),
        Fault::NavigationFailed { .. } => (Kind::FailedPrecondition, "browser.navigation_failed"),
        Fault::NoHistory { .. } => (Kind::FailedPrecondition, "browser.no_history"),
        Fault::Timeout { .. } | Fault::ScriptTimeout { .. } => {
            (Kind::DeadlineExceeded, "browser.timeout")
        }
        Fault::Syntax { .. } => (Kind::InvalidInput, "browser.script_failed"),
        Fault::ResultTooLarge { .. } => (Kind::TooLarge, "browser.result_too_large"),
        Fault::InvalidPattern { .. } => (Kind::InvalidInput, "browser.invalid_pattern"),
        Fault::DownloadFailed { .. } => (Kind::FailedPrecondition, "browser.download_failed"),
        Fault::Picture { .. } => (Kind::FailedPrecondition, "browser.picture_failed"),
        Fault::Recording { .. } => (Kind::FailedPrecondition, "browser.recording_state"),
    };
    Error::new(kind, code, message)
}

fn element(error: ElementError) -> Error {
    let message = error.to_string();
    let (kind, code) = match error {
        ElementError::Form { source, position, filled } => {
            let cause = failure(*source);
            let code = cause.code().to_owned();
            let details = json!({"position": position, "filled": filled});
            return Error::new(cause.kind(), code, message).with_details(details);
        }
        ElementError::Selector { .. } => (Kind::InvalidInput, "browser.invalid_selector"),
        ElementError::NotFound { .. } => (Kind::NotFound, "browser.element_not_found"),
        ElementError::NotActionable { .. } => {
            (Kind::FailedPrecondition, "browser.element_not_actionable")
        }
        ElementError::Stale { .. } => (Kind::Conflict, "browser.element_stale"),
        ElementError::Unsuitable { .. } => (Kind::InvalidInput, "browser.element_unsuitable"),
        ElementError::OffScreen { .. } => (Kind::InvalidInput, "browser.off_screen"),
        ElementError::NoTarget => (Kind::InvalidArgument, "browser.no_target"),
        ElementError::UnknownKey { .. } => (Kind::InvalidInput, "browser.unknown_key"),
        ElementError::UnknownWord { .. } => (Kind::InvalidInput, "browser.unknown_word"),
        ElementError::File { .. } => (Kind::NotFound, "browser.file_unusable"),
        ElementError::FormItem { .. } => (Kind::InvalidInput, "browser.invalid_form"),
    };
    Error::new(kind, code, message)
}

fn network(error: &NetworkError) -> (Kind, &'static str) {
    match error {
        NetworkError::Header { .. } => (Kind::InvalidInput, "browser.invalid_header"),
        NetworkError::Origin { .. } => (Kind::InvalidInput, "browser.invalid_origin"),
        NetworkError::NoSuchRoute { .. } => (Kind::NotFound, "browser.route_not_found"),
        NetworkError::TooManyRoutes { .. } => (Kind::ResourceExhausted, "browser.routes_exhausted"),
    }
}

fn state(error: &StateError) -> (Kind, &'static str) {
    match error {
        StateError::Cookie { .. } => (Kind::InvalidInput, "browser.invalid_cookie"),
        StateError::Address { .. } => (Kind::InvalidInput, "browser.invalid_url"),
        StateError::Form { .. } => (Kind::InvalidInput, "browser.invalid_state"),
        StateError::Storage { .. } => (Kind::FailedPrecondition, "browser.storage_refused"),
    }
}

fn protocol(error: &CdpError) -> (Kind, &'static str) {
    match error {
        CdpError::Timeout { .. } => (Kind::DeadlineExceeded, "browser.timeout"),
        CdpError::Busy { .. } | CdpError::Overflow { .. } => {
            (Kind::ResourceExhausted, "browser.busy")
        }
        CdpError::SessionGone { .. } => (Kind::Conflict, "browser.page_changed"),
        CdpError::Closed { .. } | CdpError::Connect { .. } => (Kind::Unavailable, "browser.gone"),
        CdpError::Refused { .. } | CdpError::Unreadable { .. } => {
            (Kind::FailedPrecondition, "browser.refused")
        }
    }
}
