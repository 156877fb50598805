//! Files between here and the sandbox.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::{command, json, name, printed, refused, run, server, text};

/// Names that shells, URLs, forms and archives trip over.
const ODD: &[&str] =
    &["plain", "with space", "ümläut", "quote\"s'", "new\nline", "-dash", "a&b=c?#%20", "😀"];

fn make_tree(root: &Path) {
    std::fs::create_dir_all(root.join("inner/empty directory")).unwrap();
    for name in ODD {
        std::fs::write(root.join("inner").join(name), format!("content of {name}")).unwrap();
    }
    std::fs::write(root.join("run.sh"), "#!/bin/sh\n").unwrap();
    std::fs::set_permissions(root.join("run.sh"), std::fs::Permissions::from_mode(0o755)).unwrap();
    std::os::unix::fs::symlink("inner/plain", root.join("link")).unwrap();
}

/// Whether two trees are the same, names and content and all.
fn same(one: &Path, other: &Path) {
    let output = Command::new("diff").args(["-r", "--no-dereference"]).args([one, other]).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{}", text(&output.stdout));
}

#[tokio::test]
async fn a_directory_goes_in_and_comes_out_whole_whatever_the_names() {
    let server = server().await;
    let here = tempfile::tempdir().unwrap();
    let (tree, back) = (here.path().join("tree"), here.path().join("back"));
    make_tree(&tree);
    let place = server.home().join("sub/copy");

    let copied = json(&run(&server, &["file", "cp", name(&tree), &format!(":{}", name(&place))]));
    assert_eq!(copied["copied"][0]["destination"], name(&place));
    same(&tree, &place);
    assert_eq!(
        std::fs::metadata(place.join("run.sh")).unwrap().permissions().mode() & 0o777,
        0o755
    );

    printed(&run(&server, &["file", "cp", ":sub/copy", name(&back)]));
    same(&tree, &back);

    // Into directories that exist a copy goes under its own name; what is there already stays.
    std::fs::write(place.join("kept"), "kept").unwrap();
    std::fs::write(tree.join("run.sh"), "changed").unwrap();
    std::fs::rename(&tree, here.path().join("copy")).unwrap();
    let renamed = here.path().join("copy");
    printed(&run(&server, &["file", "cp", name(&renamed), ":sub"]));
    assert_eq!(std::fs::read_to_string(place.join("run.sh")).unwrap(), "changed");
    assert_eq!(std::fs::read_to_string(place.join("kept")).unwrap(), "kept");
    std::fs::write(renamed.join("mine"), "mine").unwrap();
    printed(&run(&server, &["file", "cp", ":sub/copy", name(here.path())]));
    assert_eq!(std::fs::read_to_string(renamed.join("kept")).unwrap(), "kept");
    assert_eq!(std::fs::read_to_string(renamed.join("mine")).unwrap(), "mine");
}

#[tokio::test]
async fn single_files_go_both_ways_with_their_rights() {
    let server = server().await;
    let here = tempfile::tempdir().unwrap();
    let program = here.path().join("-a program");
    let bytes: Vec<u8> = (0..700_000_u32).map(|n| n.to_le_bytes()[0]).collect();
    std::fs::write(&program, &bytes).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o750)).unwrap();
    std::fs::create_dir(server.home().join("into")).unwrap();

    let copied = json(&run(&server, &["file", "cp", name(&program), ":into"]));
    assert_eq!(copied["copied"][0]["bytes"], 700_000);
    let there = server.home().join("into/-a program");
    assert!(std::fs::read(&there).unwrap() == bytes);
    assert_eq!(std::fs::metadata(&there).unwrap().permissions().mode() & 0o777, 0o750);

    let back = here.path().join("back");
    printed(&run(&server, &["file", "cp", ":into/-a program", name(&back)]));
    assert!(std::fs::read(&back).unwrap() == bytes);
    assert_eq!(std::fs::metadata(&back).unwrap().permissions().mode() & 0o777, 0o750);

    printed(&run(&server, &["file", "cp", ":into/-a program", ":into/second"]));
    assert!(std::fs::read(server.home().join("into/second")).unwrap() == bytes);
    let several = ["file", "cp", ":into/second", ":into/-a program", name(here.path())];
    printed(&run(&server, &several));
    assert!(here.path().join("second").exists());
}

