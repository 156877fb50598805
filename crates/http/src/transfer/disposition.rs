//! `Content-Disposition` both ways: the name a form gives its file, and the name an answer asks to be saved under.

use axum::http::HeaderValue;

/// The parameters behind the first word of a header, names in lower case: `form-data; name="a"; filename="b"`.
///
/// Bytes that are no UTF-8 become U+FFFD. In quotes a backslash escapes a quote or another backslash and is itself
/// otherwise: some clients write Windows paths.
pub(super) fn parameters(value: &[u8]) -> Vec<(String, String)> {
    let value = String::from_utf8_lossy(value);
    let mut parameters = Vec::new();
    let mut rest = value.split_once(';').map_or("", |(_, rest)| rest);
    while let Some((name, after)) = rest.split_once('=') {
        let name = name.trim_matches(|char: char| char == ';' || char.is_ascii_whitespace());
        let after = after.trim_start();
        let text = if let Some(quoted) = after.strip_prefix('"') {
            let (text, behind) = unquote(quoted);
            rest = behind;
            text
        } else {
            let (text, behind) = after.split_once(';').unwrap_or((after, ""));
            rest = behind;
            text.trim().to_owned()
        };
        parameters.push((name.to_ascii_lowercase(), text));
    }
    parameters
}

/// The text up to the closing quote, and what follows it.
fn unquote(quoted: &str) -> (String, &str) {
    let mut text = String::new();
    let mut chars = quoted.char_indices().peekable();
    while let Some((at, char)) = chars.next() {
        match char {
            '"' => return (text, &quoted[at + 1..]),
            '\\' if chars.peek().is_some_and(|(_, next)| matches!(next, '"' | '\\')) => {
                text.extend(chars.next().map(|(_, escaped)| escaped));
            }
            _ => text.push(char),
        }
    }
    (text, "")
}

/// The parameter of this name.
pub(super) fn parameter<'a>(parameters: &'a [(String, String)], name: &str) -> Option<&'a str> {
    parameters.iter().find(|(known, _)| known == name).map(|(_, text)| text.as_str())
}

/// The file name among a part's parameters. The extended form wins: it says how it is encoded.
pub(super) fn filename(parameters: &[(String, String)]) -> Option<String> {
    let extended = parameter(parameters, "filename*").and_then(decode_extended);
    extended.or_else(|| parameter(parameters, "filename").map(str::to_owned))
}

/// The text of `UTF-8'language'percent-encoded`.
fn decode_extended(value: &str) -> Option<String> {
    let mut fields = value.splitn(3, '\'');
    let charset = fields.next()?;
    let (_language, encoded) = (fields.next()?, fields.next()?);
    if !charset.eq_ignore_ascii_case("utf-8") {
        return None;
    }
    let mut bytes = Vec::with_capacity(encoded.len());
    let mut rest = encoded.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let escaped = after.get(..2).filter(|_| byte == b'%');
        let escaped = escaped.and_then(|digits| std::str::from_utf8(digits).ok());
        let escaped = escaped.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(escaped.unwrap_or(byte));
        rest = if escaped.is_some() { &after[2..] } else { after };
    }
    String::from_utf8(bytes).ok()
}

/// How an answer asks to be saved or shown.
pub(super) fn header(filename: Option<&str>, inline: bool) -> Option<HeaderValue> {
    let mut value = if inline { "inline" } else { "attachment" }.to_owned();
    if let Some(filename) = filename {
        // What quotes, paths or old clients could stumble over is replaced; the exact name follows for the others.
        let plain = |char: char| (' '..='~').contains(&char) && !"\"\\/%".contains(char);
        let safe: String =
            filename.chars().map(|char| if plain(char) { char } else { '_' }).collect();
        value.push_str(&format!("; filename=\"{safe}\""));
        if safe != filename {
            value.push_str("; filename*=UTF-8''");
            for byte in filename.bytes() {
                if byte.is_ascii_alphanumeric() || b"-._~!#$&+^`|".contains(&byte) {
                    value.push(char::from(byte));
                } else {
                    value.push_str(&format!("%{byte:02X}"));
                }
            }
        }
    }
    HeaderValue::from_str(&value).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_clients_write_them() {
        for (header, name, file) in [
            (r#"form-data; name="path""#, Some("path"), None),
            (r#"form-data; name="file"; filename="a b.txt""#, Some("file"), Some("a b.txt")),
            ("form-data; name=file; filename=a.txt", Some("file"), Some("a.txt")),
            (r#"form-data;NAME="f";FileName="x=1;y.txt""#, Some("f"), Some("x=1;y.txt")),
            (r#"form-data; name="f"; filename="a\"b\\c\d""#, Some("f"), Some(r#"a"b\c\d"#)),
            (r#"form-data; name="f"; filename="""#, Some("f"), Some("")),
            ("form-data; name=\"f\"; filename=\"é.txt\"", Some("f"), Some("é.txt")),
            (
                "form-data; name=f; filename=\"?.txt\"; filename*=utf-8''%C3%A9.txt",
                Some("f"),
                Some("é.txt"),
            ),
            ("form-data; name=f; filename*=utf-8'en'%e2%82%ac%zz", Some("f"), Some("€%zz")),
            ("form-data; name=f; filename=x; filename*=latin1''%e9", Some("f"), Some("x")),
            ("form-data; filename=\"open", None, Some("open")),
            ("form-data", None, None),
            ("", None, None),
        ] {
            let parameters = parameters(header.as_bytes());
            assert_eq!(parameter(&parameters, "name"), name, "{header}");
            assert_eq!(filename(&parameters).as_deref(), file, "{header}");
        }
        let lossy = parameters(b"form-data; name=\"\xff\"");
        assert_eq!(parameter(&lossy, "name"), Some("\u{fffd}"));
    }

    #[test]
    fn a_name_to_save_under_cannot_break_out_of_its_header() {
        for (name, expected) in [
            ("a b.txt", "attachment; filename=\"a b.txt\""),
            ("é.txt", "attachment; filename=\"_.txt\"; filename*=UTF-8''%C3%A9.txt"),
            (
                "a\"; x=\"\r\nb",
                "attachment; filename=\"a_; x=___b\"; filename*=UTF-8''a%22%3B%20x%3D%22%0D%0Ab",
            ),
            ("50%", "attachment; filename=\"50_\"; filename*=UTF-8''50%25"),
        ] {
            assert_eq!(header(Some(name), false).unwrap(), expected);
        }
        assert_eq!(header(None, true).unwrap(), "inline");
    }

    #[test]
    fn what_is_written_can_be_read() {
        for name in ["plain.txt", "é \u{1f600}\".txt", "a'b''c%41.txt", "\u{7f}\u{1}"] {
            let header = header(Some(name), false).unwrap();
            assert_eq!(filename(&parameters(header.as_bytes())).as_deref(), Some(name));
        }
    }
}
