//! Whether bytes are text, and what they are if not.

use atoll_operation::Error;
use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::Encoding;

use crate::file::fault::Attempt;

/// Bytes looked at to tell an encoding.
const SAMPLE: usize = 64 << 10;

const ADVICE: &str = "read it with base64: true, or download it with GET /v1/file/download";

/// UTF-8 text, byte for byte.
pub(in crate::file) fn decode(attempt: Attempt<'_>, bytes: Vec<u8>) -> Result<String, Error> {
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let bytes = error.as_bytes();
        let byte = bytes.get(at).copied().unwrap_or_default();
        let sample = bytes.get(at.saturating_sub(SAMPLE / 2)..).unwrap_or_default();
        let looks_like = foreign(bytes).unwrap_or_else(|| guess(sample));
        attempt
            .undecodable(&format!(
                "it is not UTF-8 text: byte 0x{byte:02x} at position {at}; it looks like {looks_like}; {ADVICE}"
            ))
            .with_hint(ADVICE)
    })
}

/// Refuses a file that begins with the mark of an encoding whose lines cannot be told by bytes.
pub(in crate::file) fn refuse_foreign(attempt: Attempt<'_>, start: &[u8]) -> Result<(), Error> {
    match foreign(start) {
        None => Ok(()),
        Some(name) => Err(attempt
            .undecodable(&format!("it is not UTF-8 text: it is marked as {name}; {ADVICE}"))
            .with_hint(ADVICE)),
    }
}

/// The encoding a byte order mark names, when it is another than UTF-8.
fn foreign(start: &[u8]) -> Option<&'static str> {
    match start {
        [0xff, 0xfe, 0, 0, ..] => Some("UTF-32LE"),
        [0, 0, 0xfe, 0xff, ..] => Some("UTF-32BE"),
        _ => match Encoding::for_bom(start)?.0 {
            encoding if encoding == encoding_rs::UTF_8 => None,
            encoding => Some(encoding.name()),
        },
    }
}

fn guess(bytes: &[u8]) -> &'static str {
    let sample = bytes.get(..SAMPLE).unwrap_or(bytes);
    if sample.contains(&0) {
        return "binary data";
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(sample, true);
    detector.guess(None, Utf8Detection::Deny).name()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn message(bytes: &[u8]) -> String {
        let attempt = Attempt::new("read", Path::new("/f"));
        let error = decode(attempt, bytes.to_vec()).unwrap_err();
        assert_eq!(error.code(), "file.decode_error");
        assert!(error.hint().unwrap().contains("base64"));
        error.message().to_owned()
    }

    #[test]
    fn the_encoding_of_what_is_no_utf8_is_named() {
        let latin = encoding_rs::WINDOWS_1252.encode("Les élèves français, déjà très fâchés").0;
        assert!(message(&latin).contains("windows-1252"), "{}", message(&latin));
        let japanese =
            encoding_rs::SHIFT_JIS.encode("これは日本語の文章です。よろしくお願いします。").0;
        assert!(message(&japanese).contains("Shift_JIS"), "{}", message(&japanese));
        assert!(message(b"\xff\xfeh\0i\0").contains("UTF-16LE"));
        assert!(message(b"\xfe\xff\0h\0i").contains("UTF-16BE"));
        assert!(message(b"\xff\xfe\0\0h\0\0\0").contains("UTF-32LE"));
        assert!(message(b"\x7fELF\x02\0\0\0\xff").contains("binary data"));
        assert!(message(b"abc\xe9").contains("byte 0xe9 at position 3"));
    }

    #[test]
    fn utf8_is_kept_byte_for_byte_with_its_mark() {
        let attempt = Attempt::new("read", Path::new("/f"));
        let text = "\u{feff}é\r\n\0";
        assert_eq!(decode(attempt, text.as_bytes().to_vec()).unwrap(), text);
        refuse_foreign(attempt, text.as_bytes()).unwrap();
    }
}
