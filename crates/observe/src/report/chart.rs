//! Lines over time as SVG that stands in a page by itself.

/// Size of the drawing, and of the margins that labels stand in.
const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 220.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 26.0;
/// Points of one line: more than the pixels there are would show nothing more.
const POINTS: usize = 480;
/// Labels along the time.
const TIMES: u32 = 6;

/// A line.
pub(super) struct Line<'a> {
    pub(super) name: &'a str,
    /// Milliseconds since 1970, and the value.
    pub(super) points: Vec<(i64, f64)>,
    pub(super) filled: bool,
}

/// A drawing.
pub(super) struct Chart<'a> {
    /// What it shows, for those who hear it.
    pub(super) title: &'a str,
    pub(super) lines: Vec<Line<'a>>,
    /// A bound, drawn across where it is near enough to matter.
    pub(super) bound: Option<f64>,
    /// The least height of the scale.
    pub(super) least: f64,
    /// Steps of the scale are whole in this base: 10 for counts, 1024 for bytes.
    pub(super) base: f64,
    /// How a value is written.
    pub(super) label: fn(f64) -> String,
    /// When something happened, and what.
    pub(super) marks: Vec<(i64, String)>,
}

impl Chart<'_> {
    /// The drawing, and its key where there is more than one line.
    pub(super) fn draw(&self) -> String {
        let times = self.lines.iter().flat_map(|line| line.points.iter().map(|point| point.0));
        let (Some(first), Some(last)) = (times.clone().min(), times.max()) else {
            return "<p class=\"none\">Nothing was measured.</p>".to_owned();
        };
        let values = self.lines.iter().flat_map(|line| line.points.iter().map(|point| point.1));
        let highest = values.fold(self.least, f64::max);
        // A bound far above would flatten the lines.
        let bound = self.bound.filter(|bound| *bound <= highest * 3.0);
        let step = step(bound.map_or(highest, |bound| highest.max(bound)) / 4.0, self.base);
        let top = (bound.map_or(highest, |bound| highest.max(bound)) / step).ceil().max(1.0) * step;
        let plot = Plot { first, last, top };
        let mut svg = format!(
            "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">\n",
            super::html::escape(self.title)
        );
        self.draw_scale(&mut svg, &plot, step);
        for (number, line) in self.lines.iter().enumerate() {
            draw_line(&mut svg, &plot, line, number);
        }
        if let Some(bound) = bound {
            let y = plot.y(bound);
            let label = (self.label)(bound);
            svg += &format!(
                "<line class=\"bound\" x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
                 <text class=\"bound\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">limit {label}</text>\n",
                WIDTH - RIGHT,
                WIDTH - RIGHT - 4.0,
                (y - 5.0).max(TOP + 8.0),
            );
        }
        for (at, what) in self.marks.iter().filter(|(at, _)| (first..=last).contains(at)) {
            let x = plot.x(*at);
            svg += &format!(
                "<g class=\"mark\"><line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{TOP}\" y2=\"{:.1}\"/>\
                 <circle cx=\"{x:.1}\" cy=\"{TOP}\" r=\"4\"/><title>{}</title></g>\n",
                HEIGHT - BOTTOM,
                super::html::escape(what),
            );
        }
        svg.push_str("</svg>\n");
        svg + &self.key()
    }

    fn draw_scale(&self, svg: &mut String, plot: &Plot, step: f64) {
        let mut value = 0.0;
        while value <= plot.top + step / 2.0 {
            let y = plot.y(value);
            let label = (self.label)(value);
            *svg += &format!(
                "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>\n",
                WIDTH - RIGHT,
                LEFT - 8.0,
                y + 4.0,
            );
            value += step;
        }
        let span = plot.last - plot.first;
        let labels = if span < i64::from(TIMES) * 1000 { 1 } else { TIMES };
        for number in 0..=labels {
            let at = plot.first + span * i64::from(number) / i64::from(labels);
            let anchor = match number {
                0 => "start",
                last if last == labels => "end",
                _ => "middle",
            };
            if number > 0 && span == 0 {
                break;
            }
            *svg += &format!(
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{}</text>\n",
                plot.x(at),
                HEIGHT - 8.0,
                clock(at),
            );
        }
    }

    fn key(&self) -> String {
        if self.lines.len() < 2 {
            return String::new();
        }
        let entry = |(number, line): (usize, &Line<'_>)| {
            let name = super::html::escape(line.name);
            format!("<li><span class=\"swatch s{}\"></span>{name}</li>", number % 4)
        };
        let entries: String = self.lines.iter().enumerate().map(entry).collect();
        format!("<ul class=\"key\">{entries}</ul>\n")
    }
}

