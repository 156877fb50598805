//! What kernels say, read with forgiveness: fields that are missing or of another shape count as not said.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::output::Rich;

/// A kernel's answer to a request.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Reply {
    /// `ok`, `error` or `aborted`.
    pub(crate) status: String,
    pub(crate) execution_count: Option<u64>,
    pub(crate) ename: String,
    pub(crate) evalue: String,
    pub(crate) traceback: Vec<String>,
    pub(crate) payload: Vec<Payload>,
    pub(crate) language_info: Language,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Language {
    pub(crate) name: String,
}

/// Something to be shown beside the outputs, such as the answer to `print?`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Payload {
    pub(crate) source: String,
    pub(crate) data: Map<String, Value>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct Status {
    pub(crate) execution_state: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct Count {
    pub(crate) execution_count: Option<u64>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct Stream {
    pub(crate) name: String,
    pub(crate) text: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct Clear {
    pub(crate) wait: bool,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct Failure {
    pub(crate) ename: String,
    pub(crate) evalue: String,
    pub(crate) traceback: Vec<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Bundle {
    data: Map<String, Value>,
    metadata: Map<String, Value>,
    execution_count: Option<u64>,
    transient: Transient,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Transient {
    display_id: Option<String>,
}

/// A kernel's words; what does not fit counts as not said.
pub(crate) fn read<'a, T: Deserialize<'a> + Default>(content: &'a [u8]) -> T {
    serde_json::from_slice(content).unwrap_or_else(|error| {
        tracing::debug!(%error, "a kernel's message could not be read");
        T::default()
    })
}

pub(crate) fn rich(content: &[u8]) -> Rich {
    let Bundle { data, metadata, execution_count, transient } = read(content);
    Rich { data, metadata, execution_count, display_id: transient.display_id }
}

/// What can be read of a stream's chunk whose middle is missing: its beginning and its end. Kernels write the text
/// last.
pub(crate) fn read_ends(head: &[u8], tail: &[u8]) -> (Stream, String) {
    // At most an escaped pair of surrogates, or a character of four bytes, lies across a cut.
    const LONGEST: usize = 12;
    let head = (0..=LONGEST.min(head.len())).find_map(|missing| {
        let read = head.get(..head.len() - missing).unwrap_or_default();
        serde_json::from_slice(&[read, b"\"}"].concat()).ok()
    });
    let tail = (0..=LONGEST.min(tail.len())).find_map(|missing| {
        let read = tail.get(missing..).unwrap_or_default();
        serde_json::from_slice(&[b"{\"text\":\"", read].concat()).ok()
    });
    let head = head.unwrap_or_else(|| Stream { name: "stdout".to_owned(), text: String::new() });
    (head, tail.map(|Stream { text, .. }| text).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_ends_of_a_chunk_are_read_wherever_it_was_cut() {
        let text = "aé\n\u{1}😀b\"\\";
        let whole = json!({"name": "stderr", "text": text}).to_string();
        for cut in [whole.clone(), whole.replace('😀', "\\ud83d\\ude00")] {
            let cut = cut.as_bytes();
            let start = 26;
            for position in start..cut.len() - 2 {
                let (head, tail) = read_ends(&cut[..position], &cut[position..]);
                assert_eq!(head.name, "stderr");
                assert!(text.starts_with(&head.text), "{:?}", head.text);
                assert!(tail.ends_with('\\') || position > cut.len() - 6, "{tail:?}");
            }
        }
    }
}
