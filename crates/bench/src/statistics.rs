//! Samples of a duration, and what is read off them: percentiles by nearest rank, and the slope of a growth.

use std::time::Duration;

/// Durations of one thing done many times.
#[derive(Debug, Clone, Default)]
pub(crate) struct Samples {
    values: Vec<Duration>,
}

impl Samples {
    pub(crate) fn push(&mut self, value: Duration) {
        let position = self.values.partition_point(|known| *known <= value);
        self.values.insert(position, value);
    }

    pub(crate) fn count(&self) -> usize {
        self.values.len()
    }

    /// The least value that at least this many percent of the samples do not exceed; zero when there are none.
    pub(crate) fn percentile(&self, percent: usize) -> Duration {
        let rank = (self.values.len() * percent).div_ceil(100).max(1);
        self.values.get(rank - 1).copied().unwrap_or_default()
    }

    pub(crate) fn median(&self) -> Duration {
        self.percentile(50)
    }

    pub(crate) fn least(&self) -> Duration {
        self.values.first().copied().unwrap_or_default()
    }

    pub(crate) fn greatest(&self) -> Duration {
        self.values.last().copied().unwrap_or_default()
    }
}

impl FromIterator<Duration> for Samples {
    fn from_iter<I: IntoIterator<Item = Duration>>(values: I) -> Self {
        let mut samples = Self::default();
        values.into_iter().for_each(|value| samples.push(value));
        samples
    }
}

/// How many times the second one the first is.
pub(crate) fn ratio(duration: Duration, base: Duration) -> f64 {
    duration.as_secs_f64() / base.as_secs_f64()
}

/// Slope of the straight line nearest to the points (least squares); zero when they have no extent.
pub(crate) fn slope(points: &[(f64, f64)]) -> f64 {
    let mean = |pick: fn(&(f64, f64)) -> f64| {
        let (sum, count) = points.iter().fold((0.0, 0.0), |(s, n), p| (s + pick(p), n + 1.0));
        sum / f64::max(count, 1.0)
    };
    let (mean_x, mean_y) = (mean(|point| point.0), mean(|point| point.1));
    let covariance: f64 = points.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    let variance: f64 = points.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
    if variance > 0.0 { covariance / variance } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(values: impl IntoIterator<Item = u64>) -> Samples {
        values.into_iter().map(Duration::from_millis).collect()
    }

    #[test]
    fn percentiles_are_nearest_ranks_whatever_the_order_of_arrival() {
        let samples = millis((1..=100).rev());
        let read = [50, 95, 99, 100].map(|percent| samples.percentile(percent).as_millis());
        assert_eq!(read, [50, 95, 99, 100]);
        assert_eq!((samples.least().as_millis(), samples.greatest().as_millis()), (1, 100));
        assert_eq!(millis([7]).percentile(99).as_millis(), 7);
        assert_eq!(millis([3, 1, 2]).median().as_millis(), 2);
    }

    #[test]
    fn no_samples_read_as_zero() {
        assert_eq!(Samples::default().median(), Duration::ZERO);
    }

    #[test]
    fn the_slope_of_a_line_is_its_slope() {
        assert!((slope(&[(0.0, 5.0), (10.0, 25.0), (20.0, 45.0)]) - 2.0).abs() < 1e-9);
        assert!(slope(&[(0.0, 5.0), (10.0, 5.0)]).abs() < 1e-9);
        assert!(slope(&[(1.0, 5.0)]).abs() < 1e-9);
    }
}
