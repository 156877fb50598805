//! The bytes a request's text stands for.

use atoll_api::file::FileContentEncoding;
use atoll_operation::Error;
use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// Takes what encoders of all kinds write: padding or none, stray bits at the end.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// Line breaks to put round a text.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Breaks {
    pub(super) leading: bool,
    pub(super) trailing: bool,
}

/// The bytes to write; line breaks are added to text only.
pub(super) fn bytes(
    content: String,
    encoding: FileContentEncoding,
    breaks: Breaks,
) -> Result<Vec<u8>, Error> {
    match encoding {
        FileContentEncoding::Utf8 => {
            let mut text = content;
            if breaks.leading {
                text.insert(0, '\n');
            }
            if breaks.trailing {
                text.push('\n');
            }
            Ok(text.into_bytes())
        }
        FileContentEncoding::Base64 => from_base64(content),
        FileContentEncoding::Raw => from_raw(&content),
    }
}

/// Bytes from base64 in either alphabet, broken into lines or not.
pub(super) fn from_base64(text: String) -> Result<Vec<u8>, Error> {
    let foreign = |byte: u8| byte.is_ascii_whitespace() || byte == b'-' || byte == b'_';
    let mut digits = text.into_bytes();
    if digits.iter().copied().any(foreign) {
        digits.retain(|byte| !byte.is_ascii_whitespace());
        for digit in &mut digits {
            *digit = match *digit {
                b'-' => b'+',
                b'_' => b'/',
                other => other,
            };
        }
    }
    LENIENT
        .decode(&digits)
        .map_err(|error| Error::field("content", "base64", format!("is not valid base64: {error}")))
}

fn from_raw(text: &str) -> Result<Vec<u8>, Error> {
    text.chars()
        .enumerate()
        .map(|(position, char)| {
            u8::try_from(char).map_err(|_| {
                Error::field(
                    "content",
                    "raw",
                    format!(
                        "has {char:?} as character {position}, and raw content holds one byte per character, U+0000 to U+00FF; send text as utf-8, other bytes as base64"
                    ),
                )
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: Breaks = Breaks { leading: true, trailing: true };

    #[test]
    fn base64_is_taken_in_every_common_form() {
        for text in ["+/8=", "-_8=", "+/8", "-_8", " +/\r\n8 =\n", "+/9="] {
            let read = bytes(text.to_owned(), FileContentEncoding::Base64, BOTH).unwrap();
            assert_eq!(read, [0xfb, 0xff], "{text:?}");
        }
        assert_eq!(from_base64(String::new()).unwrap(), b"");
        for text in ["a", "####", "YQ==YQ==", "é"] {
            let error = from_base64(text.to_owned()).unwrap_err();
            assert_eq!(error.fields()[0].path, ["content"], "{text:?}");
        }
    }

    #[test]
    fn raw_is_a_byte_per_character() {
        let read = bytes("\0aÿ".to_owned(), FileContentEncoding::Raw, BOTH).unwrap();
        assert_eq!(read, [0, b'a', 0xff]);
        let error = bytes("a€".to_owned(), FileContentEncoding::Raw, BOTH).unwrap_err();
        assert!(error.message().contains("character 1"), "{}", error.message());
    }

    #[test]
    fn line_breaks_go_round_text() {
        let text = |breaks| bytes("é".to_owned(), FileContentEncoding::Utf8, breaks).unwrap();
        assert_eq!(text(BOTH), "\né\n".as_bytes());
        assert_eq!(text(Breaks::default()), "é".as_bytes());
    }
}