#[tokio::test]
async fn what_cannot_be_copied_is_told_and_leaves_nothing() {
    let server = server().await;
    let here = tempfile::tempdir().unwrap();
    let target = here.path().join("target");
    refused(&run(&server, &["file", "cp", ":/no/such", name(&target)]), 1, &[":/no/such"]);
    refused(&run(&server, &["file", "cp", "/no/such", ":x"]), 1, &["/no/such"]);
    refused(&run(&server, &["file", "cp", "a", "b"]), 2, &["colon"]);
    refused(&run(&server, &["file", "cp", name(here.path()), ":/proc/x"]), 1, &["/proc"]);
    assert_eq!(std::fs::read_dir(here.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn files_are_listed_printed_found_and_removed() {
    let server = server().await;
    std::fs::create_dir(server.home().join("d")).unwrap();
    let bytes = [b"text\n".as_slice(), &[0, 255, 7]].concat();
    std::fs::write(server.home().join("d/a.bin"), &bytes).unwrap();
    std::fs::write(server.home().join("d/b.txt"), "needle here\n").unwrap();

    let listed = json(&run(&server, &["file", "ls", "d"]));
    assert_eq!(listed["total_count"], 2);
    assert_eq!(run(&server, &["file", "cat", "d/a.bin"]).stdout, bytes);
    assert_eq!(
        json(&run(&server, &["file", "find", "*.txt", "d"]))["files"].as_array().unwrap().len(),
        1
    );
    let found = json(&run(&server, &["file", "grep", "needle", "d"]));
    assert_eq!(found["matches"][0]["line_number"], 1);
    printed(&run(&server, &["file", "mkdir", "d/e"]));
    printed(&run(&server, &["file", "mv", "d/b.txt", "d/e/c.txt"]));
    printed(&run(&server, &["file", "rm", "d", "--recursive"]));
    assert!(!server.home().join("d").exists());
    refused(&run(&server, &["file", "cat", "d/a.bin"]), 1, &["file.not_found"]);
}

#[tokio::test]
async fn an_edit_is_written_back_when_something_changed() {
    let server = server().await;
    let file = server.home().join("notes one.md");
    std::fs::write(&file, "one\n").unwrap();
    let edit = |editor: &str, path: &str| {
        let mut edit = command(&server, &["file", "edit", path]);
        edit.env("EDITOR", editor).output().unwrap()
    };
    let written = json(&edit("sed -i s/one/two/", "notes one.md"));
    assert_eq!(written["changed"], true);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "two\n");
    assert_eq!(json(&edit("true", "notes one.md"))["changed"], false);
    // The name is kept, so that an editor knows what it edits.
    json(&edit("sh -c 'basename \"$0\" > \"$0\"'", "notes one.md"));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "notes one.md\n");
    json(&edit("sh -c 'echo new > \"$0\"'", "made.txt"));
    assert_eq!(std::fs::read_to_string(server.home().join("made.txt")).unwrap(), "new\n");
    refused(&edit("false", "notes one.md"), 1, &["false", "EDITOR"]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "notes one.md\n");
}

#[tokio::test]
async fn an_edit_never_overwrites_what_somebody_else_wrote_meanwhile() {
    let server = server().await;
    let file = server.home().join("shared.txt");
    std::fs::write(&file, "one\n").unwrap();
    let editor = format!("sh -c 'echo mine > \"$0\"; echo theirs > {}'", name(&file));
    let mut edit = command(&server, &["file", "edit", "shared.txt"]);
    let output = edit.env("EDITOR", editor).output().unwrap();
    refused(&output, 1, &["somebody else", "kept in"]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "theirs\n");
    let said = text(&output.stderr);
    let kept = said.split("kept in ").nth(1).and_then(|rest| rest.split(": ").next()).unwrap();
    assert_eq!(std::fs::read_to_string(kept).unwrap(), "mine\n");
    std::fs::remove_dir_all(Path::new(kept).parent().unwrap()).unwrap();
}
