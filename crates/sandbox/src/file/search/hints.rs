//! Advice beside an answer: what is missing from it, and how to get that.

use atoll_operation::Context;

/// Collects advice.
#[derive(Debug, Default)]
pub(super) struct Hints(Vec<String>);

impl Hints {
    /// Adds advice if it applies.
    pub(super) fn when(&mut self, applies: bool, advice: impl FnOnce() -> String) {
        if applies {
            self.0.push(advice());
        }
    }

    /// The time was over before the search was; `cure` is what to do about it.
    pub(super) fn out_of_time(&mut self, seconds: u64, cure: &str) {
        self.0.push(format!(
            "the time ran out after {seconds} seconds, so this is only a part; {cure}"
        ));
    }

    /// Entries that could not be read.
    pub(super) fn unreadable(&mut self, entries: u64) {
        self.when(entries > 0, || {
            format!("{} could not be read", counted(entries, "entry", "entries"))
        });
    }

    /// Entries passed over for the dot in their names.
    pub(super) fn hidden(&mut self, entries: u64) {
        self.when(entries > 0, || {
            let entries = counted(
                entries,
                "hidden file or directory was",
                "hidden files or directories were",
            );
            format!("{entries} passed over: set include_hidden to look at them too")
        });
    }

    /// Entries passed over because ignore files name them.
    pub(super) fn ignored(&mut self, gitignore: bool) {
        self.when(gitignore, || {
            "what .gitignore and .ignore files name was passed over: leave out gitignore to look at it too".to_owned()
        });
    }

    /// A pattern that looks at one level only.
    pub(super) fn one_level(&mut self, pattern: &str) {
        self.when(!pattern.contains('/') && pattern.contains(['*', '?', '[', '{']), || {
            format!(
                "the pattern looks in the directory itself only: use **/{pattern} for any depth"
            )
        });
    }

    /// Leaves the advice beside the answer.
    pub(super) fn leave(self, cx: &Context) {
        if !self.0.is_empty() {
            cx.hint(self.0.join("; "));
        }
    }
}

/// A number with its noun.
pub(super) fn counted(number: u64, one: &str, several: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { several })
}
