//! The browser as a program, and its contexts.

use atoll_api::browser::{
    BrowserContext, BrowserInfo, BrowserViewport, CloseContext, ClosedContext, GetBrowserInfo,
    ListContexts, RestartBrowser, RestartMode, RestartedBrowser,
};
use atoll_browser::{PolicyChange, Restart, Size};
use atoll_operation::{Context, Error, Handle, Kind};

use super::error::failure;
use super::service::Browsers;

impl Handle<GetBrowserInfo> for Browsers {
    async fn handle(&self, cx: &Context, input: GetBrowserInfo) -> Result<BrowserInfo, Error> {
        let browser = self.browser()?;
        let endpoint = browser.debug_endpoint().await.map_err(failure)?;
        let version = browser.version().await.map_err(failure)?;
        let page = self.page(cx, input.context.as_deref()).await?;
        let seen = page.tab.viewport().await.ok();
        let options = browser.options();
        let staged = options.stage.as_ref().filter(|_| options.display.is_some());
        let (width, height) = staged.map_or(options.window, |stage| stage.size());
        let address = cx.link(&format!("/cdp{}", endpoint.path), &[]);
        Ok(BrowserInfo {
            user_agent: version.user_agent,
            cdp_url: address
                .strip_prefix("http")
                .map_or(address.clone(), |rest| format!("ws{rest}")),
            vnc_url: cx.link("/vnc/index.html", &[("autoconnect", "true")]),
            cdp_ui_url: Some(cx.link("/browser-ui", &[])),
            viewport: BrowserViewport { width, height },
            page_viewport: seen.map(pixels),
            version: version.product,
            headless: options.display.is_none(),
            warning: browser.warning(),
        })
    }
}

/// A size in whole pixels.
pub(super) fn pixels(size: Size) -> BrowserViewport {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    let whole = |length: f64| length.round() as u32;
    BrowserViewport { width: whole(size.width), height: whole(size.height) }
}

impl Handle<RestartBrowser> for Browsers {
    async fn handle(&self, _: &Context, input: RestartBrowser) -> Result<RestartedBrowser, Error> {
        if let Some(locale) = &input.locale
            && !is_locale(locale)
        {
            let message = format!("{locale:?} is no language such as `en-US` or `de`");
            return Err(Error::field("locale", "pattern", message));
        }
        let list =
            |list: Option<Vec<String>>| list.map(|list| Some(list).filter(|list| !list.is_empty()));
        let restart = Restart {
            mode: match input.mode {
                RestartMode::Soft => atoll_browser::RestartMode::Soft,
                RestartMode::Hard => atoll_browser::RestartMode::Hard,
            },
            policies: PolicyChange {
                url_blocklist: list(input.url_blocklist),
                url_allowlist: list(input.url_allowlist),
                allow_file_selection_dialogs: input.allow_file_selection_dialogs,
            },
            locale: input.locale,
        };
        let browser = self.browser()?;
        browser.restart(&restart).await.map_err(failure)?;
        let options = browser.options();
        Ok(RestartedBrowser {
            mode: input.mode,
            url_blocklist: options.policies.url_blocklist.clone().unwrap_or_default(),
            url_allowlist: options.policies.url_allowlist.clone().unwrap_or_default(),
            allow_file_selection_dialogs: options.policies.allow_file_selection_dialogs,
            locale: options.locale.clone(),
        })
    }
}

fn is_locale(text: &str) -> bool {
    let parts = text.split(['-', '_']);
    let valid = |part: &str| {
        (1..=8).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    parts.clone().count() <= 4 && parts.into_iter().all(valid)
}

impl Handle<ListContexts> for Browsers {
    async fn handle(&self, _: &Context, _: ListContexts) -> Result<Vec<BrowserContext>, Error> {
        let contexts = self.browser()?.contexts();
        let describe = |context: &std::sync::Arc<atoll_browser::Context>| BrowserContext {
            name: context.name().to_owned(),
            tabs: context.tabs().len() as u64,
        };
        Ok(contexts.iter().map(describe).collect())
    }
}

impl Handle<CloseContext> for Browsers {
    async fn handle(&self, _: &Context, input: CloseContext) -> Result<ClosedContext, Error> {
        let browser = self.browser()?;
        if input.name == "default" {
            return Err(Error::new(
                Kind::InvalidArgument,
                "browser.default_context",
                "the default context cannot be closed; close its tabs, or restart the browser",
            ));
        }
        if browser.close_context(&input.name).await.map_err(failure)? {
            return Ok(ClosedContext { name: input.name });
        }
        let known: Vec<_> =
            browser.contexts().iter().map(|known| known.name().to_owned()).collect();
        let message =
            format!("there is no context {:?}; there are: {}", input.name, known.join(", "));
        Err(Error::new(Kind::NotFound, "browser.context_not_found", message))
    }
}
