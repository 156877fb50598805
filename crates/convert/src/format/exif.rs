//! EXIF, as far as it says who took a picture, when, where and how: TIFF directories, read with care.

/// Entries that a directory is read for.
const ENTRIES: u16 = 512;
/// Characters of one value.
const LETTERS: usize = 200;

/// Fields that are shown, by the directory they are in.
const FIELDS: [(u16, &str); 8] = [
    (0x010e, "Description"),
    (0x010f, "Maker"),
    (0x0110, "Camera"),
    (0x0112, "Orientation"),
    (0x0131, "Software"),
    (0x0132, "Changed"),
    (0x013b, "Artist"),
    (0x8298, "Copyright"),
];
const IN_EXIF: [(u16, &str); 4] =
    [(0x9003, "Taken"), (0x8827, "ISO"), (0x829a, "Exposure"), (0x920a, "Focal length")];
const EXIF: u16 = 0x8769;
const GPS: u16 = 0x8825;

/// What a picture says of itself.
pub(super) fn read(bytes: &[u8]) -> Vec<(&'static str, String)> {
    let Some(tiff) = Tiff::of(bytes) else {
        return Vec::new();
    };
    let mut found = tiff.fields(tiff.first, &FIELDS);
    if let Some(at) = tiff.pointer(tiff.first, EXIF) {
        found.extend(tiff.fields(Some(at), &IN_EXIF));
    }
    if let Some(at) = tiff.pointer(tiff.first, GPS)
        && let (Some(latitude), Some(longitude)) = (tiff.degrees(at, 1), tiff.degrees(at, 3))
    {
        found.push(("Place", format!("{latitude}, {longitude}")));
    }
    found
}

/// Width and height of a TIFF.
pub(super) fn size(bytes: &[u8]) -> Option<(u32, u32)> {
    let tiff = Tiff::of(bytes)?;
    let number = |tag| tiff.entry(tiff.first?, tag).and_then(|entry| tiff.number(&entry));
    Some((number(0x0100)?, number(0x0101)?))
}

#[derive(Debug)]
struct Tiff<'a> {
    bytes: &'a [u8],
    big: bool,
    first: Option<usize>,
}

/// A field: its type, how many values, and where they begin.
#[derive(Debug)]
struct Entry {
    kind: u16,
    count: usize,
    at: usize,
}

impl<'a> Tiff<'a> {
    fn of(bytes: &'a [u8]) -> Option<Self> {
        let big = match bytes.get(..2)? {
            b"MM" => true,
            b"II" => false,
            _ => return None,
        };
        let mut tiff = Self { bytes, big, first: None };
        tiff.first = usize::try_from(tiff.long(4)?).ok();
        Some(tiff)
    }

    fn short(&self, at: usize) -> Option<u16> {
        let bytes = self.bytes.get(at..at.checked_add(2)?)?.try_into().ok()?;
        Some(if self.big { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) })
    }

    fn long(&self, at: usize) -> Option<u32> {
        let bytes = self.bytes.get(at..at.checked_add(4)?)?.try_into().ok()?;
        Some(if self.big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
    }

    fn entry(&self, directory: usize, tag: u16) -> Option<Entry> {
        let count = self.short(directory)?.min(ENTRIES);
        for index in 0..usize::from(count) {
            let at = directory.checked_add(2 + index * 12)?;
            if self.short(at)? != tag {
                continue;
            }
            let kind = self.short(at + 2)?;
            let count = usize::try_from(self.long(at + 4)?).ok()?;
            let width = match kind {
                3 => 2,
                4 | 9 => 4,
                5 | 10 => 8,
                _ => 1,
            };
            // What fits stands in the entry itself.
            let inside = count.checked_mul(width)? <= 4;
            let at = if inside { at + 8 } else { usize::try_from(self.long(at + 8)?).ok()? };
            return Some(Entry { kind, count, at });
        }
        None
    }

    fn pointer(&self, directory: Option<usize>, tag: u16) -> Option<usize> {
        let entry = self.entry(directory?, tag)?;
        usize::try_from(self.number(&entry)?).ok()
    }

    fn number(&self, entry: &Entry) -> Option<u32> {
        match entry.kind {
            3 => self.short(entry.at).map(u32::from),
            4 | 9 => self.long(entry.at),
            1 => self.bytes.get(entry.at).copied().map(u32::from),
            _ => None,
        }
    }

    /// A fraction.
    fn ratio(&self, at: usize) -> Option<(u32, u32)> {
        Some((self.long(at)?, self.long(at.checked_add(4)?)?))
    }

    fn text(&self, entry: &Entry) -> Option<String> {
        match entry.kind {
            2 => {
                let end = entry.at.checked_add(entry.count.min(LETTERS))?;
                let text = String::from_utf8_lossy(self.bytes.get(entry.at..end)?);
                Some(text.trim_matches(['\0', ' ']).replace(['\n', '\r', '\0'], " "))
            }
            5 => {
                let (over, under) = self.ratio(entry.at)?;
                Some(if under == 1 { over.to_string() } else { format!("{over}/{under}") })
            }
            _ => self.number(entry).map(|number| number.to_string()),
        }
    }

    fn fields(
        &self,
        directory: Option<usize>,
        wanted: &[(u16, &'static str)],
    ) -> Vec<(&'static str, String)> {
        let value = |(tag, name): &(u16, &'static str)| {
            let text = self.text(&self.entry(directory?, *tag)?)?;
            (!text.is_empty()).then_some((*name, text))
        };
        wanted.iter().filter_map(value).collect()
    }

    /// Degrees, minutes and seconds with the side of the earth, at a pair of tags.
    fn degrees(&self, directory: usize, tag: u16) -> Option<String> {
        let side = self.text(&self.entry(directory, tag)?)?;
        let entry = self.entry(directory, tag + 1)?;
        let part = |index: usize| {
            let (over, under) = self.ratio(entry.at.checked_add(index * 8)?)?;
            (under != 0).then(|| f64::from(over) / f64::from(under))
        };
        let degrees = part(0)? + part(1)? / 60.0 + part(2)? / 3600.0;
        let sign = if matches!(side.as_str(), "S" | "W") { "-" } else { "" };
        Some(format!("{sign}{degrees:.6}"))
    }
}
