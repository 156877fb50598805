//! Programs that run once, with the real Node.js.

mod common;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use atoll_node::{NodeError, Script, Status, is_confined};
use atoll_process::Exit;
use common::{Bench, alive_with, eventually, marker};
use tokio_util::sync::CancellationToken;

#[tokio::test(flavor = "multi_thread")]
async fn a_script_prints_returns_and_tells_its_last_value() {
    let bench = Bench::new().await;
    let said =
        bench.run_code("console.log('out'); console.error('err'); [1, 2].map(x => x * 2)").await;
    assert_eq!((said.stdout.as_str(), said.stderr.as_str()), ("out\n", "err\n"));
    assert_eq!(said.result(), "[ 2, 4 ]");
    assert_eq!((said.finish.status, said.finish.exit_code), (Status::Ok, 0));
    let said =
        bench.run_code("async function main() { await 1; return 'of the promise' }\nmain()").await;
    assert_eq!((said.result(), said.stdout.as_str()), ("'of the promise'", ""));
    for quiet in ["console.log(1)", "let x = 1", "main(); function main() {}", "return 5"] {
        assert_eq!(bench.run_code(quiet).await.results, [""; 0], "{quiet}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_of_program_runs() {
    let bench = Bench::new().await;
    for (program, stdout) in [
        ("const fs = require('fs'); console.log(typeof fs.readFileSync)", "function\n"),
        (
            "if (require.main === module) console.log('main', __filename.endsWith('main.js'))",
            "main true\n",
        ),
        (
            "import { join } from 'path'; console.log(join('a', 'b'), typeof require)",
            "a/b function\n",
        ),
        ("export const x = await 5; export default x; console.log(x)", "5\n"),
        (
            "const { sep } = await import('path'); const os = require('os'); console.log(sep, typeof os.cpus)",
            "/ function\n",
        ),
        ("console.log(await (async () => 'awaited')())", "awaited\n"),
        ("import('path').then(p => console.log(p.sep))", "/\n"),
        (
            "console.log(typeof import.meta.url, import.meta.dirname === process.cwd())",
            "string true\n",
        ),
        ("with ({ a: 'sloppy' }) { console.log(a) }", "sloppy\n"),
        ("#!/usr/bin/env node\nconsole.log('hash')", "hash\n"),
        ("if (true) return console.log('returned')", "returned\n"),
        ("setTimeout(() => console.log('later'), 10); console.log('now')", "now\nlater\n"),
    ] {
        let said = bench.run_code(program).await;
        assert_eq!(
            (said.stdout.as_str(), said.finish.exit_code),
            (stdout, 0),
            "{program}: {said:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn exit_codes_are_exact() {
    let bench = Bench::new().await;
    for (program, code) in [
        ("process.exit(7)", 7),
        ("process.exitCode = 4", 4),
        ("throw new Error('x')", 1),
        ("await 1; throw new Error('x')", 1),
        ("import 'fs'; throw new Error('x')", 1),
        ("Promise.reject(new Error('x'))", 1),
        ("process.kill(process.pid, 'SIGSEGV'); setInterval(() => {}, 1000)", 139),
        ("process.kill(process.pid, 'SIGTERM'); setInterval(() => {}, 1000)", 143),
        ("process.abort()", 134),
        ("await new Promise(() => {})", 13),
        ("process.on('uncaughtException', () => {}); throw new Error('handled')", 0),
    ] {
        let said = bench.run_code(program).await;
        assert_eq!(said.finish.exit_code, code, "{program}: {said:?}");
        let status = if code == 0 { Status::Ok } else { Status::Error };
        assert_eq!(said.finish.status, status, "{program}");
    }
    let long = "process.stdout.write('x'.repeat(150000)); process.exit(0)";
    assert_eq!(bench.run_code(long).await.stdout.len(), 150_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_are_printed_as_ever_and_told_apart() {
    let bench = Bench::new().await;
    let said = bench.run_code("\nfunction f() {\n  throw new RangeError('deep')\n}\nf()").await;
    assert_eq!(said.error(), ("RangeError", "deep"));
    assert!(said.errors[0].2.contains("at f (main.js:3:9)"), "{said:?}");
    assert!(!said.errors[0].2.contains("atoll"), "{said:?}");
    assert!(
        said.stderr.contains("main.js:3") && said.stderr.contains("RangeError: deep"),
        "{said:?}"
    );
    let said = bench.run_code("let fine = 1\nlet broken = ;").await;
    assert_eq!(said.error().0, "SyntaxError");
    assert!(said.stderr.starts_with("main.js:2\nlet broken = ;\n             ^\n"), "{said:?}");
    assert!(!said.stderr.contains("atoll"), "{said:?}");
    let said = bench.run_code("setTimeout(() => { throw new Error('late') }, 1); 1").await;
    assert_eq!((said.error(), said.result()), (("Error", "late"), "1"));
    let said = bench.run_code("import x from 'no-such-package'").await;
    assert!(said.stderr.contains("no-such-package"), "{said:?}");
    assert_eq!(said.error().0, "Error");
}

#[tokio::test(flavor = "multi_thread")]
async fn files_and_input_are_there_and_gone_afterwards() {
    let bench = Bench::new().await;
    let files = [
        ("data/in.txt", "from a file"),
        ("helper.js", "exports.help = 'helped'"),
        ("helper.mjs", "export const help = 'imported'"),
    ];
    let files: BTreeMap<_, _> =
        files.map(|(name, text)| (name.to_owned(), text.to_owned())).into_iter().collect();
    let program = "const text = require('fs').readFileSync('data/in.txt', 'utf8');
        let input = ''; process.stdin.on('data', part => input += part).on('end', () =>
            console.log(JSON.stringify([text, require('./helper.js').help, input, process.cwd()])))";
    let script = Script { files: files.clone(), stdin: "given".into(), ..Bench::script(program) };
    let said = bench.run(script).await;
    let told: Vec<String> = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(told[..3], ["from a file", "helped", "given"]);
    assert!(!PathBuf::from(&told[3]).exists());
    let module = "import { help } from './helper.mjs'; import fs from 'fs'; console.log(help, fs.readFileSync(0, 'utf8'), fs.readdirSync('.').join())";
    let said = bench.run(Script { files, stdin: "in".into(), ..Bench::script(module) }).await;
    assert_eq!(said.stdout, "imported in data,helper.js,helper.mjs\n", "{said:?}");
    assert_eq!(bench.left(), [""; 0].map(PathBuf::from));
}

#[tokio::test(flavor = "multi_thread")]
async fn names_of_files_stay_in_their_directory() {
    let bench = Bench::new().await;
    for name in ["../x", "/etc/x", "a/../../x", "..", "", ".", "a/", "/"] {
        assert!(!is_confined(name) || name == ".", "{name}");
        let files = BTreeMap::from([(name.to_owned(), String::new())]);
        let script = Script { files, ..Bench::script("1") };
        let error = bench.node.run(&bench.installation, &script).await.unwrap_err();
        assert!(matches!(error, NodeError::File { .. }), "{name}: {error}");
    }
    assert!(is_confined("a/b.txt") && is_confined("./a") && is_confined("..a/b"));
    assert_eq!(bench.left(), [""; 0].map(PathBuf::from));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_given_directory_is_where_it_runs_and_finds_modules() {
    let bench = Bench::new().await;
    let package = bench.work.path().join("node_modules/local");
    std::fs::create_dir_all(&package).unwrap();
    std::fs::write(package.join("index.js"), "module.exports = 'local'").unwrap();
    std::fs::write(bench.work.path().join("own.mjs"), "export default 'own'").unwrap();
    let shared = tempfile::tempdir().unwrap();
    let esm = shared.path().join("node_modules/@scope/shared");
    std::fs::create_dir_all(&esm).unwrap();
    std::fs::write(esm.join("package.json"), r#"{"type":"module","exports":"./i.js"}"#).unwrap();
    std::fs::write(esm.join("i.js"), "export default 'shared'").unwrap();
    let roots = vec![shared.path().join("node_modules")];
    for program in [
        "const l = require('local'); console.log(process.cwd() === __dirname, l, (await import('@scope/shared')).default)",
        "import l from 'local'; import own from './own.mjs'; import s from '@scope/shared'; console.log(own === 'own', l, s)",
    ] {
        let directory = Some(bench.work.path().canonicalize().unwrap());
        let script = Script { directory, roots: roots.clone(), ..Bench::script(program) };
        let said = bench.run(script).await;
        assert_eq!(said.stdout, "true local shared\n", "{said:?}");
    }
    let before = std::fs::read_dir(bench.work.path()).unwrap().count();
    assert_eq!(before, 2, "nothing is left in the user's directory");
}

#[tokio::test(flavor = "multi_thread")]
async fn time_is_up_for_everything_it_started() {
    let bench = Bench::new().await;
    let marker = marker();
    let program = format!(
        "console.log('begun'); require('child_process').spawn('setsid', ['sleep', '1000.{marker}'], {{ detached: true }}); for (;;);"
    );
    let script = Script { timeout: Duration::from_secs(1), ..Bench::script(&program) };
    let said = bench.run(script).await;
    assert_eq!((said.finish.status, said.finish.exit_code), (Status::TimedOut, 137));
    assert_eq!(said.stdout, "begun\n");
    assert_eq!(alive_with(&marker), [] as [i32; 0]);

    let program = format!(
        "require('child_process').spawn('sleep', ['1000.{marker}'], {{ detached: true, stdio: 'inherit' }}).unref(); console.log('left')"
    );
    let said = bench.run_code(&program).await;
    assert_eq!((said.stdout.as_str(), said.finish.exit), ("left\n", Some(Exit::Code(0))));
    assert_eq!(alive_with(&marker), [] as [i32; 0]);

    let script = Bench::script(&format!("console.log('up'); // {marker}\nfor (;;);"));
    let mut running = bench.node.run(&bench.installation, &script).await.unwrap();
    let outputs = running.outputs();
    let unwanted = CancellationToken::new();
    let finish = tokio::spawn(running.finish(unwanted.clone()));
    outputs.next().await.unwrap();
    unwanted.cancel();
    assert_eq!(finish.await.unwrap().status, Status::Interrupted);
    eventually("nothing left", || bench.left().is_empty()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn much_code_and_much_output_pass() {
    let bench = Bench::new().await;
    let long = format!("const long = '{}'; console.log(long.length)", "x".repeat(5_000_000));
    assert_eq!(bench.run_code(&long).await.stdout, "5000000\n");
    let flood = "const part = 'x'.repeat(1 << 20); for (let i = 0; i < 1024; i++) process.stdout.write(part); console.log('END')";
    let said = bench.run_code(flood).await;
    assert!(said.stdout.len() < common::LIMIT + 100 && said.stdout.ends_with("xEND\n"));
    assert_eq!(said.finish.exit_code, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn types_are_removed_where_node_can() {
    let bench = Bench::new().await;
    if !bench.installation.typescript {
        return;
    }
    let program = "import type { Stats } from 'fs'; const n: number = 4; console.log(n as number)";
    let said = bench.run(Script { typescript: true, ..Bench::script(program) }).await;
    assert_eq!((said.stdout.as_str(), said.stderr.as_str()), ("4\n", ""), "{said:?}");
    let said =
        bench.run(Script { typescript: true, ..Bench::script("let a: number[] = [1]; a") }).await;
    assert_eq!(said.result(), "[ 1 ]");
}
