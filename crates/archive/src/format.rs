//! The formats, and how to tell one from the bytes at its beginning.

use std::fmt;

/// An archive's format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// tar, not compressed.
    Tar,
    /// tar, compressed with gzip.
    TarGz,
    /// zip.
    Zip,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tar => "tar",
            Self::TarGz => "tar.gz",
            Self::Zip => "zip",
        })
    }
}

/// Bytes of a tar block, and the most that detection looks at.
pub(crate) const BLOCK: usize = 512;

/// Things people send that are no archive of ours, by their first bytes.
const FOREIGN: &[(&[u8], &str)] = &[
    (b"\xfd7zXZ\0", "xz data"),
    (b"BZh", "bzip2 data"),
    (b"\x28\xb5\x2f\xfd", "zstd data"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"Rar!", "a RAR archive"),
    (b"!<arch>\n", "an ar archive"),
    (b"070701", "a cpio archive"),
];

impl Format {
    /// Tells the format by an archive's first bytes: 512 of them, or all there are.
    pub(crate) fn detect(head: &[u8]) -> Result<Self, String> {
        if head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06") {
            return Ok(Self::Zip);
        }
        if head.starts_with(b"\x1f\x8b") {
            return Ok(Self::TarGz);
        }
        if <&[u8; BLOCK]>::try_from(head).is_ok_and(begins_tar) {
            return Ok(Self::Tar);
        }
        let found = match FOREIGN.iter().find(|(magic, _)| head.starts_with(magic)) {
            Some((_, name)) => name,
            None if head.is_empty() => "empty",
            None => "something else",
        };
        Err(format!("it is {found}; send tar, tar.gz or zip"))
    }
}

/// Whether a tar can begin with this block: a sound header, or the zeros that an empty archive consists of.
pub(crate) fn begins_tar(block: &[u8; BLOCK]) -> bool {
    is_zero(block) || has_sound_checksum(block)
}

pub(crate) fn is_zero(block: &[u8]) -> bool {
    block.iter().all(|byte| *byte == 0)
}

/// A tar header adds up to the number it carries. Some old programs added the bytes as signed ones.
pub(crate) fn has_sound_checksum(block: &[u8; BLOCK]) -> bool {
    let counted = || {
        let blanks = std::iter::repeat_n(b' ', 8);
        block[..148].iter().copied().chain(blanks).chain(block[156..].iter().copied())
    };
    let unsigned: u32 = counted().map(u32::from).sum();
    let signed: i32 = counted().map(|byte| i32::from(byte.cast_signed())).sum();
    tar::Header::from_byte_slice(block)
        .cksum()
        .is_ok_and(|sum| sum == unsigned || i32::try_from(sum) == Ok(signed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_told_by_their_first_bytes() {
        let mut header = tar::Header::new_ustar();
        header.set_size(0);
        header.set_cksum();
        assert_eq!(Format::detect(header.as_bytes()), Ok(Format::Tar));
        assert_eq!(Format::detect(&[0; BLOCK]), Ok(Format::Tar));
        assert_eq!(Format::detect(b"\x1f\x8b\x08"), Ok(Format::TarGz));
        assert_eq!(Format::detect(b"PK\x03\x04"), Ok(Format::Zip));
        assert_eq!(Format::detect(b"PK\x05\x06"), Ok(Format::Zip));
    }

    #[test]
    fn what_is_no_archive_is_named() {
        for (head, name) in [
            (&b"BZh91AY"[..], "bzip2"),
            (b"\xfd7zXZ\0\0", "xz"),
            (b"", "empty"),
            (b"hello", "something else"),
            (&[0; 100], "something else"),
        ] {
            let reason = Format::detect(head).unwrap_err();
            assert!(reason.contains(name), "{reason}");
        }
    }

    #[test]
    fn a_header_that_does_not_add_up_is_no_tar() {
        let mut header = tar::Header::new_gnu();
        header.set_size(1);
        header.set_cksum();
        let mut block = *header.as_bytes();
        block[0] ^= 1;
        assert!(!begins_tar(&block));
    }
}
