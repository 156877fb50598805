//! Bytes made text: by a byte order mark, by what the sender or the document says, by looking.

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8};

/// Bytes at the beginning in which a document may name its encoding.
const HEAD: usize = 2048;
/// Bytes that are looked at to guess an encoding.
const SAMPLE: usize = 256 << 10;

/// The text of these bytes. `declared` is a media type with its parameters.
pub(crate) fn decode<'a>(bytes: &'a [u8], declared: Option<&str>) -> Cow<'a, str> {
    if let Some((encoding, mark)) = Encoding::for_bom(bytes) {
        return encoding.decode_without_bom_handling(bytes.get(mark..).unwrap_or_default()).0;
    }
    let named = declared.and_then(parameter).or_else(|| in_document(bytes));
    let named = named.and_then(|label| Encoding::for_label(label.as_bytes()));
    // A wrong name is common, text that happens to be valid UTF-8 is not.
    if named.is_none_or(|encoding| encoding == UTF_8 || encoding.is_ascii_compatible())
        && let Ok(text) = std::str::from_utf8(bytes)
    {
        return Cow::Borrowed(text);
    }
    let encoding = named.filter(|encoding| *encoding != UTF_8).unwrap_or_else(|| guess(bytes));
    encoding.decode_without_bom_handling(bytes).0
}

fn guess(bytes: &[u8]) -> &'static Encoding {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(bytes.get(..SAMPLE).unwrap_or(bytes), true);
    detector.guess(None, Utf8Detection::Allow)
}

/// Whether bytes are text rather than something only programs read.
pub(crate) fn is_text(bytes: &[u8]) -> bool {
    if Encoding::for_bom(bytes).is_some() {
        return true;
    }
    let start = bytes.get(..8192).unwrap_or(bytes);
    let odd = |byte: &u8| *byte < 0x20 && !matches!(*byte, b'\t' | b'\n' | b'\r' | 0x0c | 0x1b);
    let odd = start.iter().filter(|byte| odd(byte)).count();
    !start.contains(&0) && odd * 100 <= start.len()
}

/// The `charset` of a media type.
fn parameter(media_type: &str) -> Option<String> {
    let parameters = media_type.split(';').skip(1);
    let mut named = parameters.filter_map(|parameter| parameter.split_once('='));
    let (_, value) = named.find(|(name, _)| name.trim().eq_ignore_ascii_case("charset"))?;
    Some(value.trim().trim_matches(['"', '\'']).to_owned())
}

/// The encoding that HTML (`<meta charset=…>`) or XML (`encoding="…"`) names.
fn in_document(bytes: &[u8]) -> Option<String> {
    let head = bytes.get(..HEAD).unwrap_or(bytes);
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    let rest = if head.trim_start().starts_with("<?xml") {
        let declaration = head.split("?>").next().unwrap_or_default();
        declaration.split_once("encoding")?.1.to_owned()
    } else {
        let meta = head.split("<meta").skip(1).find_map(|tag| {
            tag.split('>').next().and_then(|tag| tag.split_once("charset")).map(|(_, rest)| rest)
        });
        meta?.to_owned()
    };
    let value = rest.trim_start().strip_prefix('=')?.trim_start();
    let value = value.trim_start_matches(['"', '\'']);
    let end = value.find(|c: char| !(c.is_ascii_alphanumeric() || "-_:.".contains(c)));
    value.get(..end.unwrap_or(value.len())).filter(|name| !name.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_encoding_is_found_by_mark_name_or_look() {
        assert_eq!(decode("h\u{e9}".as_bytes(), None), "h\u{e9}");
        assert_eq!(
            decode(b"h\xe9llo w\xf6rld", Some("text/plain; charset=latin1")),
            "h\u{e9}llo w\u{f6}rld"
        );
        assert_eq!(decode(b"\xff\xfeh\0\xe9\0", None), "h\u{e9}");
        let page = b"<html><meta http-equiv=x content='text/html; charset=windows-1251'>\xcf\xf0";
        assert!(decode(page, None).ends_with("\u{41f}\u{440}"));
        let xml = b"<?xml version='1.0' encoding='iso-8859-1'?><a>\xe9</a>";
        assert!(decode(xml, None).contains('\u{e9}'));
        let japanese = b"\x82\xb1\x82\xea\x82\xcd\x93\xfa\x96\x7b\x8c\xea\x82\xcc\x95\xb6\x8f\xcd\x82\xc5\x82\xb7";
        assert_eq!(decode(japanese, None), "これは日本語の文章です");
        // Valid UTF-8 counts more than a wrong name.
        assert_eq!(decode("é".as_bytes(), Some("text/html; charset=latin1")), "é");
    }

    #[test]
    fn bytes_that_are_no_text_are_told_from_text() {
        assert!(is_text(b"a\tb\n") && is_text(b"") && is_text("é".as_bytes()));
        assert!(!is_text(b"a\0b") && !is_text(&[1, 2, 3, 4, 5, 6]));
    }
}
