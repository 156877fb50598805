//! Every command and event this crate names exists in the browser it is used with.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::Bench;

#[tokio::test]
async fn every_command_and_event_exists_in_this_browser() {
    let bench = Bench::new().await;
    let endpoint = bench.browser.debug_endpoint().await.unwrap();
    let mut stream = TcpStream::connect((endpoint.host.as_str(), endpoint.port)).await.unwrap();
    let request = format!(
        "GET /json/protocol HTTP/1.1\r\nhost: {}:{}\r\nconnection: close\r\n\r\n",
        endpoint.host, endpoint.port
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    // The connection stays open: the answer ends when it is whole.
    let protocol: Value = loop {
        assert!(stream.read_buf(&mut answer).await.unwrap() > 0, "no whole answer");
        let start = answer.windows(4).position(|end| end == b"\r\n\r\n").map_or(0, |end| end + 4);
        if let Ok(read) = serde_json::from_slice(&answer[start..]) {
            break read;
        }
    };
    let mut known = BTreeSet::new();
    for domain in protocol["domains"].as_array().unwrap() {
        for kind in ["commands", "events"] {
            for item in domain[kind].as_array().into_iter().flatten() {
                let (domain, name) =
                    (domain["domain"].as_str().unwrap(), item["name"].as_str().unwrap());
                known.insert(format!("{domain}.{name}"));
            }
        }
    }
    assert!(known.contains("Page.navigate"), "this is no protocol");
    let sources = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut named = BTreeSet::new();
    names(&sources.join("src"), &mut named);
    names(&sources.join("../cdp/src"), &mut named);
    assert!(named.len() > 40, "the search finds too little: {named:?}");
    let unknown: Vec<_> = named.difference(&known).collect();
    assert!(unknown.is_empty(), "the browser knows nothing of {unknown:?}");
}

/// Texts in sources that look like `"Domain.name"`.
fn names(directory: &Path, found: &mut BTreeSet<String>) {
    let shape = regex::Regex::new(r#""([A-Z][A-Za-z]+\.[a-z][A-Za-z]+)""#).unwrap();
    for entry in std::fs::read_dir(directory).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            names(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            found.extend(shape.captures_iter(&text).map(|found| found[1].to_owned()));
        }
    }
}
