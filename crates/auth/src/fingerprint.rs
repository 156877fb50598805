//! What is remembered of a secret: its SHA-256. Enough to recognise it, not enough to use it.

use std::fmt;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest::{SHA256, digest};

/// The SHA-256 of a secret.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Fingerprint([u8; 32]);

impl Fingerprint {
    pub(crate) fn of(secret: &[u8]) -> Self {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(digest(&SHA256, secret).as_ref());
        Self(bytes)
    }

    /// Reads 64 hexadecimal digits.
    pub(crate) fn from_hex(text: &str) -> Option<Self> {
        let digits = text.as_bytes();
        let mut bytes = [0; 32];
        if digits.len() != 64 {
            return None;
        }
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
            *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
        }
        // `from_str_radix` takes a sign too.
        digits.iter().all(u8::is_ascii_hexdigit).then_some(Self(bytes))
    }

    /// Compares in a time that says nothing about where the two differ.
    pub(crate) fn is(&self, other: &Self) -> bool {
        verify_slices_are_equal(&self.0, &other.0).is_ok()
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Fingerprint(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_is_what_sha256sum_prints() {
        let hex = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let read = Fingerprint::from_hex(hex).unwrap();
        assert!(read.is(&Fingerprint::of(b"abc")));
        assert!(!read.is(&Fingerprint::of(b"abd")));
        for wrong in ["", "ba", &hex[1..], &format!("{hex}0"), &hex.replace("ba", "+a")] {
            assert!(Fingerprint::from_hex(wrong).is_none(), "{wrong}");
        }
    }
}
