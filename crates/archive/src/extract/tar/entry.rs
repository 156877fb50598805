//! Entry after entry of a tar: the header, what goes before it, and what it means.

use tar::Header;

use super::pax::Attributes;
use super::sparse::Map;
use super::stream::Stream;
use crate::directory::Moment;
use crate::error::{ExtractError, show};
use crate::extract::route::Route;
use crate::extract::stage::Nature;
use crate::extract::unpack::Unpacker;
use crate::format::{BLOCK, begins_tar, has_sound_checksum, is_zero};

/// Longest text that may go before a header: a name, or all attributes of an entry. Extended attributes may be large.
const TEXT: u64 = 1 << 20;

/// What was said before the header it belongs to.
#[derive(Debug, Default)]
struct Before {
    name: Option<Vec<u8>>,
    target: Option<Vec<u8>>,
    attributes: Attributes,
    /// Whether anything was said at all: an archive must not end then.
    pending: bool,
}

/// Unpacks a whole tar.
pub(crate) fn unpack(
    stream: &mut Stream<'_>,
    unpacker: &mut Unpacker<'_>,
) -> Result<(), ExtractError> {
    let mut before = Before::default();
    let mut first = true;
    loop {
        let block = match stream.block(&unpacker.budget)? {
            Ok(block) if !first || begins_tar(&block) => block,
            Ok(_) => return Err(no_tar()),
            Err(_) if first => return Err(no_tar()),
            Err(0) => return Err(ExtractError::broken("it ends without an end mark")),
            Err(_) => return Err(ExtractError::broken("it ends in the middle of a header")),
        };
        first = false;
        if is_zero(&block) {
            if before.pending {
                return Err(ExtractError::broken("it ends where an entry should begin"));
            }
            return stream.finish(&unpacker.budget);
        }
        if !has_sound_checksum(&block) {
            return Err(ExtractError::broken("a header does not match its checksum"));
        }
        let header = Header::from_byte_slice(&block);
        match header.as_old().linkflag[0] {
            b'L' => before.name = Some(c_text(text(header, stream, unpacker)?)),
            b'K' => before.target = Some(c_text(text(header, stream, unpacker)?)),
            b'x' | b'X' => {
                let text = text(header, stream, unpacker)?;
                before.attributes.read(&text).map_err(ExtractError::broken)?;
            }
            b'g' => {
                check_global(&text(header, stream, unpacker)?)?;
                continue;
            }
            // The name of the volume.
            b'V' => continue,
            kind => {
                entry(header, kind, std::mem::take(&mut before), stream, unpacker)?;
                continue;
            }
        }
        before.pending = true;
    }
}

fn no_tar() -> ExtractError {
    ExtractError::Format {
        reason: "what it holds is not a tar archive; send tar, tar.gz or zip".to_owned(),
    }
}

fn entry(
    header: &Header,
    kind: u8,
    before: Before,
    stream: &mut Stream<'_>,
    unpacker: &mut Unpacker<'_>,
) -> Result<(), ExtractError> {
    let Before { name, target, attributes, .. } = before;
    let stored = || header.path_bytes().into_owned();
    let name = attributes.sparse.name.clone().or(attributes.path.clone()).or(name);
    let name = name.unwrap_or_else(stored);
    let target = attributes.target.clone().or(target);
    let target = target.or_else(|| header.link_name_bytes().map(std::borrow::Cow::into_owned));
    let route = unpacker.begin(&name)?;
    let nature = Nature {
        mode: header.mode().ok(),
        modified: attributes.modified.unwrap_or_else(|| {
            Moment(header.mtime().ok().and_then(|time| i64::try_from(time).ok()).unwrap_or(0), 0)
        }),
    };
    let hazard = |reason: &str| Err(ExtractError::hazard(&name, reason));
    match kind {
        // What old programs wrote for a directory.
        0 | b'0' if name.ends_with(b"/") => match size(header, &attributes)? {
            0 => unpacker.directory(&route, nature),
            _ => hazard("it is a directory with content"),
        },
        0 | b'0' | b'7' | b'S' => {
            file(header, kind, &attributes, (&route, nature), stream, unpacker)
        }
        b'1' => match target {
            Some(target) => unpacker.hard_link(&route, &target),
            None => hazard("it is a link without a target"),
        },
        b'2' => unpacker.link(&route, &target.unwrap_or_default(), nature),
        b'5' => unpacker.directory(&route, nature),
        b'3' | b'4' => hazard("it is a device"),
        b'6' => hazard("it is a named pipe"),
        b'M' => hazard("it continues a file from another volume"),
        _ => hazard(&format!("it is of a kind that is not known here ({})", show(&[kind]))),
    }
}

