//! A body as it was before it was compressed, never more of it than is allowed.

use std::io::{self, Write};

use flate2::write::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};

/// Takes a body piece by piece.
#[derive(Debug)]
pub(crate) enum Unpacker {
    Plain(Bounded),
    Gzip(Box<MultiGzDecoder<Bounded>>),
    /// Not yet known which of the two things of this name.
    Deflate(Bounded),
    Zlib(Box<ZlibDecoder<Bounded>>),
    Raw(Box<DeflateDecoder<Bounded>>),
}

/// Why a body cannot be taken.
#[derive(Debug)]
pub(crate) enum UnpackError {
    /// It is larger than allowed.
    TooLarge,
    /// It is not compressed as it says.
    Broken(io::Error),
}

/// Bytes up to a bound.
#[derive(Debug)]
pub(crate) struct Bounded {
    bytes: Vec<u8>,
    limit: usize,
    full: bool,
}

impl Write for Bounded {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        if piece.len() > self.limit.saturating_sub(self.bytes.len()) {
            self.full = true;
            return Err(io::Error::other("too large"));
        }
        self.bytes.extend_from_slice(piece);
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Unpacker {
    /// For a body with this `Content-Encoding`; an error for one that is not known.
    pub(crate) fn new(encoding: Option<&str>, limit: u64) -> Result<Self, String> {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let bounded = Bounded { bytes: Vec::new(), limit, full: false };
        match encoding.map(str::trim).unwrap_or_default().to_ascii_lowercase().as_str() {
            "" | "identity" => Ok(Self::Plain(bounded)),
            "gzip" | "x-gzip" => Ok(Self::Gzip(Box::new(MultiGzDecoder::new(bounded)))),
            "deflate" => Ok(Self::Deflate(bounded)),
            other => Err(format!("it is compressed in a way nobody asked for: {other:?}")),
        }
    }

    pub(crate) fn push(self, piece: &[u8]) -> Result<Self, UnpackError> {
        let mut unpacker = match self {
            // The header of zlib tells it from a bare stream, which some servers send under the same name.
            Self::Deflate(bounded) if piece.first().is_some_and(|byte| byte & 0x0f == 8) => {
                Self::Zlib(Box::new(ZlibDecoder::new(bounded)))
            }
            Self::Deflate(bounded) if !piece.is_empty() => {
                Self::Raw(Box::new(DeflateDecoder::new(bounded)))
            }
            other => other,
        };
        let written = match &mut unpacker {
            Self::Plain(bounded) | Self::Deflate(bounded) => bounded.write_all(piece),
            Self::Gzip(decoder) => decoder.write_all(piece),
            Self::Zlib(decoder) => decoder.write_all(piece),
            Self::Raw(decoder) => decoder.write_all(piece),
        };
        match written {
            Ok(()) => Ok(unpacker),
            Err(_) if unpacker.bounded().full => Err(UnpackError::TooLarge),
            Err(error) => Err(UnpackError::Broken(error)),
        }
    }

    fn bounded(&self) -> &Bounded {
        match self {
            Self::Plain(bounded) | Self::Deflate(bounded) => bounded,
            Self::Gzip(decoder) => decoder.get_ref(),
            Self::Zlib(decoder) => decoder.get_ref(),
            Self::Raw(decoder) => decoder.get_ref(),
        }
    }

    /// The whole body.
    pub(crate) fn finish(mut self) -> Result<Vec<u8>, UnpackError> {
        let flushed = match &mut self {
            Self::Plain(_) | Self::Deflate(_) => Ok(()),
            Self::Gzip(decoder) => decoder.try_finish(),
            Self::Zlib(decoder) => decoder.try_finish(),
            Self::Raw(decoder) => decoder.try_finish(),
        };
        match flushed {
            Err(_) if self.bounded().full => return Err(UnpackError::TooLarge),
            Err(error) => return Err(UnpackError::Broken(error)),
            Ok(()) => {}
        }
        let bounded = match self {
            Self::Plain(bounded) | Self::Deflate(bounded) => Ok(bounded),
            Self::Gzip(decoder) => decoder.finish(),
            Self::Zlib(decoder) => decoder.finish(),
            Self::Raw(decoder) => decoder.finish(),
        };
        bounded.map(|bounded| bounded.bytes).map_err(UnpackError::Broken)
    }
}

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

    use super::*;

    fn unpack(encoding: &str, bytes: &[u8], limit: u64) -> Result<Vec<u8>, UnpackError> {
        let mut unpacker = Unpacker::new(Some(encoding), limit).unwrap();
        for piece in bytes.chunks(7) {
            unpacker = unpacker.push(piece)?;
        }
        unpacker.finish()
    }

    #[test]
    fn bodies_are_unpacked_whatever_they_call_deflate() {
        let text = b"some words, some words, some words".repeat(10);
        let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
        gzip.write_all(&text).unwrap();
        let mut zlib = ZlibEncoder::new(Vec::new(), Compression::default());
        zlib.write_all(&text).unwrap();
        let mut raw = DeflateEncoder::new(Vec::new(), Compression::default());
        raw.write_all(&text).unwrap();
        assert_eq!(unpack("gzip", &gzip.finish().unwrap(), 1000).unwrap(), text);
        assert_eq!(unpack("deflate", &zlib.finish().unwrap(), 1000).unwrap(), text);
        assert_eq!(unpack("deflate", &raw.finish().unwrap(), 1000).unwrap(), text);
        assert_eq!(unpack("identity", &text, 1000).unwrap(), text);
        assert!(Unpacker::new(Some("br"), 1000).is_err());
    }

    #[test]
    fn bombs_and_garbage_are_refused() {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
        gzip.write_all(&vec![0; 10 << 20]).unwrap();
        let bomb = gzip.finish().unwrap();
        assert!(matches!(unpack("gzip", &bomb, 1 << 20), Err(UnpackError::TooLarge)));
        assert!(matches!(unpack("gzip", b"no gzip at all", 100), Err(UnpackError::Broken(_))));
        assert!(matches!(unpack("gzip", &bomb[..100], 20 << 20), Err(UnpackError::Broken(_))));
    }
}
