//! Embeds what the web build has left in `web/dist`; without it the program builds all the same.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Directories below `web/dist`, the lists they become, and where their files are served.
const PARTS: [(&str, &str, &str); 4] = [
    ("swagger", "SWAGGER", "/v1/docs/"),
    ("novnc", "NOVNC", "/vnc/"),
    ("app", "APP", "/"),
    ("xterm", "XTERM", "/static/sandbox/"),
];

fn main() -> io::Result<()> {
    let variable = |name: &str| {
        let value = env::var_os(name).map(PathBuf::from);
        value.ok_or_else(|| io::Error::other(format!("cargo sets {name}")))
    };
    let built = variable("CARGO_MANIFEST_DIR")?.join("../../web/dist");
    let output = variable("OUT_DIR")?;
    let mut source = String::new();
    for (directory, list, place) in PARTS {
        let built = built.join(directory);
        watch(&built);
        let copies = output.join(directory);
        if copies.exists() {
            fs::remove_dir_all(&copies)?;
        }
        embed(&built, &copies, list, place, &mut source)?;
    }
    fs::write(output.join("embedded.rs"), source)
}

/// Adds the list of all files of a directory. `name.gz` is the compressed form of `name`, not a file of its own.
fn embed(
    built: &Path,
    copies: &Path,
    list: &str,
    place: &str,
    source: &mut String,
) -> io::Result<()> {
    writeln!(source, "pub(crate) static {list}: &[File] = &[").map_err(io::Error::other)?;
    for file in files(built)? {
        let Ok(below) = file.strip_prefix(built) else { continue };
        if below.extension().is_some_and(|extension| extension == "gz") {
            continue;
        }
        let include = |file: &Path, below: &Path| -> io::Result<String> {
            let copy = copies.join(below);
            if let Some(parent) = copy.parent() {
                fs::create_dir_all(parent)?;
            }
            fs::copy(file, &copy)?;
            Ok(format!("include_bytes!({:?})", copy.display().to_string()))
        };
        let mut compressed = file.clone().into_os_string();
        compressed.push(".gz");
        let compressed = PathBuf::from(compressed);
        let gzip = match compressed.strip_prefix(built) {
            Ok(below) if compressed.is_file() => format!("Some({})", include(&compressed, below)?),
            _ => "None".to_owned(),
        };
        let (path, kind) = (format!("{place}{}", below.display()), content_type(below));
        let content = include(&file, below)?;
        writeln!(
            source,
            "    File {{ path: {path:?}, content_type: {kind:?}, content: {content}, gzip: {gzip} }},"
        )
        .map_err(io::Error::other)?;
    }
    source.push_str("];\n");
    Ok(())
}

/// Every file below a directory, in order; none when it is not there.
fn files(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut waiting = vec![directory.to_owned()];
    let mut files = Vec::new();
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(&directory).into_iter().flatten() {
            let path = entry?.path();
            if path.is_dir() { waiting.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    Ok(files)
}

fn content_type(path: &Path) -> &'static str {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("woff2") => "font/woff2",
        _ => "text/plain; charset=utf-8",
    }
}

/// Builds again when the files change. Cargo builds every time when a watched path is missing, so it is given the
/// nearest directory that exists.
fn watch(path: &Path) {
    let existing = path.ancestors().find(|path| path.exists()).unwrap_or(path);
    println!("cargo::rerun-if-changed={}", existing.display());
    println!("cargo::rerun-if-changed=build.rs");
}
