//! Embeds Swagger UI and noVNC where the web build has left them; without them the program builds all the same.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// The files of Swagger UI the page needs, with their content types. Its licences go with it.
const FILES: [(&str, &str); 5] = [
    ("swagger-ui.css", "text/css; charset=utf-8"),
    ("swagger-ui-bundle.js", "text/javascript; charset=utf-8"),
    ("swagger-ui-bundle.js.LICENSE.txt", "text/plain; charset=utf-8"),
    ("LICENSE", "text/plain; charset=utf-8"),
    ("NOTICE", "text/plain; charset=utf-8"),
];

fn main() -> io::Result<()> {
    let variable = |name: &str| {
        let value = env::var_os(name).map(PathBuf::from);
        value.ok_or_else(|| io::Error::other(format!("cargo sets {name}")))
    };
    let web = variable("CARGO_MANIFEST_DIR")?.join("../../web");
    let built = web.join("dist/swagger");
    watch(&built);
    let complete = FILES.iter().all(|(name, _)| built.join(name).is_file());
    let mut source = "static EMBEDDED: &[File] = &[\n".to_owned();
    if complete {
        let output = variable("OUT_DIR")?;
        for (name, content_type) in FILES {
            fs::copy(built.join(name), output.join(name))?;
            writeln!(
                source,
                "    File {{ path: \"/v1/docs/{name}\", content_type: {content_type:?}, \
                 content: include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{name}\")) }},"
            )
            .map_err(io::Error::other)?;
        }
    }
    source.push_str("];\n");
    fs::write(variable("OUT_DIR")?.join("swagger.rs"), source)?;
    embed_novnc(&web.join("dist/novnc"), &variable("OUT_DIR")?)
}

/// Embeds every file of noVNC, which imports its own files by their places.
fn embed_novnc(built: &Path, output: &Path) -> io::Result<()> {
    watch(built);
    let mut source = "static NOVNC: &[File] = &[\n".to_owned();
    let mut waiting = vec![built.to_owned()];
    let mut files = Vec::new();
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(&directory).into_iter().flatten() {
            let path = entry?.path();
            if path.is_dir() { waiting.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    for file in files {
        let Ok(below) = file.strip_prefix(built) else { continue };
        let copy = output.join("novnc").join(below);
        if let Some(parent) = copy.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::copy(&file, &copy)?;
        let script = below.extension().is_some_and(|extension| extension == "js");
        let kind = if script { "text/javascript" } else { "text/plain" };
        let below = below.display();
        writeln!(
            source,
            "    File {{ path: \"/vnc/{below}\", content_type: \"{kind}; charset=utf-8\", \
             content: include_bytes!(concat!(env!(\"OUT_DIR\"), \"/novnc/{below}\")) }},"
        )
        .map_err(io::Error::other)?;
    }
    source.push_str("];\n");
    fs::write(output.join("novnc.rs"), source)
}

/// Builds again when the files change. Cargo builds every time when a watched path is missing, so it is given the
/// nearest directory that exists.
fn watch(path: &Path) {
    let existing = path.ancestors().find(|path| path.exists()).unwrap_or(path);
    println!("cargo::rerun-if-changed={}", existing.display());
    println!("cargo::rerun-if-changed=build.rs");
}
