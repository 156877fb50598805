//! Telling imports from what only looks like them, with the engine as the judge.

mod common;

use common::{Bench, say};

#[tokio::test(flavor = "multi_thread")]
async fn only_real_imports_are_changed() {
    let bench = Bench::new().await;
    let session = bench.session().await;
    for (code, result) in [
        (r#""import('x')""#, r#""import('x')""#),
        (r"'it\'s import(1)'", r#""it's import(1)""#),
        ("`a ${'import(1)'} import(2)`", "'a import(1) import(2)'"),
        (
            "`nested ${`${await import('path').then(m => m.sep)}`} import(3)`",
            "'nested / import(3)'",
        ),
        ("/import\\(x\\)/.test('import(x)')", "true"),
        ("/[/\"']import(x)/.source.length", "14"),
        ("let a = 8, g = 2; a / 2 / g // import('nope')", "2"),
        ("/* import x from 'nope' */ 5", "5"),
        ("const f = () => /\"/; f().source + typeof import('path')", "'\"object'"),
        ("if (true) /\"/.test('x'); typeof import('path')", "'object'"),
        ("let i = 4; i++ / 2; typeof import('path') // \"", "'object'"),
        ("({ import: 1 }).import", "1"),
        ("({ import(x) { return x * 2 } }).import(4)", "8"),
        (
            "class K { static import(x) { return x } get import() { return 'got' } }; K.import(3) + new K().import",
            "'3got'",
        ),
        ("({ a: 1 })?.import ?? 'none'", "'none'"),
        ("const o = { async import() { return 'method' } }; await o.import()", "'method'"),
        (
            "const { sep: s1 } = await import('path'), { EOL } = await import('os'); s1 + EOL.length",
            "'/1'",
        ),
        ("import\n  {\n  sep as s2, // comment\n  posix\n  }\nfrom\n  'path'\ns2", "'/'"),
        ("import def, { sep as s3 } from 'path'; typeof def.join + s3", "'function/'"),
        ("import { 'sep' as s4 } from 'path'; s4", "'/'"),
        (
            "import * as ns1 from 'path'\nimport * as ns2 from 'os'\ntypeof ns1.join + typeof ns2.cpus",
            "'functionfunction'",
        ),
        ("typeof import.meta.url + typeof import . meta . dirname", "'stringstring'"),
        ("(await Promise.all(['path', 'os'].map(name => import(name)))).length", "2"),
        (
            "async function later() { const { sep } = await import('path'); return sep }; await later()",
            "'/'",
        ),
        ("const tag = (s, v) => v; await tag`x${import('path')}y`.then(m => m.sep)", "'/'"),
        ("label: { break label } import('path').then(m => m.sep)", "'/'"),
        ("const ü = 'import(1)', $import = 2, import_ = 3; ü + $import + import_", "'import(1)23'"),
    ] {
        let said = say(&session, code).await;
        assert_eq!(said.results, [result], "{code}: {said:?}");
    }
    for broken in [
        "import {",
        "import x from",
        "import x y from 'path'",
        "import('path'",
        "let s = \"import('x')",
    ] {
        assert_eq!(say(&session, broken).await.error().0, "SyntaxError", "{broken}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn imports_do_not_move_lines() {
    let bench = Bench::new().await;
    let session = bench.session().await;
    let code = "import {\n  sep,\n  posix,\n} from 'path'; import fs from 'fs'\nconst os = await import('os')\nnull.x";
    let said = say(&session, code).await;
    assert!(said.errors[0].2.contains("REPL1:6:"), "{said:?}");
    let said = bench.run_code("import {\n  sep,\n} from 'path'\nnull.x").await;
    assert!(said.stderr.contains("main.mjs:4"), "{said:?}");
}
