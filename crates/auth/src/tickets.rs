//! Tickets: short-lived random texts that stand for whoever asked for them, made for addresses of pages and sockets,
//! where a header cannot be sent.
//!
//! A page needs its ticket many times (itself, its files, its sockets), so a ticket is good until it ends. A browser
//! that showed one gets a *page* in exchange: another random text, kept in a cookie, good only below one path, which
//! lasts as long as it is used. Only fingerprints are kept, the table has a bound, and time is told by a clock nobody
//! can set.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use thiserror::Error;

use crate::fingerprint::Fingerprint;
use crate::principal::{How, Principal};

/// Random bytes of a ticket.
const BYTES: usize = 32;
/// Letters it is written with.
const LETTERS: usize = 43;
/// How long a page lasts unused.
const PAGE_IDLE: Duration = Duration::from_hours(1);
/// How long a page lasts at all.
const PAGE_LIFE: Duration = Duration::from_hours(12);

/// A ticket as it is handed out. It is told once and kept nowhere.
pub struct Issued {
    /// The ticket.
    pub text: String,
    /// How long it is good for.
    pub lasts: Duration,
}

impl fmt::Debug for Issued {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Issued").field("lasts", &self.lasts).finish_non_exhaustive()
    }
}

/// There are as many tickets as there may be.
#[derive(Debug, Error)]
#[error("{0} tickets are in use, which is as many as there may be; wait until some have ended")]
pub struct TicketsExhausted(pub usize);

/// The tickets that are good.
#[derive(Debug)]
pub(crate) struct Tickets {
    lasts: Duration,
    most: usize,
    table: Mutex<HashMap<Fingerprint, Ticket>>,
}

#[derive(Debug)]
struct Ticket {
    principal: Arc<Principal>,
    ends: Instant,
    /// Of a page: the path it is good below, and when it ends however much it is used.
    page: Option<(Box<str>, Instant)>,
}

impl Tickets {
    pub(crate) fn new(lasts: Duration, most: usize) -> Self {
        Self { lasts, most, table: Mutex::default() }
    }

    /// Makes a ticket for somebody.
    pub(crate) fn issue(&self, to: &Principal) -> Result<Issued, TicketsExhausted> {
        self.issue_at(to, None, Instant::now())
    }

    /// Makes a page for somebody, good below `path`.
    pub(crate) fn issue_page(
        &self,
        to: &Principal,
        path: &str,
    ) -> Result<Issued, TicketsExhausted> {
        self.issue_at(to, Some(path), Instant::now())
    }

    fn issue_at(
        &self,
        to: &Principal,
        path: Option<&str>,
        now: Instant,
    ) -> Result<Issued, TicketsExhausted> {
        let (how, lasts) = match path {
            None => (How::Ticket, self.lasts),
            Some(_) => (How::Page, PAGE_IDLE),
        };
        let ticket = Ticket {
            principal: Arc::new(Principal { how, ..to.clone() }),
            ends: now + lasts,
            page: path.map(|path| (path.trim_end_matches('/').into(), now + PAGE_LIFE)),
        };
        let mut random = [0; BYTES];
        if aws_lc_rs::rand::fill(&mut random).is_err() {
            // The system has no randomness to give: as if there were no room.
            return Err(TicketsExhausted(0));
        }
        let text = URL_SAFE_NO_PAD.encode(random);
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        if table.len() >= self.most {
            table.retain(|_, ticket| ticket.ends > now);
        }
        if table.len() >= self.most {
            return Err(TicketsExhausted(self.most));
        }
        table.insert(Fingerprint::of(text.as_bytes()), ticket);
        Ok(Issued { text, lasts })
    }

    /// Whom a ticket stands for.
    pub(crate) fn find(&self, text: &str) -> Option<Arc<Principal>> {
        self.find_at(text, None, Instant::now())
    }

    /// Whom a page stands for, when asked for something at `path`.
    pub(crate) fn find_page(&self, text: &str, path: &str) -> Option<Arc<Principal>> {
        self.find_at(text, Some(path), Instant::now())
    }

