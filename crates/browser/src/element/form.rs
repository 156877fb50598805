//! Forms: options, boxes, files, and many fields at once.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::element::actions::{PRESSES, arrived, out_of_frames};
use crate::element::engine::{ask, explain, milliseconds};
use crate::element::settle::Settling;
use crate::element::{ElementError, Target};
use crate::input::Button;
use crate::{Argument, Frame, Result, Tab, World};

/// An option of a `<select>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SelectBy {
    /// The one with this value, else with this label.
    Value(String),
    /// The one that reads so.
    Label(String),
    /// By position, from 0.
    Index(usize),
}

/// What is selected then.
#[derive(Debug, Clone, Deserialize)]
pub struct Selected {
    /// The options' values.
    pub values: Vec<String>,
    /// What they read.
    pub labels: Vec<String>,
}

/// What goes into a field of a form.
#[derive(Debug, Clone, PartialEq)]
pub enum FormValue {
    /// Text, or the option of a `<select>`.
    Text(String),
    /// A box checked or not.
    Checked(bool),
    /// Several options.
    Options(Vec<String>),
    /// Files.
    Files(Vec<PathBuf>),
}

/// A field of a form and what goes into it.
#[derive(Debug, Clone, PartialEq)]
pub struct FormItem {
    /// The field.
    pub target: Target,
    /// What goes into it.
    pub value: FormValue,
}

impl FormItem {
    /// Reads all items or, before anything is filled, says what is wrong with one.
    pub fn parse_all(items: &[Value]) -> Result<Vec<Self>, ElementError> {
        let parse = |(position, item)| {
            Self::parse(item).map_err(|reason| ElementError::FormItem { position, reason })
        };
        items.iter().enumerate().map(parse).collect()
    }

    fn parse(item: &Value) -> Result<Self, String> {
        let item = item.as_object().ok_or("it must be an object")?;
        let target = match (item.get("selector"), item.get("index")) {
            (Some(Value::String(selector)), _) => Target::Selector(selector.clone()),
            (None | Some(Value::Null), Some(index)) => {
                let index = index.as_u64().and_then(|index| usize::try_from(index).ok());
                Target::Index(index.ok_or("index must be a whole number from 0")?)
            }
            (Some(_), _) if item.get("selector") != Some(&Value::Null) => {
                return Err("selector must be a text".to_owned());
            }
            _ => return Err("it needs a selector or an index".to_owned()),
        };
        let texts = |values: &[Value]| -> Result<Vec<String>, String> {
            values
                .iter()
                .map(|value| text_of(value).ok_or("a list must hold texts".to_owned()))
                .collect()
        };
        if let Some(Value::Array(files)) = item.get("files") {
            let files = texts(files)?.into_iter().map(PathBuf::from).collect();
            return Ok(Self { target, value: FormValue::Files(files) });
        }
        let value = ["value", "text", "checked"].iter().find_map(|name| item.get(*name));
        let value = match value {
            Some(Value::Bool(checked)) => FormValue::Checked(*checked),
            Some(Value::Array(values)) => FormValue::Options(texts(values)?),
            Some(value) => FormValue::Text(
                text_of(value).ok_or("value must be a text, a number, true, false or a list")?,
            ),
            None => return Err("it needs a value (or text, checked, files)".to_owned()),
        };
        Ok(Self { target, value })
    }
}

fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// What a text says about a box, if it says anything.
fn truth_of(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "true" | "on" | "yes" | "1" | "checked" => Some(true),
        "false" | "off" | "no" | "0" | "unchecked" | "" => Some(false),
        _ => None,
    }
}

impl Tab {
    /// Chooses options of a `<select>`, waiting for them if they are still to come.
    pub async fn select_option(
        self: &Arc<Self>,
        target: &Target,
        options: &[SelectBy],
        timeout: Duration,
    ) -> Result<Selected> {
        self.begin_action();
        let (mut values, mut labels, mut indexes) = (Vec::new(), Vec::new(), Vec::new());
        for option in options {
            match option {
                SelectBy::Value(value) => values.push(value),
                SelectBy::Label(label) => labels.push(label),
                SelectBy::Index(index) => indexes.push(index),
            }
        }
        if options.is_empty() {
            let message = "nothing says which option: give a value, a label or an index".to_owned();
            return Err(ElementError::Unsuitable { message }.into());
        }
        let request = json!({ "values": values, "labels": labels, "indexes": indexes });
        let (_, told) = self.on(target, "select", request, timeout).await?;
        let none = Selected { values: Vec::new(), labels: Vec::new() };
        Ok(Selected::deserialize(&told.value).unwrap_or(none))
    }

    /// Checks or unchecks a box by pressing it, unless it is so already.
    pub async fn set_checked(
        self: &Arc<Self>,
        target: &Target,
        checked: bool,
        timeout: Duration,
    ) -> Result<()> {
        let settling = Settling::begin(self);
        let started = Instant::now();
        let left = || timeout.saturating_sub(started.elapsed());
        let request = json!({ "checked": checked });
        let (mut frame, mut told) = self.on(target, "aimAtBox", request.clone(), timeout).await?;
        for _ in 0..PRESSES {
            if told.value["done"] == true {
                return Ok(());
            }
            let point = out_of_frames(frame.clone(), &told, left()).await?;
            self.press_mouse(point, Button::Left, 1).await?;
            if arrived(Some(frame.clone())).await {
                break;
            }
            (frame, told) = self.on(target, "aimAtBox", request.clone(), left()).await?;
        }
        // Some pages set the box only after they have asked a server: that is waited for, but not for long.
        let patience = left().min(Duration::from_secs(2));
        let request = json!({
            "number": told.value["number"], "checked": checked, "pressed": true,
            "timeout": milliseconds(patience),
        });
        match ask(&frame, "aimAtBox", &request, patience).await {
            Ok(Err(refused)) if refused.kind != "stale" => Err(explain(refused, patience).into()),
            // A box that is gone, with its page or without, did what it was pressed for.
            _ => {
                settling.end().await;
                Ok(())
            }
        }
    }

