//! What pages write to the console, throw and are warned of: the latest of it.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use atoll_cdp::Event;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::tab::Tab;

/// Characters of one message.
const MESSAGE: usize = 16_384;

/// A message of the console.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConsoleEntry {
    /// `log`, `warning`, `error`, `info`, `debug`, and so on.
    pub level: String,
    /// `console`, `exception`, or the part of the browser that said it, such as `network`.
    pub source: String,
    /// What it says.
    pub text: String,
    /// When, in milliseconds since 1970.
    pub timestamp: f64,
    /// The script or resource it came from, if known.
    pub url: Option<String>,
    /// Line there, from 1.
    pub line: Option<u64>,
    /// Column there, from 1.
    pub column: Option<u64>,
}

/// The latest messages of a tab.
#[derive(Debug)]
pub(crate) struct Console {
    entries: Mutex<VecDeque<ConsoleEntry>>,
    max: usize,
}

impl Console {
    pub(crate) fn new(max: usize) -> Self {
        Self { entries: Mutex::default(), max }
    }

    pub(crate) fn event(&self, event: &Event) {
        let params = &event.params;
        let entry = match event.method.as_str() {
            "Runtime.consoleAPICalled" => called(params),
            "Runtime.exceptionThrown" => thrown(params),
            _ => logged(&params["entry"]),
        };
        let mut entries = self.lock();
        if entries.len() >= self.max {
            entries.pop_front();
        }
        entries.push_back(entry);
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<ConsoleEntry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Tab {
    /// The latest messages of its console, the oldest first. They are forgotten if so wished.
    pub fn console(&self, clear: bool) -> Vec<ConsoleEntry> {
        let mut entries = self.console.lock();
        if clear { entries.drain(..).collect() } else { entries.iter().cloned().collect() }
    }
}

fn called(params: &Value) -> ConsoleEntry {
    let arguments = params["args"].as_array().map(Vec::as_slice).unwrap_or_default();
    let text: Vec<_> = arguments.iter().map(said).collect();
    let frame = &params["stackTrace"]["callFrames"][0];
    entry(params["type"].as_str().unwrap_or("log"), "console", &text.join(" "), params, frame)
}

fn thrown(params: &Value) -> ConsoleEntry {
    let details = &params["exceptionDetails"];
    let what = details["exception"]["description"].as_str();
    let text = match (what, details["text"].as_str()) {
        (Some(what), Some(text)) if text.starts_with("Uncaught") => format!("{text} {what}"),
        (Some(what), _) => what.to_owned(),
        (None, text) => {
            let value = &details["exception"];
            format!("{} {}", text.unwrap_or_default(), said(value))
        }
    };
    let at = match details["stackTrace"]["callFrames"].get(0) {
        Some(frame) => frame,
        None => details,
    };
    entry("error", "exception", &text, params, at)
}

fn logged(entry_params: &Value) -> ConsoleEntry {
    let text = entry_params["text"].as_str().unwrap_or_default();
    let level = entry_params["level"].as_str().unwrap_or("info");
    let source = entry_params["source"].as_str().unwrap_or("other");
    entry(level, source, text, entry_params, entry_params)
}

fn entry(level: &str, source: &str, text: &str, when: &Value, at: &Value) -> ConsoleEntry {
    let cut: String = text.chars().take(MESSAGE).collect();
    ConsoleEntry {
        level: level.to_owned(),
        source: source.to_owned(),
        text: cut,
        timestamp: when["timestamp"].as_f64().unwrap_or_default(),
        url: at["url"].as_str().filter(|url| !url.is_empty()).map(str::to_owned),
        line: at["lineNumber"].as_u64().map(|line| line + 1),
        column: at["columnNumber"].as_u64().map(|column| column + 1),
    }
}

/// An argument as the console shows it.
fn said(argument: &Value) -> String {
    let preview = &argument["preview"];
    match &argument["value"] {
        Value::String(text) => return text.clone(),
        Value::Null => {}
        value => return value.to_string(),
    }
    if let Some(text) = argument["unserializableValue"].as_str() {
        return text.to_owned();
    }
    if preview["properties"].is_array() && argument["subtype"] != "error" {
        return previewed(preview);
    }
    match (argument["description"].as_str(), argument["type"].as_str()) {
        (Some(text), _) => text.to_owned(),
        (None, Some("undefined")) => "undefined".to_owned(),
        (None, _) => "null".to_owned(),
    }
}

fn previewed(preview: &Value) -> String {
    let properties = preview["properties"].as_array().map(Vec::as_slice).unwrap_or_default();
    let is_list = preview["subtype"] == "array";
    let shown = properties.iter().map(|property| {
        let value = property["value"].as_str().unwrap_or("…");
        if is_list {
            value.to_owned()
        } else {
            format!("{}: {value}", property["name"].as_str().unwrap_or_default())
        }
    });
    let mut shown: Vec<_> = shown.collect();
    if preview["overflow"] == true {
        shown.push("…".to_owned());
    }
    let inner = shown.join(", ");
    if is_list { format!("[{inner}]") } else { format!("{{{inner}}}") }
}