    fn find_at(&self, text: &str, path: Option<&str>, now: Instant) -> Option<Arc<Principal>> {
        if text.len() != LETTERS {
            return None;
        }
        let fingerprint = Fingerprint::of(text.as_bytes());
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        let ticket = table.get_mut(&fingerprint)?;
        if ticket.ends <= now {
            table.remove(&fingerprint);
            return None;
        }
        match (&ticket.page, path) {
            (None, None) => {}
            (Some((base, last)), Some(path)) if is_below(path, base) => {
                ticket.ends = (now + PAGE_IDLE).min(*last);
            }
            _ => return None,
        }
        Some(Arc::clone(&ticket.principal))
    }
}

fn is_below(path: &str, base: &str) -> bool {
    path.strip_prefix(base).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scopes::Scopes;
    use std::collections::HashSet;

    const TTL: Duration = Duration::from_secs(30);

    fn somebody() -> Principal {
        Principal { how: How::Token, id: "who".to_owned(), scopes: Scopes::only(["file"]) }
    }

    #[test]
    fn a_ticket_stands_for_who_asked_until_it_ends() {
        let tickets = Tickets::new(TTL, 10);
        let start = Instant::now();
        let issued = tickets.issue_at(&somebody(), None, start).unwrap();
        assert_eq!(issued.lasts, TTL);
        for use_number in 0..3 {
            let found = tickets.find_at(&issued.text, None, start + TTL / 2).unwrap();
            assert_eq!((found.how, found.id.as_str()), (How::Ticket, "who"), "{use_number}");
            assert!(found.scopes.permit("file:read") && !found.scopes.permit("shell:read"));
        }
        assert!(tickets.find_at(&issued.text, None, start + TTL).is_none());
        assert!(tickets.find_at(&issued.text, None, start).is_none(), "gone for good");
    }

    #[test]
    fn tickets_are_random_and_recognised_exactly() {
        let tickets = Tickets::new(TTL, 1000);
        let issued: HashSet<_> =
            (0..500).map(|_| tickets.issue(&somebody()).unwrap().text).collect();
        assert_eq!(issued.len(), 500);
        let one = issued.iter().next().unwrap();
        assert_eq!(one.len(), LETTERS);
        for wrong in
            ["", "x", &one[1..], &format!("{one}="), &format!(" {one}"), &one.to_lowercase()]
        {
            assert!(tickets.find(wrong).is_none(), "{wrong}");
        }
        assert!(!format!("{tickets:?}").contains(one.as_str()));
    }

    #[test]
    fn the_table_is_bounded_and_makes_room_by_time_only() {
        let tickets = Tickets::new(TTL, 3);
        let start = Instant::now();
        let first: Vec<_> =
            (0..3).map(|_| tickets.issue_at(&somebody(), None, start).unwrap()).collect();
        assert!(tickets.issue_at(&somebody(), None, start).is_err(), "none in use is dropped");
        for ticket in &first {
            assert!(tickets.find_at(&ticket.text, None, start).is_some());
        }
        assert!(tickets.issue_at(&somebody(), None, start + TTL).is_ok());
    }

    #[test]
    fn a_page_is_good_below_its_path_only_and_lasts_while_it_is_used() {
        let tickets = Tickets::new(TTL, 10);
        let start = Instant::now();
        let page = tickets.issue_at(&somebody(), Some("/jupyter/"), start).unwrap();
        for (path, good) in [
            ("/jupyter", true),
            ("/jupyter/lab", true),
            ("/jupyterx", false),
            ("/v1/shell/exec", false),
            ("/", false),
            ("/x/jupyter/", false),
        ] {
            assert_eq!(tickets.find_at(&page.text, Some(path), start).is_some(), good, "{path}");
        }
        assert!(tickets.find_at(&page.text, None, start).is_none(), "a page is no ticket");
        let ticket = tickets.issue_at(&somebody(), None, start).unwrap();
        assert!(tickets.find_at(&ticket.text, Some("/"), start).is_none(), "nor the other way");

        let mut now = start;
        while now + PAGE_IDLE < start + PAGE_LIFE {
            now += PAGE_IDLE / 2;
            assert!(tickets.find_at(&page.text, Some("/jupyter"), now).is_some());
        }
        assert!(tickets.find_at(&page.text, Some("/jupyter"), start + PAGE_LIFE).is_none());

        let root = tickets.issue_at(&somebody(), Some("/"), start).unwrap();
        assert!(tickets.find_at(&root.text, Some("/anything"), start).is_some());
        assert!(tickets.find_at(&root.text, Some("/"), start + PAGE_IDLE).is_none(), "unused");
    }
}