    /// Gives files to a file input, seen or hidden.
    pub async fn upload_files(
        self: &Arc<Self>,
        target: &Target,
        files: &[PathBuf],
        timeout: Duration,
    ) -> Result<()> {
        for file in files {
            check_file(file).await?;
        }
        self.begin_action();
        let request = json!({ "count": files.len() });
        let (frame, told) = self.on(target, "fileInput", request, timeout).await?;
        give_files(&frame, &told.value["number"], files).await
    }

    /// Fills fields in turn, each in the way that suits it.
    pub async fn fill_form(self: &Arc<Self>, items: &[FormItem], timeout: Duration) -> Result<()> {
        let selectors: Vec<&str> = items
            .iter()
            .filter_map(|item| match &item.target {
                Target::Selector(selector) => Some(selector.as_str()),
                Target::Index(_) => None,
            })
            .collect();
        let request = json!({ "selectors": selectors });
        if let Err(refused) = ask(&self.main_frame(), "check", &request, timeout).await? {
            return Err(explain(refused, timeout).into());
        }
        for item in items {
            if let FormValue::Files(files) = &item.value {
                for file in files {
                    check_file(file).await?;
                }
            }
        }
        for (position, item) in items.iter().enumerate() {
            self.fill_item(item, timeout).await.map_err(|source| ElementError::Form {
                position,
                filled: position,
                source: Box::new(source),
            })?;
        }
        Ok(())
    }

    async fn fill_item(self: &Arc<Self>, item: &FormItem, timeout: Duration) -> Result<()> {
        let target = &item.target;
        match &item.value {
            FormValue::Checked(checked) => self.set_checked(target, *checked, timeout).await,
            FormValue::Files(files) => self.upload_files(target, files, timeout).await,
            FormValue::Options(options) => {
                let options: Vec<_> = options.iter().cloned().map(SelectBy::Value).collect();
                self.select_option(target, &options, timeout).await.map(drop)
            }
            FormValue::Text(text) => {
                let (frame, told) =
                    self.on(target, "fill", json!({ "text": text }), timeout).await?;
                match (told.value["need"].as_str(), truth_of(text)) {
                    (Some("check"), Some(checked)) => {
                        self.set_checked(target, checked, timeout).await
                    }
                    (Some("check"), None) => {
                        let message = format!("a box is checked with true or false, not {text:?}");
                        Err(ElementError::Unsuitable { message }.into())
                    }
                    (Some(_), _) => {
                        let file = PathBuf::from(text);
                        check_file(&file).await?;
                        give_files(&frame, &told.value["number"], &[file]).await
                    }
                    (None, _) => Ok(()),
                }
            }
        }
    }
}

/// Refuses a file that cannot be read, before the page is touched.
async fn check_file(path: &Path) -> Result<(), ElementError> {
    let refuse = |reason: String| ElementError::File { path: path.to_owned(), reason };
    if !path.is_absolute() {
        return Err(refuse("its path must be absolute".to_owned()));
    }
    match tokio::fs::File::open(path).await {
        Ok(_) => Ok(()),
        Err(error) => Err(refuse(error.to_string())),
    }
}

async fn give_files(frame: &Arc<Frame>, number: &Value, files: &[PathBuf]) -> Result<()> {
    let arguments = [Argument::from(number.clone())];
    let call = "(number) => atoll.element(number)";
    let input =
        frame.call_handle(call, &arguments, World::Utility, Duration::from_secs(10)).await?;
    let params = json!({ "objectId": input.object_id(), "files": files });
    input.session().command("DOM.setFileInputFiles", params).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_read_in_several_spellings() {
        let items = [
            json!({ "selector": "#a", "value": "x" }),
            json!({ "index": 3, "text": 7 }),
            json!({ "selector": "#b", "checked": true }),
            json!({ "selector": "#c", "value": ["1", "2"] }),
            json!({ "selector": null, "index": 0, "files": ["/tmp/f"] }),
        ];
        let items = FormItem::parse_all(&items).unwrap();
        assert_eq!(items[0].value, FormValue::Text("x".to_owned()));
        assert_eq!(
            items[1],
            FormItem { target: Target::Index(3), value: FormValue::Text("7".to_owned()) }
        );
        assert_eq!(items[2].value, FormValue::Checked(true));
        assert_eq!(items[3].value, FormValue::Options(vec!["1".to_owned(), "2".to_owned()]));
        assert_eq!(items[4].target, Target::Index(0));
    }

    #[test]
    fn an_item_that_makes_no_sense_is_named() {
        for (item, reason) in [
            (json!("x"), "object"),
            (json!({ "value": "x" }), "selector or an index"),
            (json!({ "selector": "#a" }), "needs a value"),
            (json!({ "selector": 5, "value": "x" }), "selector must be a text"),
            (json!({ "index": -1, "value": "x" }), "whole number"),
            (json!({ "selector": "#a", "value": {} }), "value must be"),
        ] {
            let good = json!({ "selector": "#a", "value": "" });
            let error = FormItem::parse_all(&[good, item]).unwrap_err().to_string();
            assert!(error.starts_with("item 1 ") && error.contains(reason), "{error}");
        }
    }
}
