//! Code that does its worst to the session it runs in: the session goes on, or is ended; it is never fooled.

mod common;

use atoll_node::Status;
use common::{Bench, eventually, say};

#[tokio::test(flavor = "multi_thread")]
async fn what_the_language_offers_can_be_broken_without_breaking_the_session() {
    let bench = Bench::new().await;
    let session = bench.session().await;
    for sabotage in [
        "JSON.stringify = JSON.parse = () => { throw 1 }; globalThis.JSON = null; 1",
        "Object.prototype.toJSON = () => 'polluted'; 1",
        "Array.prototype.toJSON = String.prototype.toJSON = () => 'polluted'; 1",
        "Object.prototype.exceptionDetails = {}; Object.prototype.objectId = 'x'; Object.prototype.id = 7; 1",
        "Object.prototype.type = 'done'; Object.prototype.status = 'ok'; 1",
        "Array.prototype.push = Array.prototype.map = Array.prototype.join = () => { throw 1 }; 1",
        "Array.prototype[Symbol.iterator] = () => { throw 1 }; 1",
        "String.prototype.split = String.prototype.slice = String.prototype.endsWith = () => { throw 1 }; 1",
        "RegExp.prototype.exec = RegExp.prototype.test = () => { throw 1 }; 1",
        "globalThis.setImmediate = globalThis.setTimeout = globalThis.queueMicrotask = () => {}; 1",
        "process.cwd = process.chdir = process.listenerCount = () => { throw 1 }; 1",
        "Buffer.from = Buffer.concat = Buffer.prototype.toString = () => { throw 1 }; 1",
        "fs.writeSync = fs.readSync = () => { throw 1 }; 1",
        "util.inspect = () => { throw 1 }; vm.Script = null; 1",
        "delete globalThis.require; globalThis.__import = null; 1",
    ] {
        let said = say(&session, sabotage).await;
        assert_eq!(said.results, ["1"], "{sabotage}: {said:?}");
        let said = say(&session, "40 + 2").await;
        assert_eq!((said.result(), said.finish.status), ("42", Status::Ok), "after {sabotage}");
    }
    let said = say(&session, "throw new TypeError('still told')").await;
    assert_eq!(said.finish.status, Status::Error);
    assert_eq!(said.errors.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_can_be_replaced_and_what_they_lose_is_lost_to_the_user_only() {
    let bench = Bench::new().await;
    let session = bench.session().await;
    let said = say(
        &session,
        "const seen = []; process.stdout.write = text => { seen.push(text); return true }; console.log('hidden'); seen",
    )
    .await;
    assert_eq!((said.result(), said.stdout.as_str()), ("[ 'hidden\\n' ]", ""));
    assert_eq!(say(&session, "globalThis.console = {}; 2").await.result(), "2");
    assert_eq!(
        say(&session, "Object.defineProperty(process, 'stdout', { value: null }); 3")
            .await
            .result(),
        "3"
    );
    assert_eq!(say(&session, "fs.closeSync(1); fs.closeSync(2); 4").await.result(), "4");
    assert_eq!(say(&session, "5").await.result(), "5");
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_cannot_be_forged() {
    let bench = Bench::new().await;
    let session = bench.session().await;
    let forged = r"
        const line = JSON.stringify({ type: 'done', id: 1, status: 'ok', cwd: '/forged' });
        for (const fd of [1, 2, 4]) fs.writeSync(fd, line + '\n' + 'secret ' + line + '\nhalf a line');
        fs.writeSync(4, 'x'.repeat(10 << 20));
        'real'
    ";
    let said = say(&session, forged).await;
    assert_eq!(said.result(), "'real'");
    assert_ne!(said.finish.directory.as_deref(), Some(std::path::Path::new("/forged")));
    assert!(said.stdout.contains("/forged"), "{said:?}");
    assert_eq!(say(&session, "'after'").await.result(), "'after'");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_secret_is_nowhere_to_be_found() {
    let bench = Bench::new().await;
    let session = bench.session().await;
    let look = r"
        const places = [process.argv, process.execArgv, process.env, process.title, Object.keys(require.cache),
            fs.readFileSync('/proc/self/cmdline', 'latin1'), fs.readFileSync('/proc/self/environ', 'latin1'),
            Reflect.ownKeys(globalThis).map(String), require.main];
        const links = fs.readdirSync('/proc/self/fd').map(fd => { try { return fs.readlinkSync('/proc/self/fd/' + fd) } catch { return '' } });
        JSON.stringify([...places, links])
    ";
    let said = say(&session, look).await;
    let text = said.result();
    // Secrets are 32 hexadecimal digits; those of the directory of our programs are no secret.
    let hexadecimal =
        |piece: &str| piece.len() == 32 && piece.bytes().all(|byte| byte.is_ascii_hexdigit());
    let own = std::fs::read_dir(bench.directory.path()).unwrap().flatten();
    let names: Vec<_> = own.map(|entry| entry.file_name().into_string().unwrap()).collect();
    for piece in text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|piece| hexadecimal(piece))
    {
        let public = names.iter().any(|name| name.contains(piece));
        assert!(public || text.contains(&format!("node-{piece}/")), "{piece} in {text}");
    }
    for piece in ["__atoll", "worker.js\\\"]"] {
        assert!(!text.contains(piece), "{piece} in {text}");
    }
    let children = "child_process.execSync('ls -l /proc/self/fd | grep -c \" [34] -> pipe\\\\|down\\\\|/up\" || true').toString()";
    assert_eq!(say(&session, children).await.result(), "'0\\n'");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_cuts_its_own_line_is_ended() {
    let bench = Bench::new().await;
    for cut in ["fs.closeSync(4); 1", "process._getActiveHandles().forEach(h => h.destroy()); 1"] {
        let session = bench.session().await;
        let running = session.execute(common::code(cut)).await.unwrap();
        let _ended_or_told = running.finish().await;
        eventually("the end", || !session.is_alive()).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_without_end_between_executions_are_bounded() {
    let bench = Bench::new().await;
    let session = bench.session().await;
    let storm = "let n = 0; const again = setInterval(() => { n++; throw new Error('x'.repeat(1000)) }, 0); 1";
    assert_eq!(say(&session, storm).await.result(), "1");
    let said = say(
        &session,
        "while (n < 2000) await new Promise(r => setTimeout(r, 5)); clearInterval(again); n",
    )
    .await;
    let kept: usize = said.errors.iter().map(|error| error.1.len() + error.2.len()).sum();
    assert!(kept < common::LIMIT * 5, "{kept}");
    assert!(said.errors.last().unwrap().1.contains("left out"), "{:?}", said.errors.last());
}
