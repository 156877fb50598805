//! Patterns for paths: several globs as one, asked about paths relative to the directory that is searched.
//!
//! A pattern is matched component by component, so the same walk through it answers two questions: does this path match,
//! and could something below it. The second is what keeps a search out of directories it has no business in.

mod braces;
mod name;

pub(crate) use name::Name;

/// Bytes of one glob.
const LONGEST: usize = 4096;

/// Alternatives of one pattern, all its globs and their braces together.
const MOST: usize = 4096;

/// Components of one glob: a state of matching is a bit.
const DEEPEST: usize = 60;

/// What the characters of a glob mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Syntax {
    /// As Python's `glob` has it: no braces, no escapes, and nothing is ever wrong.
    Python,
    /// With `{a,b}` and `\` before a character that shall mean itself.
    Extended,
}

/// Where a glob applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// From the directory searched: `*.py` is a file in it.
    Path,
    /// As ignore files have it: a glob without a slash applies at any depth, one with a slash from the directory searched.
    /// A slash at the end means what is below.
    Files,
    /// The same, but a slash at the end means the directory itself.
    Entries,
}

/// A component of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Part {
    /// Any number of directories: `**`.
    AnyDepth,
    /// One name.
    Name(Name),
}

/// Globs as one pattern.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pattern {
    /// What a name at any depth may look like: the common case, which needs no look at the path.
    names: Vec<Name>,
    /// What paths may look like.
    paths: Vec<Vec<Part>>,
}

impl Pattern {
    /// Reads globs; the error says what is wrong with which.
    pub(crate) fn new<'a>(
        globs: impl IntoIterator<Item = &'a str>,
        scope: Scope,
    ) -> Result<Self, String> {
        let mut pattern = Self::default();
        for glob in globs {
            check(glob)?;
            for alternative in braces::expand(glob)? {
                pattern.add(&alternative, scope)?;
            }
            if pattern.names.len() + pattern.paths.len() > MOST {
                return Err(format!("there are more than {MOST} globs; use broader ones"));
            }
        }
        Ok(pattern)
    }

    fn add(&mut self, glob: &str, scope: Scope) -> Result<(), String> {
        let body = glob.strip_suffix('/').unwrap_or(glob);
        let mut parts = Vec::new();
        if scope != Scope::Path && !body.contains('/') {
            parts.push(Part::AnyDepth);
        }
        for component in body.split('/') {
            match component {
                "" | "." => {}
                ".." => return Err(format!("{glob:?} goes up with ..; search from further up")),
                "**" if parts.last() == Some(&Part::AnyDepth) => {}
                "**" => parts.push(Part::AnyDepth),
                name => parts.push(Part::Name(Name::parse(name, Syntax::Extended)?)),
            }
        }
        if parts.is_empty() {
            return Err(format!("{glob:?} names nothing; write * for every name"));
        }
        if body.len() < glob.len() && scope == Scope::Files {
            parts.push(Part::AnyDepth);
        }
        if parts.last() == Some(&Part::AnyDepth) {
            parts.push(Part::Name(Name::Any));
        }
        if parts.len() > DEEPEST {
            return Err(too_deep(glob));
        }
        match parts.as_slice() {
            [Part::AnyDepth, Part::Name(name)] => self.names.push(name.clone()),
            _ => self.paths.push(parts),
        }
        Ok(())
    }

    /// Whether this path, relative to the directory searched, matches.
    pub(crate) fn matches(&self, path: &[u8]) -> bool {
        let name = last_component(path);
        self.names.iter().any(|pattern| pattern.matches(name))
            || self.paths.iter().any(|parts| advance(parts, path) & bit(parts.len()) != 0)
    }

    /// Whether something below this directory could match.
    pub(crate) fn may_match_below(&self, directory: &[u8]) -> bool {
        !self.names.is_empty()
            || self.paths.iter().any(|parts| advance(parts, directory) & !bit(parts.len()) != 0)
    }

    /// How far down matches can be; nothing when there is no end to it.
    pub(crate) fn depth(&self) -> Option<usize> {
        if !self.names.is_empty() || self.paths.iter().any(|parts| parts.contains(&Part::AnyDepth))
        {
            return None;
        }
        self.paths.iter().map(Vec::len).max()
    }

    /// Directories that every match lies below, outermost first.
    pub(crate) fn common_directories(&self) -> Vec<&[u8]> {
        if !self.names.is_empty() {
            return Vec::new();
        }
        let literals = |parts: &'_ [Part]| {
            let literal = |part: &Part| matches!(part, Part::Name(Name::Literal(_)));
            parts[..parts.len() - 1].iter().take_while(|part| literal(part)).count()
        };
        let Some((first, others)) = self.paths.split_first() else { return Vec::new() };
        let mut common = &first[..literals(first)];
        for parts in others {
            let shared = common.iter().zip(parts.iter()).take_while(|(a, b)| a == b).count();
            common = &common[..shared.min(literals(parts))];
        }
        let text = |part| match part {
            &Part::Name(Name::Literal(ref text)) => Some(text.as_slice()),
            _ => None,
        };
        common.iter().filter_map(text).collect()
    }

    /// The components that ask for names with a dot in front.
    pub(crate) fn dotted_names(&self) -> Vec<Name> {
        let in_paths = self.paths.iter().flatten().filter_map(|part| match part {
            Part::Name(name) => Some(name),
            Part::AnyDepth => None,
        });
        self.names.iter().chain(in_paths).filter(|name| name.begins_with_dot()).cloned().collect()
    }
}

