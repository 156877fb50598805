//! Values as Go writes them.

use crate::transfer::civil_days;

/// A time span: `500ms`, `1.5s`, `30s`, `1m30s`, `2h0m0s`.
pub(super) fn duration(milliseconds: u64) -> String {
    if milliseconds < 1000 {
        return if milliseconds == 0 { "0s".to_owned() } else { format!("{milliseconds}ms") };
    }
    let (seconds, rest) = (milliseconds / 1000, milliseconds % 1000);
    let fraction = format!(".{rest:03}");
    let fraction = fraction.trim_end_matches('0').trim_end_matches('.');
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match (hours, minutes) {
        (0, 0) => format!("{seconds}{fraction}s"),
        (0, _) => format!("{minutes}m{seconds}{fraction}s"),
        _ => format!("{hours}h{minutes}m{seconds}{fraction}s"),
    }
}

/// A mode from its octal digits: `-rw-r--r--`, `drwxr-xr-x`, `Lrwxrwxrwx`.
pub(super) fn mode(permissions: &str, is_directory: bool, is_link: bool) -> String {
    let bits = u32::from_str_radix(permissions, 8).unwrap_or(0);
    let mut text = String::new();
    let special = [
        ('d', is_directory && !is_link),
        ('L', is_link),
        ('u', bits & 0o4000 != 0),
        ('g', bits & 0o2000 != 0),
        ('t', bits & 0o1000 != 0),
    ];
    text.extend(special.iter().filter(|(_, set)| *set).map(|(letter, _)| letter));
    if text.is_empty() {
        text.push('-');
    }
    for (place, letter) in "rwxrwxrwx".chars().enumerate() {
        text.push(if bits & (0o400 >> place) == 0 { '-' } else { letter });
    }
    text
}

/// The seconds since 1970 of `2026-01-02T03:04:05.678Z`; 0 for what is no such time.
pub(super) fn unix_time(text: &str) -> i64 {
    let part = |range: std::ops::Range<usize>| text.get(range)?.parse::<i64>().ok();
    let read = || {
        let days = civil_days(part(0..4)?, part(5..7)?, part(8..10)?);
        Some(days * 86_400 + part(11..13)? * 3600 + part(14..16)? * 60 + part(17..19)?)
    };
    read().filter(|_| text.ends_with('Z')).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_spans_are_written_as_go_does() {
        for (milliseconds, text) in [
            (0, "0s"),
            (5, "5ms"),
            (1000, "1s"),
            (1500, "1.5s"),
            (1050, "1.05s"),
            (30_000, "30s"),
            (60_000, "1m0s"),
            (90_250, "1m30.25s"),
            (600_000, "10m0s"),
            (7_200_000, "2h0m0s"),
        ] {
            assert_eq!(duration(milliseconds), text);
        }
    }

    #[test]
    fn modes_are_written_as_go_does() {
        for (permissions, is_directory, is_link, text) in [
            ("644", false, false, "-rw-r--r--"),
            ("755", true, false, "drwxr-xr-x"),
            ("777", false, true, "Lrwxrwxrwx"),
            ("777", true, true, "Lrwxrwxrwx"),
            ("1777", true, false, "dtrwxrwxrwx"),
            ("4755", false, false, "urwxr-xr-x"),
            ("0", false, false, "----------"),
        ] {
            assert_eq!(mode(permissions, is_directory, is_link), text);
        }
    }

    #[test]
    fn times_are_seconds() {
        assert_eq!(unix_time("1970-01-01T00:00:01Z"), 1);
        assert_eq!(unix_time("2026-11-15T16:00:00.123456Z"), 1_794_758_400);
        assert_eq!(unix_time("yesterday"), 0);
    }
}
