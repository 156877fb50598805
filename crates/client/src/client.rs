//! A client of one server.

use std::io;
use std::path::Path;
use std::sync::Arc;

use atoll_operation::{Conversation, Download, Operation, Spec, Upload};
use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Request, Response, Uri};
use hyper_util::client::legacy::Client as HttpClient;
use hyper_util::rt::TokioExecutor;
use serde::Serialize;

use crate::connect::Connector;
use crate::converse::{self, Talk};
use crate::error::ClientError;
use crate::stream::{self, Events};
use crate::transfer::{self, Downloading, Payload};
use crate::{answer, request};

/// The body of a request.
pub(crate) type Body = UnsyncBoxBody<Bytes, io::Error>;

/// A client of one server. Cheap to clone; connections are kept and shared.
#[derive(Debug, Clone)]
pub struct Client {
    http: HttpClient<Connector, Body>,
    /// `http://host:port/prefix`, without a trailing slash.
    base: Arc<str>,
    headers: HeaderMap,
}

impl Client {
    /// A client of the server at `http://host:port[/prefix]`, the same with https, or `unix:/path`.
    pub fn new(address: &str) -> Result<Self, ClientError> {
        let wrong = || ClientError::Address(address.to_owned());
        let (connector, base) = if let Some(path) = address.strip_prefix("unix:") {
            let path = Path::new(path);
            (Connector::Unix(path.into()), "http://localhost".to_owned())
        } else {
            let uri: Uri = address.parse().map_err(|_| wrong())?;
            let connector = match uri.scheme_str() {
                Some("http") => Connector::Tcp,
                Some("https") => Connector::tls()?,
                _ => return Err(wrong()),
            };
            let host = uri.authority().filter(|_| uri.query().is_none()).ok_or_else(wrong)?;
            let prefix = uri.path().trim_end_matches('/');
            let scheme = uri.scheme_str().unwrap_or("http");
            (connector, format!("{scheme}://{host}{prefix}"))
        };
        Ok(Self {
            http: HttpClient::builder(TokioExecutor::new()).build(connector),
            base: base.into(),
            headers: HeaderMap::new(),
        })
    }

    /// Adds a header to every request.
    pub fn with_header(mut self, name: &str, value: &str) -> Result<Self, ClientError> {
        let wrong = || ClientError::Header(name.to_owned());
        let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?;
        let value = HeaderValue::from_str(value).map_err(|_| wrong())?;
        self.headers.insert(key, value);
        Ok(self)
    }

    /// Shows a credential with every request: an API key or a signed token.
    pub fn with_credential(mut self, credential: &str) -> Result<Self, ClientError> {
        let value = HeaderValue::from_str(&format!("Bearer {}", credential.trim()));
        // The error must not repeat the credential.
        let mut value = value.map_err(|_| ClientError::Header("Authorization".to_owned()))?;
        value.set_sensitive(true);
        self.headers.insert(header::AUTHORIZATION, value);
        Ok(self)
    }

    /// Carries out an operation.
    pub async fn call<O: Operation>(&self, input: O) -> Result<O::Output, ClientError> {
        let response = self.send(&O::SPEC, &input, &HeaderMap::new()).await?;
        let (status, body) = collect(response).await?;
        answer::read(O::SPEC.id, status, &body)
    }

    /// Carries out an operation as a stream of events, from the beginning or after the last event id seen.
    pub async fn stream<O: Operation>(
        &self,
        input: O,
        resume_after: Option<&str>,
    ) -> Result<Events, ClientError> {
        self.events(&O::SPEC, &input, resume_after).await
    }

    /// Opens a conversation.
    pub async fn converse<C: Conversation>(&self, input: C) -> Result<Talk<C>, ClientError> {
        Talk::open(self.upgrade(&C::SPEC, &input).await?).await
    }

    /// Uploads a file.
    pub async fn upload<U: Upload>(
        &self,
        input: U,
        filename: &str,
        file: impl Into<Payload>,
    ) -> Result<U::Output, ClientError> {
        let file = Some((filename, file.into()));
        let (status, body) = self.send_form(&U::SPEC, &input, file).await?;
        answer::read(U::SPEC.id, status, &body)
    }

    /// Downloads a file, or the part of it that a `Range` header of this client asks for.
    pub async fn download<D: Download>(&self, input: D) -> Result<Downloading, ClientError> {
        self.fetch(&D::SPEC, &input).await
    }

