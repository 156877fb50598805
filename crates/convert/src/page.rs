//! Markdown as it is written, with a bound.

use crate::error::ConvertError;

/// Text that grows up to a bound.
#[derive(Debug)]
pub(crate) struct Page {
    text: String,
    limit: usize,
}

impl Page {
    pub(crate) fn new(limit: u64) -> Self {
        Self { text: String::new(), limit: usize::try_from(limit).unwrap_or(usize::MAX) }
    }

    /// Bytes it can still take.
    pub(crate) fn room(&self) -> u64 {
        self.limit.saturating_sub(self.text.len()) as u64
    }

    pub(crate) fn push(&mut self, text: &str) -> Result<(), ConvertError> {
        if text.len() > self.limit.saturating_sub(self.text.len()) {
            return Err(ConvertError::too_large("its Markdown", self.limit as u64, "bytes"));
        }
        self.text.push_str(text);
        Ok(())
    }

    /// Adds a block, with an empty line before it if there is something before it.
    pub(crate) fn block(&mut self, text: &str) -> Result<(), ConvertError> {
        let text = text.trim_matches('\n');
        if text.trim().is_empty() {
            return Ok(());
        }
        if !self.text.is_empty() {
            self.text.truncate(self.text.trim_end_matches('\n').len());
            self.push("\n\n")?;
        }
        self.push(text)
    }

    /// Adds a block of code; its fence is longer than any run of backticks in it.
    pub(crate) fn code(&mut self, language: &str, text: &str) -> Result<(), ConvertError> {
        let (mut longest, mut run) = (0, 0);
        for byte in text.bytes() {
            run = if byte == b'`' { run + 1 } else { 0 };
            longest = longest.max(run);
        }
        let fence = "`".repeat(longest.max(2) + 1);
        self.block(&format!("{fence}{language}"))?;
        self.push("\n")?;
        self.push(text.trim_end_matches('\n'))?;
        self.push("\n")?;
        self.push(&fence)
    }

    pub(crate) fn finish(self) -> String {
        self.text
    }
}

/// Text on one line, as a heading or a link's words want it.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_takes_what_it_has_room_for_and_no_more() {
        let mut page = Page::new(10);
        page.push("12345").unwrap();
        page.block("678").unwrap();
        assert_eq!(page.room(), 0);
        assert!(matches!(page.push("9"), Err(ConvertError::TooLarge { limit: 10, .. })));
        assert_eq!(page.finish(), "12345\n\n678");
    }

    #[test]
    fn a_fence_is_longer_than_what_it_holds() {
        let mut page = Page::new(100);
        page.code("x", "a ```` b\n").unwrap();
        assert_eq!(page.finish(), "`````x\na ```` b\n`````");
    }
}
