use std::path::{Path, PathBuf};

use super::*;

fn account() -> Account {
    Account { name: "gem".to_owned(), home: Some(PathBuf::from("/home/gem")) }
}

fn variables(list: &[(&str, &str)]) -> Variables {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    list.iter().map(owned).collect()
}

fn resolve(flags: Layer, list: &[(&str, &str)], file: &str) -> Result<Config, String> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("atoll.toml");
    std::fs::write(&path, file).unwrap();
    let config = Config::resolve(flags, Some(&path), &variables(list), &account());
    config.map_err(|error| error.to_string().replace(path.to_str().unwrap(), "FILE"))
}

#[test]
fn without_anything_the_defaults_hold() {
    let config = resolve(Layer::default(), &[], "").unwrap();
    assert_eq!(config.listen.to_string(), "127.0.0.1:8080");
    assert_eq!(config.home, Path::new("/home/gem"));
    assert_eq!(config.workspace, config.home);
    assert_eq!(config.log_format, LogFormat::Text);
    assert_eq!(config.log_level, LogLevel::Info);
    assert_eq!(config.limits, Limits::default());
}

#[test]
fn a_flag_is_over_the_environment_is_over_the_file() {
    let file = "listen = '127.0.0.1:9001'\nworkspace = '/file'\npass_env = ['A']\n[limits]\nshell_queue = 1\nbash_sessions = 1";
    let environment = [
        ("ATOLL_LISTEN", "localhost:9002"),
        ("WORKSPACE", "/environment"),
        ("ATOLL_PASS_ENV", "B, C,"),
        ("ATOLL_LIMIT_SHELL_QUEUE", "2"),
    ];
    let flags = || Layer { listen: "localhost:9003".parse().ok(), ..Layer::default() };

    let config = resolve(Layer::default(), &[], file).unwrap();
    assert_eq!(config.listen.to_string(), "127.0.0.1:9001");
    assert_eq!(config.workspace, Path::new("/file"));
    assert_eq!(config.pass_env, ["A"]);
    assert_eq!(config.limits.shell_queue, 1);

    let config = resolve(flags(), &environment, file).unwrap();
    assert_eq!(config.listen.to_string(), "127.0.0.1:9003");
    assert_eq!(config.workspace, Path::new("/environment"));
    assert_eq!(config.pass_env, ["B", "C"]);
    assert_eq!(config.limits.shell_queue, 2);
    assert_eq!(config.limits.bash_sessions, 1);
}

#[test]
fn names_of_existing_deployments_work_and_yield_to_our_own() {
    let mut environment = vec![
        ("MAX_SHELL_SESSIONS", "3"),
        ("MAX_BASH_SESSIONS", "4"),
        ("BASH_SESSION_TIMEOUT", "5"),
        ("PUBLIC_PORT", "9005"),
        ("LOG_DIR", "/logs"),
    ];
    let config = resolve(Layer::default(), &environment, "").unwrap();
    assert_eq!(config.limits.shell_sessions, 3);
    assert_eq!(config.limits.bash_sessions, 4);
    assert_eq!(config.limits.bash_idle_seconds, 5);
    assert_eq!(config.listen.to_string(), "127.0.0.1:9005");
    assert_eq!(config.log_dir, Some(PathBuf::from("/logs")));

    environment.push(("ATOLL_LIMIT_SHELL_SESSIONS", "6"));
    environment.push(("ATOLL_LISTEN", "0.0.0.0:9006"));
    let config = resolve(Layer::default(), &environment, "").unwrap();
    assert_eq!(config.limits.shell_sessions, 6);
    assert_eq!(config.listen.to_string(), "0.0.0.0:9006");
}

#[test]
fn a_port_from_the_environment_keeps_the_files_address() {
    let config = resolve(Layer::default(), &[("PUBLIC_PORT", "9")], "listen = '0.0.0.0:1'");
    assert_eq!(config.unwrap().listen.to_string(), "0.0.0.0:9");
}

#[test]
fn an_empty_variable_is_not_set() {
    let environment = [("WORKSPACE", ""), ("PUBLIC_PORT", ""), ("ATOLL_LIMIT_SHELL_QUEUE", "")];
    let config = resolve(Layer::default(), &environment, "").unwrap();
    assert_eq!(config, resolve(Layer::default(), &[], "").unwrap());
}

#[test]
fn home_comes_from_the_environment_then_the_account_then_root() {
    let home = |list: &[(&str, &str)]| resolve(Layer::default(), list, "").unwrap().home;
    assert_eq!(home(&[("HOME", "/h")]), Path::new("/h"));
    assert_eq!(home(&[("HOME", "/h"), ("ATOLL_HOME", "/a")]), Path::new("/a"));
    let nobody = Account { name: "1".to_owned(), home: None };
    let config = Config::resolve(Layer::default(), None, &variables(&[]), &nobody).unwrap();
    assert_eq!(config.home, Path::new("/root"));
}

#[test]
fn every_limit_can_be_set_in_both_places() {
    for name in layer::known_limits().keys() {
        let file = format!("[limits]\n{name} = 77");
        let by_file = resolve(Layer::default(), &[], &file).unwrap();
        let variable = format!("ATOLL_LIMIT_{}", name.to_uppercase());
        let by_environment = resolve(Layer::default(), &[(&variable, "77")], "").unwrap();
        for config in [by_file, by_environment] {
            assert_eq!(serde_json::to_value(&config.limits).unwrap()[name], 77, "{name}");
        }
    }
}

