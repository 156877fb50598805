//! The clock of DOS, in which a zip counts: two-second steps from 1980 to 2107.

const FIRST: i64 = 315_532_800;
const LAST: i64 = 4_354_819_198;

/// A moment as time and date fields, in UTC; what lies outside is moved to the nearest end.
pub(super) fn dos_time(seconds: i64) -> (u16, u16) {
    let seconds = seconds.clamp(FIRST, LAST);
    let (days, rest) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, day) = civil(days);
    let time = (rest / 3600) << 11 | (rest / 60 % 60) << 5 | (rest % 60 / 2);
    let date = (year - 1980) << 9 | month << 5 | day;
    (u16::try_from(time).unwrap_or(0), u16::try_from(date).unwrap_or(0))
}

/// Year, month and day of a day counted from 1970. Years are taken from March, so that a leap day ends one.
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(seconds: i64) -> (u16, u16, u16, u16, u16, u16) {
        let (time, date) = dos_time(seconds);
        ((date >> 9) + 1980, date >> 5 & 15, date & 31, time >> 11, time >> 5 & 63, (time & 31) * 2)
    }

    #[test]
    fn moments_become_fields() {
        assert_eq!(parts(1_709_210_096), (2024, 2, 29, 12, 34, 56));
        assert_eq!(parts(951_868_799), (2000, 2, 29, 23, 59, 58));
        assert_eq!(parts(0), (1980, 1, 1, 0, 0, 0));
        assert_eq!(parts(i64::MAX), (2107, 12, 31, 23, 59, 58));
    }
}
