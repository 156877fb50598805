//! The names of languages.

/// The name a language goes by here, whatever a caller calls it.
pub(super) fn canonical(name: &str) -> String {
    let name = name.trim().to_ascii_lowercase();
    match name.as_str() {
        "py" | "python3" | "ipython" => "python",
        "js" | "node" | "nodejs" | "ecmascript" => "javascript",
        "ts" => "typescript",
        "sh" | "shell" => "bash",
        "rb" => "ruby",
        "pl" => "perl",
        other => other,
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_names_are_understood() {
        for (name, canonical_name) in [
            ("Python", "python"),
            ("js", "javascript"),
            (" TS ", "typescript"),
            ("sh", "bash"),
            ("cobol", "cobol"),
        ] {
            assert_eq!(canonical(name), canonical_name);
        }
    }
}
