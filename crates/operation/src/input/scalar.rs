//! Scalars as lenient clients send them: numbers and booleans that may come as text.

use serde_json::Value;

/// A boolean, also as a word or as 0 and 1.
pub(super) fn boolean(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(boolean) => Some(*boolean),
        Value::Number(number) => match number.as_f64()? {
            1.0 => Some(true),
            0.0 => Some(false),
            _ => None,
        },
        Value::String(text) => match text.trim().to_ascii_lowercase().as_str() {
            "true" | "1" | "yes" | "y" | "on" | "t" => Some(true),
            "false" | "0" | "no" | "n" | "off" | "f" => Some(false),
            _ => None,
        },
        _ => None,
    }
}

/// A whole number, also as text or with a zero fraction.
pub(super) fn whole(value: &Value) -> Option<i128> {
    match value {
        Value::Number(number) => number
            .as_i64()
            .map(i128::from)
            .or_else(|| number.as_u64().map(i128::from))
            .or_else(|| number.as_f64().and_then(integral)),
        Value::String(text) => {
            let text = numeric(text)?;
            text.parse().ok().or_else(|| text.parse().ok().and_then(integral))
        }
        _ => None,
    }
}

/// A finite number, also as text.
pub(super) fn real(value: &Value) -> Option<f64> {
    let number = match value {
        Value::Number(number) => number.as_f64()?,
        Value::String(text) => numeric(text)?.parse().ok()?,
        _ => return None,
    };
    number.is_finite().then_some(number)
}

/// Text made of the characters of a number only: keeps `inf` and `nan` out of the parser.
fn numeric(text: &str) -> Option<&str> {
    let text = text.trim();
    text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte)).then_some(text)
}

fn integral(number: f64) -> Option<i128> {
    #[expect(clippy::cast_possible_truncation, reason = "whole and within the range of i128")]
    let whole = number as i128;
    (number.is_finite() && number.fract() == 0.0 && number.abs() < 1e30).then_some(whole)
}

/// A whole number as declared bounds are compared with.
pub(super) fn approximate(number: i128) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "declared bounds are far below 2^53")]
    let approximate = number as f64;
    approximate
}
