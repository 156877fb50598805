//! Requests: their log, routes, headers.

use atoll_api::browser::{
    AddRoute, ExportHar, ExportedHar, GetRequests, HeadersSet, RemoveRoute, RequestRecord,
    RouteChanged, RouteResponse, SetHeaders, SetScopedHeaders,
};
use atoll_browser::network::{Answer, Exchange, HeaderList, Mock, date};
use atoll_operation::{Context, Error, Handle};

use super::error::failure;
use super::service::Browsers;

impl Handle<SetHeaders> for Browsers {
    async fn handle(&self, _: &Context, input: SetHeaders) -> Result<HeadersSet, Error> {
        let context = self.context(input.context.as_deref()).await?;
        let names = input.headers.keys().cloned().collect();
        context.network().set_headers(input.headers).await.map_err(failure)?;
        Ok(HeadersSet { origin: None, headers: names })
    }
}

impl Handle<SetScopedHeaders> for Browsers {
    async fn handle(&self, _: &Context, input: SetScopedHeaders) -> Result<HeadersSet, Error> {
        let context = self.context(input.context.as_deref()).await?;
        let names = input.headers.keys().cloned().collect();
        let network = context.network();
        let origin = network.set_scoped_headers(&input.origin, input.headers).await;
        Ok(HeadersSet { origin: Some(origin.map_err(failure)?), headers: names })
    }
}

impl Handle<AddRoute> for Browsers {
    async fn handle(&self, _: &Context, input: AddRoute) -> Result<RouteChanged, Error> {
        let answer = match (input.abort, input.response) {
            (true, _) => Answer::Abort,
            (false, Some(response)) => Answer::Mock(mock(response)),
            (false, None) => Answer::Pass,
        };
        let context = self.context(input.context.as_deref()).await?;
        let routes = context.network().add_route(&input.url_pattern, answer).await;
        Ok(RouteChanged { url_pattern: input.url_pattern, routes: routes.map_err(failure)? })
    }
}

fn mock(response: RouteResponse) -> Mock {
    Mock {
        status: response.status,
        headers: response.headers,
        body: response.body,
        content_type: response.content_type,
    }
}

impl Handle<RemoveRoute> for Browsers {
    async fn handle(&self, _: &Context, input: RemoveRoute) -> Result<RouteChanged, Error> {
        let context = self.context(input.context.as_deref()).await?;
        let routes = context.network().remove_route(&input.url_pattern).await;
        Ok(RouteChanged { url_pattern: input.url_pattern, routes: routes.map_err(failure)? })
    }
}

impl Handle<GetRequests> for Browsers {
    async fn handle(&self, _: &Context, input: GetRequests) -> Result<Vec<RequestRecord>, Error> {
        let context = self.context(input.context.as_deref()).await?;
        let most = usize::try_from(input.limit).unwrap_or_default();
        let network = context.network();
        let exchanges = network.requests(input.filter.as_deref(), most).map_err(failure)?;
        if input.clear {
            network.clear();
        }
        Ok(exchanges.into_iter().map(|exchange| record(exchange, input.headers)).collect())
    }
}

fn record(exchange: Exchange, with_headers: bool) -> RequestRecord {
    let started_at = date(&exchange);
    let map = |headers: HeaderList| {
        let mut map = std::collections::BTreeMap::<String, String>::new();
        for (name, value) in headers.into_iter().filter(|_| with_headers) {
            let values = map.entry(name).or_default();
            if !values.is_empty() {
                values.push('\n');
            }
            values.push_str(&value);
        }
        map
    };
    let response = exchange.response;
    // A status of 0 is an answer that has not come yet.
    let answered = response.as_ref().filter(|response| response.status != 0);
    RequestRecord {
        url: exchange.url,
        method: exchange.method,
        resource_type: exchange.resource_type,
        status: answered.map(|response| response.status),
        status_text: answered.map(|response| response.status_text.clone()),
        mime_type: answered.map(|response| response.mime_type.clone()),
        started_at,
        duration_ms: exchange.end.as_ref().map(|end| end.took.as_secs_f64() * 1000.0),
        transferred_bytes: exchange.end.as_ref().map(|end| end.transferred),
        from_cache: response.as_ref().is_some_and(|response| response.from_cache),
        error: exchange.end.and_then(|end| end.error),
        route: exchange.route,
        request_headers: map(exchange.headers),
        response_headers: map(response.map(|response| response.headers).unwrap_or_default()),
    }
}

impl Handle<ExportHar> for Browsers {
    async fn handle(&self, cx: &Context, input: ExportHar) -> Result<ExportedHar, Error> {
        let context = self.context(input.context.as_deref()).await?;
        let version = self.browser()?.version().await.map_err(failure)?;
        let version = version.product.rsplit('/').next().unwrap_or_default().to_owned();
        let (archive, entries) = context.network().archive(&version).await;
        let path = self.write(cx, input.save_path, archive.to_string()).await?;
        Ok(ExportedHar { path, entries: entries as u64 })
    }
}
