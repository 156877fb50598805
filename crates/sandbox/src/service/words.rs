//! Command lines and lists of variables taken apart as supervisord does it: quotes and backslashes, no shell.

use std::collections::BTreeMap;

/// The words of a command line.
pub(super) fn split(text: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            quote @ ('"' | '\'') => {
                let word = word.get_or_insert_default();
                loop {
                    match characters.next() {
                        None => return Err(format!("a quote ({quote}) is not closed")),
                        Some(end) if end == quote => break,
                        // Between double quotes a backslash keeps itself before anything but these.
                        Some('\\') if quote == '"' => match characters.next() {
                            Some(escaped @ ('"' | '\\')) => word.push(escaped),
                            Some(other) => word.extend(['\\', other]),
                            None => return Err("a quote (\") is not closed".to_owned()),
                        },
                        Some(other) => word.push(other),
                    }
                }
            }
            '\\' => {
                let escaped = characters.next().ok_or("it ends with a backslash")?;
                word.get_or_insert_default().push(escaped);
            }
            space if space.is_whitespace() => words.extend(word.take()),
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    Ok(words)
}

/// Variables written `KEY="value",KEY2=value`.
pub(super) fn variables(text: &str) -> Result<BTreeMap<String, String>, String> {
    let mut variables = BTreeMap::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(|at: char| at.is_whitespace() || at == ',');
        if rest.is_empty() {
            return Ok(variables);
        }
        let (name, after) = rest
            .split_once('=')
            .ok_or_else(|| format!("{:?} is not written KEY=\"value\"", rest.trim()))?;
        let name = name.trim();
        if !atoll_process::is_variable_name(name) {
            let allowed = "use letters, digits and _";
            return Err(format!("{name:?} cannot be the name of a variable; {allowed}"));
        }
        let after = after.trim_start();
        let (value, remaining) = match after.chars().next().filter(|at| matches!(at, '"' | '\'')) {
            Some(quote) => after[1..]
                .split_once(quote)
                .ok_or_else(|| format!("the quote ({quote}) of {name} is not closed"))?,
            None => after.split_at(after.find([',', '\n']).unwrap_or(after.len())),
        };
        variables.insert(name.to_owned(), value.trim_end_matches('\n').to_owned());
        rest = remaining;
        if !rest.is_empty() && !rest.starts_with(|at: char| at.is_whitespace() || at == ',') {
            return Err(format!("a comma is missing after the value of {name}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_lines_come_apart_like_a_shells() {
        let cases: [(&str, &[&str]); 9] = [
            ("", &[]),
            ("  a  b\tc\nd ", &["a", "b", "c", "d"]),
            (r#"sh -c "a b; c""#, &["sh", "-c", "a b; c"]),
            ("a 'b \"c\" \\d'", &["a", "b \"c\" \\d"]),
            (r#""a \"b\" \c""#, &[r#"a "b" \c"#]),
            (r"a\ b \'c", &["a b", "'c"]),
            ("a''b \"\"", &["ab", ""]),
            ("--x='1 2'3", &["--x=1 23"]),
            ("ä 'ö'", &["ä", "ö"]),
        ];
        for (text, expected) in cases {
            assert_eq!(split(text).as_deref(), Ok(&expected.map_to_strings()[..]), "{text:?}");
        }
        for text in ["a 'b", "a \"b", "a \"b\\", "a\\"] {
            assert!(split(text).is_err(), "{text:?}");
        }
    }

    trait Strings {
        fn map_to_strings(&self) -> Vec<String>;
    }

    impl Strings for &[&str] {
        fn map_to_strings(&self) -> Vec<String> {
            self.iter().map(ToString::to_string).collect()
        }
    }

    #[test]
    fn lists_of_variables_may_be_quoted_and_broken_over_lines() {
        let read = variables("A=\"x, y\",B='z',\n C=plain text , D=").expect("variables");
        let read: Vec<_> = read.iter().map(|(name, value)| (name.as_str(), value.trim())).collect();
        assert_eq!(read, [("A", "x, y"), ("B", "z"), ("C", "plain text"), ("D", "")]);
        for wrong in ["A", "A=\"x", "1A=2", "A=\"x\"B=y", "=x"] {
            assert!(variables(wrong).is_err(), "{wrong:?}");
        }
    }
}
