//! One JPEG of several that were packed alike, each a strip of the same picture.
//!
//! What a decoder needs to know is the same in all of them but for the height. The strips' own data follow one another,
//! with a mark between them at which a decoder forgets what came before, as it does at the beginning.

use crate::options::Size;

const MARK: u8 = 0xff;
const START: u8 = 0xd8;
const END: u8 = 0xd9;
const FRAME: u8 = 0xc0;
const SCAN: u8 = 0xda;
const INTERVAL: u8 = 0xdd;
const RESTART: u8 = 0xd0;
const RESTARTS: usize = 8;

/// A JPEG taken apart.
struct Parts<'a> {
    /// All before the data's own head.
    tables: &'a [u8],
    /// The data's head.
    scan: &'a [u8],
    data: &'a [u8],
    /// Where in the tables the height is.
    height: usize,
}

/// Puts strips together. Each but the last has so many rows; pieces of the picture have this side.
pub(super) fn join(
    mut strips: Vec<Vec<u8>>,
    size: Size,
    rows: usize,
    side: usize,
) -> Result<Vec<u8>, String> {
    if strips.len() == 1 {
        return Ok(strips.remove(0));
    }
    let wrong = || "the strips of a picture do not fit together".to_owned();
    let parts = strips.iter().map(|strip| take_apart(strip)).collect::<Option<Vec<_>>>();
    let parts = parts.ok_or_else(wrong)?;
    let first = parts.first().ok_or_else(wrong)?;
    let pieces = usize::from(size.width).div_ceil(side) * (rows / side);
    let pieces = u16::try_from(pieces).map_err(|_| wrong())?;
    let mut joined = Vec::with_capacity(strips.iter().map(Vec::len).sum());
    joined.extend_from_slice(first.tables);
    joined
        .get_mut(first.height..first.height + 2)
        .ok_or_else(wrong)?
        .copy_from_slice(&size.height.to_be_bytes());
    joined.extend([MARK, INTERVAL, 0, 4]);
    joined.extend(pieces.to_be_bytes());
    joined.extend_from_slice(first.scan);
    for (index, part) in parts.iter().enumerate() {
        joined.extend_from_slice(part.data);
        if index + 1 < parts.len() {
            let turn = u8::try_from(index % RESTARTS).map_err(|_| wrong())?;
            joined.extend([MARK, RESTART + turn]);
        }
    }
    joined.extend([MARK, END]);
    Ok(joined)
}

fn take_apart(jpeg: &[u8]) -> Option<Parts<'_>> {
    let mut height = None;
    let mut at = jpeg.starts_with(&[MARK, START]).then_some(2)?;
    loop {
        let &[MARK, kind, high, low] = jpeg.get(at..at + 4)? else { return None };
        let next = at + 2 + usize::from(u16::from_be_bytes([high, low]));
        match kind {
            FRAME => height = Some(at + 5),
            SCAN => {
                let data = jpeg.get(next..)?.strip_suffix(&[MARK, END])?;
                let (tables, scan) = (jpeg.get(..at)?, jpeg.get(at..next)?);
                return Some(Parts { tables, scan, data, height: height? });
            }
            _ => {}
        }
        at = next;
    }
}
