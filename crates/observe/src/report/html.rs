//! The page of a report: one file, no scripts, nothing fetched, readable in the dark.

use super::Heading;
use super::chart::{Chart, Line};
use super::summary::Summary;
use crate::journal::Event;
use crate::sampler::Sample;

/// Events shown; the rest is in the JSON beside the page.
const EVENTS: usize = 200;
const STYLE: &str = include_str!("page.css");

/// The whole page.
pub(super) fn page(
    heading: &Heading,
    summary: &Summary,
    samples: &[Sample],
    events: &[Event],
) -> String {
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Sandbox report {}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n",
        escape(&heading.created_at)
    );
    page += &header(heading, summary);
    if samples.is_empty() {
        page += "<p class=\"none\">No samples were taken.</p>\n";
    } else {
        page += &cards(summary);
        page += &charts(samples, events);
    }
    page += &processes(summary);
    page += &happened(events);
    page += &format!(
        "<footer>Made by Atoll {} · times are UTC · the figures behind this page are in <code>samples.jsonl</code>, \
         <code>events.json</code> and <code>summary.json</code> beside it</footer>\n</main>\n</body>\n</html>\n",
        escape(&heading.version)
    );
    page
}

fn header(heading: &Heading, summary: &Summary) -> String {
    let session = heading.session_id.as_deref().unwrap_or("none: a look at the moment");
    let mut facts = vec![
        ("Mode", heading.mode.clone()),
        ("Session", session.to_owned()),
        ("Reason", heading.reason.clone()),
        ("Made", moment(&heading.created_at)),
    ];
    if let (Some(from), Some(to)) = (&summary.from, &summary.to) {
        facts.push(("From", moment(from)));
        facts.push(("To", moment(to)));
        let interval = heading.interval_seconds.as_deref();
        let every = interval.map_or(String::new(), |seconds| format!(", every {seconds} s"));
        facts.push(("Samples", format!("{}{every}", summary.samples)));
    }
    let facts: String = facts
        .iter()
        .map(|(name, value)| format!("<div><dt>{name}</dt><dd>{}</dd></div>", escape(value)))
        .collect();
    format!("<header>\n<h1>What the sandbox used</h1>\n<dl>{facts}</dl>\n</header>\n")
}

fn cards(summary: &Summary) -> String {
    let memory = format!("{:.0}", summary.memory_bytes.highest);
    let memory = bytes(memory.parse().unwrap_or_default());
    let share = summary.memory_highest_pct.map_or(String::new(), |share| format!("{share} % of "));
    let most = summary.memory_most_bytes.map_or("no limit".to_owned(), bytes);
    let fullest = summary.disks.iter().max_by(|a, b| a.1.total_cmp(b.1));
    let (disk, place) = fullest.map_or(("–".to_owned(), String::new()), |(path, share)| {
        (format!("{share} %"), path.clone())
    });
    let cards = [
        (
            "Processor, peak",
            format!("{} %", summary.cpu_pct.highest),
            "100 % is one processor".to_owned(),
            false,
        ),
        (
            "Processor, mean",
            format!("{} %", summary.cpu_pct.average),
            duration(summary.duration_seconds),
            false,
        ),
        ("Memory, peak", memory, format!("{share}{most}"), summary.memory_highest_pct > Some(90.0)),
        ("Fullest disk", disk, place, fullest.is_some_and(|(_, share)| *share > 90.0)),
        (
            "Killed for memory",
            summary.oom_kills.to_string(),
            "processes".to_owned(),
            summary.oom_kills > 0,
        ),
        (
            "Throttled",
            summary.cpu_throttled_periods.to_string(),
            "periods".to_owned(),
            summary.cpu_throttled_periods > 0,
        ),
    ];
    let cards: String = cards
        .iter()
        .map(|(name, value, note, bad)| {
            let class = if *bad { "card bad" } else { "card" };
            format!(
                "<div class=\"{class}\"><h2>{name}</h2><strong>{}</strong><span>{}</span></div>\n",
                escape(value),
                escape(note)
            )
        })
        .collect();
    format!("<section class=\"cards\">\n{cards}</section>\n")
}

fn charts(samples: &[Sample], events: &[Event]) -> String {
    let marks: Vec<_> = events.iter().filter_map(mark).collect();
    let of_kind = |kinds: &[&str]| -> Vec<(i64, String)> {
        let wanted = |mark: &&(i64, String, String)| kinds.contains(&mark.1.as_str());
        marks.iter().filter(wanted).map(|(at, _, what)| (*at, what.clone())).collect()
    };
    let series = |value: &dyn Fn(&Sample) -> Option<f64>| -> Vec<(i64, f64)> {
        samples.iter().filter_map(|sample| Some((sample.at_ms, value(sample)?))).collect()
    };
    #[expect(clippy::cast_precision_loss, reason = "bytes for people to read")]
    let float = |bytes: u64| bytes as f64;
    let processor = Chart {
        title: "Processor time in per cent of one processor",
        lines: vec![Line {
            name: "processor",
            points: series(&|sample| sample.cpu_pct),
            filled: true,
        }],
        bound: None,
        least: 100.0,
        base: 10.0,
        label: |value| format!("{value:.0} %"),
        marks: of_kind(&["cpu_throttled", "service_restart", "service_failed"]),
    };
    let memory = Chart {
        title: "Memory in use",
        lines: vec![
            Line {
                name: "in use",
                points: series(&|sample| Some(float(sample.group.memory_bytes))),
                filled: true,
            },
            Line {
                name: "of programs",
                points: series(&|sample| sample.group.anonymous_bytes.map(float)),
                filled: false,
            },
            Line {
                name: "files held",
                points: series(&|sample| sample.group.file_bytes.map(float)),
                filled: false,
            },
        ]
        .into_iter()
        .filter(|line| !line.points.is_empty())
        .collect(),
        bound: samples.last().and_then(|sample| sample.group.memory_most_bytes).map(float),
        least: 1.0,
        base: 1024.0,
        label: |value| bytes(format!("{value:.0}").parse().unwrap_or_default()),
        marks: of_kind(&["oom_kill"]),
    };
    let mut sections = section("Processor", &processor) + &section("Memory", &memory);
    let paths: std::collections::BTreeSet<_> =
        samples.iter().flat_map(|sample| &sample.disks).map(|disk| disk.path.as_str()).collect();
    if !paths.is_empty() {
        let usage = |path: &str| {
            series(&|sample| {
                let disk = sample.disks.iter().find(|disk| disk.path == path);
                disk.map(|disk| disk.usage_pct)
            })
        };
        let disks = Chart {
            title: "Disks in per cent of what can be written",
            lines: paths
                .iter()
                .map(|path| Line { name: path, points: usage(path), filled: paths.len() == 1 })
                .collect(),
            bound: None,
            least: 100.0,
            base: 10.0,
            label: |value| format!("{value:.0} %"),
            marks: of_kind(&["disk_full"]),
        };
        let name = match paths.iter().next() {
            Some(path) if paths.len() == 1 => format!("Disk of {path}"),
            _ => "Disks".to_owned(),
        };
        sections += &section(&name, &disks);
    }
    sections
}

