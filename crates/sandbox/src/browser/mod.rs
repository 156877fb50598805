//! The browser: pages to open, read and operate, with their tabs, cookies, storage and network.
//!
//! [`Browsers`] answers everything. What a browser can do is the business of `atoll-browser`; here inputs become calls,
//! what went wrong becomes an answer that says what to do, and files go through the file capability, so that a path
//! means the same everywhere.

mod captcha;
mod capture;
mod console;
mod cookies;
mod devtools;
mod error;
mod network;
mod operate;
mod outlet;
mod page;
mod process;
mod profile;
mod read;
mod record;
mod service;
mod tabs;
mod wait;

pub use service::{BrowserSettings, Browsers};
