//! Taking the picture. The X server writes it into memory that is shared through a file without a name, from which it is
//! read: that saves a trip through the socket, and needs no mapping here. Without shared memory it comes by the socket.

use std::fs::File;
use std::os::unix::fs::FileExt;

use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use x11rb::connection::Connection;
use x11rb::protocol::randr::ConnectionExt as _;
use x11rb::protocol::shm::{self, ConnectionExt as _};
use x11rb::protocol::xfixes::{ConnectionExt as _, GetCursorImageReply};
use x11rb::protocol::xproto::{ConnectionExt as _, ImageFormat};

use super::encode::Frame;
use crate::error::Error;
use crate::link::Link;
use crate::options::{Point, Size};

const BYTES_PER_PIXEL: usize = 4;

/// What looks at the screen.
#[derive(Debug)]
pub(crate) struct Eyes {
    link: Link,
    shared: Option<Shared>,
    /// Whether the server offers shared memory.
    shares: bool,
}

/// Memory shared with the X server.
#[derive(Debug)]
struct Shared {
    segment: shm::Seg,
    file: File,
    bytes: usize,
}

impl Eyes {
    pub(crate) fn new(link: Link) -> Result<Self, Error> {
        let connection = &link.connection;
        let fixes = connection.xfixes_query_version(5, 0)?;
        // Sizes are spoken of as of old to who does not say this.
        let sizes = connection.randr_query_version(1, 5)?;
        let shared = connection.shm_query_version().map_err(Error::from).and_then(|version| {
            let version = version.reply()?;
            // Memory is passed as a descriptor since 1.2.
            Ok((version.major_version, version.minor_version) >= (1, 2))
        });
        fixes.reply()?;
        sizes.reply()?;
        let formats = &connection.setup().pixmap_formats;
        let fits = |depth: u8| {
            formats.iter().any(|format| format.depth == depth && format.bits_per_pixel == 32)
        };
        let depth = connection.setup().roots.first().map_or(0, |screen| screen.root_depth);
        if depth != 24 || !fits(depth) {
            let reason = format!("the screen has {depth} bits per pixel instead of 24");
            return Err(Error::NotReady { program: "Xvnc", reason });
        }
        Ok(Self { shares: shared.unwrap_or(false), shared: None, link })
    }

    pub(crate) fn link(&self) -> &Link {
        &self.link
    }

    pub(crate) fn pointer(&self) -> Result<Point, Error> {
        let pointer = self.link.connection.query_pointer(self.link.root)?.reply()?;
        Ok(Point { x: f64::from(pointer.root_x), y: f64::from(pointer.root_y) })
    }