#[test]
fn a_mistake_names_its_place_the_setting_and_what_is_allowed() {
    let cases = [
        ("lisen = '1'", &["FILE", "line 1", "unknown field `lisen`", "`listen`"][..]),
        ("log_level = 'loud'", &["FILE", "log_level", "`loud`", "`debug`"]),
        ("listen = 'nowhere'", &["FILE", "listen", "127.0.0.1:8080"]),
        ("listen = ", &["FILE", "line 1"]),
        ("[limits]\nshell_sesions = 1", &["FILE", "limits.shell_sesions", "shell_sessions"]),
        ("[limits]\nshell_sessions = -1", &["FILE", "line 2", "shell_sessions", "-1"]),
        ("[limits]\nshell_sessions = 'many'", &["FILE", "line 2", "shell_sessions", "many"]),
    ];
    for (file, expected) in cases {
        let error = resolve(Layer::default(), &[], file).unwrap_err();
        for part in expected {
            assert!(error.contains(part), "{file:?} gave {error:?}, which lacks {part:?}");
        }
    }
    let cases = [
        (("ATOLL_LOG_FORMAT", "xml"), &["ATOLL_LOG_FORMAT=\"xml\"", "text, json"][..]),
        (("ATOLL_LISTEN", "nowhere"), &["ATOLL_LISTEN=\"nowhere\"", "127.0.0.1:8080"]),
        (("PUBLIC_PORT", "70000"), &["PUBLIC_PORT=\"70000\"", "65535"]),
        (("MAX_SHELL_SESSIONS", "-1"), &["MAX_SHELL_SESSIONS=\"-1\"", "whole number"]),
        (("ATOLL_LIMIT_X", "1"), &["ATOLL_LIMIT_X", "shell_sessions"]),
    ];
    for (variable, expected) in cases {
        let error = resolve(Layer::default(), &[variable], "").unwrap_err();
        for part in expected {
            assert!(error.contains(part), "{variable:?} gave {error:?}, which lacks {part:?}");
        }
    }
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let path = Path::new("/nonexistent/atoll.toml");
    for (given, list) in
        [(Some(path), &[][..]), (None, &[("ATOLL_CONFIG", "/nonexistent/atoll.toml")])]
    {
        let config = Config::resolve(Layer::default(), given, &variables(list), &account());
        let error = config.unwrap_err().to_string();
        assert!(error.contains("/nonexistent/atoll.toml"), "{error}");
    }
}

#[test]
fn switches_are_read_in_the_words_people_use() {
    for (word, on) in [("true", true), ("1", true), ("Yes", true), ("off", false), ("", false)] {
        let config = resolve(Layer::default(), &[("DISABLE_JUPYTER", word)], "").unwrap();
        assert_eq!(config.disable_jupyter, on, "{word}");
    }
    let error = resolve(Layer::default(), &[("ATOLL_WARM_KERNEL", "perhaps")], "").unwrap_err();
    assert!(error.contains("ATOLL_WARM_KERNEL=\"perhaps\"") && error.contains("true or false"));
}

#[test]
fn paths_in_a_file_are_meant_from_where_it_lies() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("atoll.toml");
    std::fs::write(&path, "workspace = 'work'\nhome = '/home'").unwrap();
    let layer = file::read(&path).unwrap();
    assert_eq!(layer.workspace, Some(directory.path().join("work")));
    assert_eq!(layer.home, Some(PathBuf::from("/home")));
}

#[test]
fn what_is_printed_reads_back_as_the_same_configuration() {
    let environment =
        [("LOG_DIR", "/logs"), ("ATOLL_ALLOW_HOSTS", "a,b"), ("MAX_BASH_SESSIONS", "9")];
    let config = resolve(Layer::default(), &environment, "").unwrap();
    let again = resolve(Layer::default(), &[], &config.to_toml()).unwrap();
    assert_eq!(again, config);
}

#[test]
fn every_printed_setting_has_a_comment_and_every_place_is_named() {
    let config = resolve(Layer::default(), &[("LOG_DIR", "/logs")], "").unwrap();
    let text = config.to_toml();
    let lines: Vec<_> = text.lines().collect();
    let mut settings = 0;
    for (position, line) in lines.iter().enumerate() {
        if !line.contains(" = ") || line.starts_with('#') {
            continue;
        }
        settings += 1;
        let (comment, places) = (lines[position - 2], lines[position - 1]);
        assert!(comment.len() > 10 && comment.starts_with("# "), "{line}");
        let flag = places.starts_with("# Flag --") && places.contains(", environment ");
        let variable = places.strip_prefix("# Environment ");
        let named = variable.is_some_and(|name| name.starts_with(char::is_uppercase));
        assert!(flag || named, "{line}: {places}");
    }
    // What is not set is only a comment.
    let set = |value: &serde_json::Value| usize::from(!value.is_null());
    let all = serde_json::to_value(&config).unwrap();
    let counted = all.as_object().unwrap().values().map(|value| match value.as_object() {
        Some(table) => table.values().map(set).sum(),
        None => set(value),
    });
    assert_eq!(settings, counted.sum::<usize>());
}
