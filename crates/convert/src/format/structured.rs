//! JSON and XML: shown as they are, laid out where they are one long line.

use serde_json::Value;

use crate::document::Markdown;
use crate::error::ConvertError;
use crate::kind::Kind;
use crate::page::Page;

/// A document of one line longer than this is laid out.
const LINE: usize = 200;

/// JSON.
pub(crate) fn json(text: &str, room: u64) -> Result<Markdown, ConvertError> {
    let mut page = Page::new(room);
    let one_long_line = text.len() > LINE && !text.trim().contains('\n');
    let laid_out = one_long_line
        .then(|| serde_json::from_str::<Value>(text).ok())
        .flatten()
        .and_then(|value| serde_json::to_string_pretty(&value).ok());
    page.code("json", laid_out.as_deref().unwrap_or(text.trim()))?;
    Ok(Markdown::new(Kind::Json, page.finish()))
}

/// XML. Entities it defines stay names: they are not replaced, so they cannot grow.
pub(crate) fn xml(text: &str, room: u64) -> Result<Markdown, ConvertError> {
    let mut page = Page::new(room);
    page.code("xml", text.trim())?;
    Ok(Markdown::new(Kind::Xml, page.finish()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_laid_out_only_if_it_is_one_long_line() {
        assert_eq!(
            json("{\"b\": 1,\n\"a\": 2}", 1000).unwrap().text,
            "```json\n{\"b\": 1,\n\"a\": 2}\n```"
        );
        let long = format!("{{\"b\": \"{}\", \"a\": [1]}}", "x".repeat(LINE));
        let text = json(&long, 1000).unwrap().text;
        assert!(text.contains("\n  \"a\": [\n    1\n  ]\n"), "{text}");
        // What is nested too deep for the parser, or broken, is shown as it is.
        let deep = "[".repeat(100_000);
        assert!(json(&deep, 1 << 20).unwrap().text.contains(&deep));
    }

    #[test]
    fn entities_are_not_replaced() {
        let bomb = "<!DOCTYPE x [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;\">]><x>&b;</x>";
        assert_eq!(xml(bomb, 1000).unwrap().text, format!("```xml\n{bomb}\n```"));
    }
}
