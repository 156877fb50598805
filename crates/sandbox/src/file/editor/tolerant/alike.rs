//! How much two lines are alike.

/// Characters of a line that are compared.
const COMPARED: usize = 200;

/// From 0, nothing in common, to 1, the same; by the number of characters that must change.
pub(super) fn alike(one: &str, other: &str) -> f64 {
    let one: Vec<char> = one.trim().chars().take(COMPARED).collect();
    let other: Vec<char> = other.trim().chars().take(COMPARED).collect();
    let longer = one.len().max(other.len());
    if longer == 0 {
        return 1.0;
    }
    let changes = f64::from(distance(&one, &other));
    // Both are short, so their length is exact in 32 bits.
    1.0 - changes / f64::from(u32::try_from(longer).unwrap_or(u32::MAX))
}

fn distance(one: &[char], other: &[char]) -> u32 {
    let mut row: Vec<u32> = (0..).take(other.len() + 1).collect();
    for (i, left) in (1..).zip(one) {
        let mut diagonal = std::mem::replace(&mut row[0], i);
        for (j, right) in other.iter().enumerate() {
            let substituted = diagonal + u32::from(left != right);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn likeness_follows_the_number_of_changes() {
        assert!((alike("kitten", "sitting") - (1.0 - 3.0 / 7.0)).abs() < 1e-9);
        assert!((alike("  same ", "same") - 1.0).abs() < 1e-9);
        assert!((alike("", " ") - 1.0).abs() < 1e-9);
        assert!(alike("abc", "xyz").abs() < 1e-9);
    }
}
