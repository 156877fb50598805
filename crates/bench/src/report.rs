//! The results as a reader sees them: a table per contest and the bars it holds, as text and as Markdown.

use std::fmt::Write as _;
use std::time::Duration;

use crate::statistics::{Samples, ratio};

/// What a contest found out.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) title: &'static str,
    /// What was done, in a sentence or two.
    pub(crate) about: String,
    pub(crate) columns: Vec<&'static str>,
    pub(crate) rows: Vec<Vec<String>>,
    pub(crate) bars: Vec<Bar>,
}

/// A number to hold.
#[derive(Debug)]
pub(crate) struct Bar {
    /// What is asked.
    pub(crate) text: String,
    /// What was measured, to be compared with it.
    pub(crate) measured: String,
    pub(crate) verdict: Verdict,
}

/// Whether a bar is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Met,
    Missed,
    /// A peer is not there to compare with.
    Unknown,
}

impl Verdict {
    fn word(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::Missed => "MISSED",
            Self::Unknown => "not measured",
        }
    }
}

impl Bar {
    pub(crate) fn new(text: impl Into<String>, measured: impl Into<String>, met: bool) -> Self {
        let verdict = if met { Verdict::Met } else { Verdict::Missed };
        Self { text: text.into(), measured: measured.into(), verdict }
    }

    pub(crate) fn unknown(text: impl Into<String>, why: impl Into<String>) -> Self {
        Self { text: text.into(), measured: why.into(), verdict: Verdict::Unknown }
    }

    /// The same bar, with a word on what part of the contest it is about.
    pub(crate) fn about(mut self, part: &str) -> Self {
        self.text = format!("{part}: {}", self.text);
        self
    }

    /// A bar for the ratio of ours to a peer's, if the peer was measured.
    pub(crate) fn ahead(peer: &str, ours: f64, theirs: Option<f64>, less_is_better: bool) -> Self {
        let text = format!("ahead of {peer}");
        let Some(theirs) = theirs else { return Self::unknown(text, "the peer was not measured") };
        let times = if less_is_better { theirs / ours } else { ours / theirs };
        Self::new(text, format!("{times:.2} times as fast"), times > 1.0)
    }
}

impl Report {
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// A row for something that could not be measured.
    pub(crate) fn absent(&mut self, name: &str, why: &str) {
        let why = why.split_whitespace().collect::<Vec<_>>().join(" ");
        self.row([name.to_owned(), format!("not measured: {why}")]);
    }

