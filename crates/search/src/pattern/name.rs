//! One component of a pattern against one name: `*`, `?`, `[…]` and plain text.
//!
//! Names are bytes. Where they are UTF-8, `?` and `[…]` take whole characters; a byte that is no text counts as one.

use super::Syntax;

/// What one name must look like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Name {
    /// Anything: `*`.
    Any,
    /// Exactly this.
    Literal(Vec<u8>),
    /// Ends with this: `*.py`.
    Suffix(Vec<u8>),
    /// Everything else.
    Tokens(Vec<Token>),
}

/// A piece of a component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Token {
    /// These bytes.
    Text(Vec<u8>),
    /// One character: `?`.
    One,
    /// Any number of characters: `*`.
    Run,
    /// One character of these, or of all others.
    Class { negated: bool, ranges: Vec<(char, char)> },
}

impl Name {
    /// Reads one component, which holds no slash.
    pub(crate) fn parse(component: &str, syntax: Syntax) -> Result<Self, String> {
        let mut tokens = Vec::new();
        let mut rest = component;
        while let Some(character) = rest.chars().next() {
            let mut after = &rest[character.len_utf8()..];
            match character {
                '*' => {
                    if tokens.last() != Some(&Token::Run) {
                        tokens.push(Token::Run);
                    }
                }
                '?' => tokens.push(Token::One),
                '[' => match class(after) {
                    Some((token, left)) => {
                        tokens.push(token);
                        after = left;
                    }
                    None if syntax == Syntax::Python => push_text(&mut tokens, '['),
                    None => {
                        return Err(format!(
                            "the [ in {component:?} is never closed; write \\[ to mean the character"
                        ));
                    }
                },
                '\\' if syntax == Syntax::Extended => match after.chars().next() {
                    Some(escaped) => {
                        push_text(&mut tokens, escaped);
                        after = &after[escaped.len_utf8()..];
                    }
                    None => {
                        return Err(format!(
                            "{component:?} ends in a backslash with nothing after it"
                        ));
                    }
                },
                other => push_text(&mut tokens, other),
            }
            rest = after;
        }
        Ok(match tokens.as_mut_slice() {
            [] => Self::Literal(Vec::new()),
            [Token::Run] => Self::Any,
            [Token::Text(text)] => Self::Literal(std::mem::take(text)),
            [Token::Run, Token::Text(text)] => Self::Suffix(std::mem::take(text)),
            _ => Self::Tokens(tokens),
        })
    }

    /// Whether a name fits.
    pub(crate) fn matches(&self, name: &[u8]) -> bool {
        match self {
            Self::Any => true,
            Self::Literal(text) => name == text,
            Self::Suffix(text) => name.ends_with(text),
            Self::Tokens(tokens) => tokens_match(tokens, name),
        }
    }

    /// Whether it says itself that names begin with a dot.
    pub(crate) fn begins_with_dot(&self) -> bool {
        match self {
            Self::Literal(text) => text.starts_with(b"."),
            Self::Tokens(tokens) => {
                matches!(tokens.first(), Some(Token::Text(text)) if text.starts_with(b"."))
            }
            Self::Any | Self::Suffix(_) => false,
        }
    }
}

fn push_text(tokens: &mut Vec<Token>, character: char) {
    let mut buffer = [0; 4];
    let bytes = character.encode_utf8(&mut buffer).as_bytes();
    match tokens.last_mut() {
        Some(Token::Text(text)) => text.extend_from_slice(bytes),
        _ => tokens.push(Token::Text(bytes.to_vec())),
    }
}

/// Reads a class after its `[`; gives back what follows the `]`, or nothing when there is none. A `]` that comes first
/// is a member.
fn class(after: &str) -> Option<(Token, &str)> {
    let negated = after.starts_with(['!', '^']);
    let mut characters = after[usize::from(negated)..].chars().peekable();
    let mut ranges = Vec::new();
    let mut first = true;
    loop {
        let low = characters.next()?;
        if low == ']' && !first {
            let rest = characters.collect::<String>().len();
            return Some((Token::Class { negated, ranges }, &after[after.len() - rest..]));
        }
        first = false;
        let mut ahead = characters.clone();
        match (ahead.next(), ahead.next()) {
            (Some('-'), Some(high)) if high != ']' => {
                ranges.push((low, high));
                characters = ahead;
            }
            _ => ranges.push((low, low)),
        }
    }
}

