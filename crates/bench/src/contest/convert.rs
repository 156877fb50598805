//! Documents made Markdown, against Python's markitdown as a program and as a library in a process that stays; and how
//! much of their structure each keeps.

use std::cell::RefCell;
use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::Setting;
use crate::Failure;
use crate::http::Response;
use crate::race::{Lane, Plan, race, report_lanes};
use crate::report::{Bar, Report, TIME_COLUMNS};
use crate::server::{Server, authorised_post};
use crate::statistics::ratio;
use crate::stopwatch::Stopwatch;

const PAGE_BAR: f64 = 100.0;
const OFFICE_BAR: f64 = 10.0;

/// The documents that the tests convert too.
const DOCUMENTS: [(&str, &[u8]); 4] = [
    ("report.docx", include_bytes!("../../../../tests/sdk/documents/report.docx")),
    ("sightings.xlsx", include_bytes!("../../../../tests/sdk/documents/sightings.xlsx")),
    ("slides.pptx", include_bytes!("../../../../tests/sdk/documents/slides.pptx")),
    ("report.pdf", include_bytes!("../../../../tests/sdk/documents/report.pdf")),
];

pub(super) fn run(setting: &Setting) -> Result<Report, Failure> {
    let atoll = setting.atoll.start()?;
    let place = tempfile::tempdir()?;
    let script = setting.peers.join("markitdown_peer.py").display().to_string();
    let python = setting.peers.join("convert-venv/bin/python");
    let peer = Stopwatch::start(&python, &[&script]).map(RefCell::new);
    let peer = peer.map_err(|error| error.to_string());
    let mut report = Report {
        title: "Documents",
        about: "One document a request, on a keep-alive connection, from the request to the whole Markdown; the same files \
                by markitdown, as a program per file and as a library in a Python that stays. Kept: headings, items of \
                lists, rows of tables and links in the Markdown of each."
            .to_owned(),
        columns: TIME_COLUMNS.into(),
        ..Report::default()
    };
    for (name, bytes) in [("article.html", article().as_bytes())].into_iter().chain(DOCUMENTS) {
        let path = place.path().join(name);
        fs::write(&path, bytes)?;
        contest(setting, &atoll, &peer, &path, &mut report)?;
    }
    Ok(report)
}

/// One document by everybody.
fn contest(
    setting: &Setting,
    atoll: &Server,
    peer: &Result<RefCell<Stopwatch>, String>,
    path: &Path,
    report: &mut Report,
) -> Result<(), Failure> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let theirs = |way: &'static str| -> Result<_, Failure> {
        let peer = peer.as_ref().map_err(|why| Failure::from(why.as_str()))?;
        let line = format!("{way} {}", path.display());
        Ok(move || peer.borrow_mut().time(&line))
    };
    let request =
        authorised_post("/v1/util/convert_to_markdown", &json!({"uri": path.to_string_lossy()}));
    let mut connection = atoll.connect()?;
    let ours = markdown(&connection.ask(&request)?)?;
    let mut lanes = [
        Lane::new(format!("Atoll, {name}"), || {
            let (duration, response) = connection.time(&request)?;
            markdown(&response)?;
            Ok(duration)
        }),
        Lane::prepared(format!("markitdown as a library, {name}"), theirs("library")),
    ];
    let rounds = setting.choose(10, 2);
    race(Plan { warm_ups: 3, rounds, samples_per_round: 5 }, &mut lanes);
    let mut programs = [Lane::prepared(format!("markitdown, {name}"), theirs("program"))];
    race(Plan { warm_ups: 1, rounds: setting.choose(5, 1), samples_per_round: 1 }, &mut programs);
    let fastest = lanes[0].result()?.median();
    report_lanes(report, &lanes, fastest, fastest);
    report_lanes(report, &programs, fastest, fastest);
    let page = path.extension().is_some_and(|extension| extension == "html");
    let bar = if page { PAGE_BAR } else { OFFICE_BAR };
    report.bars.push(times(&programs[0], fastest, &format!("{name}: ≥ {bar} × markitdown"), bar));
    let text = format!("{name}: ≥ {bar} × markitdown as a library");
    report.bars.push(times(&lanes[1], fastest, &text, bar));
    drop(lanes);
    let output = path.with_extension("md");
    let told = theirs("text").and_then(|_| {
        let peer = peer.as_ref().map_err(|why| Failure::from(why.as_str()))?;
        peer.borrow_mut().time(&format!("text {} {}", path.display(), output.display()))?;
        Ok(fs::read_to_string(&output)?)
    });
    let text = format!("{name}: keeps as much structure as markitdown");
    let ours = Structure::of(&ours);
    report.bars.push(match told {
        Ok(theirs) => {
            let theirs = Structure::of(&theirs);
            Bar::new(text, format!("{ours} against {theirs}"), ours.holds(&theirs))
        }
        Err(why) => Bar::unknown(text, why.to_string()),
    });
    Ok(())
}

