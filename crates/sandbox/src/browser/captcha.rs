//! Captchas.

use atoll_api::browser::{
    BoundingBox, CaptchaFound, CaptchaWaitResult, DetectCaptcha, WaitForCaptcha,
};
use atoll_operation::{Context, Error, Handle};

use super::service::{Browsers, patience};

impl Handle<DetectCaptcha> for Browsers {
    async fn handle(&self, cx: &Context, input: DetectCaptcha) -> Result<CaptchaFound, Error> {
        let page = self.page(cx, input.context.as_deref()).await?;
        let found = page.outcome(page.tab.captcha().await)?;
        let area = found.as_ref().and_then(|captcha| captcha.area);
        Ok(CaptchaFound {
            detected: found.as_ref().is_some_and(|captcha| !captcha.solved),
            solved: found.as_ref().is_some_and(|captcha| captcha.solved),
            bounding_box: area.map(|area| BoundingBox {
                x: area.x,
                y: area.y,
                width: area.width,
                height: area.height,
            }),
            site_key: found.as_ref().and_then(|captcha| captcha.site_key.clone()),
            kind: found.map(|captcha| captcha.kind),
            url: page.tab.url(),
        })
    }
}

impl Handle<WaitForCaptcha> for Browsers {
    async fn handle(
        &self,
        cx: &Context,
        input: WaitForCaptcha,
    ) -> Result<CaptchaWaitResult, Error> {
        let page = self.page(cx, input.context.as_deref()).await?;
        let within = patience(Some(input.timeout), 60.0);
        let pause = patience(Some(input.poll_interval), 2.0);
        let waited = page.tab.wait_captcha(within, pause).await;
        Ok(CaptchaWaitResult { resolved: page.outcome(waited)? })
    }
}
