//! Zip archives: what kind of document one is, its members read within bounds, and an archive that is only an archive.

use std::borrow::Cow;
use std::io::{Cursor, Read};

use zip::ZipArchive;

use crate::convert::{Allowance, convert_within};
use crate::document::{Markdown, Selection, Source};
use crate::error::ConvertError;
use crate::kind::Kind;
use crate::page::Page;

/// Names that a zip's kind is looked for among.
const NAMES: usize = 10_000;

/// What a zip is: documents of many kinds are zips of a certain content.
pub(crate) fn kind(bytes: &[u8]) -> Kind {
    let Ok(archive) = ZipArchive::new(Cursor::new(bytes)) else {
        return Kind::Zip;
    };
    let mut kind = Kind::Zip;
    for index in 0..archive.len().min(NAMES) {
        let Some(Ok(name)) = archive.name_for_index(index) else { continue };
        match name.as_ref() {
            "META-INF/container.xml" => return Kind::Epub,
            name if name.starts_with("word/") => kind = Kind::Docx,
            name if name.starts_with("xl/") => kind = Kind::Xlsx,
            name if name.starts_with("ppt/") => kind = Kind::Pptx,
            _ => continue,
        }
        // Their content list tells them from an archive that happens to have such a directory.
        if kind != Kind::Zip && archive.index_for_name("[Content_Types].xml").is_some() {
            return kind;
        }
        kind = Kind::Zip;
    }
    kind
}

/// An archive whose members are read within an allowance.
#[derive(Debug)]
pub(crate) struct Package<'a> {
    archive: ZipArchive<Cursor<&'a [u8]>>,
}

impl<'a> Package<'a> {
    pub(crate) fn open(what: &str, bytes: &'a [u8]) -> Result<Self, ConvertError> {
        let archive = ZipArchive::new(Cursor::new(bytes));
        Ok(Self { archive: archive.map_err(|error| ConvertError::broken(what, error))? })
    }

    fn len(&self) -> usize {
        self.archive.len()
    }

    /// The member with this name.
    pub(crate) fn read(
        &mut self,
        name: &str,
        allowance: &mut Allowance,
    ) -> Result<Vec<u8>, ConvertError> {
        let index = self.archive.index_for_name(name);
        let index =
            index.ok_or_else(|| ConvertError::broken("archive", format!("it has no {name}")))?;
        self.read_at(index, allowance).map(|(_, bytes)| bytes)
    }

    fn read_at(
        &mut self,
        index: usize,
        allowance: &mut Allowance,
    ) -> Result<(String, Vec<u8>), ConvertError> {
        let broken = |error: &dyn std::fmt::Display| ConvertError::broken("archive", error);
        if let Ok(member) = self.archive.by_index_raw(index)
            && member.encrypted()
        {
            return Err(ConvertError::Protected { what: "archive".to_owned() });
        }
        let member = self.archive.by_index(index).map_err(|error| broken(&error))?;
        let name = String::from_utf8_lossy(member.name_raw()).into_owned();
        let mut bytes = Vec::new();
        // What the archive says of sizes is not believed: one byte more than allowed tells.
        let limit = allowance.unpacked_bytes;
        let read = member.take(limit + 1).read_to_end(&mut bytes);
        let read = read.map_err(|error| broken(&error))? as u64;
        if read > limit {
            let most = allowance.bounds.unpacked_bytes;
            return Err(ConvertError::too_large("what the archive unpacks to", most, "bytes"));
        }
        allowance.unpacked_bytes -= read;
        Ok((name, bytes))
    }
}