fn section(name: &str, chart: &Chart<'_>) -> String {
    format!("<section class=\"panel\">\n<h2>{}</h2>\n{}</section>\n", escape(name), chart.draw())
}

fn mark(event: &Event) -> Option<(i64, String, String)> {
    let at: jiff::Timestamp = event.ts.parse().ok()?;
    Some((at.as_millisecond(), event.kind.clone(), format!("{}: {}", event.kind, event.message)))
}

fn processes(summary: &Summary) -> String {
    if summary.processes.is_empty() {
        return String::new();
    }
    let most = summary.processes.iter().map(|process| process.highest_rss_bytes).max().unwrap_or(1);
    let rows: String = summary
        .processes
        .iter()
        .map(|process| {
            let share = crate::disk::percent(process.highest_rss_bytes, most.max(1));
            let cpu = process.highest_cpu_pct.map_or("–".to_owned(), |cpu| format!("{cpu} %"));
            format!(
                "<tr><td>{}</td><td class=\"number\">{}</td><td>{}</td>\
                 <td class=\"number\">{}<svg class=\"bar\" viewBox=\"0 0 100 4\" preserveAspectRatio=\"none\" \
                 aria-hidden=\"true\"><rect width=\"{share}\" height=\"4\"/></svg></td>\
                 <td class=\"number\">{cpu}</td><td class=\"number\">{}</td></tr>\n",
                escape(&process.comm),
                process.pid,
                escape(&process.user),
                bytes(process.highest_rss_bytes),
                process.samples,
            )
        })
        .collect();
    format!(
        "<section class=\"panel\">\n<h2>Processes that used most</h2>\n<div class=\"wide\"><table>\n<thead><tr><th>Name</th>\
         <th class=\"number\">Pid</th><th>User</th><th class=\"number\">Memory, peak</th><th class=\"number\">Processor, peak</th>\
         <th class=\"number\">Seen</th></tr></thead>\n<tbody>\n{rows}</tbody>\n</table></div>\n</section>\n"
    )
}

fn happened(events: &[Event]) -> String {
    if events.is_empty() {
        return "<section class=\"panel\">\n<h2>Events</h2>\n<p class=\"none\">Nothing happened: nothing was killed, \
                throttled or started again, and no disk ran full.</p>\n</section>\n"
            .to_owned();
    }
    let skipped = events.len().saturating_sub(EVENTS);
    let rows: String = events
        .iter()
        .skip(skipped)
        .map(|event| {
            format!(
                "<tr><td class=\"time\">{}</td><td><span class=\"kind {}\">{}</span></td><td>{}</td></tr>\n",
                escape(&moment(&event.ts)),
                if event.kind == "service_restart" || event.kind == "cpu_throttled" { "mild" } else { "grave" },
                escape(&event.kind),
                escape(&event.message),
            )
        })
        .collect();
    let more = match skipped {
        0 => String::new(),
        count => format!("<p class=\"none\">{count} earlier ones are in events.json.</p>\n"),
    };
    format!(
        "<section class=\"panel\">\n<h2>Events</h2>\n{more}<div class=\"wide\"><table>\n<thead><tr><th>Time</th><th>Kind</th>\
         <th>What happened</th></tr></thead>\n<tbody>\n{rows}</tbody>\n</table></div>\n</section>\n"
    )
}

/// A time for people: to the second, without the letters that programs want.
fn moment(time: &str) -> String {
    time.chars().take(19).collect::<String>().replace('T', " ")
}

/// Text as it may stand in a page and in its attributes.
pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A size for people.
fn bytes(count: u64) -> String {
    let units = [("GiB", 30), ("MiB", 20), ("KiB", 10)];
    for (unit, power) in units {
        let whole = count >> power;
        if whole > 0 {
            let tenths = ((count - (whole << power)) * 10) >> power;
            return if whole < 10 && tenths > 0 {
                format!("{whole}.{tenths} {unit}")
            } else {
                format!("{whole} {unit}")
            };
        }
    }
    format!("{count} B")
}

fn duration(seconds: f64) -> String {
    let shown = format!("{seconds:.0}").parse::<u64>().unwrap_or_default();
    match shown {
        0..60 => format!("over {seconds:.1} s"),
        60..3600 => format!("over {} min {} s", shown / 60, shown % 60),
        _ => format!("over {} h {} min", shown / 3600, shown % 3600 / 60),
    }
}
