//! Packing a picture.

use bytes::Bytes;
use jpeg_encoder::{ColorType, Encoder, SamplingFactor};

use crate::error::Error;
use crate::options::Size;

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
            Format::Jpeg(quality) => self.jpeg(quality),
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

    fn jpeg(&self, quality: u8) -> Result<Vec<u8>, String> {
        let mut packed = Vec::with_capacity(1 << 19);
        let mut encoder = Encoder::new(&mut packed, quality.clamp(1, 100));
        // Coloured text stays readable where it is asked to.
        let sampling =
            if quality >= 90 { SamplingFactor::R_4_4_4 } else { SamplingFactor::R_4_2_0 };
        encoder.set_sampling_factor(sampling);
        let Size { width, height } = self.size;
        encoder
            .encode(&self.pixels, width, height, ColorType::Bgra)
            .map_err(|error| error.to_string())?;
        Ok(packed)
    }
}