fn file(
    header: &Header,
    kind: u8,
    attributes: &Attributes,
    (route, nature): (&Route, Nature),
    stream: &mut Stream<'_>,
    unpacker: &mut Unpacker<'_>,
) -> Result<(), ExtractError> {
    let mut left = size(header, attributes)?;
    let sparse = &attributes.sparse;
    let found;
    let map = if kind == b'S' {
        found = Map::of_header(header, stream, &unpacker.budget)?;
        Some((&found.0, found.1))
    } else if sparse.is_present() {
        let size = sparse.size.ok_or_else(|| ExtractError::broken("a sparse file has no size"))?;
        if sparse.major.unwrap_or(0) == 0 {
            Some((&sparse.map, size))
        } else {
            found = Map::before_data(stream, &unpacker.budget)?;
            left = left.checked_sub(found.1).ok_or_else(too_early)?;
            Some((&found.0, size))
        }
    } else {
        None
    };
    if let Some((map, size)) = map {
        map.check(size, left)?;
        unpacker.sparse_file(route, nature, (size, map.parts()), |buffer, budget| {
            stream.read(buffer, budget)
        })?;
    } else {
        unpacker.file(route, nature, |buffer, budget| {
            let room = usize::try_from(left).unwrap_or(buffer.len()).min(buffer.len());
            if room == 0 {
                return Ok(0);
            }
            let count = stream.read(&mut buffer[..room], budget)?;
            left -= count as u64;
            if count == 0 { Err(too_early()) } else { Ok(count) }
        })?;
    }
    stream.skip_padding(&unpacker.budget)
}

/// Reads the text that a header announces.
fn text(
    header: &Header,
    stream: &mut Stream<'_>,
    unpacker: &Unpacker<'_>,
) -> Result<Vec<u8>, ExtractError> {
    let size = header.entry_size().map_err(|_| ExtractError::broken("a header is damaged"))?;
    if size > TEXT {
        return Err(ExtractError::broken("an entry's name or attributes are longer than 1 MiB"));
    }
    let blocks = size.div_ceil(BLOCK as u64);
    let mut text = Vec::new();
    for _ in 0..blocks {
        let block = stream.block(&unpacker.budget)?;
        text.extend_from_slice(&block.map_err(|_| too_early())?);
    }
    text.truncate(usize::try_from(size).unwrap_or(text.len()));
    Ok(text)
}

/// Up to the first NUL, which ends a text in GNU's own format.
fn c_text(mut text: Vec<u8>) -> Vec<u8> {
    if let Some(end) = text.iter().position(|byte| *byte == 0) {
        text.truncate(end);
    }
    text
}

/// Attributes for all entries that follow are comments in practice, and may be nothing else.
fn check_global(text: &[u8]) -> Result<(), ExtractError> {
    let mut attributes = Attributes::default();
    attributes.read(text).map_err(ExtractError::broken)?;
    if attributes.concern_one_entry() {
        return Err(ExtractError::broken("it gives all of its entries one name or size"));
    }
    Ok(())
}

fn size(header: &Header, attributes: &Attributes) -> Result<u64, ExtractError> {
    match attributes.size {
        Some(size) => Ok(size),
        None => header.entry_size().map_err(|_| ExtractError::broken("a header is damaged")),
    }
}

fn too_early() -> ExtractError {
    ExtractError::broken("it ends too early")
}