    /// The report for a terminal.
    pub(crate) fn to_text(&self) -> String {
        let mut text = format!("\n{}\n{}\n\n", self.title, self.about);
        let widths = self.widths();
        let header: Vec<_> = self.columns.iter().map(|name| (*name).to_owned()).collect();
        for row in [&header].into_iter().chain(&self.rows) {
            let mut line = String::from(" ");
            for (index, cell) in row.iter().enumerate() {
                let width = widths.get(index).copied().unwrap_or(0);
                if index == 0 || row.len() < self.columns.len() {
                    write!(line, " {cell:<width$} ").ok();
                } else {
                    write!(line, " {cell:>width$} ").ok();
                }
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        for bar in &self.bars {
            writeln!(text, "  [{}] {}: {}", bar.verdict.word(), bar.text, bar.measured).ok();
        }
        text
    }

    /// The report for a document.
    pub(crate) fn to_markdown(&self) -> String {
        let mut text = format!("### {}\n\n{}\n\n", self.title, self.about);
        writeln!(text, "| {} |", self.columns.join(" | ")).ok();
        let rule = vec!["---:"; self.columns.len().saturating_sub(1)].join(" | ");
        writeln!(text, "| --- | {rule} |").ok();
        for row in &self.rows {
            let mut cells: Vec<_> = row.iter().map(|cell| cell.replace('|', "\\|")).collect();
            cells.resize(self.columns.len(), String::new());
            writeln!(text, "| {} |", cells.join(" | ")).ok();
        }
        text.push('\n');
        for bar in &self.bars {
            writeln!(text, "- **{}**: {}: {}", bar.verdict.word(), bar.text, bar.measured).ok();
        }
        text
    }

    fn widths(&self) -> Vec<usize> {
        let mut widths: Vec<_> = self.columns.iter().map(|name| name.chars().count()).collect();
        for row in self.rows.iter().filter(|row| row.len() == self.columns.len()) {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        // A row that only says why it is empty still lines up its name.
        let names = self.rows.iter().filter_map(|row| row.first());
        let longest = names.map(|name| name.chars().count()).max().unwrap_or(0);
        if let Some(first) = widths.first_mut() {
            *first = (*first).max(longest);
        }
        widths
    }
}

/// Columns of a contest that compares times.
pub(crate) const TIME_COLUMNS: [&str; 8] =
    ["", "samples", "min ms", "p50 ms", "p95 ms", "p99 ms", "p50 / floor", "p50 / Atoll"];

/// The row of one contender under [`TIME_COLUMNS`].
pub(crate) fn time_row(
    name: &str,
    samples: &Samples,
    floor: Duration,
    atoll: Duration,
) -> Vec<String> {
    let median = samples.median();
    let against = |base: Duration| {
        if base.is_zero() { "-".to_owned() } else { format!("{:.2}", ratio(median, base)) }
    };
    let times = [samples.least(), median, samples.percentile(95), samples.percentile(99)];
    let mut row = vec![name.to_owned(), samples.count().to_string()];
    row.extend(times.map(millis));
    row.extend([against(floor), against(atoll)]);
    row
}

/// Milliseconds, as exact as is sensible.
pub(crate) fn millis(duration: Duration) -> String {
    let millis = duration.as_secs_f64() * 1e3;
    if millis < 100.0 { format!("{millis:.3}") } else { format!("{millis:.0}") }
}

/// Megabytes (10^6).
pub(crate) fn megabytes(bytes: u64) -> String {
    format!("{:.1}", crate::usage::to_float(bytes) / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Report {
        let mut report = Report {
            title: "Contest",
            about: "What.".to_owned(),
            columns: vec!["", "n", "p50 ms"],
            ..Report::default()
        };
        report.row(["Atoll", "9", "1.5"].map(str::to_owned));
        report.absent("a|peer", "not\ninstalled");
        report.bars.push(Bar::new("p50 ≤ 1 ms", "1.5 ms", false));
        report.bars.push(Bar::ahead("a|peer", 1.0, None, true));
        report
    }

    #[test]
    fn a_terminal_sees_aligned_columns_and_verdicts() {
        let lines: Vec<_> = example().to_text().lines().map(str::to_owned).collect();
        assert_eq!(
            lines[4..],
            [
                "          n  p50 ms",
                "  Atoll   9     1.5",
                "  a|peer  not measured: not installed",
                "  [MISSED] p50 ≤ 1 ms: 1.5 ms",
                "  [not measured] ahead of a|peer: the peer was not measured",
            ]
        );
    }

    #[test]
    fn a_document_gets_a_table_whose_cells_cannot_break_it() {
        let text = example().to_markdown();
        assert!(
            text.contains("|  | n | p50 ms |\n| --- | ---: | ---: |\n| Atoll | 9 | 1.5 |\n"),
            "{text}"
        );
        assert!(text.contains("| a\\|peer | not measured: not installed |  |\n"), "{text}");
        assert!(text.contains("- **MISSED**: p50 ≤ 1 ms: 1.5 ms\n"), "{text}");
    }

    #[test]
    fn being_ahead_is_strict_and_knows_its_direction() {
        let verdict = |ours, theirs, less| Bar::ahead("x", ours, Some(theirs), less).verdict;
        assert_eq!(verdict(1.0, 2.0, true), Verdict::Met);
        assert_eq!(verdict(2.0, 1.0, false), Verdict::Met);
        assert_eq!(verdict(1.0, 1.0, true), Verdict::Missed);
        assert_eq!(verdict(1.0, 2.0, false), Verdict::Missed);
    }
}
