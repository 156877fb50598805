//! Saving and loading: cookies and local storage as one JSON value, in the form Playwright calls storage state.
//!
//! Local storage can only be read and written by a page of its origin. Where none is open, one stands in for it: it has
//! the origin's address and an empty content, and asks the network for nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use super::{NewCookie, StateError};
use crate::context::Context;
use crate::error::Error;
use crate::frame::{Frame, World};
use crate::network::Address;
use crate::page::Until;
use crate::{Argument, Result};

/// How long one page may take.
const PAGE: Duration = Duration::from_secs(10);

const READ: &str =
    "() => Object.entries({...localStorage}).map(([name, value]) => ({name, value}))";
const WRITE: &str =
    "(items) => { for (const {name, value} of items) localStorage.setItem(name, value) }";

/// How much there was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Cookies.
    pub cookies: usize,
    /// Origins with local storage.
    pub origins: usize,
}

#[derive(Debug, Deserialize)]
struct Saved {
    #[serde(default)]
    cookies: Vec<NewCookie>,
    #[serde(default)]
    origins: Vec<SavedOrigin>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SavedOrigin {
    origin: String,
    #[serde(default)]
    local_storage: Vec<Item>,
}

#[derive(Debug, Deserialize, serde::Serialize)]
struct Item {
    name: String,
    value: String,
}

impl Context {
    /// Cookies, and the local storage of every origin that has been visited.
    pub async fn save_state(self: &Arc<Self>) -> Result<(Value, Extent)> {
        let cookies = self.cookies(&[]).await?;
        let mut stored = BTreeMap::new();
        let mut closed: BTreeSet<String> = self.network().origins().into_iter().collect();
        for (origin, frame) in self.open_origins() {
            // A frame may be one whose code must not see the storage of its origin.
            closed.insert(origin.clone());
            if let Some(items) = read(&frame).await {
                closed.remove(&origin);
                stored.insert(origin, items);
            }
        }
        if !closed.is_empty() {
            stored.extend(self.stand_in(&closed, &BTreeMap::new()).await?);
        }
        let origins: Vec<_> = stored
            .into_iter()
            .filter(|(_, items)| items.as_array().is_some_and(|items| !items.is_empty()))
            .map(|(origin, items)| json!({"origin": origin, "localStorage": items}))
            .collect();
        let extent = Extent { cookies: cookies.len(), origins: origins.len() };
        Ok((json!({"cookies": cookies, "origins": origins}), extent))
    }

    /// Sets what was saved, beside what is there. A value that is no saved state changes nothing.
    pub async fn load_state(self: &Arc<Self>, state: Value) -> Result<Extent> {
        let is_state = state.get("cookies").or(state.get("origins")).is_some_and(Value::is_array);
        if !is_state {
            let reason = "it has neither of the two".to_owned();
            return Err(StateError::Form { reason }.into());
        }
        let saved: Saved = serde_json::from_value(state)
            .map_err(|error| StateError::Form { reason: error.to_string() })?;
        let filled: BTreeMap<String, Vec<Item>> = saved
            .origins
            .into_iter()
            .map(|saved| match Address::parse(&saved.origin) {
                Some(address) => Ok((address.origin(), saved.local_storage)),
                None => Err(StateError::Address { address: saved.origin }),
            })
            .collect::<Result<_, _>>()?;
        self.set_cookies(&saved.cookies).await?;
        let extent = Extent { cookies: saved.cookies.len(), origins: filled.len() };
        let open = self.open_origins();
        let mut closed = BTreeSet::new();
        for (origin, items) in &filled {
            let written = match open.get(origin) {
                Some(frame) => write(frame, origin, items).await.is_ok(),
                None => false,
            };
            if !written {
                closed.insert(origin.clone());
            }
        }
        if !closed.is_empty() {
            self.stand_in(&closed, &filled).await?;
        }
        Ok(extent)
    }

    /// A frame of each origin that is open.
    fn open_origins(&self) -> BTreeMap<String, Arc<Frame>> {
        let mut open = BTreeMap::new();
        for frame in self.tabs().iter().filter(|tab| !tab.is_crashed()).flat_map(|tab| tab.frames())
        {
            if let Some(address) = Address::parse(&frame.url())
                && matches!(address.scheme.as_str(), "http" | "https")
            {
                open.entry(address.origin()).or_insert(frame);
            }
        }
        open
    }

    /// Fills and reads the local storage of each of these origins, in a page that exists for this only.
    async fn stand_in(
        &self,
        origins: &BTreeSet<String>,
        filled: &BTreeMap<String, Vec<Item>>,
    ) -> Result<BTreeMap<String, Value>> {
        let tab = self.hidden_tab().await?;
        let _stub = self.network().stub(tab.session()).await?;
        let mut stored = BTreeMap::new();
        for origin in origins {
            tab.navigate(&format!("{origin}/"), Until::Commit, PAGE).await?;
            let frame = tab.main_frame();
            if let Some(items) = filled.get(origin) {
                write(&frame, origin, items).await?;
            }
            if let Some(items) = read(&frame).await {
                stored.insert(origin.clone(), items);
            }
        }
        Ok(stored)
    }
}

/// The local storage of a frame's origin; `None` when it has none that code may see.
async fn read(frame: &Arc<Frame>) -> Option<Value> {
    frame.call(READ, &[], World::Utility, PAGE).await.ok()
}

async fn write(frame: &Arc<Frame>, origin: &str, items: &[Item]) -> Result<()> {
    if items.is_empty() {
        return Ok(());
    }
    let items = json!(items);
    match frame.call(WRITE, &[Argument::from(items)], World::Utility, PAGE).await {
        Err(Error::Script { name, message, .. }) => {
            let reason = format!("{name}: {message}");
            Err(StateError::Storage { origin: origin.to_owned(), reason }.into())
        }
        other => other.map(drop),
    }
}