fn times(theirs: &Lane<'_>, ours: Duration, text: &str, bar: f64) -> Bar {
    match theirs.result() {
        Ok(samples) => {
            let times = ratio(samples.median(), ours);
            Bar::new(text, format!("{times:.1} ×"), times >= bar)
        }
        Err(why) => Bar::unknown(text, why.to_string()),
    }
}

fn markdown(response: &Response) -> Result<String, Failure> {
    let answer: Value = response.json()?;
    let text = answer["data"].as_str().filter(|text| text.len() > 100);
    text.map(str::to_owned).ok_or_else(|| format!("no Markdown in {answer}").into())
}

/// How much of a document's structure its Markdown shows.
#[derive(Debug, PartialEq, Eq)]
struct Structure {
    headings: usize,
    items: usize,
    rows: usize,
    links: usize,
}

impl Structure {
    fn of(markdown: &str) -> Self {
        let lines = || markdown.lines().map(str::trim_start);
        let numbered = |line: &str| {
            let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
            rest.len() < line.len() && rest.starts_with(". ")
        };
        let item = |line: &&str| {
            ["- ", "* ", "+ "].iter().any(|mark| line.starts_with(mark)) || numbered(line)
        };
        let rule = |line: &str| line.chars().all(|c| "|-: ".contains(c));
        Self {
            headings: lines().filter(|line| line.starts_with('#')).count(),
            items: lines().filter(item).count(),
            rows: lines().filter(|line| line.starts_with('|') && !rule(line)).count(),
            links: markdown.matches("](").count(),
        }
    }

    /// Whether it shows as much as another. A numbered heading that is not known as one looks like an item, so these count
    /// together.
    fn holds(&self, other: &Self) -> bool {
        self.headings + self.items >= other.headings + other.items
            && self.rows >= other.rows
            && self.links >= other.links
    }
}

impl std::fmt::Display for Structure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { headings, items, rows, links } = self;
        write!(f, "{headings} headings, {items} items, {rows} rows, {links} links")
    }
}

/// An article as the web has them: some hundred paragraphs, with scripts that nobody wants to read.
fn article() -> String {
    let mut page = String::from(
        "<!DOCTYPE html><html><head><title>Reefs of the World</title><style>p {margin: 1em}</style>\
         <script>window.tracker = {id: 1};</script></head><body><article><h1>Reefs of the World</h1>",
    );
    for chapter in 1..=40 {
        page.push_str(&format!("<h2>Chapter {chapter}</h2>"));
        for paragraph in 1..=4 {
            page.push_str(&format!(
                "<p>The reef lies beneath the surface of the sea, and is home to thousands of kinds of fish, of weeds and \
                 of <a href=\"https://reefs.example/{chapter}/{paragraph}\">corals</a>, which <b>depend</b> on one \
                 another in ways, that are <em>not all known</em>; people have counted them for many years.</p>"
            ));
        }
        page.push_str("<ul><li>Fringing reefs</li><li>Barrier reefs</li><li>Atolls</li></ul>");
        page.push_str("<table><tr><th>Name</th><th>Length</th></tr>");
        for row in 1..=5 {
            page.push_str(&format!("<tr><td>Reef {row}</td><td>{} km</td></tr>", row * 100));
        }
        page.push_str("</table><script>track();</script>");
    }
    page.push_str("</article></body></html>");
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structure_is_counted_whatever_marks_are_used() {
        let text =
            "# A\n\n## B\n\n* one\n- two\n  3. three\n\n| a | b |\n| --- | --- |\n| 1 | [x](y) |\n";
        assert_eq!(Structure::of(text), Structure { headings: 2, items: 3, rows: 2, links: 1 });
        assert!(Structure::of(text).holds(&Structure::of("# A\n")));
        assert!(!Structure::of("# A\n").holds(&Structure::of(text)));
    }
}
