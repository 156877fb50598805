//! Archives built byte by byte, so that they can say anything.

use std::io::Write;

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder};

/// A tar entry.
#[derive(Clone)]
pub(crate) struct Item {
    pub(crate) name: Vec<u8>,
    pub(crate) kind: u8,
    pub(crate) target: Vec<u8>,
    pub(crate) mode: u32,
    pub(crate) data: Vec<u8>,
}

pub(crate) fn item(kind: u8, name: impl AsRef<[u8]>) -> Item {
    let mode = if kind == b'5' { 0o755 } else { 0o644 };
    Item { name: name.as_ref().to_vec(), kind, target: Vec::new(), mode, data: Vec::new() }
}

pub(crate) fn file(name: impl AsRef<[u8]>, data: impl AsRef<[u8]>) -> Item {
    Item { data: data.as_ref().to_vec(), ..item(b'0', name) }
}

pub(crate) fn link(name: &str, target: &str) -> Item {
    Item { target: target.into(), ..item(b'2', name) }
}

pub(crate) fn hard_link(name: &str, target: &str) -> Item {
    Item { target: target.into(), ..item(b'1', name) }
}

impl Item {
    pub(crate) fn header(&self, size: u64) -> [u8; 512] {
        let mut header = tar::Header::new_gnu();
        let fields = header.as_old_mut();
        fields.name[..self.name.len()].copy_from_slice(&self.name);
        fields.linkname[..self.target.len()].copy_from_slice(&self.target);
        fields.linkflag = [self.kind];
        header.set_mode(self.mode);
        header.set_mtime(1_700_000_000);
        header.set_size(size);
        header.set_cksum();
        *header.as_bytes()
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.header(self.data.len() as u64).to_vec();
        bytes.extend_from_slice(&self.data);
        bytes.resize(bytes.len().next_multiple_of(512), 0);
        bytes
    }
}

pub(crate) fn tar(items: &[Item]) -> Vec<u8> {
    let mut bytes: Vec<u8> = items.iter().flat_map(Item::bytes).collect();
    bytes.resize(bytes.len() + 1024, 0);
    bytes
}

/// A line of attributes, as POSIX has them.
pub(crate) fn attribute(key: &str, value: &str) -> Vec<u8> {
    let rest = format!(" {key}={value}\n");
    let length =
        (1..rest.len() + 20).find(|length| length - length.to_string().len() == rest.len());
    format!("{}{rest}", length.unwrap()).into_bytes()
}

pub(crate) fn attributes(lines: &[(&str, &str)]) -> Item {
    let data = lines.iter().flat_map(|(key, value)| attribute(key, value)).collect();
    Item { data, ..item(b'x', "PaxHeaders/x") }
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A zip entry; what the table of contents says can be bent.
#[derive(Clone)]
pub(crate) struct Member {
    pub(crate) name: Vec<u8>,
    pub(crate) local_name: Option<Vec<u8>>,
    pub(crate) host: u8,
    pub(crate) flags: u16,
    pub(crate) method: u16,
    pub(crate) mode: u32,
    pub(crate) dos_attributes: u32,
    pub(crate) crc: u32,
    pub(crate) size: u32,
    pub(crate) data: Vec<u8>,
    /// Data of an earlier member instead of its own.
    pub(crate) offset: Option<u32>,
}

pub(crate) fn member(name: impl AsRef<[u8]>, content: &[u8]) -> Member {
    let mut crc = flate2::Crc::new();
    crc.update(content);
    Member {
        name: name.as_ref().to_vec(),
        local_name: None,
        host: 3,
        flags: 1 << 11,
        method: 8,
        mode: 0o100_644,
        dos_attributes: 0,
        crc: crc.sum(),
        size: u32::try_from(content.len()).unwrap(),
        data: deflate(content),
        offset: None,
    }
}

pub(crate) fn member_link(name: &str, target: &str) -> Member {
    Member { mode: 0o120_777, ..member(name, target.as_bytes()) }
}

pub(crate) fn zip(members: &[Member]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut table = Vec::new();
    for member in members {
        let compressed = u32::try_from(member.data.len()).unwrap();
        let mut common = Vec::new();
        common.extend(member.flags.to_le_bytes());
        common.extend(member.method.to_le_bytes());
        common.extend([0, 0, 0x21, 0x58]);
        common.extend(member.crc.to_le_bytes());
        common.extend(compressed.to_le_bytes());
        common.extend(member.size.to_le_bytes());
        let offset = member.offset.unwrap_or(u32::try_from(bytes.len()).unwrap());
        if member.offset.is_none() {
            let name = member.local_name.as_ref().unwrap_or(&member.name);
            bytes.extend(b"PK\x03\x04\x14\0");
            bytes.extend(&common);
            bytes.extend(u16::try_from(name.len()).unwrap().to_le_bytes());
            bytes.extend([0, 0]);
            bytes.extend(name);
            bytes.extend(&member.data);
        }
        table.extend(b"PK\x01\x02\x14");
        table.push(member.host);
        table.extend([20, 0]);
        table.extend(&common);
        table.extend(u16::try_from(member.name.len()).unwrap().to_le_bytes());
        table.extend([0; 8]);
        table.extend((member.mode << 16 | member.dos_attributes).to_le_bytes());
        table.extend(offset.to_le_bytes());
        table.extend(&member.name);
    }
    let (start, length) = (bytes.len(), table.len());
    bytes.extend(table);
    bytes.extend(end(members.len(), length, start));
    bytes
}

pub(crate) fn end(entries: usize, length: usize, start: usize) -> Vec<u8> {
    let mut bytes = b"PK\x05\x06\0\0\0\0".to_vec();
    let entries = u16::try_from(entries).unwrap_or(u16::MAX).to_le_bytes();
    bytes.extend(entries);
    bytes.extend(entries);
    bytes.extend(u32::try_from(length).unwrap().to_le_bytes());
    bytes.extend(u32::try_from(start).unwrap().to_le_bytes());
    bytes.extend([0, 0]);
    bytes
}

/// A generator that gives the same numbers on every run.
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn next(&mut self, below: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % below
    }
}

/// How many rounds of made-up input to run: as many as `ATOLL_FUZZ_ROUNDS` asks for, else as many as fit into an ordinary
/// run of the tests.
pub(crate) fn rounds(ordinary: usize) -> usize {
    let asked = std::env::var("ATOLL_FUZZ_ROUNDS").ok().and_then(|text| text.parse().ok());
    asked.unwrap_or(ordinary)
}

/// Bytes that cannot be compressed.
pub(crate) fn noise(length: usize) -> Vec<u8> {
    let mut numbers = Numbers(1);
    (0..length).map(|_| u8::try_from(numbers.next(256)).unwrap()).collect()
}
