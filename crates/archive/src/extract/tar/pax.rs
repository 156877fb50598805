//! Attributes that go before an entry's header, as POSIX has them: `length key=value` lines.

use super::sparse::{Map, Part};
use crate::directory::Moment;

/// What the attributes before one entry say, as far as it matters here.
#[derive(Debug, Default)]
pub(super) struct Attributes {
    pub(super) path: Option<Vec<u8>>,
    pub(super) target: Option<Vec<u8>>,
    pub(super) size: Option<u64>,
    pub(super) modified: Option<Moment>,
    pub(super) sparse: Sparse,
}

/// How GNU tar's three ways of keeping sparse files in POSIX archives announce themselves.
#[derive(Debug, Default)]
pub(super) struct Sparse {
    pub(super) major: Option<u64>,
    pub(super) size: Option<u64>,
    pub(super) name: Option<Vec<u8>>,
    /// The map, where the attributes hold it.
    pub(super) map: Map,
    /// Where a part begins whose length comes next.
    open: Option<u64>,
}

const DAMAGED: &str = "an entry's attributes are damaged";

impl Attributes {
    /// Reads attributes; later ones count.
    pub(super) fn read(&mut self, mut text: &[u8]) -> Result<(), &'static str> {
        while !text.is_empty() {
            let (key, value, rest) = record(text).ok_or(DAMAGED)?;
            text = rest;
            self.set(key, value).ok_or(DAMAGED)??;
        }
        Ok(())
    }

    /// Whether they say something about the entry's identity, which makes no sense for all entries that follow.
    pub(super) fn concern_one_entry(&self) -> bool {
        self.path.is_some()
            || self.target.is_some()
            || self.size.is_some()
            || self.sparse.is_present()
    }

    /// An empty value takes an attribute back.
    fn set(&mut self, key: &[u8], value: &[u8]) -> Option<Result<(), &'static str>> {
        let some = || (!value.is_empty()).then(|| value.to_vec());
        let number = || if value.is_empty() { Some(None) } else { decimal(value).map(Some) };
        let sparse = &mut self.sparse;
        match key {
            b"path" => self.path = some(),
            b"linkpath" => self.target = some(),
            b"size" => self.size = number()?,
            b"mtime" => self.modified = moment(value),
            b"GNU.sparse.major" => sparse.major = number()?,
            b"GNU.sparse.name" => sparse.name = some(),
            b"GNU.sparse.size" | b"GNU.sparse.realsize" => sparse.size = number()?,
            b"GNU.sparse.offset" => sparse.open = Some(decimal(value)?),
            b"GNU.sparse.numbytes" => {
                let part = Part { offset: sparse.open.take()?, length: decimal(value)? };
                return Some(sparse.map.add(part));
            }
            b"GNU.sparse.map" => return sparse.read_map(value),
            _ => {}
        }
        Some(Ok(()))
    }
}

impl Sparse {
    pub(super) fn is_present(&self) -> bool {
        self.size.is_some() || self.major.is_some() || !self.map.parts().is_empty()
    }

    /// `offset,length,offset,length,…`
    fn read_map(&mut self, text: &[u8]) -> Option<Result<(), &'static str>> {
        let mut numbers = text.split(|byte| *byte == b',').map(decimal);
        while let Some(offset) = numbers.next() {
            let part = Part { offset: offset?, length: numbers.next()?? };
            if let Err(reason) = self.map.add(part) {
                return Some(Err(reason));
            }
        }
        Some(Ok(()))
    }
}

/// The first line's key and value, and what follows it.
fn record(text: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let blank = text.iter().take(20).position(|byte| *byte == b' ')?;
    let length = usize::try_from(decimal(&text[..blank])?).ok()?;
    let line = text.get(blank + 1..length)?.strip_suffix(b"\n")?;
    let equals = line.iter().position(|byte| *byte == b'=')?;
    Some((&line[..equals], &line[equals + 1..], &text[length..]))
}

pub(super) fn decimal(text: &[u8]) -> Option<u64> {
    if text.is_empty() || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    str::from_utf8(text).ok()?.parse().ok()
}

/// Seconds, perhaps with a fraction. Odd ones are left out: no archive is worse for it.
fn moment(text: &[u8]) -> Option<Moment> {
    let text = str::from_utf8(text).ok()?;
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let seconds: i64 = whole.parse().ok()?;
    if seconds < 0 || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(Moment(seconds, 0));
    }
    let digits: String = fraction.chars().chain("000000000".chars()).take(9).collect();
    Some(Moment(seconds, digits.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(key: &str, value: &str) -> String {
        let rest = format!(" {key}={value}\n");
        let length =
            (1..rest.len() + 20).find(|length| length - length.to_string().len() == rest.len());
        format!("{}{rest}", length.unwrap())
    }

    #[test]
    fn attributes_are_read() {
        let text = [
            line("path", "a b=c\nd"),
            line("linkpath", "x"),
            line("linkpath", ""),
            line("size", "8589934592"),
            line("mtime", "12.5"),
            line("SCHILY.xattr.user.x", "\0\n7 "),
        ];
        let mut attributes = Attributes::default();
        attributes.read(text.concat().as_bytes()).unwrap();
        assert_eq!(attributes.path.as_deref(), Some(&b"a b=c\nd"[..]));
        assert_eq!(attributes.target, None);
        assert_eq!(attributes.size, Some(8 << 30));
        assert_eq!(attributes.modified, Some(Moment(12, 500_000_000)));
        assert!(!attributes.sparse.is_present());
    }

    #[test]
    fn damaged_attributes_are_refused() {
        for text in [
            "x",
            "5",
            "5 a=b",
            "99 a=b\n",
            "0 a=b\n",
            "3 \n",
            "6 ab\n\n",
            "-6 a=b\n",
            "6 a=b\nx",
            "99999999999999999999999 a=b\n",
            "9 size=x\n",
            "20 GNU.sparse.map=1\n",
        ] {
            assert!(Attributes::default().read(text.as_bytes()).is_err(), "{text:?}");
        }
    }
}
