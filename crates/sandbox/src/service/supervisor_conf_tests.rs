use std::collections::BTreeMap;

use super::*;

fn sources() -> Sources {
    let variables = [("HOME", "/home/someone"), ("PORT", "9000"), ("PATH", "/bin")];
    Sources {
        directory: PathBuf::from("/data"),
        variables: variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
        most: 100,
        ..Sources::default()
    }
}

fn loaded(text: &str) -> Loaded {
    read(text, Path::new("/etc/app.d/app.conf"), &sources())
}

fn one(text: &str) -> Definition {
    let loaded = loaded(&format!("[program:web]\n{text}"));
    assert_eq!(loaded.problems, [], "{text}");
    loaded.definitions.into_iter().next().expect("a program")
}

#[test]
fn a_command_is_enough() {
    let read = one("command=python3 -m http.server 9000");
    let command = ["python3", "-m", "http.server", "9000"].map(str::to_owned).to_vec();
    assert_eq!(read, Definition::new("web".to_owned(), command));
    assert!(read.autostart && read.restart == Restart::Unexpected && read.exit_codes == [0]);
}

#[test]
fn every_key_is_honoured() {
    let read = one("command=/bin/sh -c \"echo $A ; exit\" ; a comment\n\
         directory=~/site\n\
         environment=A=\"x,%(ENV_PORT)s\",\n  B='%(program_name)s'\n\
         user=nobody\n\
         autostart=no\n\
         autorestart=true\n\
         exitcodes=0,2\n\
         priority=-5\n\
         startsecs=0\n\
         startretries=7\n\
         stopwaitsecs=3\n\
         stopsignal=INT\n\
         stopasgroup=true\n\
         killasgroup=true\n\
         stdout_logfile=logs/%(program_name)s.log\n\
         stdout_logfile_maxbytes=2KB\n\
         stdout_logfile_backups=1\n\
         redirect_stderr=true\n");
    assert_eq!(read.command, ["/bin/sh", "-c", "echo $A ; exit"]);
    assert_eq!(read.directory.as_deref(), Some(Path::new("/home/someone/site")));
    let environment = [("A", "x,9000"), ("B", "web")];
    let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(read.environment, BTreeMap::from(environment));
    assert_eq!(read.user.as_deref(), Some("nobody"));
    assert!(!read.autostart && read.stop_group);
    assert_eq!((read.restart, read.exit_codes), (Restart::Always, vec![0, 2]));
    assert_eq!((read.priority, read.start_retries, read.stop_signal), (-5, 7, 2));
    assert_eq!((read.start_time, read.stop_time), (Duration::ZERO, Duration::from_secs(3)));
    let path = PathBuf::from("/data/logs/web.log");
    assert_eq!(read.stdout, Destination::File { path, most_bytes: 2048, backups: 1 });
    assert_eq!(read.stderr, Destination::Together);
}

#[test]
fn special_log_files_are_understood() {
    for (text, expected) in [
        ("/dev/stdout", Destination::ServerOutput),
        ("/dev/fd/2", Destination::ServerErrors),
        ("NONE", Destination::Nowhere),
        ("auto", Destination::Nowhere),
        ("/dev/null", Destination::Nowhere),
    ] {
        let read = one(&format!("command=x\nstdout_logfile={text}\nstdout_logfile_maxbytes=0"));
        assert_eq!(read.stdout, expected, "{text}");
    }
}

#[test]
fn several_processes_are_several_services() {
    let text = "command=worker %(process_num)d of %(numprocs)d\nnumprocs=2\nnumprocs_start=1\n\
                process_name=%(program_name)s_%(process_num)02d";
    let loaded = loaded(&format!("[program:w]\n{text}"));
    let read: Vec<_> = loaded
        .definitions
        .iter()
        .map(|each| (each.name.as_str(), each.command.join(" ")))
        .collect();
    assert_eq!(read, [("w_01", "worker 1 of 2".to_owned()), ("w_02", "worker 2 of 2".to_owned())]);
}

#[test]
fn mistakes_are_told_by_line_and_cost_their_program_only() {
    let cases = [
        ("x=1", 1, "no command"),
        ("command=", 2, "empty"),
        ("command='a", 2, "quote"),
        ("command=a\nautostart=maybe", 3, "true or false"),
        ("command=a\nautorestart=maybe", 3, "unexpected"),
        ("command=a\nexitcodes=0,x", 3, "0 to 255"),
        ("command=a\nexitcodes=256", 3, "0 to 255"),
        ("command=a\npriority=high", 3, "whole number"),
        ("command=a\nstartsecs=-1", 3, "whole number"),
        ("command=a\nstartretries=1.5", 3, "whole number"),
        ("command=a\nstopsignal=NOW", 3, "signal"),
        ("command=a\nnumprocs=0", 3, "1 to 64"),
        ("command=a\nnumprocs=2", 3, "process_num"),
        ("command=a\nenvironment=A", 3, "KEY"),
        ("command=a %(ENV_SECRET)s", 2, "ATOLL_PASS_ENV"),
        ("command=date +%Y", 2, "%%"),
        ("command=a\nstdout_logfile=/tmp/x\nstdout_logfile_maxbytes=many", 4, "KB"),
        ("command=a\nwhat is this", 3, "key=value"),
    ];
    for (text, line, part) in cases {
        let loaded = loaded(&format!("[program:bad]\n{text}\n[program:good]\ncommand=b\n"));
        assert_eq!(loaded.definitions.len(), 1, "{text}");
        assert_eq!(loaded.definitions[0].name, "good", "{text}");
        assert_eq!(loaded.broken.len(), 1, "{text}");
        let problem = &loaded.broken[0].problem;
        assert_eq!(problem.line, Some(line), "{text}: {problem}");
        assert!(problem.message.contains(part), "{text}: {problem}");
    }
}

#[test]
fn what_is_passed_over_is_told_unless_it_means_nothing_here() {
    let loaded = loaded(
        "[supervisord]\nnodaemon=true\n[group:g]\nprograms=a\n[program:a]\ncommand=a\numask=022\n\
         stdout_events_enabled=true\n[eventlistener:e]\ncommand=e\n",
    );
    assert_eq!(loaded.definitions.len(), 1);
    let told: Vec<_> =
        loaded.problems.iter().map(|each| (each.line, each.message.as_str())).collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].0 == Some(7) && told[0].1.contains("umask"), "{told:?}");
    assert!(told[1].0 == Some(9) && told[1].1.contains("eventlistener"), "{told:?}");
}
