//! What pages wrote to the console.

use atoll_api::browser::{ConsoleRecord, ExportConsole, ExportedRecords, GetConsole};
use atoll_browser::ConsoleEntry;
use atoll_operation::{Context, Error, Handle};
use serde_json::json;

use super::service::Browsers;

fn record(entry: ConsoleEntry) -> ConsoleRecord {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "saturates; a date far from now is refused"
    )]
    let time = jiff::Timestamp::from_millisecond(entry.timestamp as i64).unwrap_or_default();
    ConsoleRecord {
        kind: entry.level,
        source: entry.source,
        text: entry.text,
        timestamp: format!("{time:.3}"),
        url: entry.url,
        line: entry.line,
        column: entry.column,
    }
}

impl Handle<GetConsole> for Browsers {
    async fn handle(&self, cx: &Context, input: GetConsole) -> Result<Vec<ConsoleRecord>, Error> {
        let page = self.page(cx, input.context.as_deref()).await?;
        let entries = page.tab.console(input.clear);
        Ok(entries.into_iter().map(record).collect())
    }
}

impl Handle<ExportConsole> for Browsers {
    async fn handle(&self, cx: &Context, input: ExportConsole) -> Result<ExportedRecords, Error> {
        let page = self.page(cx, input.context.as_deref()).await?;
        // Forgotten only once they are safe in a file.
        let records: Vec<_> = page.tab.console(false).into_iter().map(record).collect();
        let text = format!("{:#}\n", json!(records));
        let path = self.write(cx, input.save_path, text).await?;
        if input.clear {
            page.tab.console(true);
        }
        Ok(ExportedRecords { path, count: records.len() as u64 })
    }
}
