//! A film of JPEG pictures in an MP4 file, each shown for as long as it was to be seen. Written as it comes: the
//! pictures first, the table of them at the end.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::fs::File;
use tokio::io::{AsyncSeekExt, AsyncWriteExt};

use crate::error::Error;

/// Ticks per second.
const SCALE: u32 = 1000;
/// Size of what stands before the first picture.
const HEAD: u64 = 32 + 16;

/// A film that is being written.
#[derive(Debug)]
pub(super) struct Movie {
    file: File,
    path: PathBuf,
    /// Where the next picture goes.
    end: u64,
    pictures: Vec<Picture>,
    size: (u16, u16),
}

#[derive(Debug)]
struct Picture {
    offset: u64,
    bytes: u32,
    at: Duration,
}

impl Movie {
    pub(super) async fn create(path: &Path) -> Result<Self, Error> {
        let failed = |source| Error::Write { path: path.to_owned(), source };
        let mut file = File::create(path).await.map_err(failed)?;
        let mut head = atom(*b"ftyp", &[b"isom\0\0\x02\0isomiso2mp41\0\0\0\0"]);
        // The length is put in at the end.
        head.extend(1_u32.to_be_bytes());
        head.extend(b"mdat");
        head.extend(0_u64.to_be_bytes());
        file.write_all(&head).await.map_err(failed)?;
        let path = path.to_owned();
        Ok(Self { file, path, end: HEAD, pictures: Vec::new(), size: (0, 0) })
    }

    pub(super) fn bytes(&self) -> u64 {
        self.end
    }

    /// Width and height of its first picture.
    pub(super) fn size(&self) -> (u16, u16) {
        self.size
    }

    pub(super) fn count(&self) -> usize {
        self.pictures.len()
    }

    pub(super) fn latest(&self) -> Option<Duration> {
        self.pictures.last().map(|picture| picture.at)
    }

    /// Adds a picture that is to be seen from `at` on.
    pub(super) async fn add(&mut self, jpeg: &[u8], at: Duration) -> Result<(), Error> {
        if self.pictures.is_empty() {
            self.size = size(jpeg).unwrap_or((0, 0));
        }
        let path = &self.path;
        let written = self.file.write_all(jpeg).await;
        written.map_err(|source| Error::Write { path: path.clone(), source })?;
        let bytes = u32::try_from(jpeg.len()).unwrap_or(u32::MAX);
        self.pictures.push(Picture { offset: self.end, bytes, at });
        self.end += u64::from(bytes);
        Ok(())
    }

    /// Ends the film after this time.
    pub(super) async fn finish(mut self, length: Duration) -> Result<(u64, (u16, u16)), Error> {
        let table = self.table(length);
        let path = self.path.clone();
        let written = async {
            self.file.write_all(&table).await?;
            self.file.seek(std::io::SeekFrom::Start(HEAD - 8)).await?;
            self.file.write_all(&(self.end - HEAD + 16).to_be_bytes()).await?;
            self.file.flush().await?;
            self.file.sync_data().await
        };
        written.await.map_err(|source| Error::Write { path, source })?;
        Ok((self.end + table.len() as u64, self.size))
    }

