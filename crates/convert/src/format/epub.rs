//! Books: the chapters in their order of reading.

use std::collections::HashMap;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::html;
use super::package::Package;
use crate::convert::Allowance;
use crate::document::Markdown;
use crate::error::ConvertError;
use crate::kind::Kind;
use crate::page::{Page, one_line};
use crate::text::decode;

/// Chapters of a book.
const CHAPTERS: usize = 10_000;

/// What a book's table of contents says.
#[derive(Debug, Default)]
struct Book {
    title: String,
    creator: String,
    language: String,
    /// Path of each chapter within the archive, in order.
    chapters: Vec<String>,
}

/// Converts a book.
pub(crate) fn convert(
    bytes: &[u8],
    allowance: &mut Allowance,
    room: u64,
) -> Result<Markdown, ConvertError> {
    let mut package = Package::open("book", bytes)?;
    let container = package.read("META-INF/container.xml", allowance)?;
    let contents = root(&decode(&container, None))?;
    let text = package.read(&contents, allowance)?;
    let directory = contents.rsplit_once('/').map_or("", |(directory, _)| directory);
    let book = read(&decode(&text, None), directory)?;
    let mut page = Page::new(room);
    let title = one_line(&book.title);
    if !title.is_empty() {
        page.block(&format!("# {title}"))?;
    }
    page.block(&one_line(&book.creator))?;
    for chapter in &book.chapters {
        let chapter = package.read(chapter, allowance)?;
        page.block(&html::fragment(&decode(&chapter, None))?)?;
    }
    Ok(Markdown::new(Kind::Epub, page.finish())
        .titled(Some(title))
        .with("author", Some(one_line(&book.creator)))
        .with("language", Some(one_line(&book.language)))
        .with("chapters", Some(book.chapters.len())))
}

/// Where the book's contents are listed.
fn root(container: &str) -> Result<String, ConvertError> {
    let mut reader = Reader::from_str(container);
    loop {
        match reader.read_event().map_err(|error| ConvertError::broken("book", error))? {
            Event::Start(tag) | Event::Empty(tag) if tag.local_name().as_ref() == "rootfile" => {
                if let Some(path) = attribute(&tag, "full-path") {
                    return Ok(path);
                }
            }
            Event::Eof => {
                return Err(ConvertError::broken("book", "it does not say what it contains"));
            }
            _ => {}
        }
    }
}

fn read(contents: &str, directory: &str) -> Result<Book, ConvertError> {
    let mut reader = Reader::from_str(contents);
    let mut book = Book::default();
    let mut files: HashMap<String, String> = HashMap::new();
    let mut within = String::new();
    loop {
        match reader.read_event().map_err(|error| ConvertError::broken("book", error))? {
            Event::Start(tag) => {
                item(&tag, directory, &mut files, &mut book);
                tag.local_name().as_ref().clone_into(&mut within);
            }
            Event::Empty(tag) => item(&tag, directory, &mut files, &mut book),
            Event::End(_) => within.clear(),
            Event::Text(text) => {
                let text = text.xml10_content();
                match within.as_str() {
                    "title" if book.title.is_empty() => book.title.push_str(&text),
                    "creator" if book.creator.is_empty() => book.creator.push_str(&text),
                    "language" if book.language.is_empty() => book.language.push_str(&text),
                    _ => {}
                }
            }
            Event::Eof => break,
            _ => {}
        }
        if book.chapters.len() > CHAPTERS {
            return Err(ConvertError::too_large("the book", CHAPTERS as u64, "chapters"));
        }
    }
    Ok(book)
}

fn item(
    tag: &BytesStart<'_>,
    directory: &str,
    files: &mut HashMap<String, String>,
    book: &mut Book,
) {
    match tag.local_name().as_ref() {
        "item" => {
            let kind = attribute(tag, "media-type").unwrap_or_default();
            if kind.contains("html")
                && let (Some(id), Some(path)) = (attribute(tag, "id"), attribute(tag, "href"))
            {
                files.insert(id, within(directory, &path));
            }
        }
        "itemref" => {
            if let Some(path) = attribute(tag, "idref").and_then(|id| files.get(&id).cloned()) {
                book.chapters.push(path);
            }
        }
        _ => {}
    }
}

/// A path as it is written in the contents, from the top of the archive.
fn within(directory: &str, path: &str) -> String {
    let path = path.replace("%20", " ");
    let mut parts: Vec<&str> = directory.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

fn attribute(tag: &BytesStart<'_>, name: &str) -> Option<String> {
    let mut found = tag.attributes().flatten();
    let found = found.find(|found| found.key.local_name().as_ref() == name)?;
    Some(found.value.replace("&amp;", "&"))
}

#[cfg(test)]
mod tests {
    use super::super::package::tests::{BOUNDS, packed};
    use crate::document::{Selection, Source};
    use crate::kind::Kind;

    #[test]
    fn chapters_come_in_their_order_of_reading() {
        let container =
            b"<container><rootfiles><rootfile full-path='OPS/book.opf'/></rootfiles></container>";
        let contents =
            b"<package><metadata><dc:title>A Book</dc:title><dc:creator>Me</dc:creator></metadata>\
            <manifest><item id='b' href='b.xhtml' media-type='application/xhtml+xml'/>\
            <item id='a' href='text/a.xhtml' media-type='application/xhtml+xml'/></manifest>\
            <spine><itemref idref='a'/><itemref idref='b'/></spine></package>";
        let bytes = packed(&[
            ("mimetype", b"application/epub+zip"),
            ("META-INF/container.xml", container),
            ("OPS/book.opf", contents),
            ("OPS/b.xhtml", b"<html><body><h2>Second</h2></body></html>"),
            ("OPS/text/a.xhtml", b"<html><body><h2>First</h2><p>words</p></body></html>"),
        ]);
        let book =
            crate::convert(bytes, &Source::default(), &Selection::default(), &BOUNDS).unwrap();
        assert_eq!(book.kind, Kind::Epub);
        assert_eq!(book.text, "# A Book\n\nMe\n\n## First\n\nwords\n\n## Second");
    }

    #[test]
    fn a_book_without_its_contents_is_broken() {
        let bytes = packed(&[("META-INF/container.xml", b"<container/>")]);
        assert!(crate::convert(bytes, &Source::default(), &Selection::default(), &BOUNDS).is_err());
    }
}
