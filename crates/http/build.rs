//! Embeds Swagger UI where the web build has left it; without it the program builds all the same.

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
    fs::write(variable("OUT_DIR")?.join("swagger.rs"), source)
}

/// Builds again when the files change. Cargo builds every time when a watched path is missing, so it is given the
/// nearest directory that exists.
fn watch(path: &Path) {
    let existing = path.ancestors().find(|path| path.exists()).unwrap_or(path);
    println!("cargo::rerun-if-changed={}", existing.display());
    println!("cargo::rerun-if-changed=build.rs");
}