    pub(crate) async fn events<T: Serialize>(
        &self,
        spec: &Spec,
        input: &T,
        resume_after: Option<&str>,
    ) -> Result<Events, ClientError> {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, HeaderValue::from_static(stream::CONTENT_TYPE));
        if let Some(id) = resume_after {
            let id = HeaderValue::from_str(id);
            let id = id.map_err(|_| ClientError::Header("Last-Event-ID".to_owned()))?;
            headers.insert("last-event-id", id);
        }
        let response = self.send(spec, input, &headers).await?;
        let content_type = response.headers().get(header::CONTENT_TYPE);
        let streams = content_type
            .is_some_and(|content_type| content_type.as_bytes() == stream::CONTENT_TYPE.as_bytes());
        if streams {
            return Ok(stream::events(response.into_body()));
        }
        let (status, body) = collect(response).await?;
        Err(answer::read_refusal(status, &body))
    }

    pub(crate) async fn upgrade<T: Serialize>(
        &self,
        spec: &Spec,
        input: &T,
    ) -> Result<Response<Incoming>, ClientError> {
        let (key, headers) = converse::handshake();
        let response = self.send(spec, input, &headers).await?;
        if converse::is_accepted(&response, &key) {
            return Ok(response);
        }
        let (status, body) = collect(response).await?;
        Err(answer::read_refusal(status, &body))
    }

    pub(crate) async fn send_form<T: Serialize>(
        &self,
        spec: &Spec,
        input: &T,
        file: Option<(&str, Payload)>,
    ) -> Result<(u16, Bytes), ClientError> {
        let (path, fields) = request::form_fields(spec, input)?;
        let form = transfer::form(&fields, file);
        let mut headers = HeaderMap::new();
        let content_type = HeaderValue::from_str(&form.content_type);
        let content_type =
            content_type.map_err(|_| ClientError::Header("Content-Type".to_owned()))?;
        headers.insert(header::CONTENT_TYPE, content_type);
        if let Some(length) = form.length {
            headers.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
        }
        let response = self.request(spec, &path, &headers, form.body).await?;
        collect(response).await
    }

    pub(crate) async fn fetch<T: Serialize>(
        &self,
        spec: &Spec,
        input: &T,
    ) -> Result<Downloading, ClientError> {
        let response = self.send(spec, input, &HeaderMap::new()).await?;
        if response.status().is_success() {
            return Ok(Downloading::new(response));
        }
        let (status, body) = collect(response).await?;
        Err(answer::read_refusal(status, &body))
    }

    pub(crate) async fn send<T: Serialize>(
        &self,
        spec: &Spec,
        input: &T,
        headers: &HeaderMap,
    ) -> Result<Response<Incoming>, ClientError> {
        let target = request::target(spec, input)?;
        let mut headers = headers.clone();
        if target.body.is_some() {
            let json = HeaderValue::from_static("application/json");
            headers.insert(header::CONTENT_TYPE, json);
        }
        let body = Full::new(Bytes::from(target.body.unwrap_or_default()));
        let body = body.map_err(|never| match never {}).boxed_unsync();
        self.request(spec, &target.path, &headers, body).await
    }

    async fn request(
        &self,
        spec: &Spec,
        path: &str,
        headers: &HeaderMap,
        body: Body,
    ) -> Result<Response<Incoming>, ClientError> {
        let mut request =
            Request::builder().method(spec.method.as_str()).uri(format!("{}{path}", self.base));
        if let Some(all) = request.headers_mut() {
            all.extend(self.headers.clone());
            all.extend(headers.clone());
        }
        let request = request.body(body).map_err(|error| ClientError::Input(error.to_string()))?;
        let response = self.http.request(request).await;
        response.map_err(|error| ClientError::transport("the server could not be asked", error))
    }
}

pub(crate) async fn collect(response: Response<Incoming>) -> Result<(u16, Bytes), ClientError> {
    let status = response.status().as_u16();
    let body = response.into_body().collect().await;
    let body = body.map_err(|error| ClientError::transport("the answer broke off", error))?;
    Ok((status, body.to_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_checked_when_the_client_is_made() {
        for address in [
            "http://127.0.0.1:1",
            "http://h/prefix/",
            "http://[::1]:8",
            "https://h/prefix",
            "unix:/run/s",
        ] {
            assert!(Client::new(address).is_ok(), "{address}");
        }
        for address in ["", "localhost:8080", "/run/s", "http://h/?x=1", "ftp://h"] {
            let error = Client::new(address).unwrap_err();
            assert!(error.to_string().contains("http://host:port"), "{address}: {error}");
        }
    }

    #[test]
    fn headers_are_checked_when_they_are_added() {
        let client = || Client::new("http://h").unwrap();
        assert!(client().with_header("Authorization", "Bearer x").is_ok());
        assert!(client().with_header("X-Y", "a\nb").is_err());
        assert!(client().with_header("X Y", "a").is_err());
        let known = client().with_credential(" s3cret\n").unwrap();
        assert_eq!(known.headers["authorization"], "Bearer s3cret");
        assert!(!format!("{known:?}").contains("s3cret"));
        let error = client().with_credential("s3\ncret").unwrap_err();
        assert!(!error.to_string().contains("s3"), "{error}");
    }
}
