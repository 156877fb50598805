//! The grammar of supervisord's files: sections, keys, values that go on in indented lines, comments.

/// A section with everything in it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Section {
    pub(super) name: String,
    pub(super) line: u64,
    pub(super) entries: Vec<Entry>,
    /// Lines in it that could not be understood.
    pub(super) faults: Vec<Fault>,
}

/// A key and its value.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) value: String,
    pub(super) line: u64,
}

/// What is wrong with a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) line: u64,
    pub(super) message: String,
}

impl Fault {
    pub(super) fn new(line: u64, message: impl Into<String>) -> Self {
        Self { line, message: message.into() }
    }
}

impl Section {
    /// The value of a key; the last one, when it stands there more than once.
    pub(super) fn get(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().rev().find(|entry| entry.key == key)
    }
}

/// The sections of a file, and lines before the first that mean nothing.
pub(super) fn parse(text: &str) -> (Vec<Section>, Vec<Fault>) {
    let mut sections: Vec<Section> = Vec::new();
    let mut faults = Vec::new();
    for (number, raw) in (1..).zip(text.trim_start_matches('\u{feff}').lines()) {
        let line = without_comment(raw);
        let content = line.trim();
        if content.is_empty() {
            continue;
        }
        let indented = line.starts_with([' ', '\t']);
        let Some(section) = sections.last_mut() else {
            match header(content) {
                Some(name) => sections.push(begun(name, number)),
                None => faults.push(Fault::new(number, "it stands before the first [section]")),
            }
            continue;
        };
        if indented && let Some(entry) = section.entries.last_mut() {
            entry.value.push('\n');
            entry.value.push_str(content);
        } else if let Some(name) = header(content) {
            sections.push(begun(name, number));
        } else if let Some((key, value)) = content.split_once(['=', ':']) {
            let key = key.trim().to_ascii_lowercase();
            section.entries.push(Entry { key, value: value.trim().to_owned(), line: number });
        } else {
            let message = format!("{content:?} is neither `key=value` nor a [section]");
            section.faults.push(Fault::new(number, message));
        }
    }
    (sections, faults)
}

fn begun(name: &str, line: u64) -> Section {
    Section { name: name.to_owned(), line, ..Section::default() }
}

fn header(content: &str) -> Option<&str> {
    content.strip_prefix('[')?.strip_suffix(']').map(str::trim)
}

/// A line without its comment: `;` or `#` at its beginning or after a space. In quotes they stand for themselves.
fn without_comment(line: &str) -> &str {
    let mut quote = None;
    let mut before = ' ';
    for (position, character) in line.char_indices() {
        match (quote, character) {
            (Some(open), _) if open == character => quote = None,
            (None, '"' | '\'') => quote = Some(character),
            (None, ';' | '#') if before.is_whitespace() => return &line[..position],
            _ => {}
        }
        before = character;
    }
    // An apostrophe that is never closed is no quote: what looks like a comment after it is one.
    if quote.is_some() {
        let marks = [" ;", "\t;", " #", "\t#"];
        let comment = marks.iter().filter_map(|mark| line.find(mark)).min();
        return comment.map_or(line, |position| &line[..position]);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> String {
        let (sections, faults) = parse(&format!("[s]\n{text}"));
        assert!(faults.is_empty() && sections[0].faults.is_empty(), "{sections:?}");
        sections[0].get("k").expect("a key").value.clone()
    }

    #[test]
    fn values_are_read_without_comments_and_over_several_lines() {
        let cases = [
            ("k=v", "v"),
            ("K = v ", "v"),
            ("k: v", "v"),
            ("k=a=b:c", "a=b:c"),
            ("k=v ; said", "v"),
            ("k=v # said", "v"),
            ("k=a;b#c", "a;b#c"),
            ("k=sh -c \"a ; b\" ; said", "sh -c \"a ; b\""),
            ("k=it's ; said", "it's"),
            ("k=a,\n  b,\n\tc", "a,\nb,\nc"),
            ("k=a\n; said\n  b", "a\nb"),
            ("k=one\nk=two", "two"),
            ("k=", ""),
        ];
        for (text, expected) in cases {
            assert_eq!(value(text), expected, "{text:?}");
        }
    }

    #[test]
    fn lines_that_mean_nothing_are_told_by_number() {
        let (sections, faults) = parse("stray=1\n\n[a]\nnonsense\nk=v\n[b]\n; fine\n");
        assert_eq!(faults, [Fault::new(1, "it stands before the first [section]")]);
        assert_eq!(sections.len(), 2);
        assert_eq!(sections[0].faults[0].line, 4);
        assert!(sections[0].faults[0].message.contains("nonsense"));
        assert_eq!((sections[0].line, sections[1].line), (3, 6));
        assert_eq!(sections[0].get("k").map(|entry| entry.line), Some(5));
    }
}