/// From times and values to places.
struct Plot {
    first: i64,
    last: i64,
    top: f64,
}

impl Plot {
    #[expect(clippy::cast_precision_loss, reason = "milliseconds of a span fit a float")]
    fn x(&self, at: i64) -> f64 {
        let span = (self.last - self.first).max(1) as f64;
        LEFT + (at - self.first) as f64 / span * (WIDTH - LEFT - RIGHT)
    }

    fn y(&self, value: f64) -> f64 {
        TOP + (1.0 - value / self.top) * (HEIGHT - TOP - BOTTOM)
    }
}

fn draw_line(svg: &mut String, plot: &Plot, line: &Line<'_>, number: usize) {
    let points = thinned(&line.points);
    let place = |(at, value): &(i64, f64)| format!("{:.1},{:.1}", plot.x(*at), plot.y(*value));
    let places: Vec<_> = points.iter().map(place).collect();
    let class = format!("s{}", number % 4);
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return };
    if points.len() == 1 {
        let (x, y) = (plot.x(first.0), plot.y(first.1));
        *svg += &format!("<circle class=\"dot {class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\"/>\n");
        return;
    }
    if line.filled {
        let ground = plot.y(0.0);
        *svg += &format!(
            "<polygon class=\"area {class}\" points=\"{:.1},{ground:.1} {} {:.1},{ground:.1}\"/>\n",
            plot.x(first.0),
            places.join(" "),
            plot.x(last.0),
        );
    }
    *svg += &format!("<polyline class=\"line {class}\" points=\"{}\"/>\n", places.join(" "));
}

/// At most as many points as can be seen; of each stretch the highest, so that no peak is lost.
fn thinned(points: &[(i64, f64)]) -> Vec<(i64, f64)> {
    let stretch = points.len().div_ceil(POINTS).max(1);
    let highest = |points: &[(i64, f64)]| points.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1));
    points.chunks(stretch).filter_map(highest).collect()
}

/// The next round number: 1, 2 or 5 times a power of ten, or a power of two times one of 1024.
fn step(least: f64, base: f64) -> f64 {
    let least = least.max(f64::MIN_POSITIVE);
    if base > 10.0 {
        return least.log2().ceil().exp2().max(1.0);
    }
    let power = 10_f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|factor| factor * power)
        .find(|step| *step >= least)
        .unwrap_or(power)
}

fn clock(at: i64) -> String {
    let time = jiff::Timestamp::from_millisecond(at).map(|at| at.to_string()).unwrap_or_default();
    time.split('T').nth(1).unwrap_or_default().chars().take(8).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_are_round() {
        assert!((step(0.3, 10.0) - 0.5).abs() < 1e-9);
        assert!((step(12.0, 10.0) - 20.0).abs() < 1e-9);
        assert!((step(100.0, 10.0) - 100.0).abs() < 1e-9);
        assert!((step(3000.0, 1024.0) - 4096.0).abs() < 1e-9);
    }

    #[test]
    fn no_peak_is_lost_when_points_are_left_out() {
        let mut points: Vec<_> = (0..100_000).map(|at| (at, 1.0)).collect();
        points[54_321].1 = 99.0;
        let thinned = thinned(&points);
        assert!(thinned.len() <= POINTS);
        assert!(thinned.contains(&(54_321, 99.0)));
    }
}
