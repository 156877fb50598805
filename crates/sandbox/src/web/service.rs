//! What the operations on the web share.

use std::sync::{Arc, Mutex};

use atoll_api::system::Limits;
use atoll_fetch::Fetcher;

use super::cache::Cache;
use super::provider::SearchSettings;
use crate::convert::Converter;
use crate::programs::Programs;

/// The web capability.
#[derive(Debug)]
pub struct Webs {
    pub(super) limits: Arc<Limits>,
    pub(super) fetcher: Fetcher,
    pub(super) converter: Converter,
    pub(super) search: SearchSettings,
    pub(super) cache: Mutex<Cache>,
}

impl Webs {
    /// Fetches nothing yet.
    pub fn new(
        programs: &Programs,
        converter: &Converter,
        fetcher: &Fetcher,
        search: SearchSettings,
    ) -> Arc<Self> {
        let limits = Arc::clone(&programs.foundation().limits);
        Arc::new(Self {
            cache: Mutex::new(Cache::new(limits.web_cache_bytes)),
            limits,
            fetcher: fetcher.clone(),
            converter: converter.clone(),
            search,
        })
    }
}
