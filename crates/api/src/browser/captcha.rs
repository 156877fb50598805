//! Captchas: noticed, and waited for until somebody has solved them. Nothing here solves one.

use atoll_operation::{Mcp, Operation, Spec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::BoundingBox;

/// Look for a captcha on the page, frames included.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct DetectCaptcha {
    /// Context to do it in.
    #[serde(default)]
    pub context: Option<String>,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CaptchaFound {
    /// Whether there is one that is not solved yet.
    pub detected: bool,
    /// Whose it is: `recaptcha`, `hcaptcha`, `turnstile`, `cloudflare_challenge`, `geetest`, `datadome`, …
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// Whether it is there and solved.
    pub solved: bool,
    /// The key by which its maker knows the site.
    pub site_key: Option<String>,
    /// Where it is.
    pub bounding_box: Option<BoundingBox>,
    /// Address of the page.
    pub url: String,
}

impl Operation for DetectCaptcha {
    type Output = CaptchaFound;
    const SPEC: Spec =
        Spec::get("browser_detect_captcha", "/v1/browser/captcha/detect", "browser:read")
            .sdk("browser.captcha", "detect")
            .mcp(Mcp::ReadOnly)
            .errors(page![]);
}

/// Wait until the page has no captcha that is not solved, or until time is up.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct WaitForCaptcha {
    /// Seconds to wait at most.
    #[serde(default = "a_minute")]
    #[schemars(range(min = 0, max = 3600))]
    pub timeout: f64,
    /// Seconds between two looks at most; a change of the page is noticed at once.
    #[serde(default = "two")]
    #[schemars(range(min = 0, max = 3600))]
    pub poll_interval: f64,
    /// Context to do it in.
    #[serde(default)]
    pub context: Option<String>,
}

fn a_minute() -> f64 {
    60.0
}

fn two() -> f64 {
    2.0
}

/// How waiting ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CaptchaWaitResult {
    /// Whether no captcha is left to solve.
    pub resolved: bool,
}

impl Operation for WaitForCaptcha {
    type Output = CaptchaWaitResult;
    const SPEC: Spec =
        Spec::post("browser_wait_captcha", "/v1/browser/captcha/wait", "browser:read")
            .sdk("browser.captcha", "wait")
            .mcp(Mcp::ReadOnly)
            .errors(page![]);
}
