//! Packing a picture.
//!
//! A JPEG is packed in strips, one per processor: its format lets a decoder begin anew at marks in the picture.

mod strips;

use std::thread;

use bytes::Bytes;
use jpeg_encoder::{ColorType, Encoder, SamplingFactor};

use self::strips::join;
use crate::error::Error;
use crate::options::Size;

/// Strips a picture is packed in at most.
const STRIPS: usize = 4;
/// Rows of a strip are a multiple of this, whatever its quality.
const STRIP_ROWS: usize = 16;

/// The form of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Without loss.
    Png,
    /// Smaller; its quality from 0 to 100.
    Jpeg(u8),
}

/// A packed picture.
#[derive(Debug, Clone)]
pub struct Picture {
    /// Its size.
    pub size: Size,
    /// Its bytes.
    pub bytes: Bytes,
}

/// What was on the screen: blue, green, red and a byte without meaning per pixel.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) size: Size,
    pub(crate) pixels: Vec<u8>,
}

impl Frame {
    pub(crate) fn encode(&self, format: Format) -> Result<Picture, Error> {
        let bytes = match format {
            Format::Png => self.png(),
            Format::Jpeg(quality) => {
                let processors = thread::available_parallelism().map_or(1, usize::from);
                self.jpeg(quality, processors.min(STRIPS))
            }
        };
        let bytes = bytes.map_err(|reason| Error::Picture { reason })?;
        Ok(Picture { size: self.size, bytes: bytes.into() })
    }

    fn png(&self) -> Result<Vec<u8>, String> {
        let mut colours = Vec::with_capacity(self.pixels.len() / 4 * 3);
        for pixel in self.pixels.chunks_exact(4) {
            if let &[blue, green, red, _] = pixel {
                colours.extend([red, green, blue]);
            }
        }
        let mut packed = Vec::with_capacity(1 << 20);
        let (width, height) = (u32::from(self.size.width), u32::from(self.size.height));
        let mut encoder = png::Encoder::new(&mut packed, width, height);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_compression(png::Compression::Fast);
        // Screens are full of rows like the one above, for which this is as good as trying them all.
        encoder.set_filter(png::Filter::Up);
        let mut writer = encoder.write_header().map_err(|error| error.to_string())?;
        writer.write_image_data(&colours).map_err(|error| error.to_string())?;
        writer.finish().map_err(|error| error.to_string())?;
        Ok(packed)
    }

    /// Packs it in so many strips, or fewer.
    fn jpeg(&self, quality: u8, strips: usize) -> Result<Vec<u8>, String> {
        let Size { width, height } = self.size;
        let rows = usize::from(height).div_ceil(strips).next_multiple_of(STRIP_ROWS);
        let strips = self.pixels.chunks(rows * usize::from(width) * 4).collect::<Vec<_>>();
        let Some((first, others)) = strips.split_first() else {
            return Err("a picture without pixels".to_owned());
        };
        let packed = thread::scope(|scope| {
            let begun =
                others.iter().map(|strip| scope.spawn(|| jpeg_strip(strip, width, quality)));
            let begun: Vec<_> = begun.collect();
            let mut packed = vec![jpeg_strip(first, width, quality)?];
            for strip in begun {
                packed.push(strip.join().map_err(|_| "it could not be packed".to_owned())??);
            }
            Ok::<_, String>(packed)
        })?;
        join(packed, self.size, rows, sampling(quality).1)
    }
}

/// Coloured text stays readable where it is asked to: how colours are kept, and the side of the smallest piece.
fn sampling(quality: u8) -> (SamplingFactor, usize) {
    if quality >= 90 { (SamplingFactor::R_4_4_4, 8) } else { (SamplingFactor::R_4_2_0, 16) }
}

/// Packs some whole rows as a picture of their own.
fn jpeg_strip(pixels: &[u8], width: u16, quality: u8) -> Result<Vec<u8>, String> {
    let mut packed = Vec::with_capacity(1 << 18);
    let mut encoder = Encoder::new(&mut packed, quality.clamp(1, 100));
    encoder.set_sampling_factor(sampling(quality).0);
    let height = pixels.len() / 4 / usize::from(width.max(1));
    let height = u16::try_from(height).map_err(|error| error.to_string())?;
    encoder.encode(pixels, width, height, ColorType::Bgra).map_err(|error| error.to_string())?;
    Ok(packed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(jpeg: &[u8]) -> (u16, u16, Vec<u8>) {
        let mut decoder = jpeg_decoder::Decoder::new(jpeg);
        let pixels = decoder.decode().expect("a picture");
        let about = decoder.info().expect("its size");
        (about.width, about.height, pixels)
    }

    #[test]
    fn a_picture_in_strips_is_the_picture_in_one_piece() {
        for (width, height) in [(1, 1), (37, 50), (64, 64), (333, 241)] {
            let pixel = |n: u32| [n * 7, n / 3, n ^ (n >> 5), 0].map(|part| part.to_le_bytes()[0]);
            let pixels = (0..u32::from(width) * u32::from(height)).flat_map(pixel).collect();
            let frame = Frame { size: Size { width, height }, pixels };
            for quality in [10, 75, 95] {
                let whole = decoded(&frame.jpeg(quality, 1).expect("a picture"));
                assert_eq!((whole.0, whole.1), (width, height));
                for strips in 2..=STRIPS {
                    let joined = decoded(&frame.jpeg(quality, strips).expect("a picture"));
                    assert!(whole == joined, "{width} x {height}, {quality}, {strips} strips");
                }
            }
        }
    }
}
