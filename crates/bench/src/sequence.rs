//! The output of `seq`, made here again to compare with: every byte of a long output is known, so a byte lost, doubled
//! or out of place is found, and where.

use crate::Failure;

/// `1\n2\n3\n…`, read up to some byte.
#[derive(Debug)]
pub(crate) struct Sequence {
    /// The line being compared, with its end.
    line: Vec<u8>,
    /// Bytes of the line behind us.
    matched: usize,
    /// All bytes behind us.
    pub(crate) total: u64,
}

impl Sequence {
    pub(crate) fn new() -> Self {
        Self { line: b"1\n".to_vec(), matched: 0, total: 0 }
    }

    /// Goes on with these bytes, if they are the next ones.
    pub(crate) fn accept(&mut self, mut bytes: &[u8]) -> Result<(), Failure> {
        while !bytes.is_empty() {
            let expected = &self.line[self.matched..];
            let count = expected.len().min(bytes.len());
            if bytes[..count] != expected[..count] {
                let number = String::from_utf8_lossy(&self.line).trim_end().to_owned();
                return Err(format!(
                    "the output is wrong near byte {}, number {number}",
                    self.total
                )
                .into());
            }
            self.matched += count;
            self.total += count as u64;
            bytes = &bytes[count..];
            if self.matched == self.line.len() {
                self.matched = 0;
                self.next_line();
            }
        }
        Ok(())
    }

    fn next_line(&mut self) {
        let digits = self.line.len() - 1;
        for digit in self.line[..digits].iter_mut().rev() {
            if *digit < b'9' {
                *digit += 1;
                return;
            }
            *digit = b'0';
        }
        self.line.insert(0, b'1');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text() -> String {
        (1..2000).map(|number| format!("{number}\n")).collect()
    }

    #[test]
    fn the_sequence_is_accepted_however_it_is_split() {
        for size in [1, 3, 7, 1000] {
            let mut sequence = Sequence::new();
            for part in text().as_bytes().chunks(size) {
                sequence.accept(part).unwrap();
            }
            assert_eq!(sequence.total, text().len() as u64);
        }
    }

    #[test]
    fn a_byte_lost_or_doubled_is_found() {
        let text = text();
        for (from, to) in [("1000\n", "1000"), ("1000\n", "1000\n\n"), ("999\n", "")] {
            let broken = text.replacen(from, to, 1);
            assert!(Sequence::new().accept(broken.as_bytes()).is_err(), "{from:?} → {to:?}");
        }
    }
}