/// The parts of a glob as Python's `glob` reads it. `..` is a name like any other.
pub(crate) fn python_parts(glob: &str) -> Result<Vec<Part>, String> {
    check(glob)?;
    let mut parts = Vec::new();
    for component in glob.split('/') {
        match component {
            "" | "." => {}
            "**" if parts.last() == Some(&Part::AnyDepth) => {}
            "**" => parts.push(Part::AnyDepth),
            name => parts.push(Part::Name(Name::parse(name, Syntax::Python)?)),
        }
    }
    if parts.len() > DEEPEST {
        return Err(too_deep(glob));
    }
    Ok(parts)
}

fn too_deep(glob: &str) -> String {
    format!("{glob:?} has more than {DEEPEST} parts; use ** in their place")
}

fn check(glob: &str) -> Result<(), String> {
    if glob.is_empty() {
        return Err("it is empty; write * for every name".to_owned());
    }
    if glob.contains('\0') {
        return Err("it holds a NUL, which no name can".to_owned());
    }
    if glob.len() > LONGEST {
        return Err(format!("it has {} bytes; at most {LONGEST} are possible", glob.len()));
    }
    Ok(())
}

/// The last component of a path.
pub(crate) fn last_component(path: &[u8]) -> &[u8] {
    memchr::memrchr(b'/', path).map_or(path, |slash| &path[slash + 1..])
}

/// One state of matching: so many parts are matched.
pub(crate) fn bit(state: usize) -> u64 {
    1 << state
}

/// The states before anything is matched, or after everything before `part` is: that part, and what follows while it may
/// stand for nothing.
pub(crate) fn entered(parts: &[Part], part: usize) -> u64 {
    let skipped = parts[part..].iter().take_while(|part| **part == Part::AnyDepth).count();
    (part..=part + skipped).fold(0, |states, state| states | bit(state))
}