    fn table(&self, length: Duration) -> Vec<u8> {
        let count = u32::try_from(self.pictures.len()).unwrap_or(u32::MAX);
        let starts = self.pictures.iter().map(|picture| ticks(picture.at));
        let ends = self.pictures.iter().skip(1).map(|picture| ticks(picture.at));
        let ends = ends.chain([ticks(length)]);
        let mut times = Vec::new();
        let mut total = 0_u32;
        for (start, end) in starts.zip(ends) {
            let duration = end.saturating_sub(start).max(1);
            total = total.saturating_add(duration);
            times.extend(1_u32.to_be_bytes());
            times.extend(duration.to_be_bytes());
        }
        let sizes: Vec<u8> =
            self.pictures.iter().flat_map(|picture| picture.bytes.to_be_bytes()).collect();
        let offsets: Vec<u8> =
            self.pictures.iter().flat_map(|picture| picture.offset.to_be_bytes()).collect();
        let (width, height) = self.size;
        let n = count.to_be_bytes();
        let samples = atom(
            *b"stbl",
            &[
                &atom(*b"stsd", &[&[0; 4], &1_u32.to_be_bytes(), &entry(width, height)]),
                &atom(*b"stts", &[&[0; 4], &n, &times]),
                &atom(*b"stsc", &[&[0; 4], &[0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1]]),
                &atom(*b"stsz", &[&[0; 4], &[0; 4], &n, &sizes]),
                &atom(*b"co64", &[&[0; 4], &n, &offsets]),
            ],
        );
        let here = atom(*b"url ", &[&[0, 0, 0, 1]]);
        let data = atom(*b"dinf", &[&atom(*b"dref", &[&[0; 4], &1_u32.to_be_bytes(), &here])]);
        let header = atom(*b"vmhd", &[&[0, 0, 0, 1], &[0; 8]]);
        let inner = atom(*b"minf", &[&header, &data, &samples]);
        let scale = SCALE.to_be_bytes();
        let long = total.to_be_bytes();
        let media = atom(
            *b"mdia",
            &[
                &atom(*b"mdhd", &[&[0; 12], &scale, &long, &[0x55, 0xc4, 0, 0]]),
                &atom(*b"hdlr", &[&[0; 8], b"vide", &[0; 12], b"page\0"]),
                &inner,
            ],
        );
        let fixed = |side: u16| (u32::from(side) << 16).to_be_bytes();
        let track = atom(
            *b"tkhd",
            &[
                &[0, 0, 0, 3],
                &[0; 8],
                &[0, 0, 0, 1],
                &[0; 4],
                &long,
                &[0; 16],
                &MATRIX,
                &fixed(width),
                &fixed(height),
            ],
        );
        let movie = atom(
            *b"mvhd",
            &[
                &[0; 12],
                &scale,
                &long,
                &[0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
                &MATRIX,
                &[0; 24],
                &[0, 0, 0, 2],
            ],
        );
        atom(*b"moov", &[&movie, &atom(*b"trak", &[&track, &media])])
    }
}

/// As it is, not turned.
const MATRIX: [u8; 36] = [
    0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0x40, 0, 0, 0,
];

fn ticks(time: Duration) -> u32 {
    u32::try_from(time.as_millis()).unwrap_or(u32::MAX)
}

/// What the pictures are: JPEG, as MPEG-4 names it.
fn entry(width: u16, height: u16) -> Vec<u8> {
    let stream: &[u8] = &[
        0, 0, 0, 0, // version
        0x03, 21, 0, 1, 0, // the stream, number 1
        0x04, 13, 0x6c, 0x11, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, // JPEG, visual
        0x06, 1, 2,
    ];
    let mut name = [0; 32];
    if let Some(place) = name.get_mut(..5) {
        place.copy_from_slice(b"\x04jpeg");
    }
    atom(
        *b"mp4v",
        &[
            &[0, 0, 0, 0, 0, 0, 0, 1],
            &[0; 16],
            &width.to_be_bytes(),
            &height.to_be_bytes(),
            &[0, 0x48, 0, 0, 0, 0x48, 0, 0, 0, 0, 0, 0, 0, 1],
            &name,
            &[0, 24, 0xff, 0xff],
            &atom(*b"esds", &[stream]),
        ],
    )
}

fn atom(kind: [u8; 4], parts: &[&[u8]]) -> Vec<u8> {
    let length: usize = 8 + parts.iter().map(|part| part.len()).sum::<usize>();
    let mut bytes = Vec::with_capacity(length);
    bytes.extend(u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes());
    bytes.extend(kind);
    for part in parts {
        bytes.extend_from_slice(part);
    }
    bytes
}

/// Width and height, from the frame header of a JPEG.
fn size(jpeg: &[u8]) -> Option<(u16, u16)> {
    let mut at = 2;
    loop {
        let segment = jpeg.get(at..)?;
        let &[0xff, marker, high, low, ..] = segment else { return None };
        if matches!(marker, 0xc0..=0xc2) {
            let &[_, _, _, _, _, h1, h2, w1, w2, ..] = segment else { return None };
            return Some((u16::from_be_bytes([w1, w2]), u16::from_be_bytes([h1, h2])));
        }
        at += 2 + usize::from(u16::from_be_bytes([high, low]));
    }
}
