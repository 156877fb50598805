//! `~/.codex/config.toml`, from `CODEX_*`.

use std::path::{Path, PathBuf};

use serde_json::Value;
use toml::Table;

use super::ToolFile;
use crate::config::Variables;

const CONFIG: &str = ".codex/config.toml";
const CATALOGUE: &str = ".codex/model-catalog.json";
/// The provider's name in the file; those of the tool's own cannot be used.
const PROVIDER: &str = "sandbox";
const ARK_URL: &str = "https://ark.cn-beijing.volces.com/api/v3";
const ARK_MODEL: &str = "deepseek-v4-flash-260425";
const OPENAI_URL: &str = "https://api.openai.com/v1";

/// The files that Codex reads; none without a key or a whole file.
pub(super) fn files(variables: &Variables, home: &Path) -> Result<Vec<ToolFile>, String> {
    if let Some(content) = variables.get("CODEX_CONFIG_TOML") {
        content.parse::<Table>().map_err(|error| {
            // The text may hold a key: only where it is wrong is told.
            let place = error.span().map_or(0, |span| line(content, span.start));
            format!("CODEX_CONFIG_TOML is no valid TOML (line {place}): {}", error.message())
        })?;
        let content = content.to_owned();
        return Ok(vec![ToolFile { path: CONFIG.into(), content, whole: true }]);
    }
    let key = ["CODEX_API_KEY", "ARK_API_KEY", "OPENAI_API_KEY"]
        .into_iter()
        .find_map(|name| Some((name, variables.get(name)?)));
    let Some((name, key)) = key else { return Ok(Vec::new()) };
    // A key of OpenAI's is not sent to anybody else unless that is said.
    let openai = name == "OPENAI_API_KEY";
    let url = variables.get("CODEX_BASE_URL");
    let url = url.unwrap_or(if openai { OPENAI_URL } else { ARK_URL });
    let model = variables.get("CODEX_MODEL").or((!openai).then_some(ARK_MODEL));

    let mut files = Vec::new();
    let mut config = Table::new();
    if let Some(model) = model {
        config.insert("model".to_owned(), model.into());
    }
    config.insert("model_provider".to_owned(), PROVIDER.into());
    if let Some(catalogue) = catalogue(variables, home, &mut files)? {
        config.insert("model_catalog_json".to_owned(), catalogue.into());
    }
    let provider = [
        ("name", "The sandbox's provider"),
        ("base_url", url),
        ("wire_api", "responses"),
        ("experimental_bearer_token", key),
    ];
    let provider: Table =
        provider.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect();
    let providers = Table::from_iter([(PROVIDER.to_owned(), toml::Value::Table(provider))]);
    config.insert("model_providers".to_owned(), toml::Value::Table(providers));
    files.push(ToolFile { path: CONFIG.into(), content: config.to_string(), whole: false });
    Ok(files)
}

/// The catalogue of models: the path of one, or JSON that becomes a file.
fn catalogue(
    variables: &Variables,
    home: &Path,
    files: &mut Vec<ToolFile>,
) -> Result<Option<String>, String> {
    let Some(given) = variables.get("CODEX_MODEL_CATALOG_JSON") else { return Ok(None) };
    if given.starts_with('/') {
        return Ok(Some(given.to_owned()));
    }
    serde_json::from_str::<Value>(given).map_err(|error| {
        format!("CODEX_MODEL_CATALOG_JSON is neither an absolute path nor valid JSON: {error}")
    })?;
    let path = PathBuf::from(CATALOGUE);
    let shown = home.join(&path).to_string_lossy().into_owned();
    files.push(ToolFile { path, content: given.to_owned(), whole: true });
    Ok(Some(shown))
}

fn line(text: &str, offset: usize) -> usize {
    text.get(..offset).map_or(0, |before| before.matches('\n').count()) + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(list: &[(&str, &str)]) -> Result<Vec<ToolFile>, String> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        files(&list.iter().map(owned).collect(), Path::new("/home/me"))
    }

    fn config(list: &[(&str, &str)]) -> Table {
        read(list).unwrap().pop().unwrap().content.parse().unwrap()
    }

    #[test]
    fn nothing_is_written_without_a_key() {
        assert_eq!(read(&[]).unwrap(), []);
        assert_eq!(read(&[("CODEX_MODEL", "m"), ("CODEX_BASE_URL", "http://x")]).unwrap(), []);
    }

    #[test]
    fn the_strongest_key_counts() {
        let keys = [("CODEX_API_KEY", "c"), ("ARK_API_KEY", "a"), ("OPENAI_API_KEY", "o")];
        let provider = |list: &[(&str, &str)]| config(list)["model_providers"][PROVIDER].clone();
        for at in 0..keys.len() {
            let token = provider(&keys[at..])["experimental_bearer_token"].clone();
            assert_eq!(token.as_str(), Some(keys[at].1));
        }
        assert_eq!(provider(&keys)["base_url"].as_str(), Some(ARK_URL));
        assert_eq!(config(&keys)["model"].as_str(), Some(ARK_MODEL));
        let own = [keys[0], ("CODEX_MODEL", "m"), ("CODEX_BASE_URL", "http://own")];
        assert_eq!(provider(&own)["base_url"].as_str(), Some("http://own"));
        assert_eq!(config(&own)["model"].as_str(), Some("m"));
    }

    #[test]
    fn a_key_of_openai_is_for_openai() {
        let config = config(&[("OPENAI_API_KEY", "o")]);
        let url = config["model_providers"][PROVIDER]["base_url"].as_str();
        assert_eq!(url, Some(OPENAI_URL));
        assert!(!config.contains_key("model"));
    }

    #[test]
    fn a_whole_file_is_stronger_and_must_be_sound() {
        let whole = [("CODEX_CONFIG_TOML", "model = 'x'"), ("CODEX_API_KEY", "c")];
        let files = read(&whole).unwrap();
        assert_eq!(files.len(), 1);
        assert!(files[0].whole && files[0].content == "model = 'x'");
        let error = read(&[("CODEX_CONFIG_TOML", "a = 1\nkey = 'secret' x")]).unwrap_err();
        assert!(error.contains("CODEX_CONFIG_TOML") && error.contains("line 2"), "{error}");
        assert!(!error.contains("secret"), "{error}");
    }

    #[test]
    fn a_catalogue_is_a_path_or_becomes_a_file() {
        let key = ("CODEX_API_KEY", "c");
        let path = config(&[key, ("CODEX_MODEL_CATALOG_JSON", "/models.json")]);
        assert_eq!(path["model_catalog_json"].as_str(), Some("/models.json"));
        let files = read(&[key, ("CODEX_MODEL_CATALOG_JSON", "{\"models\": []}")]).unwrap();
        assert_eq!(files[0].path, Path::new(CATALOGUE));
        assert!(files[1].content.contains("/home/me/.codex/model-catalog.json"));
        let error = read(&[key, ("CODEX_MODEL_CATALOG_JSON", "{")]).unwrap_err();
        assert!(error.contains("CODEX_MODEL_CATALOG_JSON"), "{error}");
    }
}
