//! The part of a stream that an answer carries: all of it, or its two ends, without reading what is left out.

use std::ops::Range;

use atoll_process::{Log, cut_middle};

/// Bytes a character takes at most.
const WIDEST: usize = 4;
/// Bytes read beyond need, for control sequences that show as nothing.
const SLACK: usize = 64 << 10;

/// Text of a part of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Excerpt {
    pub(crate) text: String,
    /// Whether some of it was left out.
    pub(crate) cut: bool,
    /// Bytes at its beginning that are no longer kept.
    pub(crate) lost: u64,
}

/// What a caller is told of output that is gone.
pub(crate) fn loss(lost: u64) -> String {
    format!(
        "{lost} bytes at the beginning of the output were not kept: the disk has no room for them, or they are more than \
         output_kept_bytes of /v1/limits"
    )
}

/// Reads a part of a stream as text of at most `max_chars` characters and about `max_bytes` bytes.
pub(crate) fn excerpt(
    log: &Log,
    range: Range<u64>,
    max_chars: Option<usize>,
    max_bytes: usize,
    to_text: impl Fn(&[u8]) -> String,
) -> Excerpt {
    let length = usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(usize::MAX);
    let window = max_chars
        .and_then(|chars| chars.checked_mul(WIDEST))
        .map_or(max_bytes / 2, |bytes| bytes.saturating_add(SLACK).min(max_bytes / 2));
    let first = log.read(range.start, length.min(window.saturating_mul(2)));
    let lost = first.offset.saturating_sub(range.start);
    let kept = usize::try_from(range.end.saturating_sub(first.offset)).unwrap_or(usize::MAX);
    let bytes = first.bytes.get(..kept.min(first.bytes.len())).unwrap_or_default();
    if kept <= window.saturating_mul(2) {
        let text = to_text(bytes);
        let max = max_chars.unwrap_or(usize::MAX);
        return match cut_middle(&text, &text, text.len() as u64, max) {
            Some(cut) => Excerpt { text: cut, cut: true, lost },
            None => Excerpt { text, cut: false, lost },
        };
    }
    let head = to_text(bytes.get(..window).unwrap_or(bytes));
    let tail = log.read(range.end - window as u64, window);
    let tail = tail.bytes.get(character_start(&tail.bytes)..).map(&to_text).unwrap_or_default();
    let max = max_chars.unwrap_or(usize::MAX);
    let cut = cut_middle(&head, &tail, kept as u64, max);
    Excerpt { text: cut.unwrap_or_else(|| joined(&head, &tail, kept)), cut: true, lost }
}

/// Both ends whole: they are below the limit on characters, not on bytes.
fn joined(head: &str, tail: &str, total: usize) -> String {
    let left_out = total.saturating_sub(head.len() + tail.len());
    format!("{head}\n\n... [{left_out} bytes left out] ...\n\n{tail}")
}

/// The first byte that begins a character.
fn character_start(bytes: &[u8]) -> usize {
    bytes.iter().take(WIDEST).position(|byte| !(0x80..0xC0).contains(byte)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use atoll_process::{LogSettings, SpillBudget};

    use super::*;

    fn log(directory: &tempfile::TempDir, text: &str) -> Log {
        let settings = LogSettings {
            directory: directory.path().to_owned(),
            kept_bytes: 1 << 30,
            budget: SpillBudget::new(1 << 30),
        };
        let log = Log::new(settings);
        log.append(text.as_bytes());
        log
    }

    fn plain(bytes: &[u8]) -> String {
        String::from_utf8_lossy(bytes).into_owned()
    }

    #[test]
    fn short_output_is_whole_and_long_output_keeps_its_ends() {
        let directory = tempfile::tempdir().unwrap();
        let text = format!("HEAD{}TAIL", "é".repeat(2_000_000));
        let log = log(&directory, &text);
        let end = text.len() as u64;
        let whole = excerpt(&log, 0..end, None, 32 << 20, plain);
        assert!(whole.text == text && !whole.cut);
        let cut = excerpt(&log, 0..end, Some(100), 32 << 20, plain);
        assert!(
            cut.cut && cut.text.starts_with("HEADé") && cut.text.ends_with("éTAIL"),
            "{}",
            cut.text
        );
        assert!(!cut.text.contains('\u{fffd}'));
        assert!(cut.text.chars().count() < 160);
        let by_bytes = excerpt(&log, 0..end, None, 1 << 20, plain);
        assert!(by_bytes.cut && by_bytes.text.len() < 1_100_000);
        let part = excerpt(&log, 4..10, Some(100), 1 << 20, plain);
        assert_eq!(part.text, "ééé");
    }
}
