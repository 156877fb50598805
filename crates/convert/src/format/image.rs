//! Pictures: what they say of themselves. What they show is for those who can see.

use super::exif;
use crate::document::Markdown;
use crate::kind::Kind;

/// Describes a picture.
pub(crate) fn convert(bytes: &[u8]) -> Markdown {
    let format = format(bytes);
    let size = size(bytes, format);
    let mut lines = vec![format!("- Format: {format}")];
    if let Some((width, height)) = size {
        lines.push(format!("- Size: {width} × {height} pixels"));
    }
    lines.push(format!("- Bytes: {}", bytes.len()));
    let about = match format {
        "JPEG" => segment(bytes).map(exif::read),
        "TIFF" => Some(exif::read(bytes)),
        "PNG" => chunk(bytes, b"eXIf").map(exif::read),
        "WebP" => riff(bytes, b"EXIF").map(exif::read),
        _ => None,
    };
    let about = about.unwrap_or_default();
    lines.extend(about.iter().map(|(name, value)| format!("- {name}: {value}")));
    let mut markdown = Markdown::new(Kind::Image, lines.join("\n")).with("format", Some(format));
    if let Some((width, height)) = size {
        markdown = markdown.with("width", Some(width)).with("height", Some(height));
    }
    for (name, value) in about {
        markdown = markdown.with(name, Some(value));
    }
    markdown
}

fn format(bytes: &[u8]) -> &'static str {
    match bytes {
        [0x89, b'P', ..] => "PNG",
        [0xff, 0xd8, ..] => "JPEG",
        [b'G', b'I', b'F', ..] => "GIF",
        [b'B', b'M', ..] => "BMP",
        [b'I', b'I', ..] | [b'M', b'M', ..] => "TIFF",
        [b'R', b'I', b'F', b'F', ..] => "WebP",
        [0, 0, 1, 0, ..] => "icon",
        _ => "HEIF or AVIF",
    }
}

fn size(bytes: &[u8], format: &str) -> Option<(u32, u32)> {
    let big = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let little = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let short =
        |at: usize| Some(u32::from(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?)));
    match format {
        "PNG" => Some((big(16)?, big(20)?)),
        "GIF" => Some((short(6)?, short(8)?)),
        "BMP" => Some((little(18)?, little(22)?.cast_signed().unsigned_abs())),
        "icon" => {
            let side = |byte: u8| if byte == 0 { 256 } else { u32::from(byte) };
            Some((side(*bytes.get(6)?), side(*bytes.get(7)?)))
        }
        "JPEG" => frame(bytes),
        "TIFF" => exif::size(bytes),
        "WebP" => match bytes.get(12..16)? {
            b"VP8 " => Some((short(26)? & 0x3fff, short(28)? & 0x3fff)),
            b"VP8L" => {
                let bits = little(21)?;
                Some(((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1))
            }
            b"VP8X" => Some(((little(24)? & 0x00ff_ffff) + 1, (little(27)? & 0x00ff_ffff) + 1)),
            _ => None,
        },
        _ => None,
    }
}

/// The segments of a JPEG before its picture: marker and content.
fn segments(bytes: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    let mut at = 2;
    std::iter::from_fn(move || {
        while bytes.get(at) == Some(&0xff) && bytes.get(at + 1) == Some(&0xff) {
            at += 1;
        }
        let marker = (*bytes.get(at)? == 0xff).then(|| bytes.get(at + 1).copied())??;
        let length = usize::from(u16::from_be_bytes(bytes.get(at + 2..at + 4)?.try_into().ok()?));
        let content = bytes.get(at + 4..at + 2 + length.max(2))?;
        at += 2 + length.max(2);
        (marker != 0xda).then_some((marker, content))
    })
}

fn frame(bytes: &[u8]) -> Option<(u32, u32)> {
    let frame = |marker: u8| matches!(marker, 0xc0..=0xcf) && !matches!(marker, 0xc4 | 0xc8 | 0xcc);
    let (_, content) = segments(bytes).find(|(marker, _)| frame(*marker))?;
    let number =
        |at: usize| Some(u32::from(u16::from_be_bytes(content.get(at..at + 2)?.try_into().ok()?)));
    Some((number(3)?, number(1)?))
}

fn segment(bytes: &[u8]) -> Option<&[u8]> {
    segments(bytes).find_map(|(marker, content)| {
        (marker == 0xe1).then(|| content.strip_prefix(b"Exif\0\0")).flatten()
    })
}

/// A chunk of a PNG.
fn chunk<'a>(bytes: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let mut at = 8_usize;
    loop {
        let length = u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?);
        let length = usize::try_from(length).ok()?;
        let end = at.checked_add(8)?.checked_add(length)?;
        if bytes.get(at + 4..at + 8)? == name {
            return bytes.get(at + 8..end);
        }
        at = end.checked_add(4)?;
    }
}

/// A chunk of a RIFF file.
fn riff<'a>(bytes: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let mut at = 12_usize;
    loop {
        let length = u32::from_le_bytes(bytes.get(at + 4..at + 8)?.try_into().ok()?);
        let length = usize::try_from(length).ok()?;
        let end = at.checked_add(8)?.checked_add(length)?;
        if bytes.get(at..at + 4)? == name {
            return bytes.get(at + 8..end);
        }
        at = end + length % 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exif() -> Vec<u8> {
        let mut tiff = b"II*\0\x08\0\0\0\x02\0".to_vec();
        // Model, eight letters elsewhere; orientation, in place.
        tiff.extend(b"\x10\x01\x02\0\x08\0\0\0\x26\0\0\0");
        tiff.extend(b"\x12\x01\x03\0\x01\0\0\0\x06\0\0\0");
        tiff.extend(b"\0\0\0\0");
        tiff.extend(b"Camera7\0");
        tiff
    }

    #[test]
    fn a_photograph_tells_its_size_and_who_took_it() {
        let exif = exif();
        let mut jpeg = b"\xff\xd8\xff\xe1".to_vec();
        jpeg.extend(u16::try_from(exif.len() + 8).unwrap().to_be_bytes());
        jpeg.extend(b"Exif\0\0");
        jpeg.extend(&exif);
        jpeg.extend(b"\xff\xc0\0\x0b\x08\0\x20\0\x40\x01\x01\x11\0");
        let text = convert(&jpeg).text;
        assert!(text.starts_with("- Format: JPEG\n- Size: 64 × 32 pixels\n"), "{text}");
        assert!(text.contains("- Camera: Camera7") && text.contains("- Orientation: 6"), "{text}");
    }

    #[test]
    fn pictures_that_lie_or_end_early_are_described_as_far_as_they_go() {
        let png = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\x02\x80\0\0\x01\xe0\x08\x02\0\0\0";
        assert!(convert(png).text.contains("640 × 480"));
        for cut in 0..png.len() {
            assert!(convert(&png[..cut]).text.starts_with("- Format"));
        }
        let exif = exif();
        for position in 0..exif.len() {
            let mut wrong = exif.clone();
            wrong[position] = 0xff;
            exif::read(&wrong);
            exif::read(&exif[..position]);
        }
        assert!(convert(b"GIF89a\x10\0\x20\0").text.contains("16 × 32"));
    }
}
