//! Tabs.

use std::sync::Arc;

use atoll_api::browser::{ActivateTab, CloseTab, ClosedTab, CreateTab, ListTabs, TabInfo};
use atoll_browser::Tab;
use atoll_operation::{Context, Error, Handle};

use super::error::failure;
use super::service::Browsers;

async fn describe(index: usize, tab: &Tab, is_active: bool) -> TabInfo {
    let title = tab.title().await.unwrap_or_default();
    TabInfo { index: index as u64, title, url: tab.url(), is_active }
}

/// The place of a tab; what cannot be one is told like one that is not there.
fn place(context: &atoll_browser::Context, index: i64) -> Result<usize, Error> {
    let missing =
        atoll_browser::Error::NoSuchTab { index: usize::MAX, count: context.tabs().len() };
    usize::try_from(index).map_err(|_| {
        let error = failure(missing);
        let message =
            format!("there is no tab {index}; there are {}, numbered from 0", context.tabs().len());
        Error::new(error.kind(), error.code().to_owned(), message)
    })
}

impl Handle<ListTabs> for Browsers {
    async fn handle(&self, _: &Context, input: ListTabs) -> Result<Vec<TabInfo>, Error> {
        let context = self.context(input.context.as_deref()).await?;
        let tabs = context.tabs();
        let each = tabs.iter().enumerate();
        let each = each.map(|(index, tab)| describe(index, tab, context.is_active(tab)));
        Ok(futures::future::join_all(each).await)
    }
}

impl Handle<CreateTab> for Browsers {
    async fn handle(&self, _: &Context, input: CreateTab) -> Result<TabInfo, Error> {
        let context = self.context(input.context.as_deref()).await?;
        let url = input.url.as_deref().filter(|url| !url.is_empty());
        let (index, tab) = context.new_tab(url).await.map_err(failure)?;
        Ok(describe(index, &tab, context.is_active(&tab)).await)
    }
}

impl Handle<CloseTab> for Browsers {
    async fn handle(&self, _: &Context, input: CloseTab) -> Result<ClosedTab, Error> {
        let context = self.context(input.context.as_deref()).await?;
        let index = place(&context, input.index)?;
        context.close_tab(index).await.map_err(failure)?;
        Ok(ClosedTab { index: index as u64, tabs: context.tabs().len() as u64 })
    }
}

impl Handle<ActivateTab> for Browsers {
    async fn handle(&self, _: &Context, input: ActivateTab) -> Result<TabInfo, Error> {
        let context = self.context(input.context.as_deref()).await?;
        let index = place(&context, input.index)?;
        let tab: Arc<Tab> = context.activate(index).await.map_err(failure)?;
        Ok(describe(index, &tab, true).await)
    }
}
