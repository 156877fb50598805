//! Counts what passes through this face and writes it as Prometheus text.
//!
//! Labels are operation ids and statuses, so their number is bounded; a raw path never becomes one. Written by hand:
//! the format is a page long, and nothing else of a metrics library would be used.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::settings::Gauge;

/// Upper bounds of the duration histogram, in microseconds.
const BUCKETS: [u64; 16] = [
    500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000,
    2_500_000, 5_000_000, 10_000_000, 30_000_000, 60_000_000,
];

/// Every figure of this face.
#[derive(Debug)]
pub(crate) struct Metrics {
    series: Mutex<Vec<Arc<Series>>>,
    gauges: Vec<Gauge>,
    version: &'static str,
    started: SystemTime,
    panics: AtomicU64,
    in_flight: Arc<AtomicI64>,
    websockets: Arc<AtomicI64>,
}

/// The requests of one operation.
#[derive(Debug)]
pub(crate) struct Series {
    operation: &'static str,
    statuses: Mutex<BTreeMap<u16, u64>>,
    buckets: [AtomicU64; BUCKETS.len()],
    total_micros: AtomicU64,
}

/// Counted while it lives.
#[derive(Debug)]
pub(crate) struct Counted(Arc<AtomicI64>);

impl Counted {
    fn new(counter: &Arc<AtomicI64>) -> Self {
        counter.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(counter))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Series {
    pub(crate) fn operation(&self) -> &'static str {
        self.operation
    }

    pub(crate) fn record(&self, status: u16, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let bucket = BUCKETS.iter().position(|bound| micros <= *bound);
        if let Some(bucket) = bucket.and_then(|bucket| self.buckets.get(bucket)) {
            bucket.fetch_add(1, Ordering::Relaxed);
        }
        self.total_micros.fetch_add(micros, Ordering::Relaxed);
        let mut statuses = self.statuses.lock().unwrap_or_else(PoisonError::into_inner);
        *statuses.entry(status).or_default() += 1;
    }
}

impl Metrics {
    pub(crate) fn new(version: &'static str, gauges: Vec<Gauge>) -> Self {
        Self {
            series: Mutex::default(),
            gauges,
            version,
            started: SystemTime::now(),
            panics: AtomicU64::new(0),
            in_flight: Arc::default(),
            websockets: Arc::default(),
        }
    }

    /// A new row of figures, for an operation or a page.
    pub(crate) fn series(&self, operation: &'static str) -> Arc<Series> {
        let series = Arc::new(Series {
            operation,
            statuses: Mutex::default(),
            buckets: Default::default(),
            total_micros: AtomicU64::new(0),
        });
        let mut all = self.series.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(Arc::clone(&series));
        series
    }

    pub(crate) fn request(&self) -> Counted {
        Counted::new(&self.in_flight)
    }

    pub(crate) fn websocket(&self) -> Counted {
        Counted::new(&self.websockets)
    }

    pub(crate) fn panicked(&self) {
        self.panics.fetch_add(1, Ordering::Relaxed);
    }

    /// Everything as Prometheus text.
    pub(crate) fn render(&self) -> String {
        let mut text = String::with_capacity(16 << 10);
        self.render_requests(&mut text);
        let mut plain = |name: &str, kind: &str, help: &str, value: f64| {
            head(&mut text, name, kind, help);
            line(&mut text, format_args!("{name} {value}"));
        };
        plain(
            "atoll_http_requests_in_flight",
            "gauge",
            "Requests being answered.",
            signed(&self.in_flight),
        );
        plain(
            "atoll_http_websockets_open",
            "gauge",
            "WebSockets that are open.",
            signed(&self.websockets),
        );
        plain(
            "atoll_http_panics_total",
            "counter",
            "Requests and streams that ended in a panic.",
            real(self.panics.load(Ordering::Relaxed)),
        );
        for gauge in &self.gauges {
            plain(gauge.name, "gauge", gauge.help, (gauge.read)());
        }
        let started = self.started.duration_since(UNIX_EPOCH).unwrap_or_default();
        plain(
            "process_start_time_seconds",
            "gauge",
            "When the server started, in seconds since 1970.",
            started.as_secs_f64(),
        );
        if let Some(bytes) = resident_bytes() {
            plain(
                "process_resident_memory_bytes",
                "gauge",
                "Memory of the server itself.",
                real(bytes),
            );
        }
        if let Ok(entries) = std::fs::read_dir("/proc/self/fd") {
            plain(
                "process_open_fds",
                "gauge",
                "File descriptors the server holds.",
                real(entries.count() as u64),
            );
        }
        head(&mut text, "atoll_build_info", "gauge", "The version that runs.");
        line(&mut text, format_args!("atoll_build_info{{version=\"{}\"}} 1", self.version));
        text
    }