/// Goes forward greedily and comes back to the latest run only: a run further left could not do better.
fn tokens_match(tokens: &[Token], name: &[u8]) -> bool {
    let (mut token, mut at) = (0, 0);
    let mut latest_run: Option<(usize, usize)> = None;
    loop {
        let step = match tokens.get(token) {
            None if at == name.len() => return true,
            None => None,
            Some(Token::Run) => {
                token += 1;
                if token == tokens.len() {
                    return true;
                }
                latest_run = Some((token, at));
                continue;
            }
            Some(Token::Text(text)) => name[at..].starts_with(text).then_some(text.len()),
            Some(Token::One) => first_character(&name[at..]).map(|(_, length)| length),
            Some(Token::Class { negated, ranges }) => {
                first_character(&name[at..]).and_then(|(character, length)| {
                    let inside = character.is_some_and(|character| {
                        ranges.iter().any(|(low, high)| (*low..=*high).contains(&character))
                    });
                    (inside != *negated).then_some(length)
                })
            }
        };
        if let Some(length) = step {
            token += 1;
            at += length;
            continue;
        }
        let Some((run, from)) = latest_run else { return false };
        let Some((_, length)) = first_character(&name[from..]) else { return false };
        latest_run = Some((run, from + length));
        (token, at) = (run, from + length);
    }
}

/// The first character and its length in bytes; no character for a byte that is no text.
fn first_character(bytes: &[u8]) -> Option<(Option<char>, usize)> {
    let first = *bytes.first()?;
    if first.is_ascii() {
        return Some((Some(char::from(first)), 1));
    }
    let head = &bytes[..bytes.len().min(4)];
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&head[..error.valid_up_to()]).unwrap_or_default(),
    };
    let character = text.chars().next();
    Some((character, character.map_or(1, char::len_utf8)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, name: &[u8]) -> bool {
        Name::parse(pattern, Syntax::Extended).unwrap().matches(name)
    }

    #[test]
    fn each_wildcard_takes_what_it_should() {
        for (pattern, name, expected) in [
            ("a.py", "a.py", true),
            ("a.py", "b.py", false),
            ("*", "", true),
            ("*.py", "a.py", true),
            ("*.py", ".py", true),
            ("*.py", "a.pyc", false),
            ("a*b*c", "aXbYc", true),
            ("a*b*c", "abbbc", true),
            ("a*b*c", "acb", false),
            ("a*", "a", true),
            ("**a", "ba", true),
            ("?", "x", true),
            ("?", "", false),
            ("?", "xy", false),
            ("?.txt", "ä.txt", true),
            ("[äö].txt", "ö.txt", true),
            ("[a-c]x", "bx", true),
            ("[a-c]x", "dx", false),
            ("[!a-c]x", "dx", true),
            ("[^a-c]x", "ax", false),
            ("[]x]", "]", true),
            ("[!]]", "]", false),
            ("[a-]", "-", true),
            ("[z-a]", "m", false),
            ("\\*", "*", true),
            ("\\*", "x", false),
            ("\\[x]", "[x]", true),
            ("*ä", "xä", true),
            ("*[0-9]", "v10", true),
        ] {
            assert_eq!(matches(pattern, name.as_bytes()), expected, "{pattern} against {name}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_count_as_one_character_each() {
        assert!(matches("a?b", b"a\xffb"));
        assert!(!matches("a?b", b"a\xff\xffb"));
        assert!(matches("a*b", b"a\xff\xfeb"));
        assert!(matches("a[!x]b", b"a\xffb"));
        assert!(!matches("a[x]b", b"a\xffb"));
    }

    #[test]
    fn python_takes_backslashes_and_open_brackets_for_what_they_are() {
        let name = |pattern| Name::parse(pattern, Syntax::Python).unwrap();
        assert!(name("a\\*").matches(b"a\\b"));
        assert!(name("[z").matches(b"[z"));
        assert!(name("x[!").matches(b"x[!"));
    }

    #[test]
    fn what_is_never_closed_is_refused_with_its_cure() {
        let error = Name::parse("[z", Syntax::Extended).unwrap_err();
        assert!(error.contains("\\["), "{error}");
        assert!(Name::parse("a\\", Syntax::Extended).is_err());
    }

    #[test]
    fn many_runs_do_not_explode() {
        let pattern = "*a".repeat(100);
        assert!(!matches(&pattern, "a".repeat(99).as_bytes()));
        assert!(!matches(&format!("{pattern}b"), "a".repeat(255).as_bytes()));
    }

    #[test]
    fn only_a_plain_dot_begins_with_a_dot() {
        for (pattern, expected) in [(".x", true), (".*", true), ("*.x", false), ("[.]x", false)] {
            assert_eq!(Name::parse(pattern, Syntax::Python).unwrap().begins_with_dot(), expected);
        }
    }
}
