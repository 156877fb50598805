//! Going from page to page, and running code in one.

use atoll_api::browser::{
    BrowserViewport, EvaluateScript, GetPageInfo, GoBack, GoForward, NavigatePage, NavigateUntil,
    Navigated, PageInfo, PageState, ReloadPage, ScriptValue,
};
use atoll_browser::Until;
use atoll_operation::{Context, Error, Handle};

use super::process::pixels;
use super::service::{Browsers, patience};

const SECONDS: f64 = 30.0;

impl Handle<NavigatePage> for Browsers {
    async fn handle(&self, cx: &Context, input: NavigatePage) -> Result<Navigated, Error> {
        let page = self.page(cx, input.context.as_deref()).await?;
        let until = match input.wait_until {
            NavigateUntil::Load => Until::Load,
            NavigateUntil::DomContentLoaded => Until::DomContentLoaded,
            NavigateUntil::NetworkIdle => Until::NetworkIdle,
            NavigateUntil::Commit => Until::Commit,
        };
        let within = patience(input.timeout, SECONDS);
        let navigation = page.outcome(page.tab.navigate(&input.url, until, within).await)?;
        Ok(Navigated {
            url: navigation.url,
            title: navigation.title,
            status: navigation.status,
            download: navigation.download.map(|download| {
                let path = download.path.unwrap_or_else(|| download.suggested_filename.into());
                path.to_string_lossy().into_owned()
            }),
        })
    }
}

impl Handle<GoBack> for Browsers {
    async fn handle(&self, cx: &Context, input: GoBack) -> Result<PageState, Error> {
        let page = self.page(cx, input.context.as_deref()).await?;
        page.state(page.tab.back(Until::Load, patience(input.timeout, SECONDS)).await).await
    }
}

impl Handle<GoForward> for Browsers {
    async fn handle(&self, cx: &Context, input: GoForward) -> Result<PageState, Error> {
        let page = self.page(cx, input.context.as_deref()).await?;
        page.state(page.tab.forward(Until::Load, patience(input.timeout, SECONDS)).await).await
    }
}

impl Handle<ReloadPage> for Browsers {
    async fn handle(&self, cx: &Context, input: ReloadPage) -> Result<PageState, Error> {
        let page = self.page(cx, input.context.as_deref()).await?;
        page.state(page.tab.reload(Until::Load, patience(input.timeout, SECONDS)).await).await
    }
}

impl Handle<GetPageInfo> for Browsers {
    async fn handle(&self, cx: &Context, input: GetPageInfo) -> Result<PageInfo, Error> {
        let page = self.page(cx, input.context.as_deref()).await?;
        let seen = page.tab.viewport().await.map(pixels);
        let title = page.tab.title().await.unwrap_or_default();
        let BrowserViewport { width, height } = page.outcome(seen)?;
        Ok(PageInfo { url: page.tab.url(), title, width, height })
    }
}

impl Handle<EvaluateScript> for Browsers {
    async fn handle(&self, cx: &Context, input: EvaluateScript) -> Result<ScriptValue, Error> {
        let page = self.page(cx, input.context.as_deref()).await?;
        let within = patience(input.timeout, SECONDS);
        let value = page.tab.evaluate(&input.expression, within).await;
        page.outcome(value).map(ScriptValue)
    }
}
