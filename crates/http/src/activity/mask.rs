//! Takes credentials out of a line of shell or source text, by how they are written and by how they look.
//!
//! It errs on the side of hiding: what is shown is for people who watch, who do without a word rather than read a
//! password.

const HIDDEN: &str = "•••";
/// What names of secrets contain.
const SENSITIVE: [&str; 10] = [
    "passw",
    "passphrase",
    "secret",
    "token",
    "apikey",
    "api_key",
    "api-key",
    "credential",
    "auth",
    "cookie",
];
/// How well-known kinds of secrets begin.
const BEGINNINGS: [&str; 12] = [
    "sk-",
    "sk_",
    "ghp_",
    "gho_",
    "ghs_",
    "ghu_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "AKIA",
    "eyJ",
];

/// What the next word is.
#[derive(Clone, Copy, PartialEq)]
enum Next {
    Plain,
    /// It may be a secret's value, if an equals sign or colon comes first.
    Named,
    /// It is a secret.
    Secret,
    /// It is a user, with a password behind a colon.
    User,
}

/// The text with credentials masked.
pub(super) fn mask(text: &str) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut next = Next::Plain;
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if is_delimiter(first) {
            masked.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        }
        let end = rest.find(is_delimiter).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        next = push_word(&mut masked, word, next);
        rest = after;
    }
    masked
}

/// Adds a word as far as it may be seen, and says what follows from it for the next.
fn push_word(masked: &mut String, word: &str, expected: Next) -> Next {
    let lower = word.to_ascii_lowercase();
    let joins = word.chars().all(|char| "=:>".contains(char));
    if ["bearer", "basic"].contains(&lower.as_str()) {
        masked.push_str(word);
        return Next::Secret;
    }
    match expected {
        Next::Named | Next::Secret if joins => {
            masked.push_str(word);
            return Next::Secret;
        }
        Next::Secret => {
            masked.push_str(HIDDEN);
            return Next::Plain;
        }
        Next::User if word.contains(':') => {
            masked.push_str(word.split(':').next().unwrap_or_default());
            masked.push(':');
            masked.push_str(HIDDEN);
            return Next::Plain;
        }
        Next::Plain | Next::Named | Next::User => {}
    }
    if let Some(join) = word.find(['=', ':']).filter(|join| is_sensitive(&lower[..*join])) {
        let (name, value) = word.split_at(join + 1);
        masked.push_str(name);
        if value.chars().all(|char| "=:>".contains(char)) {
            masked.push_str(value);
            return Next::Secret;
        }
        masked.push_str(HIDDEN);
        return Next::Plain;
    }
    masked.push_str(&without_secrets(word));
    match lower.as_str() {
        "-u" | "--user" => Next::User,
        flag if flag.starts_with('-') && is_sensitive(flag) => Next::Secret,
        name if is_sensitive(name) => Next::Named,
        _ => Next::Plain,
    }
}

/// A word without an address's user and query, and without whatever looks like a secret.
pub(super) fn without_secrets(word: &str) -> String {
    if let Some(start) = word.find("://").map(|found| found + 3) {
        let (scheme, rest) = word.split_at(start);
        let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let user = host.rfind('@').map_or(0, |at| at + 1);
        let address = rest[user..].split(['?', '#']).next().unwrap_or_default();
        return format!("{scheme}{}", hide_segments(address));
    }
    if let Some((user, host)) = word.rsplit_once('@').filter(|(user, _)| user.contains(':')) {
        let name = user.split(':').next().unwrap_or_default();
        return format!("{name}:{HIDDEN}@{host}");
    }
    hide_segments(word)
}

fn hide_segments(word: &str) -> String {
    let mut shown = String::with_capacity(word.len());
    for piece in word.split_inclusive(|char: char| !is_plain(char)) {
        let segment = piece.trim_end_matches(|char: char| !is_plain(char));
        if looks_secret(segment) {
            shown.push_str(HIDDEN);
            shown.push_str(&piece[segment.len()..]);
        } else {
            shown.push_str(piece);
        }
    }
    shown
}

