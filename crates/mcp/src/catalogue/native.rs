//! Operations as tools by their own names.

use std::sync::Arc;

use atoll_operation::{Bound, Mcp as Mark, Shape};
use serde_json::Value;

use super::schema;
use super::tool::{Sets, Tool};
use crate::calls::Calls;
use crate::reply::Reply;

/// The server they are said to belong to.
pub(super) const SERVER: &str = "atoll";
/// Characters of an operation's documentation that a model is told.
const DESCRIPTION: usize = 900;

pub(super) fn tools(operations: &[Arc<Bound>]) -> Vec<Tool> {
    operations.iter().filter_map(tool).collect()
}

fn tool(bound: &Arc<Bound>) -> Option<Tool> {
    let spec = *bound.spec();
    let declaration = bound.declaration();
    if spec.mcp == Mark::Hidden {
        return None;
    }
    let (input, description) = schema::input(declaration.input);
    let description = description.chars().take(DESCRIPTION).collect();
    let name = (spec.id.to_owned(), SERVER);
    // Operations on one file call it `file`, the others `path`; models mix them up.
    let has = |field: &str| input.get("properties").is_some_and(|list| list.get(field).is_some());
    let other_names: &[_] = match (has("file"), has("path")) {
        (true, false) => &[("path", "file"), ("file_path", "file")],
        (false, true) => &[("file", "path"), ("file_path", "path")],
        _ => &[],
    };
    match spec.shape {
        Shape::Unary | Shape::Streaming => {
            let run = move |calls: Calls, arguments| {
                Box::pin(async move {
                    let value = calls.ask(spec.id, Value::Object(arguments)).await?;
                    let reply = Reply::json(value);
                    Ok(match calls.take_hint() {
                        Some(hint) => reply.and_text(hint),
                        None => reply,
                    })
                }) as _
            };
            let mut tool =
                Tool::raw(name, Sets::NATIVE, spec.mcp, input, description, Arc::new(run));
            tool.definition.output_schema = Some(schema::output(declaration.output));
            Some(tool.also_taking(other_names))
        }
        Shape::Download => {
            let run = move |calls: Calls, arguments| {
                Box::pin(async move {
                    let (bytes, media_type) =
                        calls.fetch(spec.id, Value::Object(arguments)).await?;
                    Ok(if media_type.starts_with("image/") {
                        Reply::image(&bytes, &media_type)
                    } else {
                        let uri = format!("atoll://{}", spec.id);
                        Reply::file(&bytes, &media_type, &uri)
                    })
                }) as _
            };
            Some(Tool::raw(name, Sets::NATIVE, spec.mcp, input, description, Arc::new(run)))
        }
        // What needs a connection of its own cannot be had in one call.
        Shape::Conversation | Shape::Upload | Shape::Window => None,
    }
}
