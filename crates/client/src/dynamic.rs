//! Operations called by their declaration, with inputs and results as JSON: for programs that learn at run time which
//! operation they are to call.

use atoll_operation::Spec;
use hyper::header::HeaderMap;
use serde_json::Value;

use crate::answer;
use crate::client::{Client, collect};
use crate::converse::{self, TextHearing, TextSpeaking};
use crate::error::ClientError;
use crate::stream::Events;
use crate::transfer::{Downloading, Payload};

impl Client {
    /// Carries out an operation.
    pub async fn call_declared(&self, spec: &Spec, input: &Value) -> Result<Value, ClientError> {
        let response = self.send(spec, input, &HeaderMap::new()).await?;
        let (status, body) = collect(response).await?;
        answer::read(spec.id, status, &body)
    }

    /// Carries out an operation as a stream of events.
    pub async fn stream_declared(&self, spec: &Spec, input: &Value) -> Result<Events, ClientError> {
        self.events(spec, input, None).await
    }

    /// Uploads a file, or calls an upload that needs none without one.
    pub async fn upload_declared(
        &self,
        spec: &Spec,
        input: &Value,
        file: Option<(&str, Payload)>,
    ) -> Result<Value, ClientError> {
        let (status, body) = self.send_form(spec, input, file).await?;
        answer::read(spec.id, status, &body)
    }

    /// Downloads a file.
    pub async fn download_declared(
        &self,
        spec: &Spec,
        input: &Value,
    ) -> Result<Downloading, ClientError> {
        self.fetch(spec, input).await
    }

    /// Opens a conversation of JSON texts.
    pub async fn converse_declared(
        &self,
        spec: &Spec,
        input: &Value,
    ) -> Result<(TextSpeaking, TextHearing), ClientError> {
        converse::open(self.upgrade(spec, input).await?).await
    }
}
