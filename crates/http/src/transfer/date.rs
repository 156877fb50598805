//! Dates as HTTP writes them: `Sun, 06 Nov 1994 08:49:37 GMT`. The two older forms of the standard, which no client
//! has sent for decades, are as good as no date.

const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
/// The end of the year 9999.
const LAST: i64 = 253_402_300_799;
const DAY: i64 = 86_400;

/// A time in seconds since 1970; none outside the years the form can hold.
pub(super) fn format(seconds: i64) -> Option<String> {
    if !(0..=LAST).contains(&seconds) {
        return None;
    }
    let (days, time) = (seconds / DAY, seconds % DAY);
    let (year, month, day) = civil(days);
    let weekday = DAYS[usize::try_from(days % 7).ok()?];
    let name = MONTHS[usize::try_from(month - 1).ok()?];
    let (hour, minute, second) = (time / 3600, time / 60 % 60, time % 60);
    Some(format!("{weekday}, {day:02} {name} {year:04} {hour:02}:{minute:02}:{second:02} GMT"))
}

/// The seconds since 1970 of a date; the weekday is not compared.
pub(super) fn parse(text: &str) -> Option<i64> {
    let (weekday, rest) = text.split_once(", ")?;
    let fields: Vec<&str> = rest.split(' ').collect();
    let [day, month, year, time, "GMT"] = fields[..] else {
        return None;
    };
    let fields: Vec<&str> = time.split(':').collect();
    let [hour, minute, second] = fields[..] else {
        return None;
    };
    let month = MONTHS.iter().position(|name| *name == month)?;
    let (year, month) = (number(year, 4)?, i64::try_from(month).ok()? + 1);
    let days = days(year, month, number(day, 2)?);
    let (hour, minute, second) = (number(hour, 2)?, number(minute, 2)?, number(second, 2)?);
    let sane = DAYS.contains(&weekday)
        && hour < 24
        && minute < 60
        && second <= 60
        && civil(days) == (year, month, number(day, 2)?);
    sane.then_some(days * DAY + hour * 3600 + minute * 60 + second)
}

fn number(text: &str, digits: usize) -> Option<i64> {
    let plain = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| plain)
}

/// Days since 1970 of a date. Years are counted from March, so that the leap day is the last of its year; every 400 of
/// them have the same number of days.
pub(crate) fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// Year, month and day of days since 1970: [`days`] the other way.
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_written_as_the_standard_has_them() {
        for (seconds, text) in [
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
            (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
            (1_709_251_199, "Thu, 29 Feb 2024 23:59:59 GMT"),
            (LAST, "Fri, 31 Dec 9999 23:59:59 GMT"),
        ] {
            assert_eq!(format(seconds).as_deref(), Some(text));
            assert_eq!(parse(text), Some(seconds), "{text}");
        }
        assert_eq!(format(-1), None);
        assert_eq!(format(LAST + 1), None);
    }

    #[test]
    fn every_day_of_eight_centuries_is_read_as_it_was_written() {
        for day in 0..800 * 366 {
            let seconds = day * DAY + day % DAY;
            assert_eq!(parse(&format(seconds).unwrap()), Some(seconds));
        }
    }

    #[test]
    fn what_is_no_date_is_none() {
        for text in [
            "",
            "now",
            "Sun, 31 Feb 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 24:00:00 GMT",
            "Sun, 6 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 08:49:37 CET",
            "Son, 06 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov +994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
