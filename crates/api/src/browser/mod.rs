//! The browser: pages to open, read and operate, with their tabs, cookies, storage and network.
//!
//! Operations on pages act on the active tab. Every operation takes an optional `context`: a name that gives its users
//! a browser of their own, with its own tabs, active tab, cookies, storage, routes, headers and logs. Without one all
//! share the default context.

/// Error codes of an operation on the browser: those any of them can meet, and these.
macro_rules! common {
    ($($code:literal),* $(,)?) => {
        &[
            "browser.unavailable",
            "browser.disabled",
            "browser.start_failed",
            "browser.gone",
            "browser.timeout",
            "browser.busy",
            "browser.refused",
            "browser.contexts_exhausted",
            $($code),*
        ]
    };
}

/// Those of an operation on a page.
macro_rules! page {
    ($($code:literal),* $(,)?) => {
        common![
            "browser.tabs_exhausted",
            "browser.page_crashed",
            "browser.page_changed",
            $($code),*
        ]
    };
}

/// Those of an operation on an element.
macro_rules! element {
    ($($code:literal),* $(,)?) => {
        page![
            "browser.invalid_selector",
            "browser.element_not_found",
            "browser.element_not_actionable",
            "browser.element_unsuitable",
            "browser.element_stale",
            "browser.no_target",
            "browser.off_screen",
            $($code),*
        ]
    };
}

mod captcha;
mod capture;
mod console;
mod cookies;
mod network;
mod operate;
mod page;
mod process;
mod read;
mod tabs;
mod wait;

use atoll_operation::Declaration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use captcha::{CaptchaFound, CaptchaWaitResult, DetectCaptcha, WaitForCaptcha};
pub use capture::{
    ImageFormat, PrintPage, RecordAction, RecordPage, Recording, RecordingState, TakeScreenshot,
};
pub use console::{ConsoleRecord, ExportConsole, ExportedRecords, GetConsole};
pub use cookies::{
    ClearCookies, Cookie, CookieToSet, CookiesChanged, GetCookies, LoadState, LoadedState,
    SaveState, SavedState, SetCookies,
};
pub use network::{
    AddRoute, ExportHar, ExportedHar, GetRequests, HeadersSet, RemoveRoute, RequestRecord,
    RouteChanged, RouteResponse, SetHeaders, SetScopedHeaders,
};
pub use operate::{
    CheckBox, ClickElement, FillField, FillForm, FilledForm, FormItem, HoverElement, MouseButton,
    PressHotKey, PressKey, ScrollDirection, ScrollPage, ScrollPosition, ScrollTo, ScrollToElement,
    SelectOption, SelectedOptions, TypeText, UncheckBox, UploadToPage,
};
pub use page::{
    EvaluateScript, GetPageInfo, GoBack, GoForward, NavigatePage, NavigateUntil, Navigated,
    PageInfo, ReloadPage, ScriptValue,
};
pub use process::{
    BrowserContext, BrowserInfo, BrowserViewport, CloseContext, ClosedContext, GetBrowserInfo,
    ListContexts, RestartBrowser, RestartMode, RestartedBrowser,
};
pub use read::{
    AccessibilityTree, BoundingBox, FindText, GetAccessibilityTree, GetElements, GetHtml,
    GetMarkdown, GetText, PageElement, PageMarkdown, TextMatch,
};
pub use tabs::{ActivateTab, CloseTab, ClosedTab, CreateTab, ListTabs, TabInfo};
pub use wait::{ElementState, WaitForPage, WaitType, Waited};

/// The operations of this group.
pub const OPERATIONS: &[Declaration] = &[
    Declaration::of::<GetBrowserInfo>(),
    Declaration::of::<RestartBrowser>(),
    Declaration::of::<ListContexts>(),
    Declaration::of::<CloseContext>(),
    Declaration::of::<NavigatePage>(),
    Declaration::of::<GoBack>(),
    Declaration::of::<GoForward>(),
    Declaration::of::<ReloadPage>(),
    Declaration::of::<ClickElement>(),
    Declaration::of::<FillField>(),
    Declaration::of::<TypeText>(),
    Declaration::of::<PressKey>(),
    Declaration::of::<PressHotKey>(),
    Declaration::of::<HoverElement>(),
    Declaration::of::<SelectOption>(),
    Declaration::of::<CheckBox>(),
    Declaration::of::<UncheckBox>(),
    Declaration::of::<UploadToPage>(),
    Declaration::of::<FillForm>(),
    Declaration::of::<ScrollPage>(),
    Declaration::of::<ScrollTo>(),
    Declaration::of::<ScrollToElement>(),
    Declaration::of_download::<TakeScreenshot>(),
    Declaration::of_download::<PrintPage>(),
    Declaration::of::<RecordPage>(),
    Declaration::of::<GetHtml>(),
    Declaration::of::<GetText>(),
    Declaration::of::<GetMarkdown>(),
    Declaration::of::<GetElements>(),
    Declaration::of::<GetAccessibilityTree>(),
    Declaration::of::<GetConsole>(),
    Declaration::of::<ExportConsole>(),
    Declaration::of::<EvaluateScript>(),
    Declaration::of::<GetPageInfo>(),
    Declaration::of::<FindText>(),
    Declaration::of::<WaitForPage>(),
    Declaration::of::<ListTabs>(),
    Declaration::of::<CreateTab>(),
    Declaration::of::<CloseTab>(),
    Declaration::of::<ActivateTab>(),
    Declaration::of::<GetCookies>(),
    Declaration::of::<SetCookies>(),
    Declaration::of::<ClearCookies>(),
    Declaration::of::<SaveState>(),
    Declaration::of::<LoadState>(),
    Declaration::of::<SetHeaders>(),
    Declaration::of::<SetScopedHeaders>(),
    Declaration::of::<AddRoute>(),
    Declaration::of::<RemoveRoute>(),
    Declaration::of::<GetRequests>(),
    Declaration::of::<ExportHar>(),
    Declaration::of::<DetectCaptcha>(),
    Declaration::of::<WaitForCaptcha>(),
];

/// The page of the active tab after an operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PageState {
    /// Its address.
    pub url: String,
    /// Its title.
    pub title: String,
}

/// Seconds an operation may wait unless told otherwise.
#[expect(clippy::unnecessary_wraps, reason = "the field may be null")]
fn seconds() -> Option<f64> {
    Some(30.0)
}

/// Seconds to wait for an element unless told otherwise: long enough for a slow page, short enough for a wrong selector.
#[expect(clippy::unnecessary_wraps, reason = "the field may be null")]
fn patience() -> Option<f64> {
    Some(10.0)
}