/// The states after a whole path: bit `n` says that the first `n` parts are matched.
fn advance(parts: &[Part], path: &[u8]) -> u64 {
    let mut states = entered(parts, 0);
    for component in path.split(|byte| *byte == b'/') {
        let mut next = 0;
        for (index, part) in parts.iter().enumerate().filter(|(index, _)| states & bit(*index) != 0)
        {
            match part {
                Part::AnyDepth => next |= entered(parts, index),
                Part::Name(name) if name.matches(component) => next |= entered(parts, index + 1),
                Part::Name(_) => {}
            }
        }
        if next == 0 {
            return 0;
        }
        states = next;
    }
    states
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(glob: &str, scope: Scope) -> Pattern {
        Pattern::new([glob], scope).unwrap()
    }

    #[test]
    fn paths_match_component_by_component() {
        for (glob, path, expected) in [
            ("*.py", "a.py", true),
            ("*.py", "x/a.py", false),
            ("**/*.py", "a.py", true),
            ("**/*.py", "x/y/a.py", true),
            ("src/**", "src", false),
            ("src/**", "src/a", true),
            ("src/**", "src/x/a", true),
            ("src/**/a", "src/a", true),
            ("src/**/a", "src/x/y/a", true),
            ("**", "a/b", true),
            ("**/**/a", "x/a", true),
            ("a/**/b/**/c", "a/b/c", true),
            ("a/**/b/**/c", "a/x/b/y/z/c", true),
            ("a/**/b/**/c", "a/x/c", false),
            ("{src,lib}/*.rs", "lib/a.rs", true),
            ("{src/{a,b},lib}/*.rs", "src/b/x.rs", true),
            ("./a//b", "a/b", true),
            ("a?c", "a/c", false),
            ("a**c", "abbc", true),
        ] {
            let matches = pattern(glob, Scope::Path).matches(path.as_bytes());
            assert_eq!(matches, expected, "{glob} against {path}");
        }
    }

    #[test]
    fn globs_for_files_and_entries_apply_as_in_ignore_files() {
        for (glob, scope, path, expected) in [
            ("*.py", Scope::Files, "x/a.py", true),
            ("src/*.py", Scope::Files, "src/a.py", true),
            ("src/*.py", Scope::Files, "x/src/a.py", false),
            ("/a.py", Scope::Files, "x/a.py", false),
            ("src/", Scope::Files, "x/src/y/a.py", true),
            ("src/", Scope::Files, "src", false),
            ("node_modules", Scope::Entries, "x/node_modules", true),
            ("node_modules/", Scope::Entries, "x/node_modules", true),
            ("build/**", Scope::Entries, "build", false),
            ("build/**", Scope::Entries, "build/x", true),
            ("build/**", Scope::Entries, "x/build/y", false),
        ] {
            let matches = pattern(glob, scope).matches(path.as_bytes());
            assert_eq!(matches, expected, "{glob} {scope:?} against {path}");
        }
    }

    #[test]
    fn directories_without_a_future_are_told() {
        for (glob, directory, expected) in [
            ("*.py", "x", false),
            ("**/*.py", "x/y", true),
            ("src/*/a", "src", true),
            ("src/*/a", "src/x", true),
            ("src/*/a", "src/x/y", false),
            ("src/**", "lib", false),
            ("src/**", "src/x/y", true),
            ("*", "x", false),
        ] {
            let below = pattern(glob, Scope::Path).may_match_below(directory.as_bytes());
            assert_eq!(below, expected, "{glob} below {directory}");
        }
    }

    #[test]
    fn depth_and_directories_in_common_are_known() {
        let read = |glob| {
            let pattern = pattern(glob, Scope::Path);
            let directories = pattern.common_directories().join(&b'/');
            (pattern.depth(), String::from_utf8(directories).unwrap())
        };
        assert_eq!(read("a/b/*.py"), (Some(3), "a/b".to_owned()));
        assert_eq!(read("a/b/**/*.py"), (None, "a/b".to_owned()));
        assert_eq!(read("a/b"), (Some(2), "a".to_owned()));
        assert_eq!(read("a/{b,c}/x"), (Some(3), "a".to_owned()));
        assert_eq!(read("{a,b/c}"), (Some(2), String::new()));
        assert_eq!(read("**/a"), (None, String::new()));
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        for glob in ["", "../a", "a/../b", "/", ".", "{a", "[a", "a\0b", "a\\"] {
            assert!(Pattern::new([glob], Scope::Path).is_err(), "{glob:?}");
        }
        assert!(Pattern::new([&*"a/".repeat(100)], Scope::Path).is_err());
        assert!(Pattern::new([&*"a".repeat(5000)], Scope::Path).is_err());
        assert!(Pattern::new(vec!["a"; 5000], Scope::Path).is_err());
    }
}
