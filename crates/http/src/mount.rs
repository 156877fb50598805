//! Another face below a path of this one: it gets whole requests, after the guard, with what they may know of themselves.

use std::fmt;
use std::sync::Arc;

use atoll_operation::Context;
use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http;
use axum::response::Response;
use axum::routing::any;
use bytes::Bytes;
use futures::future::BoxFuture;
use http_body_util::BodyExt;
use http_body_util::combinators::UnsyncBoxBody;

use crate::face::Shared;
use crate::origin::reached_at;
use crate::passage::{Passage, Served};

/// A body on its way to or from a mounted face.
pub type MountBody = UnsyncBoxBody<Bytes, Box<dyn std::error::Error + Send + Sync>>;

type Answer = Arc<
    dyn Fn(http::Request<MountBody>) -> BoxFuture<'static, http::Response<MountBody>> + Send + Sync,
>;

/// Another face and where it lies. Its requests carry an [`atoll_operation::Context`] in their extensions.
pub struct Mount {
    /// Name for logs and metrics.
    pub name: &'static str,
    /// The exact paths it answers at.
    pub paths: &'static [&'static str],
    /// Answers a request.
    pub answer: Answer,
}

impl Mount {
    pub(crate) fn add_to(self, mut router: Router, shared: &Arc<Shared>) -> Router {
        for path in self.paths {
            let served = Served::new(&shared.metrics, self.name, path);
            let answer = Arc::clone(&self.answer);
            let name = self.name;
            let handler = move |mut request: Request| {
                let passage = Passage::of(request.extensions());
                passage.serve(&served);
                let cx = Context::new(passage.id()).reached_at(reached_at(request.headers()), "");
                let cx = cx.through(name);
                let cx = match passage.principal().cloned() {
                    Some(principal) => cx.called_by(principal),
                    None => cx,
                };
                let cx = cx.permitting(move |scope| passage.permit(scope).is_ok());
                request.extensions_mut().insert(cx);
                let request = request.map(|body| body.map_err(Into::into).boxed_unsync());
                let answered = answer(request);
                async move { answered.await.map(Body::new) as Response }
            };
            router = router.route(path, any(handler));
        }
        router
    }
}

impl fmt::Debug for Mount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mount").field("name", &self.name).finish_non_exhaustive()
    }
}
