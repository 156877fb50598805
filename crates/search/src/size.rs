//! Sizes as people write them: `500K`, `1M`, `2G`, `1.5M`, `1MB`, `4096`.

use crate::error::{Argument, SearchError};

/// Reads a size in bytes. Units count in steps of 1024.
pub fn parse_size(text: &str) -> Result<u64, SearchError> {
    read(text.trim()).ok_or_else(|| {
        Argument::FileSize.refuse(format!(
            "must be a size such as 500K, 1M, 2G, or a number of bytes, not {text:?}"
        ))
    })
}

fn read(text: &str) -> Option<u64> {
    let digits = text.find(|character: char| !character.is_ascii_digit() && character != '.');
    let (number, unit) = text.split_at(digits.unwrap_or(text.len()));
    let shift = match unit.trim_start().to_ascii_uppercase().as_str() {
        "" | "B" => 0,
        "K" | "KB" | "KIB" => 10,
        "M" | "MB" | "MIB" => 20,
        "G" | "GB" | "GIB" => 30,
        "T" | "TB" | "TIB" => 40,
        _ => return None,
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || number.ends_with('.') || fraction.len() > 9 {
        return None;
    }
    let whole = whole.parse::<u64>().ok()?.checked_mul(1 << shift)?;
    if fraction.is_empty() {
        return Some(whole);
    }
    let parts = fraction.parse::<u128>().ok()? << shift;
    let of = 10_u128.pow(u32::try_from(fraction.len()).ok()?);
    whole.checked_add(u64::try_from(parts / of).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_in_every_form() {
        for (text, expected) in [
            ("0", 0),
            ("4096", 4096),
            ("500K", 500 << 10),
            ("1M", 1 << 20),
            ("2G", 2 << 30),
            ("1.5M", 3 << 19),
            ("1MB", 1 << 20),
            ("1 mib", 1 << 20),
            (" 10k ", 10 << 10),
            ("0.5K", 512),
            ("1T", 1 << 40),
        ] {
            assert_eq!(parse_size(text).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn anything_else_is_refused_with_the_form() {
        for text in [
            "",
            "large",
            "-1",
            "1X",
            "M",
            "1.M",
            ".5M",
            "1.2.3",
            "1e6",
            "99999999999999T",
            "1.0000000001",
        ] {
            let error = parse_size(text).unwrap_err().to_string();
            assert!(error.contains("500K"), "{text}: {error}");
        }
    }
}