    fn render_requests(&self, text: &mut String) {
        let series = self.series.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let counts = |series: &Series| {
            series.statuses.lock().unwrap_or_else(PoisonError::into_inner).clone()
        };
        let name = "atoll_http_requests_total";
        head(text, name, "counter", "Requests answered.");
        for series in &series {
            let operation = series.operation;
            for (status, count) in counts(series) {
                line(
                    text,
                    format_args!("{name}{{operation=\"{operation}\",status=\"{status}\"}} {count}"),
                );
            }
        }
        let name = "atoll_http_request_duration_seconds";
        head(text, name, "histogram", "Time to the head of the answer.");
        for series in &series {
            let operation = series.operation;
            let count: u64 = counts(series).values().sum();
            if count == 0 {
                continue;
            }
            let mut below = 0;
            for (bound, bucket) in BUCKETS.iter().zip(&series.buckets) {
                below += bucket.load(Ordering::Relaxed);
                let bound = Duration::from_micros(*bound).as_secs_f64();
                line(
                    text,
                    format_args!(
                        "{name}_bucket{{operation=\"{operation}\",le=\"{bound}\"}} {below}"
                    ),
                );
            }
            let total = Duration::from_micros(series.total_micros.load(Ordering::Relaxed));
            let total = total.as_secs_f64();
            line(
                text,
                format_args!("{name}_bucket{{operation=\"{operation}\",le=\"+Inf\"}} {count}"),
            );
            line(text, format_args!("{name}_sum{{operation=\"{operation}\"}} {total}"));
            line(text, format_args!("{name}_count{{operation=\"{operation}\"}} {count}"));
        }
    }
}

fn head(text: &mut String, name: &str, kind: &str, help: &str) {
    line(text, format_args!("# HELP {name} {help}"));
    line(text, format_args!("# TYPE {name} {kind}"));
}

fn line(text: &mut String, content: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    writeln!(text, "{content}").unwrap_or_default();
}

fn signed(counter: &AtomicI64) -> f64 {
    real(u64::try_from(counter.load(Ordering::Relaxed)).unwrap_or(0))
}

#[expect(clippy::cast_precision_loss, reason = "Prometheus values are floating point")]
fn real(value: u64) -> f64 {
    value as f64
}

fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_written_as_prometheus_reads_them() {
        let gauge = Gauge { name: "atoll_sessions", help: "Sessions.", read: Box::new(|| 3.0) };
        let metrics = Metrics::new("1.2", vec![gauge]);
        let series = metrics.series("bash_exec");
        metrics.series("never_called");
        series.record(200, Duration::from_micros(600));
        series.record(200, Duration::from_millis(3));
        series.record(404, Duration::from_mins(10));
        let request = metrics.request();
        metrics.panicked();
        let text = metrics.render();
        for expected in [
            "atoll_http_requests_total{operation=\"bash_exec\",status=\"200\"} 2",
            "atoll_http_requests_total{operation=\"bash_exec\",status=\"404\"} 1",
            "atoll_http_request_duration_seconds_bucket{operation=\"bash_exec\",le=\"0.0005\"} 0",
            "atoll_http_request_duration_seconds_bucket{operation=\"bash_exec\",le=\"0.001\"} 1",
            "atoll_http_request_duration_seconds_bucket{operation=\"bash_exec\",le=\"60\"} 2",
            "atoll_http_request_duration_seconds_bucket{operation=\"bash_exec\",le=\"+Inf\"} 3",
            "atoll_http_request_duration_seconds_count{operation=\"bash_exec\"} 3",
            "atoll_http_requests_in_flight 1",
            "atoll_http_panics_total 1",
            "atoll_sessions 3",
            "atoll_build_info{version=\"1.2\"} 1",
        ] {
            assert!(text.lines().any(|line| line == expected), "{expected} in\n{text}");
        }
        assert!(!text.contains("never_called"));
        assert!(text.contains("process_open_fds ") && text.contains("process_resident_memory"));
        drop(request);
        assert!(metrics.render().contains("atoll_http_requests_in_flight 0\n"));
    }
}
