//! Skills as prompts and as resources: a client's user picks one by name, a model reads one by its address.

use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use rmcp::ErrorData;
use rmcp::model::{
    GetPromptResult, Prompt, PromptMessage, ReadResourceResult, Resource, ResourceContents, Role,
};
use serde_json::{Value, json};

use crate::calls::Calls;

/// How the addresses of skills begin.
const SCHEME: &str = "skill://";
const MEDIA_TYPE: &str = "text/markdown";

/// A skill as the list of skills tells it.
struct Skill {
    name: String,
    description: String,
}

/// The skills, as far as the client may see them.
async fn all(calls: &Calls) -> Vec<Skill> {
    // Nothing to list is what a client without the right to it is told.
    let Ok(listed) = calls.ask("skills_list", json!({})).await else { return Vec::new() };
    let skills = listed.get("skills").and_then(Value::as_array).cloned().unwrap_or_default();
    let skill = |skill: &Value| {
        let description = skill.get("metadata")?.get("description")?.as_str()?.trim().to_owned();
        Some(Skill { name: skill.get("name")?.as_str()?.to_owned(), description })
    };
    skills.iter().filter_map(skill).collect()
}

/// The skills as prompts.
pub(crate) async fn prompts(calls: &Calls) -> Vec<Prompt> {
    let prompt = |skill: Skill| Prompt::new(skill.name, Some(skill.description), None);
    all(calls).await.into_iter().map(prompt).collect()
}

/// The skills as resources.
pub(crate) async fn resources(calls: &Calls) -> Vec<Resource> {
    let resource = |skill: Skill| {
        let mut resource =
            Resource::new(uri(&skill.name), skill.name).with_description(skill.description);
        resource.mime_type = Some(MEDIA_TYPE.to_owned());
        resource
    };
    all(calls).await.into_iter().map(resource).collect()
}

/// A skill as a message to the model.
pub(crate) async fn prompt(calls: &Calls, name: &str) -> Result<GetPromptResult, ErrorData> {
    let (path, content) = read_text(calls, name)
        .await
        .map_err(|error| ErrorData::invalid_params(error.message().to_owned(), None))?;
    let said = format!("The files that this skill names are in {path}.\n\n{content}");
    Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, said)]))
}

/// Whether an address is that of a skill.
pub(crate) fn is_address(address: &str) -> bool {
    address.starts_with(SCHEME)
}

/// The skill at an address.
pub(crate) async fn read(calls: &Calls, address: &str) -> Result<ReadResourceResult, ErrorData> {
    let name = address.strip_prefix(SCHEME).unwrap_or_default();
    let name = name.strip_suffix("/SKILL.md").unwrap_or(name);
    let name = percent_decode_str(name).decode_utf8_lossy();
    let (_, content) = read_text(calls, &name).await.map_err(|error| {
        ErrorData::resource_not_found(error.message().to_owned(), Some(json!({ "uri": address })))
    })?;
    let contents = ResourceContents::text(content, address).with_mime_type(MEDIA_TYPE);
    Ok(ReadResourceResult::new(vec![contents]))
}

async fn read_text(calls: &Calls, name: &str) -> Result<(String, String), atoll_operation::Error> {
    let read = calls.ask("skills_content", json!({ "name": name })).await?;
    let text = |field: &str| read.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    Ok((text("path"), text("content")))
}

fn uri(name: &str) -> String {
    format!("{SCHEME}{}/SKILL.md", utf8_percent_encode(name, NON_ALPHANUMERIC))
}
