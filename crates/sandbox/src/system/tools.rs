//! Programs an agent may count on, by category, as far as they are found on the children's `PATH`.

use std::path::{Path, PathBuf};

use atoll_api::system::{AvailableTool, ToolCategory};
use rustix::fs::{Access, access};

use crate::environment::Environment;

/// Category, then command and what it is for. Found means first on the path; no program is run.
const KNOWN: &[(&str, &[(&str, &str)])] = &[
    (
        "Development",
        &[
            ("git", "version control"),
            ("gh", "GitHub from the command line"),
            ("uv", "Python packages and environments, fast"),
            ("pip", "Python packages"),
            ("npm", "Node.js packages"),
            ("pnpm", "Node.js packages, shared store"),
            ("yarn", "Node.js packages"),
            ("bun", "JavaScript runtime and bundler"),
            ("deno", "JavaScript and TypeScript runtime"),
            ("gcc", "C compiler"),
            ("g++", "C++ compiler"),
            ("clang", "C and C++ compiler"),
            ("make", "build by rules"),
            ("cmake", "build-file generator"),
            ("cargo", "Rust builds and packages"),
            ("go", "Go toolchain"),
            ("java", "Java runtime"),
            ("ruby", "Ruby interpreter"),
            ("php", "PHP interpreter"),
            ("perl", "Perl interpreter"),
            ("gdb", "debugger"),
            ("strace", "system-call tracer"),
        ],
    ),
    (
        "Text editors",
        &[
            ("vim", "modal editor"),
            ("vi", "modal editor"),
            ("nano", "simple editor"),
            ("emacs", "extensible editor"),
            ("code-server", "VS Code in the browser"),
        ],
    ),
    (
        "File operations",
        &[
            ("tar", "archives"),
            ("zip", "create zip archives"),
            ("unzip", "unpack zip archives"),
            ("7z", "archives of many formats"),
            ("xz", "compress well"),
            ("zstd", "compress fast"),
            ("rsync", "copy only what changed"),
            ("tree", "show directories as a tree"),
            ("fd", "find files by name"),
            ("file", "tell a file's type"),
            ("lsof", "list open files"),
        ],
    ),
    (
        "Network tools",
        &[
            ("curl", "transfer data by URL"),
            ("wget", "download files"),
            ("ssh", "remote shell"),
            ("scp", "copy over ssh"),
            ("nc", "raw TCP and UDP"),
            ("socat", "connect any two streams"),
            ("ping", "reach a host"),
            ("dig", "ask DNS"),
            ("ip", "interfaces and routes"),
            ("ss", "list sockets"),
            ("netstat", "list sockets, older"),
            ("nmap", "scan ports"),
        ],
    ),
    (
        "Text processing",
        &[
            ("rg", "search text in trees, fast"),
            ("grep", "search text"),
            ("sed", "edit streams"),
            ("awk", "process columns"),
            ("jq", "query and change JSON"),
            ("yq", "query and change YAML"),
            ("diff", "compare files"),
            ("patch", "apply differences"),
            ("pandoc", "convert documents"),
            ("pdftotext", "text of PDF files"),
            ("sqlite3", "SQLite databases"),
        ],
    ),
    (
        "System monitoring",
        &[
            ("sudo", "run as another user"),
            ("ps", "list processes"),
            ("top", "watch processes"),
            ("htop", "watch processes, friendlier"),
            ("free", "memory in use"),
            ("vmstat", "memory and processor over time"),
            ("iostat", "disk activity over time"),
            ("tmux", "terminals that stay"),
            ("screen", "terminals that stay"),
        ],
    ),
    (
        "Image processing",
        &[
            ("convert", "ImageMagick: convert and edit images"),
            ("magick", "ImageMagick 7: convert and edit images"),
            ("identify", "ImageMagick: describe images"),
            ("gimp", "image editor"),
            ("inkscape", "vector graphics"),
            ("tesseract", "text recognition"),
        ],
    ),
    (
        "Audio and video",
        &[
            ("ffmpeg", "convert and cut audio and video"),
            ("ffprobe", "describe audio and video"),
            ("sox", "edit audio"),
            ("yt-dlp", "download media"),
        ],
    ),
    (
        "Browsers",
        &[
            ("chromium", "web browser"),
            ("google-chrome", "web browser"),
            ("firefox", "web browser"),
        ],
    ),
];

