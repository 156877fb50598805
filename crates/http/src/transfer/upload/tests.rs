use std::sync::Mutex;

use atoll_operation::{Late, Receive, Registry, Spec, Upload};
use axum::Router;
use axum::extract::Request;
use axum::routing::post;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tower::ServiceExt;

use super::*;

/// Take a file.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Take {}

impl Upload for Take {
    type Output = u64;
    const SPEC: Spec = Spec::upload("test_take", "/take", "test:write");
    const FILE_REQUIRED: bool = true;
}

/// Remembers how the bytes ended.
#[derive(Default)]
struct Service(Mutex<Option<String>>);

impl Receive<Take> for Service {
    async fn receive(
        &self,
        _: &Context,
        _: Late<Take>,
        file: Option<Incoming>,
    ) -> Result<u64, Error> {
        let mut bytes = file.unwrap().bytes;
        let mut total = 0;
        while let Some(piece) = bytes.next().await {
            match piece {
                Ok(piece) => total += piece.len() as u64,
                Err(error) => {
                    *self.0.lock().unwrap() = Some(error.to_string());
                    return Err(Error::internal("the service's own account", error));
                }
            }
        }
        Ok(total)
    }
}

const LIMIT: BodyLimit = BodyLimit { bytes: 100, name: "upload_bytes", advice: "send less" };

/// What becomes of a body, and how its bytes ended for the service.
async fn upload(
    content_type: &str,
    pieces: impl futures::Stream<Item = io::Result<&'static str>> + Send + 'static,
) -> (Result<Result<Value, Error>, Failure>, Option<String>) {
    let service = Arc::new(Service::default());
    let mut registry = Registry::default();
    registry.bind_upload::<Take, _>(&service);
    let registry = Arc::new(registry);
    let (tell, mut told) = mpsc::channel(1);
    // Through a router, which path parameters come from.
    let handler = async move |request: Request| {
        let (mut parts, body) = request.into_parts();
        let bound = registry.get("test_take").unwrap();
        let reading = Reading { aliases: &[], base: None };
        let outcome = receive(bound, &Context::default(), &mut parts, body, reading, LIMIT).await;
        tell.send(outcome).await.unwrap();
    };
    let router = Router::new().route("/take", post(handler));
    let request = Request::post("/take").header(header::CONTENT_TYPE, content_type);
    let answered = router.oneshot(request.body(Body::from_stream(pieces)).unwrap()).await;
    assert!(answered.is_ok());
    let outcome = told.recv().await.unwrap();
    let ending = service.0.lock().unwrap().take();
    (outcome, ending)
}

#[tokio::test(start_paused = true)]
async fn a_client_that_falls_silent_is_told_so_and_the_service_undoes_its_work() {
    let form = "multipart/form-data; boundary=b";
    let head = "--b\r\nContent-Disposition: form-data; name=file\r\n\r\nabc";
    for (content_type, first) in [("text/plain", "abc"), (form, head)] {
        let pieces = stream::iter([Ok(first)]).chain(stream::pending());
        let (outcome, ending) = upload(content_type, pieces).await;
        assert_eq!(outcome.unwrap_err().status, StatusCode::REQUEST_TIMEOUT, "{content_type}");
        assert!(ending.unwrap().contains("stopped arriving"), "{content_type}");
    }
}

#[tokio::test]
async fn a_body_that_breaks_off_or_runs_over_is_not_the_services_to_explain() {
    let cut = stream::iter([Ok("abc"), Err(io::Error::other("gone"))]);
    let (outcome, ending) = upload("text/plain", cut).await;
    let failure = outcome.unwrap_err();
    assert_eq!((failure.status, failure.error.code()), (StatusCode::BAD_REQUEST, "request.body"));
    assert!(ending.is_some());
    let over = stream::iter(std::iter::repeat_n("0123456789", 11).map(Ok));
    let (outcome, ending) = upload("text/plain", over).await;
    assert_eq!(outcome.unwrap_err().status, StatusCode::PAYLOAD_TOO_LARGE);
    assert!(ending.is_some());
    let fitting = stream::iter(std::iter::repeat_n("0123456789", 10).map(Ok));
    let (outcome, ending) = upload("text/plain", fitting).await;
    assert_eq!((outcome.unwrap().unwrap(), ending), (Value::from(100), None));
}
