//! How what is fetched is reached: the way out that programs of the sandbox have, with its policy and mappings.

use std::sync::Arc;

use atoll_egress::Egress;
use atoll_fetch::{Dial, DialError, Dialing, Fetcher};

/// The one fetcher of a sandbox.
pub(crate) fn fetcher(egress: &Egress) -> Fetcher {
    Fetcher::new(Arc::new(WayOut(egress.clone())))
}

#[derive(Debug)]
struct WayOut(Egress);

impl Dial for WayOut {
    fn connect<'a>(&'a self, host: &'a str, port: u16) -> Dialing<'a> {
        Box::pin(async move {
            self.0.connect(host, port).await.map_err(|error| {
                let message = error.to_string();
                if error.is_refused() {
                    DialError::Refused(message)
                } else {
                    DialError::Unreachable(message)
                }
            })
        })
    }

    fn is_mapped(&self, host: &str) -> bool {
        let covers = |pattern: &str| match pattern.strip_prefix('*') {
            Some(end) => host.len() > end.len() && host.ends_with(end),
            None => host == pattern,
        };
        self.0.setup().mappings.iter().any(|mapping| covers(mapping.source_host()))
    }
}
