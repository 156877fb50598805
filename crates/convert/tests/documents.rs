//! Real documents of Office and PDF, and the same damaged: structure is kept, and nothing panics its way out.

#![expect(clippy::unwrap_used, reason = "test code")]

use atoll_convert::{Bounds, ConvertError, Kind, Markdown, Selection, Source, convert};

const BOUNDS: Bounds = Bounds { output_bytes: 16 << 20, unpacked_bytes: 64 << 20, members: 1000 };

fn read(name: &str) -> Vec<u8> {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/sdk/documents/");
    std::fs::read(format!("{directory}{name}")).unwrap()
}

fn converted(bytes: Vec<u8>, selection: &Selection) -> Result<Markdown, ConvertError> {
    convert(bytes, &Source::default(), selection, &BOUNDS)
}

fn text(name: &str) -> String {
    converted(read(name), &Selection::default()).unwrap().text
}

fn has_line(text: &str, start: &str, part: &str) -> bool {
    text.lines().any(|line| line.trim_start().starts_with(start) && line.contains(part))
}

#[test]
fn kinds_are_seen_from_the_content_alone() {
    for (name, kind) in [
        ("report.docx", Kind::Docx),
        ("sightings.xlsx", Kind::Xlsx),
        ("slides.pptx", Kind::Pptx),
        ("lengths.xls", Kind::Xls),
        ("report.pdf", Kind::Pdf),
    ] {
        assert_eq!(Kind::of(&read(name), &Source::default()), kind, "{name}");
    }
}

#[test]
fn office_documents_keep_headings_lists_tables_and_links() {
    let word = text("report.docx");
    assert!(has_line(&word, "#", "Origins") && has_line(&word, "- ", "Barrier reefs"), "{word}");
    assert!(has_line(&word, "1. ", "Look") && has_line(&word, "|", "Mesoamerican"), "{word}");
    assert!(word.contains("](https://reefs.example/more)"), "{word}");
    let workbook = text("sightings.xlsx");
    assert!(has_line(&workbook, "|", "2026-01-01") && workbook.contains("Lengths"), "{workbook}");
    let slides = text("slides.pptx");
    assert!(has_line(&slides, "#", "Dangers") && has_line(&slides, "- ", "Atolls"), "{slides}");
    assert!(has_line(&slides, "|", "Florida") && slides.contains("Say something"), "{slides}");
    assert!(has_line(&text("lengths.xls"), "|", "Florida"));
}

#[test]
fn a_pdf_keeps_headings_text_and_what_it_says_of_itself() {
    let pdf = converted(read("report.pdf"), &Selection::default()).unwrap();
    assert!(has_line(&pdf.text, "#", "Dangers") && pdf.text.contains("Florida"), "{}", pdf.text);
    assert_eq!(pdf.title.as_deref(), Some("Reefs of the World"));
    assert_eq!(pdf.properties.get("pages").map(String::as_str), Some("4"));
    let protected = converted(read("protected.pdf"), &Selection::default());
    assert!(matches!(protected, Err(ConvertError::Protected { .. })), "{protected:?}");
}

#[test]
fn parts_can_be_asked_for() {
    let pages = Selection { pages: Some((2, 2)), ..Selection::default() };
    let page = converted(read("report.pdf"), &pages).unwrap().text;
    assert!(page.contains("Kinds") && !page.contains("Dangers"), "{page}");
    let sheet = Selection { sheet: Some("Lengths".to_owned()), ..Selection::default() };
    let sheet = converted(read("sightings.xlsx"), &sheet).unwrap().text;
    assert!(sheet.contains("Florida") && !sheet.contains("Turtle"), "{sheet}");
    let rows = Selection { rows: Some((1, 3)), ..Selection::default() };
    let rows = converted(read("sightings.xlsx"), &rows).unwrap().text;
    assert!(rows.contains("heard 1") && !rows.contains("heard 9"), "{rows}");
    let slides = Selection { slides: Some((2, 2)), ..Selection::default() };
    let slide = converted(read("slides.pptx"), &slides).unwrap().text;
    assert!(slide.contains("Kinds") && !slide.contains("Dangers"), "{slide}");
    let nothing = Selection { slides: Some((99, 99)), ..Selection::default() };
    let nothing = converted(read("slides.pptx"), &nothing);
    assert!(matches!(nothing, Err(ConvertError::NoSuchPart(_))), "{nothing:?}");
}

#[test]
fn damaged_documents_are_errors_or_read_as_far_as_they_go() {
    for name in ["report.docx", "sightings.xlsx", "slides.pptx", "lengths.xls", "report.pdf"] {
        let whole = read(name);
        for eighth in 1..8 {
            let cut = whole[..whole.len() * eighth / 8].to_vec();
            let _either = converted(cut, &Selection::default());
            let mut garbled = whole.clone();
            let step = 97 + eighth;
            garbled
                .iter_mut()
                .skip(64)
                .step_by(step)
                .for_each(|byte| *byte = byte.wrapping_add(13));
            let _either = converted(garbled, &Selection::default());
        }
    }
}

#[test]
fn office_documents_that_unpack_to_too_much_are_refused() {
    let bounds = Bounds { unpacked_bytes: 1000, ..BOUNDS };
    let refused = convert(read("report.docx"), &Source::default(), &Selection::default(), &bounds);
    assert!(matches!(refused, Err(ConvertError::TooLarge { .. })), "{refused:?}");
    let bounds = Bounds { output_bytes: 200, ..BOUNDS };
    let refused = convert(read("report.docx"), &Source::default(), &Selection::default(), &bounds);
    assert!(matches!(refused, Err(ConvertError::TooLarge { .. })), "{refused:?}");
}
