//! The container of Office before 2007: which document it holds.

use std::io::Cursor;

use office_oxide::cfb::CfbReader;

use crate::kind::Kind;

/// What the container holds, by the stream each program keeps its document in.
pub(crate) fn kind(bytes: &[u8]) -> Kind {
    let Ok(container) = CfbReader::new(Cursor::new(bytes)) else {
        return Kind::Other;
    };
    let has = |name: &str| container.has_stream(name);
    if has("WordDocument") {
        Kind::Doc
    } else if has("Workbook") || has("Book") {
        Kind::Xls
    } else if has("PowerPoint Document") || has("PP97_DUALSTORAGE") {
        Kind::Ppt
    } else if has("EncryptedPackage") {
        // A protected document of today: its converter says so.
        Kind::Docx
    } else {
        Kind::Other
    }
}