/// Converts every member of an archive. What cannot be converted is listed with the reason.
pub(crate) fn convert(
    bytes: &[u8],
    source: &Source,
    allowance: &mut Allowance,
    room: u64,
) -> Result<Markdown, ConvertError> {
    let mut package = Package::open("archive", bytes)?;
    let name = source.name.as_deref().and_then(|name| name.rsplit('/').next()).unwrap_or("archive");
    let mut page = Page::new(room);
    page.block(&format!("# {name}"))?;
    let mut count = 0_u64;
    for index in 0..package.len() {
        if package.archive.by_index_raw(index).is_ok_and(|member| member.is_dir()) {
            continue;
        }
        if allowance.members == 0 {
            let most = allowance.bounds.members;
            return Err(ConvertError::too_large("the archive", most, "members"));
        }
        allowance.members -= 1;
        count += 1;
        let member = package.read_at(index, allowance).and_then(|(name, bytes)| {
            let source = Source { name: Some(name.clone()), ..Source::default() };
            // Headings and what stands between them need room too.
            let room = page.room().saturating_sub(name.len() as u64 + 64);
            let part = convert_within(bytes, &source, &Selection::default(), allowance, room);
            part.map(|part| (name, part.text))
        });
        match member {
            Ok((name, text)) => {
                page.block(&format!("## {name}"))?;
                page.block(&text)?;
            }
            Err(error @ ConvertError::TooLarge { .. }) => return Err(error),
            Err(error) => {
                let name = package.archive.name_for_index(index).and_then(Result::ok);
                let name = name.map_or_else(|| format!("member {index}"), Cow::into_owned);
                page.block(&format!("## {name}"))?;
                page.block(&format!("*[not converted: {error}]*"))?;
            }
        }
    }
    Ok(Markdown::new(Kind::Zip, page.finish()).with("members", Some(count)))
}

#[cfg(test)]
pub(crate) mod tests {
    use std::io::Write;

    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::*;
    use crate::document::Bounds;

    pub(crate) fn packed(members: &[(&str, &[u8])]) -> Vec<u8> {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        for (name, content) in members {
            writer.start_file(*name, SimpleFileOptions::default()).unwrap();
            writer.write_all(content).unwrap();
        }
        writer.finish().unwrap().into_inner()
    }

    pub(crate) const BOUNDS: Bounds =
        Bounds { output_bytes: 1 << 20, unpacked_bytes: 4 << 20, members: 100 };

    fn converted(bytes: Vec<u8>, bounds: Bounds) -> Result<Markdown, ConvertError> {
        let source = Source { name: Some("dir/box.zip".to_owned()), ..Source::default() };
        crate::convert(bytes, &source, &Selection::default(), &bounds)
    }

    #[test]
    fn each_member_is_converted_by_what_it_is() {
        let inner = packed(&[("deep.txt", b"inner")]);
        let bytes = packed(&[
            ("a.csv", b"x,y\n1,2\n"),
            ("sub/b.html", b"<html><body><h2>Head</h2><p>x</p></body></html>"),
            ("c.bin", b"\0\x01\x02"),
            ("d.zip", &inner),
        ]);
        let text = converted(bytes, BOUNDS).unwrap().text;
        assert!(text.starts_with("# box.zip\n\n## a.csv\n\n| x | y |\n"), "{text}");
        assert!(text.contains("## sub/b.html\n\n## Head\n\nx"), "{text}");
        assert!(text.contains("## c.bin\n\n*[not converted: there is no converter for"), "{text}");
        assert!(text.contains("# d.zip\n\n## deep.txt\n\ninner"), "{text}");
    }

    #[test]
    fn bombs_are_refused() {
        let large = vec![b'x'; 8 << 20];
        let bomb = packed(&[("a.txt", &large)]);
        assert!(bomb.len() < 100_000);
        let error = converted(bomb, BOUNDS).unwrap_err();
        assert!(matches!(error, ConvertError::TooLarge { .. }), "{error}");
        let many: Vec<_> = (0..200).map(|number| format!("{number}.txt")).collect();
        let many: Vec<(&str, &[u8])> = many.iter().map(|name| (name.as_str(), &b"x"[..])).collect();
        let error = converted(packed(&many), BOUNDS).unwrap_err();
        assert!(error.to_string().contains("100 members"), "{error}");
        let mut nested = packed(&[("x.txt", b"x")]);
        for _ in 0..5 {
            nested = packed(&[("n.zip", &nested)]);
        }
        assert!(converted(nested, BOUNDS).unwrap().text.contains("more than 2 deep"));
    }

    #[test]
    fn an_archive_cut_off_is_broken() {
        let whole = packed(&[("a.txt", b"some text")]);
        let cut = whole[..whole.len() / 2].to_vec();
        assert!(matches!(converted(cut, BOUNDS), Err(ConvertError::Broken { .. })));
    }
}