/// The known programs that are there. Categories without any are left out.
pub(crate) fn installed(environment: &Environment) -> Vec<ToolCategory> {
    let of_category = |(category, tools): &(&str, &[(&str, &str)])| {
        let tools: Vec<_> = tools
            .iter()
            .filter(|(name, _)| find(environment, name).is_some())
            .map(|(name, description)| AvailableTool {
                name: (*name).to_owned(),
                description: Some((*description).to_owned()),
            })
            .collect();
        (!tools.is_empty()).then(|| ToolCategory { category: (*category).to_owned(), tools })
    };
    KNOWN.iter().filter_map(of_category).collect()
}

/// The directories children search for programs.
pub(crate) fn directories(environment: &Environment) -> impl Iterator<Item = &Path> {
    environment.get("PATH").unwrap_or_default().split(':').map(Path::new)
}

/// The program a child would run by this name.
pub(crate) fn find(environment: &Environment, name: &str) -> Option<PathBuf> {
    directories(environment)
        .map(|directory| directory.join(name))
        .find(|path| path.is_file() && access(path, Access::EXEC_OK).is_ok())
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::HashSet;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// An environment whose only programs are those in `home`'s `bin`.
    pub(crate) fn environment_with_home(home: &Path) -> Environment {
        let bin = home.join("bin");
        Environment::of(&[("HOME", home.to_str().unwrap()), ("PATH", bin.to_str().unwrap())])
    }

    /// Puts an executable script into `home`'s `bin`.
    pub(crate) fn install(home: &Path, name: &str, script: &str) -> PathBuf {
        let directory = home.join("bin");
        std::fs::create_dir_all(&directory).unwrap();
        let path = directory.join(name);
        // Written by a child: a file this process has open for writing cannot be executed, and a thread that forks
        // meanwhile would hold it open.
        let status = std::process::Command::new("/bin/sh")
            .args(["-c", "printf %s \"$2\" > \"$1\" && chmod 755 \"$1\"", "sh"])
            .arg(&path)
            .arg(script)
            .status()
            .unwrap();
        assert!(status.success());
        path
    }

    #[test]
    fn the_first_executable_on_the_path_is_found() {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let path = format!("{}/bin:{}/bin", one.path().display(), two.path().display());
        let environment = Environment::of(&[("PATH", &path)]);
        let second = install(two.path(), "tool", "#!/bin/sh\n");
        assert_eq!(find(&environment, "tool"), Some(second.clone()));
        let first = install(one.path(), "tool", "#!/bin/sh\n");
        assert_eq!(find(&environment, "tool"), Some(first.clone()));
        std::fs::set_permissions(&first, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert_eq!(find(&environment, "tool"), Some(second));
        assert_eq!(find(&environment, "bin"), None);
    }

    #[test]
    fn only_what_is_there_is_listed() {
        let home = tempfile::tempdir().unwrap();
        install(home.path(), "inkscape", "#!/bin/sh\n");
        install(home.path(), "unknown-tool", "#!/bin/sh\n");
        let categories = installed(&environment_with_home(home.path()));
        assert_eq!(categories.len(), 1, "{categories:?}");
        assert_eq!(categories[0].tools.len(), 1, "{categories:?}");
        assert_eq!(categories[0].tools[0].name, "inkscape");
    }

    #[test]
    fn each_tool_is_known_once_and_described() {
        let mut seen = HashSet::new();
        for (name, description) in KNOWN.iter().flat_map(|(_, tools)| tools.iter()) {
            assert!(seen.insert(name), "{name} is listed twice");
            assert!(!description.is_empty(), "{name}");
        }
    }
}
