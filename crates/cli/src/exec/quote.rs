//! Words made into source that bash reads as exactly these words.

/// The source of a command: a single word is source already, several are a program and its arguments.
pub(super) fn source(words: &[String]) -> Option<String> {
    match words {
        [] => None,
        [source] => Some(source.clone()),
        [..] => {
            let quoted: Vec<_> = words.iter().map(|word| quoted(word)).collect();
            Some(quoted.join(" "))
        }
    }
}

fn quoted(word: &str) -> String {
    let harmless = |char: char| char.is_ascii_alphanumeric() || "-_./:@%+,=".contains(char);
    // A word with `=` in front of a command would be a variable.
    if !word.is_empty() && word.chars().all(harmless) && !word.contains('=') {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn bash_reads_the_words_as_they_were() {
        let words = [
            "printf",
            "%s|",
            "a b",
            "it's",
            "$HOME",
            "*",
            "",
            "x=y",
            "new\nline",
            "ü",
            "-n",
            "~",
            "!!",
        ];
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let output = Command::new("bash").args(["-c", &source(&words).unwrap()]).output().unwrap();
        let expected: String = words.iter().skip(2).map(|word| format!("{word}|")).collect();
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
    }

    #[test]
    fn one_word_is_a_line_for_bash() {
        assert_eq!(source(&["ls | wc".to_owned()]).as_deref(), Some("ls | wc"));
        assert_eq!(source(&[]), None);
    }
}
