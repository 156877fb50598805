//! What can be done with a page.

mod console;
mod dialog;
mod download;
mod encode;
mod evaluate;
mod load;
mod movie;
mod navigate;
mod pdf;
mod record;
mod screenshot;
mod traffic;
mod url;
mod wait;

pub(crate) use console::Console;
pub use console::ConsoleEntry;
pub(crate) use download::Downloads;
pub use download::{Download, DownloadState};
pub use load::Until;
pub use navigate::Navigation;
pub use pdf::Pdf;
pub(crate) use record::Recorder;
pub use record::{Recording, RecordingSettings, RecordingState};
pub use screenshot::{Format, Image, Shot};
pub use traffic::Traffic;
pub(crate) use traffic::TrafficLog;
pub(crate) use url::check_url;
