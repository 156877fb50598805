//! Tables with separators, made Markdown tables.

use crate::document::Markdown;
use crate::error::ConvertError;
use crate::kind::Kind;
use crate::page::Page;

/// Columns of a table; what has more is no table.
const COLUMNS: usize = 4096;

/// Converts a table.
pub(crate) fn convert(kind: Kind, text: &str, room: u64) -> Result<Markdown, ConvertError> {
    let separator = if kind == Kind::Tsv { '\t' } else { separator(text) };
    let width = Rows::new(text, separator).map(|row| row.len()).max().unwrap_or(0);
    if width > COLUMNS {
        return Err(ConvertError::too_large("the table", COLUMNS as u64, "columns"));
    }
    let mut page = Page::new(room);
    let mut count = 0_u64;
    for row in Rows::new(text, separator) {
        push_row(&mut page, &row, width)?;
        if count == 0 {
            page.push(&format!("|{}\n", " --- |".repeat(width)))?;
        }
        count += 1;
    }
    let text = page.finish().trim_end().to_owned();
    Ok(Markdown::new(kind, text).with("rows", Some(count)).with("columns", Some(width)))
}

/// Adds a row of a Markdown table, with as many cells as the table is wide.
pub(crate) fn push_row(page: &mut Page, row: &[String], width: usize) -> Result<(), ConvertError> {
    page.push("|")?;
    for column in 0..width {
        let cell = row.get(column).map(String::as_str).unwrap_or_default();
        page.push(" ")?;
        page.push(&cell_text(cell))?;
        page.push(" |")?;
    }
    page.push("\n")
}

/// A cell's text, in which nothing ends the cell.
pub(crate) fn cell_text(cell: &str) -> String {
    cell.trim().replace("\r\n", "\n").replace(['\n', '\r'], "<br>").replace('|', "\\|")
}

/// The separator that the first lines have most of, outside quotes.
fn separator(text: &str) -> char {
    let mut counts = [(',', 0), (';', 0), ('\t', 0), ('|', 0)];
    let mut quoted = false;
    for c in text.chars().take(8192) {
        quoted ^= c == '"';
        if let Some(entry) = counts.iter_mut().find(|(separator, _)| *separator == c && !quoted) {
            entry.1 += 1;
        }
    }
    // The first of equals wins.
    counts.iter().rev().max_by_key(|(_, count)| *count).map_or(',', |(separator, _)| *separator)
}

/// The rows of a text. Empty lines are no rows.
struct Rows<'a> {
    rest: &'a str,
    separator: char,
}

impl<'a> Rows<'a> {
    fn new(text: &'a str, separator: char) -> Self {
        Self { rest: text.trim_start_matches('\u{feff}'), separator }
    }
}

impl Iterator for Rows<'_> {
    type Item = Vec<String>;

    fn next(&mut self) -> Option<Vec<String>> {
        self.rest = self.rest.trim_start_matches(['\n', '\r']);
        if self.rest.is_empty() {
            return None;
        }
        let mut row = Vec::new();
        loop {
            let (cell, rest) = cell(self.rest, self.separator);
            row.push(cell);
            match rest.chars().next() {
                Some(c) if c == self.separator => self.rest = rest.get(c.len_utf8()..)?,
                _ => {
                    self.rest = rest;
                    return Some(row);
                }
            }
        }
    }
}

/// The first cell of a text and what follows it, its separator first.
fn cell(text: &str, separator: char) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([separator, '\n', '\r']).unwrap_or(text.len());
        let (cell, rest) = text.split_at(end);
        return (cell.to_owned(), rest);
    };
    let mut cell = String::new();
    let mut rest = quoted;
    while let Some(at) = rest.find('"') {
        let (inside, after) = rest.split_at(at);
        cell.push_str(inside);
        rest = after.get(1..).unwrap_or_default();
        if let Some(after) = rest.strip_prefix('"') {
            cell.push('"');
            rest = after;
            continue;
        }
        // What follows a closing quote before the separator belongs to the cell, whatever it may be.
        let end = rest.find([separator, '\n', '\r']).unwrap_or(rest.len());
        let (more, rest) = rest.split_at(end);
        cell.push_str(more);
        return (cell, rest);
    }
    cell.push_str(rest);
    (cell, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> String {
        convert(Kind::Csv, text, 1 << 20).unwrap().text
    }

    #[test]
    fn rows_become_rows_and_cells_stay_whole() {
        assert_eq!(
            table("name,said\nA,\"x, \"\"y\"\"\nz | w\"\nB\n"),
            "| name | said |\n| --- | --- |\n| A | x, \"y\"<br>z \\| w |\n| B |  |"
        );
    }

    #[test]
    fn the_separator_is_found() {
        assert_eq!(table("a;b\n1,5;2\n"), "| a | b |\n| --- | --- |\n| 1,5 | 2 |");
        assert_eq!(table("a\tb\n"), "| a | b |\n| --- | --- |");
        assert_eq!(table("one\ntwo\n"), "| one |\n| --- |\n| two |");
    }

    #[test]
    fn broken_tables_end() {
        assert_eq!(table(""), "");
        assert_eq!(table("\"never closed, \n x"), "| never closed, <br> x |\n| --- |");
        let wide = ",".repeat(5000);
        assert!(matches!(convert(Kind::Csv, &wide, 1 << 20), Err(ConvertError::TooLarge { .. })));
    }
}
