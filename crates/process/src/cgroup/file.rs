//! Reading and writing the small files of a control group.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;

pub(super) fn read(directory: &Path, name: &str) -> io::Result<String> {
    std::fs::read_to_string(directory.join(name))
}

/// Writes at once, as the kernel wants it; never makes a file.
pub(super) fn write(directory: &Path, name: &str, value: &str) -> io::Result<()> {
    OpenOptions::new().write(true).open(directory.join(name))?.write_all(value.as_bytes())
}
