//! The tools of AIO Sandbox's server `browser`, and those of deep-agent that go by the same names: what either sends as
//! arguments is understood.

mod acting;
mod moving;
mod reading;
mod tabs;

use serde_json::Value;

use super::text::text;
use super::tool::{Sets, Tool};
use crate::calls::Operations;
use crate::reply::Reply;

/// The server these tools are said to belong to.
pub(super) const SERVER: &str = "browser";

const ALL: Sets = Sets::DEFAULT.and(Sets::AIO).and(Sets::AGENT);
const AIO_DEFAULT: Sets = Sets::DEFAULT.and(Sets::AIO);
const BOTH: Sets = Sets::AIO.and(Sets::AGENT);

pub(super) fn tools(operations: &Operations) -> Vec<Tool> {
    let lists = [moving::tools(), reading::tools(), acting::tools(), tabs::tools()];
    let there = |needs: &[&str]| needs.iter().all(|id| operations.get(id).is_some());
    let needed = lists.into_iter().flatten().filter(|(needs, _)| there(needs));
    needed.map(|(_, tool)| tool).collect()
}

/// A tool, after the operations without which it cannot be had.
type Offer = (&'static [&'static str], Tool);

/// Where a page is after an operation.
fn at(said: &str, state: &Value) -> Reply {
    let (url, title) = (text(state, "url"), text(state, "title"));
    Reply::text(format!("{said}. The page is now {url} ({title}).")).with(state.clone())
}
