//! Notebooks: text as it is, code and what it printed in blocks.

use serde_json::Value;

use crate::document::Markdown;
use crate::error::ConvertError;
use crate::kind::Kind;
use crate::page::Page;

/// Characters of one output; long ones are logs nobody reads here.
const OUTPUT: usize = 20_000;

/// Converts a notebook.
pub(crate) fn convert(text: &str, room: u64) -> Result<Markdown, ConvertError> {
    let notebook: Value =
        serde_json::from_str(text).map_err(|error| ConvertError::broken("notebook", error))?;
    let cells = notebook.get("cells").and_then(Value::as_array);
    let cells = cells.ok_or_else(|| ConvertError::broken("notebook", "it has no cells"))?;
    let metadata = notebook.get("metadata");
    let language = metadata
        .and_then(|metadata| metadata.pointer("/kernelspec/language"))
        .or_else(|| metadata.and_then(|metadata| metadata.pointer("/language_info/name")))
        .and_then(Value::as_str)
        .unwrap_or("python");
    let mut page = Page::new(room);
    for cell in cells {
        let source = joined(cell.get("source"));
        match cell.get("cell_type").and_then(Value::as_str) {
            Some("markdown" | "raw") => page.block(&source)?,
            _ if source.trim().is_empty() => {}
            _ => page.code(language, &source)?,
        }
        for output in cell.get("outputs").and_then(Value::as_array).into_iter().flatten() {
            show(&mut page, output)?;
        }
    }
    let title = metadata.and_then(|metadata| metadata.get("title")).and_then(Value::as_str);
    Ok(Markdown::new(Kind::Notebook, page.finish())
        .titled(title.map(str::to_owned))
        .with("language", Some(language))
        .with("cells", Some(cells.len())))
}

fn show(page: &mut Page, output: &Value) -> Result<(), ConvertError> {
    let data = output.get("data");
    let of = |name: &str| data.and_then(|data| data.get(name));
    if let Some(text) = output.get("text").or_else(|| of("text/plain")) {
        let text = joined(Some(text));
        let short: String = text.chars().take(OUTPUT).collect();
        let more = if short.len() < text.len() { "\n…" } else { "" };
        if !short.trim().is_empty() {
            page.code("", &format!("{short}{more}"))?;
        }
    } else if let Some(markdown) = of("text/markdown") {
        page.block(&joined(Some(markdown)))?;
    }
    if let Some(name) = output.get("ename").and_then(Value::as_str) {
        let value = output.get("evalue").and_then(Value::as_str).unwrap_or_default();
        page.code("", &format!("{name}: {value}"))?;
    }
    for (media_type, _) in data.and_then(Value::as_object).into_iter().flatten() {
        if media_type.starts_with("image/") {
            page.block(&format!("*[picture: {media_type}]*"))?;
        }
    }
    Ok(())
}

/// Text that notebooks write as one string or as a list of lines.
fn joined(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(lines)) => lines.iter().filter_map(Value::as_str).collect(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_and_their_outputs_are_shown_in_order() {
        let text = r##"{"cells": [
            {"cell_type": "markdown", "source": ["# Title\n", "words"]},
            {"cell_type": "code", "source": "print(1)", "outputs": [
                {"output_type": "stream", "text": ["1\n"]},
                {"output_type": "display_data", "data": {"image/png": "AAAA", "text/plain": "<Figure>"}},
                {"output_type": "error", "ename": "ValueError", "evalue": "no"}]}],
            "metadata": {"kernelspec": {"language": "python"}}, "nbformat": 4}"##;
        assert_eq!(
            convert(text, 10_000).unwrap().text,
            "# Title\nwords\n\n```python\nprint(1)\n```\n\n```\n1\n```\n\n```\n<Figure>\n```\n\n*[picture: image/png]*\n\n```\nValueError: no\n```"
        );
        assert!(convert("{\"cells\": 1}", 100).is_err() && convert("{\"cells\"", 100).is_err());
    }
}