    /// What is on the screen at this moment.
    pub(crate) fn capture(&mut self) -> Result<Frame, Error> {
        // The screen may change its size between being asked for it and being read.
        for _ in 0..3 {
            let size = self.link.size()?;
            match self.pixels(size) {
                Ok(pixels) => {
                    let mut frame = Frame { size, pixels };
                    let cursor = self.link.connection.xfixes_get_cursor_image()?.reply()?;
                    blend(&mut frame, &cursor);
                    return Ok(frame);
                }
                Err(Error::Refused { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Err(Error::Picture { reason: "the screen keeps changing its size".to_owned() })
    }

    fn pixels(&mut self, size: Size) -> Result<Vec<u8>, Error> {
        let Size { width, height } = size;
        let bytes = usize::from(width) * usize::from(height) * BYTES_PER_PIXEL;
        if self.shares {
            match self.shared_pixels(size, bytes) {
                Err(Error::Picture { reason }) => {
                    tracing::warn!(reason, "pictures of the screen go without shared memory");
                    self.shares = false;
                }
                other => return other,
            }
        }
        let (connection, root) = (&self.link.connection, self.link.root);
        let image = connection.get_image(ImageFormat::Z_PIXMAP, root, 0, 0, width, height, !0)?;
        let mut pixels = image.reply()?.data;
        pixels.truncate(bytes);
        Ok(pixels)
    }

    fn shared_pixels(&mut self, size: Size, bytes: usize) -> Result<Vec<u8>, Error> {
        if self.shared.as_ref().is_none_or(|shared| shared.bytes < bytes) {
            self.share(bytes)?;
        }
        let Some(shared) = &self.shared else { return Ok(Vec::new()) };
        let Size { width, height } = size;
        let format = u8::from(ImageFormat::Z_PIXMAP);
        let (connection, root) = (&self.link.connection, self.link.root);
        connection
            .shm_get_image(root, 0, 0, width, height, !0, format, shared.segment, 0)?
            .reply()?;
        let mut pixels = vec![0; bytes];
        shared.file.read_exact_at(&mut pixels, 0).map_err(|error| unshared(&error))?;
        Ok(pixels)
    }

    fn share(&mut self, bytes: usize) -> Result<(), Error> {
        let connection = &self.link.connection;
        if let Some(old) = self.shared.take() {
            connection.shm_detach(old.segment)?;
        }
        let memory = memfd_create("atoll-screen", MemfdFlags::CLOEXEC)
            .map_err(|error| unshared(&error.into()))?;
        ftruncate(&memory, bytes as u64).map_err(|error| unshared(&error.into()))?;
        let file = File::from(memory);
        let theirs = file.try_clone().map_err(|error| unshared(&error))?;
        let segment = connection.generate_id()?;
        let attached = connection
            .shm_attach_fd(segment, std::os::fd::OwnedFd::from(theirs), false)
            .map_err(Error::from)
            .and_then(|cookie| Ok(cookie.check()?));
        attached.map_err(|error| Error::Picture { reason: error.to_string() })?;
        self.shared = Some(Shared { segment, file, bytes });
        Ok(())
    }
}

fn unshared(error: &std::io::Error) -> Error {
    Error::Picture { reason: format!("memory cannot be shared: {error}") }
}

/// Draws the pointer, which the server keeps apart from the picture.
fn blend(frame: &mut Frame, cursor: &GetCursorImageReply) {
    let (width, height) = (i64::from(frame.size.width), i64::from(frame.size.height));
    let left = i64::from(cursor.x) - i64::from(cursor.xhot);
    let top = i64::from(cursor.y) - i64::from(cursor.yhot);
    let rows = cursor.cursor_image.chunks_exact(usize::from(cursor.width).max(1));
    for (row, line) in (top..).zip(rows) {
        for (column, &pixel) in (left..).zip(line) {
            if !(0..width).contains(&column) || !(0..height).contains(&row) {
                continue;
            }
            let at = usize::try_from((row * width + column) * 4).unwrap_or(usize::MAX);
            let Some(below) = frame.pixels.get_mut(at..at.saturating_add(3)) else { continue };
            let [blue, green, red, alpha] = pixel.to_le_bytes();
            for (below, above) in below.iter_mut().zip([blue, green, red]) {
                // Colours of a cursor are multiplied with its opacity already.
                let through = u16::from(*below) * u16::from(255 - alpha) / 255;
                *below = u8::try_from(through + u16::from(above)).unwrap_or(255);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pointer_is_drawn_where_it_points_and_cut_off_at_the_edge() {
        let size = Size { width: 3, height: 2 };
        let mut frame = Frame { size, pixels: vec![100; 24] };
        let cursor = GetCursorImageReply {
            x: 0,
            y: 0,
            width: 2,
            height: 2,
            xhot: 1,
            yhot: 0,
            cursor_image: vec![0xffff_ffff, 0xff01_0203, 0, 0x8000_0000],
            ..GetCursorImageReply::default()
        };
        blend(&mut frame, &cursor);
        assert_eq!(frame.pixels.get(..4).unwrap(), [3, 2, 1, 100]);
        assert_eq!(frame.pixels.get(4..8).unwrap(), [100; 4]);
        assert_eq!(frame.pixels.get(12..15).unwrap(), [49; 3]);
    }
}