fn is_plain(char: char) -> bool {
    char.is_ascii_alphanumeric() || char == '_' || char == '-'
}

fn is_delimiter(char: char) -> bool {
    char.is_whitespace() || "'\"`;|&()<>{}[],".contains(char)
}

fn is_sensitive(name: &str) -> bool {
    let name = name.trim_start_matches(['-', '$']);
    name.ends_with("key") || SENSITIVE.iter().any(|part| name.contains(part))
}

/// Whether it is as long and mixed as only secrets are, or begins as a known kind does.
fn looks_secret(segment: &str) -> bool {
    let known = BEGINNINGS.iter().any(|begin| segment.starts_with(begin));
    if known && segment.len() >= 12 {
        return true;
    }
    let has = |kind: fn(&char) -> bool| segment.chars().any(|char| kind(&char));
    segment.len() >= 20
        && has(char::is_ascii_digit)
        && has(char::is_ascii_uppercase)
        && has(char::is_ascii_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn credentials_are_masked_however_they_are_written() {
        for (text, expected) in [
            ("export API_KEY=hunter2 && run", "export API_KEY=••• && run"),
            ("export TOKEN='hun ter2'", "export TOKEN='••• ter2'"),
            ("PASSWORD=\"hunter2\" ./x", "PASSWORD=\"•••\" ./x"),
            ("mysql --password hunter2 db", "mysql --password ••• db"),
            ("mysql --password=hunter2 db", "mysql --password=••• db"),
            ("curl -H 'Authorization: Bearer abc.def' x", "curl -H 'Authorization: Bearer •••' x"),
            ("curl -H \"X-Api-Key: hunter2\" x", "curl -H \"X-Api-Key: •••\" x"),
            ("curl -u me:hunter2 https://h/", "curl -u me:••• https://h/"),
            ("git clone https://me:hunter2@h/r.git", "git clone https://h/r.git"),
            ("curl https://h/a?token=hunter2", "curl https://h/a"),
            ("scp me:hunter2@h x", "scp me:•••@h x"),
            ("echo {\"password\": \"hunter2\"}", "echo {\"password\": \"•••\"}"),
            ("echo {\"secret\":\"hunter2\"}", "echo {\"secret\":\"•••\"}"),
            ("token = 'hunter2'", "token = '•••'"),
            ("login(password='hunter2')", "login(password='•••')"),
            ("echo ghp_0123456789abcdef", "echo •••"),
            ("use AbCdEfGhIjKlMnOp0123456", "use •••"),
            ("x=AbCdEfGhIjKlMnOp0123456/y", "x=•••/y"),
        ] {
            assert_eq!(mask(text), expected, "{text}");
        }
    }

    #[test]
    fn ordinary_commands_stay_readable() {
        for text in [
            "ls -la /usr/lib/python3.11/site-packages",
            "for i in 1 2 3; do echo $i; done",
            "python3 -c 'print(\"hello\", 6 * 7)'",
            "git show 0a1b2c3d4e5f60718293a4b5c6d7e8f901234567",
            "curl -s http://127.0.0.1:8080/v1/ping",
            "cat package.json | jq .name",
            "",
        ] {
            assert_eq!(mask(text), text);
        }
    }

    proptest! {
        /// Whatever surrounds it, a value that is called a secret is not shown.
        #[test]
        fn a_named_secret_never_shows(before in "[ -~]{0,30}", name in "(api_key|TOKEN|db_password)") {
            let text = format!("{before} {name}=hunter2hunter2");
            prop_assert!(!mask(&text).contains("hunter2hunter2"), "{}", mask(&text));
        }

        /// Any text is masked without a panic.
        #[test]
        fn any_text_is_taken(text in "\\PC{0,80}") {
            mask(&text);
        }
    }
}
