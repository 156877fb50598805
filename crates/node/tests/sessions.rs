//! What code in a session can do, with the real Node.js.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::path::Path;

use atoll_node::Status;
use common::{Bench, code, eventually, execute, say};

/// A package that can only be imported, and one that can only be required.
fn install_packages(root: &Path) {
    let esm = root.join("node_modules/only-esm");
    std::fs::create_dir_all(&esm).unwrap();
    let manifest = r#"{"name":"only-esm","version":"1.0.0","type":"module","exports":{"import":"./index.js"}}"#;
    std::fs::write(esm.join("package.json"), manifest).unwrap();
    std::fs::write(esm.join("index.js"), "export default 'esm'; export const named = 'too';")
        .unwrap();
    let cjs = root.join("node_modules/only-cjs");
    std::fs::create_dir_all(&cjs).unwrap();
    std::fs::write(cjs.join("index.js"), "module.exports = 'cjs';").unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn declarations_live_on_and_can_be_made_again() {
    let bench = Bench::new().await;
    let session = bench.session().await;
    let first =
        "let a = 1; const b = 2; var c = 3; function d() { return a + b + c } class E { f = d() }";
    assert_eq!(say(&session, first).await.finish.status, Status::Ok);
    assert_eq!(say(&session, "a += 10; new E().f").await.result(), "16");
    let again = "let a = 5; const b = 6; class E { f = 'new' } function d() { return a * b }";
    assert_eq!(say(&session, again).await.finish.exit_code, 0);
    assert_eq!(say(&session, "[d(), new E().f, c]").await.result(), "[ 30, 'new', 3 ]");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_expression_is_the_result_and_undefined_is_none() {
    let bench = Bench::new().await;
    let session = bench.session().await;
    for (code, result) in [
        ("1 + 1", "2"),
        ("'text'", "'text'"),
        ("-0", "-0"),
        ("10n ** 20n", "100000000000000000000n"),
        ("Symbol('s')", "Symbol(s)"),
        ("null", "null"),
        ("NaN", "NaN"),
        ("({ a: [1, { b: 2 }] })", "{ a: [ 1, { b: 2 } ] }"),
        ("{ a: 1, b: 2 }", "{ a: 1, b: 2 }"),
        ("new Map([[1, 2]]) // comment", "Map(1) { 1 => 2 }"),
        ("if (true) { 'branch' }", "'branch'"),
        ("for (const i of [1, 2]) i", "2"),
        ("x = 4", "4"),
    ] {
        assert_eq!(say(&session, code).await.result(), result, "{code}");
    }
    for code in
        ["undefined", "", "// nothing", "let y = 1", "void 0", "function f() {}", "[].forEach(f)"]
    {
        assert_eq!(say(&session, code).await.results, [""; 0], "{code}");
    }
    let long = say(&session, "'x'.repeat(50000)").await;
    assert_eq!(long.result().len(), 50_002);
}

#[tokio::test(flavor = "multi_thread")]
async fn top_level_awaits_and_promises_are_waited_for() {
    let bench = Bench::new().await;
    let session = bench.session().await;
    let awaited = say(&session, "const v = await new Promise(r => setTimeout(r, 20, 7)); v").await;
    assert_eq!(awaited.result(), "7");
    assert_eq!(say(&session, "v + 1").await.result(), "8");
    let main = "async function main() { await 1; console.log('ran'); return 'value' }\nmain()";
    let said = say(&session, main).await;
    assert_eq!((said.stdout.as_str(), said.result()), ("ran\n", "'value'"));
    assert_eq!(say(&session, "await (async () => 5)()").await.result(), "5");
    assert_eq!(say(&session, "for await (const x of [Promise.resolve(3)]) x").await.result(), "3");
}

#[tokio::test(flavor = "multi_thread")]
async fn modules_are_found_from_where_the_session_is() {
    let bench = Bench::new().await;
    install_packages(bench.work.path());
    std::fs::write(bench.work.path().join("own.js"), "exports.own = 'own file'").unwrap();
    std::fs::write(bench.work.path().join("own.mjs"), "export const own = 'own module'").unwrap();
    std::fs::write(bench.work.path().join("data.json"), r#"{"in": "json"}"#).unwrap();
    let session = bench.session().await;
    for (code, result) in [
        ("require('only-cjs')", "'cjs'"),
        ("require('./own.js').own", "'own file'"),
        ("import esm, { named as other } from 'only-esm'\n[esm, other]", "[ 'esm', 'too' ]"),
        ("import * as all from 'only-esm'; all.named", "'too'"),
        ("import esm, * as all from \"only-esm\"; esm + all.named", "'esmtoo'"),
        (
            "import 'only-esm'; import { readFileSync } from 'node:fs'; typeof readFileSync",
            "'function'",
        ),
        ("(await import('./own.mjs')).own", "'own module'"),
        ("const load = name => import(name); (await load('only-esm')).default", "'esm'"),
        ("typeof path.join + typeof os.cpus", "'functionfunction'"),
        ("import.meta.filename === __filename.replace('.js', '.mjs')", "true"),
        ("import data from './data.json' with { type: 'json' }; data", "{ in: 'json' }"),
        ("({ import(x) { return x } }).import(2)", "2"),
    ] {
        let said = say(&session, code).await;
        assert_eq!(said.results, [result], "{code}: {said:?}");
    }
    let said = say(&session, "import { nothing } from 'fs'").await;
    assert_eq!(said.error().0, "SyntaxError");
    assert!(said.error().1.contains("'nothing'"), "{said:?}");
    let said = say(&session, "import x from 'no-such-package'").await;
    assert!(said.error().1.contains("no-such-package"), "{said:?}");

    let elsewhere = tempfile::tempdir().unwrap();
    std::fs::write(elsewhere.path().join("own.js"), "exports.own = 'another'").unwrap();
    let moved = atoll_node::Code {
        directory: Some(elsewhere.path().to_owned()),
        ..code("require('./own.js').own")
    };
    let said = execute(&session, moved).await;
    assert_eq!(said.result(), "'another'");
    assert_eq!(
        said.finish.directory.as_deref(),
        Some(elsewhere.path().canonicalize().unwrap().as_path())
    );
    assert!(say(&session, "process.cwd() === __dirname").await.result() == "true");
}

#[tokio::test(flavor = "multi_thread")]
async fn shared_packages_are_found_wherever_a_session_is() {
    let bench = Bench::new().await;
    let shared = tempfile::tempdir().unwrap();
    install_packages(shared.path());
    let roots = [shared.path().join("node_modules")];
    let session = bench.node.session(&bench.installation, bench.work.path(), &roots).await.unwrap();
    assert_eq!(say(&session, "require('only-cjs')").await.result(), "'cjs'");
    assert_eq!(say(&session, "import x from 'only-esm'; x").await.result(), "'esm'");
    assert_eq!(say(&session, "process.env.NODE_PATH").await.results, [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_are_apart_and_each_in_order_whoever_writes() {
    let bench = Bench::new().await;
    let session = bench.session().await;
    let said = say(
        &session,
        "console.log('1'); console.error('a'); process.stdout.write('2\\n'); fs.writeSync(1, '3\\n');
         child_process.execSync('echo 4; echo b >&2', { stdio: 'inherit' }); console.info('%d', 5);
         fs.writeSync(2, 'c\\n'); console.warn('d'); console.table([[6]]); null",
    )
    .await;
    assert!(said.stdout.starts_with("1\n2\n3\n4\n5\n"), "{said:?}");
    assert!(said.stdout.contains('6'), "{said:?}");
    assert_eq!(said.stderr, "a\nb\nc\nd\n");
    let said = say(&session, "for (let i = 0; i < 5000; i++) { console.log(i); }").await;
    let expected: String = (0..5000).map(|number: u32| format!("{number}\n")).collect();
    assert_eq!(said.stdout, expected);
    let said = say(&session, "process.stdout.write('é€😀'.repeat(1000)); 1").await;
    assert_eq!(said.stdout, "é€😀".repeat(1000));
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_are_told_without_our_frames() {
    let bench = Bench::new().await;
    let session = bench.session().await;
    let said = say(&session, "function f() { null.x }\n\nf()").await;
    assert_eq!(said.finish.status, Status::Error);
    assert_eq!(said.finish.exit_code, 1);
    let (name, message) = said.error();
    assert_eq!(name, "TypeError");
    assert!(message.contains("null"), "{said:?}");
    let traceback = &said.errors[0].2;
    assert!(
        traceback.contains("at f (REPL1:1:") && traceback.contains("at REPL1:3:1"),
        "{traceback}"
    );
    for ours in ["atoll", "inspector", "node:vm", "worker.js"] {
        assert!(!traceback.contains(ours), "{traceback}");
    }
    let said = say(&session, "await Promise.reject(new RangeError('later'))").await;
    assert_eq!(said.error(), ("RangeError", "later"));
    let said = say(&session, "Promise.reject(new RangeError('last'))").await;
    assert_eq!(said.error(), ("RangeError", "last"));
    assert_eq!(say(&session, "throw 'text'").await.error(), ("Error", "'text'"));
    assert_eq!(say(&session, "throw undefined").await.error(), ("Error", "undefined"));
    let said = say(&session, "throw new Error('outer', { cause: new Error('inner') })").await;
    assert!(said.errors[0].2.contains("inner"), "{said:?}");
    assert_eq!(say(&session, "1").await.result(), "1");
}

#[tokio::test(flavor = "multi_thread")]
async fn syntax_errors_name_their_line() {
    let bench = Bench::new().await;
    let session = bench.session().await;
    let said = say(&session, "let fine = 1\n\nlet broken = ;\nlet more = 2").await;
    assert_eq!(said.error().0, "SyntaxError");
    assert!(said.errors[0].2.starts_with("REPL1:3\nlet broken = ;\n             ^\n"), "{said:?}");
    let said = say(&session, "// one\nfoo(").await;
    assert!(said.errors[0].2.starts_with("REPL2:2\nfoo(\n    ^"), "{said:?}");
    let said = say(&session, "import {\n a\n} from 'fs';\nlet = = 1").await;
    assert!(said.errors[0].2.starts_with("REPL3:4\n"), "{said:?}");
    assert_eq!(say(&session, "typeof fine").await.result(), "'undefined'");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_catches_is_told_and_kills_nothing() {
    let bench = Bench::new().await;
    let session = bench.session().await;
    let said = say(&session, "let kept = 9; Promise.reject(new Error('floating')); 1").await;
    assert_eq!((said.error(), said.finish.status), (("Error", "floating"), Status::Error));
    assert_eq!(said.result(), "1");
    let said = say(&session, "await new Promise(r => setTimeout(() => { setTimeout(r, 1); throw new Error('in a timer') }, 1))").await;
    assert_eq!((said.error(), said.finish.status), (("Error", "in a timer"), Status::Error));

    let flag = bench.work.path().join("flag");
    let later = format!(
        "setTimeout(() => {{ console.log('late'); setImmediate(() => fs.writeFileSync('{}', '')); throw new Error('afterwards') }}, 30); 2",
        flag.display()
    );
    let said = say(&session, &later).await;
    assert_eq!((said.errors.len(), said.finish.status), (0, Status::Ok));
    eventually("the timer", || flag.exists()).await;
    let said = say(&session, "kept").await;
    assert_eq!((said.error(), said.stdout.as_str()), (("Error", "afterwards"), "late\n"));
    assert_eq!((said.result(), said.finish.status), ("9", Status::Ok));
    assert_eq!(said.finish.exit_code, 0);

    let own = "process.on('uncaughtException', e => console.log('own handler', e.message)); await new Promise(r => setTimeout(() => { setTimeout(r, 1); throw new Error('mine') }, 1))";
    let said = say(&session, own).await;
    assert_eq!((said.stdout.as_str(), said.finish.status), ("own handler mine\n", Status::Ok));
}

#[tokio::test(flavor = "multi_thread")]
async fn input_is_given_to_one_execution_only() {
    let bench = Bench::new().await;
    let session = bench.session().await;
    let read = "let text = ''; for await (const part of process.stdin) text += part; text";
    let given = atoll_node::Code { stdin: Some("given\n".to_owned()), ..code(read) };
    assert_eq!(execute(&session, given).await.result(), "'given\\n'");
    assert_eq!(say(&session, read).await.result(), "''");
}

#[tokio::test(flavor = "multi_thread")]
async fn types_are_removed_where_node_can() {
    let bench = Bench::new().await;
    if !bench.installation.typescript {
        return;
    }
    let session = bench.session().await;
    let typed = |text: &str| atoll_node::Code { typescript: true, ..code(text) };
    let said =
        execute(&session, typed("interface A { x: number }\nconst a: A = { x: 4 }; a.x as number"))
            .await;
    assert_eq!((said.result(), said.stderr.as_str()), ("4", ""));
    let said = execute(&session, typed("let broken: = 1")).await;
    assert_eq!(said.error().0, "SyntaxError", "{said:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn five_megabytes_of_code_are_run() {
    let bench = Bench::new().await;
    let session = bench.session().await;
    let long = format!("const long = '{}'; import('fs'); long.length", "x".repeat(5_000_000));
    assert_eq!(say(&session, &long).await.result(), "5000000");
}

#[tokio::test(flavor = "multi_thread")]
async fn outputs_come_while_the_code_runs() {
    let bench = Bench::new().await;
    let session = bench.session().await;
    let go = bench.work.path().join("go");
    let wait = format!(
        "console.log('begun'); while (!fs.existsSync('{}')) await new Promise(r => setTimeout(r, 5)); 'end'",
        go.display()
    );
    let running = session.execute(code(&wait)).await.unwrap();
    let first = running.outputs.next().await;
    let begun =
        atoll_node::Output::Text { channel: atoll_node::Channel::Stdout, text: "begun\n".into() };
    assert_eq!(first, Some(begun));
    std::fs::write(go, "").unwrap();
    let last = running.outputs.next().await;
    assert_eq!(last, Some(atoll_node::Output::Result { text: "'end'".into() }));
    assert_eq!(running.outputs.next().await, None);
}
