//! `~/.config/opencode/config.json`, from `OPENCODE_*`.

use serde_json::{Map, Value, json};

use super::ToolFile;
use crate::config::Variables;

const CONFIG: &str = ".config/opencode/config.json";
const PROVIDER: &str = "ark";
const ARK_URL: &str = "https://ark.cn-beijing.volces.com/api/v3";

/// The file that opencode reads; none without a key and a model, or a whole file.
pub(super) fn files(variables: &Variables) -> Result<Vec<ToolFile>, String> {
    if let Some(content) = variables.get("OPENCODE_JSON") {
        serde_json::from_str::<Map<String, Value>>(content)
            .map_err(|error| format!("OPENCODE_JSON is no JSON object: {error}"))?;
        let content = content.to_owned();
        return Ok(vec![ToolFile { path: CONFIG.into(), content, whole: true }]);
    }
    let key = variables.get("OPENCODE_API_KEY");
    let (Some(key), Some(model)) = (key, variables.get("OPENCODE_MODEL")) else {
        return Ok(Vec::new());
    };
    let provider = variables.get("OPENCODE_PROVIDER").unwrap_or(PROVIDER);
    let url = variables.get("OPENCODE_BASE_URL");
    let url = url.or((provider == PROVIDER).then_some(ARK_URL));
    let package = variables.get("OPENCODE_PROVIDER_NPM").unwrap_or_else(|| {
        let anthropic = url.is_some_and(|url| url.contains("anthropic"));
        if anthropic { "@ai-sdk/anthropic" } else { "@ai-sdk/openai-compatible" }
    });
    let mut options = json!({ "apiKey": key });
    if let Some(url) = url {
        options["baseURL"] = json!(url);
    }
    let config = json!({
        "$schema": "https://opencode.ai/config.json",
        "model": format!("{provider}/{model}"),
        "provider": {
            (provider): {
                "npm": package,
                "name": provider,
                "options": options,
                "models": { (model): { "name": model } },
            },
        },
    });
    let content = format!("{config:#}\n");
    Ok(vec![ToolFile { path: CONFIG.into(), content, whole: false }])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(list: &[(&str, &str)]) -> Result<Vec<ToolFile>, String> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        files(&list.iter().map(owned).collect())
    }

    fn config(list: &[(&str, &str)]) -> Value {
        serde_json::from_str(&read(list).unwrap()[0].content).unwrap()
    }

    const KEY: (&str, &str) = ("OPENCODE_API_KEY", "k");
    const MODEL: (&str, &str) = ("OPENCODE_MODEL", "m");

    #[test]
    fn key_and_model_are_needed() {
        assert_eq!(read(&[KEY]).unwrap(), []);
        assert_eq!(read(&[MODEL]).unwrap(), []);
        let config = config(&[KEY, MODEL]);
        assert_eq!(config["model"], "ark/m");
        assert_eq!(config["provider"]["ark"]["options"]["apiKey"], "k");
        assert_eq!(config["provider"]["ark"]["options"]["baseURL"], ARK_URL);
        assert_eq!(config["provider"]["ark"]["npm"], "@ai-sdk/openai-compatible");
    }

    #[test]
    fn the_package_follows_the_address() {
        let url = ("OPENCODE_BASE_URL", "https://api.anthropic.com/v1");
        let own = [KEY, MODEL, url, ("OPENCODE_PROVIDER", "mine")];
        assert_eq!(config(&own)["provider"]["mine"]["npm"], "@ai-sdk/anthropic");
        let named = [KEY, MODEL, url, ("OPENCODE_PROVIDER_NPM", "@other/sdk")];
        assert_eq!(config(&named)["provider"]["ark"]["npm"], "@other/sdk");
        let other = config(&[KEY, MODEL, ("OPENCODE_PROVIDER", "mine")]);
        assert!(other["provider"]["mine"]["options"].get("baseURL").is_none());
    }

    #[test]
    fn a_whole_file_is_stronger_and_must_be_sound() {
        let files = read(&[KEY, MODEL, ("OPENCODE_JSON", "{\"model\": \"x\"}")]).unwrap();
        assert!(files[0].whole && files[0].content == "{\"model\": \"x\"}");
        assert!(read(&[("OPENCODE_JSON", "[]")]).unwrap_err().contains("OPENCODE_JSON"));
    }
}
