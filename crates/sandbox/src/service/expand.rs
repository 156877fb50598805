//! `%(name)s` in supervisord's files.

/// A text with its expansions replaced: `%(name)s`, `%(name)d`, `%(name)02d`, and `%%` for a percent sign.
pub(super) fn expand(
    text: &str,
    meaning: impl Fn(&str) -> Option<String>,
) -> Result<String, String> {
    let mut expanded = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('%') {
        expanded.push_str(before);
        if let Some(after) = after.strip_prefix('%') {
            expanded.push('%');
            rest = after;
            continue;
        }
        let inner = after.strip_prefix('(').and_then(|inner| inner.split_once(')'));
        let Some((name, after)) = inner else {
            return Err("a percent sign that stands for itself is written %%".to_owned());
        };
        let value = meaning(name).ok_or_else(|| unknown(name))?;
        let digits = after.len() - after.trim_start_matches(|at: char| at.is_ascii_digit()).len();
        let (width, after) = after.split_at(digits);
        match after.chars().next() {
            Some('s') => expanded.push_str(&value),
            Some('d') => {
                let width = width.parse::<usize>().unwrap_or(0).min(20);
                expanded.push_str(&format!("{value:0>width$}"));
            }
            _ => return Err(format!("%({name}) must be followed by s or d")),
        }
        rest = &after[1..];
    }
    expanded.push_str(rest);
    Ok(expanded)
}

fn unknown(name: &str) -> String {
    match name.strip_prefix("ENV_") {
        Some(variable) => format!(
            "%({name})s: there is no variable {variable} that programs may see; list it in ATOLL_PASS_ENV"
        ),
        None => format!(
            "%({name})s means nothing; known are ENV_NAME, program_name, process_num, numprocs, group_name, \
             host_node_name and here"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_replaced_and_what_means_nothing_is_named() {
        let meaning = |name: &str| match name {
            "program_name" => Some("web".to_owned()),
            "process_num" => Some("7".to_owned()),
            _ => None,
        };
        let read = |text: &str| expand(text, meaning);
        assert_eq!(read("%(program_name)s-%(process_num)02d 100%%").as_deref(), Ok("web-07 100%"));
        assert_eq!(read("plain").as_deref(), Ok("plain"));
        for (wrong, named) in [
            ("date +%Y", "%%"),
            ("%(other)s", "other"),
            ("%(ENV_X)s", "ATOLL_PASS_ENV"),
            ("%(program_name)", "s or d"),
            ("%(open", "%%"),
        ] {
            let message = read(wrong).expect_err(wrong);
            assert!(message.contains(named), "{wrong}: {message}");
        }
    }
}
