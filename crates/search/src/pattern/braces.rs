//! `{a,b}` in a pattern: the patterns it stands for.

/// Patterns that one may stand for.
const MOST: usize = 1000;

/// Replaces each group by each of its members. A brace after a backslash or inside `[…]` is a character.
pub(super) fn expand(pattern: &str) -> Result<Vec<String>, String> {
    let mut done = Vec::new();
    let mut waiting = vec![pattern.to_owned()];
    while let Some(pattern) = waiting.pop() {
        match first_group(&pattern)? {
            None => done.push(pattern),
            Some(group) => {
                let (before, after) = (&pattern[..group.start], &pattern[group.end..]);
                waiting.extend(
                    group.members.iter().rev().map(|member| format!("{before}{member}{after}")),
                );
            }
        }
        if done.len() + waiting.len() > MOST {
            return Err(format!(
                "its braces stand for more than {MOST} patterns; give several patterns"
            ));
        }
    }
    Ok(done)
}

struct Group<'a> {
    start: usize,
    end: usize,
    members: Vec<&'a str>,
}

/// Finds the first outermost group.
fn first_group(pattern: &str) -> Result<Option<Group<'_>>, String> {
    let mut depth = 0_usize;
    let (mut start, mut member) = (0, 0);
    let mut members = Vec::new();
    let mut in_class: Option<usize> = None;
    let mut characters = pattern.char_indices();
    while let Some((at, character)) = characters.next() {
        match (character, in_class) {
            ('\\', None) => {
                characters.next();
            }
            // A bracket that comes first in its class is a member of it.
            (']', Some(opened)) if at > opened => in_class = None,
            ('[', None) if pattern[at + 1..].contains(']') => {
                let negated = pattern[at + 1..].starts_with(['!', '^']);
                in_class = Some(at + 1 + usize::from(negated));
            }
            ('{', None) => {
                depth += 1;
                if depth == 1 {
                    (start, member) = (at, at + 1);
                }
            }
            (',', None) if depth == 1 => {
                members.push(&pattern[member..at]);
                member = at + 1;
            }
            ('}', None) if depth > 0 => {
                depth -= 1;
                if depth == 0 {
                    members.push(&pattern[member..at]);
                    return Ok(Some(Group { start, end: at + 1, members }));
                }
            }
            _ => {}
        }
    }
    if depth > 0 {
        return Err(format!(
            "the {{ in {pattern:?} is never closed; write \\{{ to mean the character"
        ));
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_multiply_and_nest() {
        for (pattern, expected) in [
            ("a", vec!["a"]),
            ("*.{js,ts}", vec!["*.js", "*.ts"]),
            ("{a,b}{1,2}", vec!["a1", "a2", "b1", "b2"]),
            ("{a,{b,c}d}", vec!["a", "bd", "cd"]),
            ("x{,y}", vec!["x", "xy"]),
            ("{a}", vec!["a"]),
            ("\\{a,b}", vec!["\\{a,b}"]),
            ("[{]a,b}", vec!["[{]a,b}"]),
            ("[]{]", vec!["[]{]"]),
            ("a}", vec!["a}"]),
            ("{[,],b}", vec!["[,]", "b"]),
        ] {
            assert_eq!(expand(pattern).unwrap(), expected, "{pattern}");
        }
    }

    #[test]
    fn open_groups_and_floods_are_refused() {
        assert!(expand("{a").unwrap_err().contains("never closed"));
        assert!(expand("{a,{b}").unwrap_err().contains("never closed"));
        assert!(expand(&"{a,b}".repeat(40)).unwrap_err().contains("more than"));
        assert!(expand(&"{".repeat(4000)).is_err());
    }
}
