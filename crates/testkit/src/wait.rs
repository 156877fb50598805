//! Waiting for a condition with a deadline. Machines are noisy: deadlines are generous, and only a failure uses them up.

use std::time::{Duration, Instant};

/// Long enough for anything that works at all.
pub const LONG: Duration = Duration::from_mins(1);

const PAUSE: Duration = Duration::from_millis(5);

/// Waits until the condition holds.
///
/// # Panics
/// When it does not hold within the deadline.
pub async fn eventually(deadline: Duration, mut condition: impl FnMut() -> bool) {
    let started = Instant::now();
    while !condition() {
        pause(started, deadline).await;
    }
}

/// Waits until there is a value.
///
/// # Panics
/// When there is none within the deadline.
pub async fn eventually_some<T>(deadline: Duration, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(value) = look().await {
            return value;
        }
        pause(started, deadline).await;
    }
}

async fn pause(started: Instant, deadline: Duration) {
    assert!(started.elapsed() < deadline, "what was waited for did not happen within {deadline:?}");
    tokio::time::sleep(PAUSE).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_condition_that_comes_true_is_waited_for() {
        let mut looks = 0;
        eventually(LONG, || {
            looks += 1;
            looks == 3
        })
        .await;
        assert_eq!(looks, 3);
    }

    #[tokio::test]
    async fn a_condition_that_never_comes_true_fails() {
        let waiting = tokio::spawn(eventually(Duration::from_millis(10), || false));
        assert!(waiting.await.is_err_and(|error| error.is_panic()));
    }
}
