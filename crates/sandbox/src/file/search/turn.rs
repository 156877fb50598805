//! One search: waits for its turn, runs, and ends in time.

use std::sync::Arc;
use std::time::Duration;

use atoll_operation::{Error, Kind};
use atoll_search::{Cancel, SearchError};
use tokio::time::{Instant, sleep, sleep_until};

use crate::file::service::Files;

/// How long a search that was told to end may take to do so. One that cannot, because it waits for a disk that does not
/// answer or is deep in an expensive expression, is left behind; it keeps its place among those that run.
const GRACE: Duration = Duration::from_secs(2);

/// Ends the search when dropped.
struct EndWhenDropped(Cancel);

impl Drop for EndWhenDropped {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

impl Files {
    /// Runs a search for so long at most, waiting for its turn included. Nothing is returned for one that had to be left
    /// behind.
    pub(super) async fn search<T: Send + 'static>(
        &self,
        time: Duration,
        work: impl FnOnce(&Cancel) -> Result<T, SearchError> + Send + 'static,
    ) -> Result<Option<Result<T, SearchError>>, Error> {
        let deadline = Instant::now() + time;
        let stop = &self.programs.foundation().stop;
        let turn = tokio::select! {
            biased;
            turn = Arc::clone(&self.searches).acquire_owned() => turn,
            () = sleep_until(deadline) => return Err(self.no_turn(time)),
            () = stop.cancelled() => return Err(stopping()),
        };
        let turn = turn.map_err(|error| Error::internal("searches have ended", error))?;
        let cancel = Cancel::new().with_deadline(deadline.into_std());
        let caller = EndWhenDropped(cancel.clone());
        let search = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            work(&cancel)
        });
        let overdue = async {
            tokio::select! {
                () = sleep_until(deadline + GRACE) => {}
                () = stop.cancelled() => {
                    caller.0.cancel();
                    sleep(GRACE).await;
                }
            }
        };
        tokio::select! {
            outcome = search => match outcome {
                Ok(outcome) => Ok(Some(outcome)),
                Err(error) => Err(Error::internal("the search broke off", error)),
            },
            () = overdue => Ok(None),
        }
    }

    fn no_turn(&self, time: Duration) -> Error {
        Error::new(
            Kind::ResourceExhausted,
            "file.too_many_searches",
            format!(
                "{} searches were running all of the {} seconds; try again later",
                self.limits.searches,
                time.as_secs()
            ),
        )
    }
}

fn stopping() -> Error {
    Error::new(Kind::Cancelled, "cancelled", "the server is stopping")
}
