//! Cookies, and saved state.

use atoll_api::browser::{
    ClearCookies, Cookie, CookieToSet, CookiesChanged, GetCookies, LoadState, LoadedState,
    SaveState, SavedState, SetCookies,
};
use atoll_browser::state::{NewCookie, StateError};
use atoll_operation::{Context, Error, Handle};

use super::error::failure;
use super::service::Browsers;

impl Handle<GetCookies> for Browsers {
    async fn handle(&self, _: &Context, input: GetCookies) -> Result<Vec<Cookie>, Error> {
        let urls: Vec<_> = input
            .urls
            .iter()
            .flat_map(|urls| urls.split(','))
            .map(str::trim)
            .filter(|url| !url.is_empty())
            .map(str::to_owned)
            .collect();
        let context = self.context(input.context.as_deref()).await?;
        let cookies = context.cookies(&urls).await.map_err(failure)?;
        Ok(cookies.into_iter().map(shown).collect())
    }
}

fn shown(cookie: atoll_browser::state::Cookie) -> Cookie {
    Cookie {
        name: cookie.name,
        value: cookie.value,
        domain: cookie.domain,
        path: cookie.path,
        expires: cookie.expires,
        http_only: cookie.http_only,
        secure: cookie.secure,
        same_site: cookie.same_site,
    }
}

fn wanted(cookie: CookieToSet) -> NewCookie {
    NewCookie {
        name: cookie.name,
        value: cookie.value,
        url: cookie.url,
        domain: cookie.domain,
        path: cookie.path,
        expires: cookie.expires,
        http_only: cookie.http_only,
        secure: cookie.secure,
        same_site: cookie.same_site,
    }
}

impl Handle<SetCookies> for Browsers {
    async fn handle(&self, _: &Context, input: SetCookies) -> Result<CookiesChanged, Error> {
        let context = self.context(input.context.as_deref()).await?;
        let cookies: Vec<_> = input.cookies.into_iter().map(wanted).collect();
        context.set_cookies(&cookies).await.map_err(failure)?;
        Ok(CookiesChanged { count: cookies.len() as u64 })
    }
}

impl Handle<ClearCookies> for Browsers {
    async fn handle(&self, _: &Context, input: ClearCookies) -> Result<CookiesChanged, Error> {
        let context = self.context(input.context.as_deref()).await?;
        let count = context.clear_cookies().await.map_err(failure)?;
        Ok(CookiesChanged { count: count as u64 })
    }
}

impl Handle<SaveState> for Browsers {
    async fn handle(&self, cx: &Context, input: SaveState) -> Result<SavedState, Error> {
        let context = self.context(input.context.as_deref()).await?;
        let (state, extent) = context.save_state().await.map_err(failure)?;
        let text = format!("{state:#}\n");
        let path = self.write(cx, input.path, text).await?;
        Ok(SavedState { path, cookies: extent.cookies as u64, origins: extent.origins as u64 })
    }
}

impl Handle<LoadState> for Browsers {
    async fn handle(&self, cx: &Context, input: LoadState) -> Result<LoadedState, Error> {
        let text = self.read(cx, input.path.clone()).await?;
        let state = serde_json::from_str(&text).map_err(|error| {
            let reason = format!("it is not JSON: {error}");
            failure(StateError::Form { reason }.into())
        })?;
        let context = self.context(input.context.as_deref()).await?;
        let extent = context.load_state(state).await.map_err(failure)?;
        Ok(LoadedState {
            path: input.path,
            cookies: extent.cookies as u64,
            origins: extent.origins as u64,
        })
    }
}
