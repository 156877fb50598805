package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"atoll.test/deepagent/wire"
)

func connect(base, secret, session string, options ...wire.Option) *wire.Client {
	options = append(options, wire.WithTimeout(2*time.Minute))
	if secret != "" {
		options = append(options, wire.WithSecret(secret))
	}
	return wire.NewClient(base, session, options...)
}

func refused(err error) *wire.APIError {
	var failure *wire.APIError
	errors.As(err, &failure)
	return failure
}

func files(checks *checks, base, secret string) {
	ctx := context.Background()
	client := connect(base, secret, "go-session")

	sandbox, err := client.GetContext(ctx)
	checks.fine("GetContext", err)
	checks.that("a sandbox names its system as Go does", sandbox.OS == "linux" && sandbox.Arch != "", sandbox)
	room := filepath.Join(sandbox.Workspace, "go-session")

	commands(checks, client, room)
	contents(checks, client, room)
	searches(checks, client)
	lines(checks, client)

	placed := connect(base, secret, "go-session", wire.WithCwd(sandbox.Workspace))
	result, err := placed.BashExec(ctx, wire.BashRequest{Command: "pwd"})
	checks.fine("BashExec in a workspace", err)
	checks.that("a workspace counts before a session", result.Output == sandbox.Workspace+"\n", result)

	for _, name := range []string{"..", "../up", "a/b", "."} {
		_, err := connect(base, secret, name).FileList(ctx, ".")
		failure := refused(err)
		checks.that("a session cannot be "+name, failure != nil && failure.Code == 400, err)
	}
}

func commands(checks *checks, client *wire.Client, room string) {
	ctx := context.Background()
	result, err := client.BashExec(ctx, wire.BashRequest{Command: "pwd; echo problem >&2; exit 3"})
	checks.fine("BashExec", err)
	checks.that("output is stdout, then stderr", result.Output == room+"\nproblem\n", result)
	checks.that("a command that fails is a result", result.ExitCode == 3 && result.Error == "", result)

	result, err = client.BashExec(ctx, wire.BashRequest{Command: "echo $GREETING", Env: map[string]string{"GREETING": "hi"}})
	checks.fine("BashExec with env", err)
	checks.that("env is honoured", result.Output == "hi\n", result)

	result, err = client.BashExec(ctx, wire.BashRequest{Command: "echo begun; sleep 600", TimeoutMS: 1500})
	checks.fine("BashExec past its time", err)
	late := result.ExitCode == -1 && strings.HasPrefix(result.Output, "begun\n") &&
		strings.Contains(result.Output, "<bash_metadata>") &&
		strings.Contains(result.Output, "command timed out after 1.5s")
	checks.that("a command is killed in time", late, result)

	_, err = client.BashExec(ctx, wire.BashRequest{Command: "true", Cwd: "/nowhere/at/all"})
	failure := refused(err)
	gone := failure != nil && failure.Code == 500 &&
		strings.HasPrefix(failure.Message, "execution failed: working directory does not exist: ")
	checks.that("a directory that is not there is named", gone, err)

	_, err = client.BashExec(ctx, wire.BashRequest{})
	checks.that("no command is no command", err == nil || refused(err) != nil, err)

	result, err = client.BashExec(ctx, wire.BashRequest{Command: "echo working; echo done >&2", RunInBackground: true})
	checks.fine("BashExec in the background", err)
	begun := strings.HasPrefix(result.Output, "Command started in background (PID: ") && result.ExitCode == 0
	checks.that("a background command says its process", begun, result)
	logs := filepath.Join(room, ".logs", "background_outputs")
	checks.that("and its file", filepath.Dir(result.OutputFile) == logs, result)
	var printed string
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		printed, err = client.FileRead(ctx, result.OutputFile, false)
		if err == nil && strings.Contains(printed, "done\n") {
			break
		}
	}
	checks.that("which gets what it prints", printed == "working\ndone\n", printed, err)
}

func contents(checks *checks, client *wire.Client, room string) {
	ctx := context.Background()
	checks.fine("FileWrite", client.FileWrite(ctx, "made/a.txt", "one\n", false))
	checks.fine("FileAppend", client.FileAppend(ctx, "made/a.txt", "two\n"))
	text, err := client.FileRead(ctx, filepath.Join(room, "made/a.txt"), false)
	checks.fine("FileRead", err)
	checks.that("a relative path is the session's", text == "one\ntwo\n", text)

	checks.fine("FileWrite in base64", client.FileWrite(ctx, "made/b.bin", "AP8=", true))
	encoded, err := client.FileRead(ctx, "made/b.bin", true)
	checks.fine("FileRead in base64", err)
	checks.that("bytes survive", encoded == "AP8=", encoded)
	checks.fine("FileWrite of nothing", client.FileWrite(ctx, "made/.hidden", "", false))

	checks.fine("MkDir", client.MkDir(ctx, "made/deep/er"))
	list, err := client.FileList(ctx, "made")
	checks.fine("FileList", err)
	seen := map[string]wire.FileInfo{}
	for _, file := range list {
		seen[file.Name] = file
	}
	_, hidden := seen[".hidden"]
	checks.that("a list has everything", len(list) == 4 && hidden, list)
	file := seen["a.txt"]
	plain := file.Size == 8 && !file.IsDir && file.Mode == "-rw-r--r--" && file.ModTimeUnix > 1_600_000_000
	checks.that("a file is described", plain && file.Path == filepath.Join(room, "made/a.txt"), file)
	checks.that("a directory is described", seen["deep"].IsDir && seen["deep"].Mode == "drwxr-xr-x", seen["deep"])

	checks.fine("FileCopy", client.FileCopy(ctx, "made/a.txt", "made/c.txt"))
	checks.fine("FileMove", client.FileMove(ctx, "made/c.txt", "made/d.txt"))
	for path, expected := range map[string]bool{"made/a.txt": true, "made/c.txt": false, "made/d.txt": true, "made": true} {
		exists, err := client.FileExists(ctx, path)
		checks.fine("FileExists", err)
		checks.that("existence of "+path, exists == expected, exists)
	}
	checks.fine("FileWrite of a name that is not ASCII", client.FileWrite(ctx, "made/größe.txt", "x", false))
	exists, err := client.FileExists(ctx, filepath.Join(room, "made/größe.txt"))
	checks.that("a raw path that is not ASCII is found", err == nil && exists, err)

	stat, err := client.FileStat(ctx, "made/a.txt")
	checks.fine("FileStat", err)
	checks.that("a path is described", stat.Exists && stat.Size == 8 && stat.Mode == "-rw-r--r--", stat)
	stat, err = client.FileStat(ctx, "made/nothing")
	checks.that("one that is not there as well", err == nil && !stat.Exists, stat, err)

	made, err := client.FileCreateTemp(ctx, "made", "t-*.txt", "temporary")
	checks.fine("FileCreateTemp", err)
	text, err = client.FileRead(ctx, made, false)
	checks.that("a temporary file is where it says", err == nil && text == "temporary", made, err)
	_, err = client.BashExec(ctx, wire.BashRequest{Command: "ln -s a.txt made/link"})
	checks.fine("a link", err)
	resolved, err := client.EvalSymlinks(ctx, "made/link")
	checks.that("EvalSymlinks", err == nil && resolved == filepath.Join(room, "made/a.txt"), resolved, err)
	for _, which := range []string{"temp-dir", "home-dir"} {
		path, err := client.Directory(ctx, which)
		checks.that(which, err == nil && filepath.IsAbs(path), path, err)
	}

	_, err = client.FileRead(ctx, "made/nothing", false)
	failure := refused(err)
	missing := failure != nil && failure.Code == 404 && errors.Is(err, os.ErrNotExist) &&
		failure.Message == "file not found: "+filepath.Join(room, "made/nothing")
	checks.that("a missing file is one to Go", missing, err)
	_, err = client.FileRead(ctx, "made", false)
	checks.that("a directory is no file", refused(err) != nil && refused(err).Code == 500, err)
	_, err = client.FileRead(ctx, "", false)
	checks.that("no name is no file", refused(err) != nil, err)

	checks.fine("FileDelete", client.FileDelete(ctx, "made/deep"))
	checks.fine("FileDelete of nothing", client.FileDelete(ctx, "made/deep"))
	exists, err = client.FileExists(ctx, "made/deep")
	checks.that("what was deleted is gone", err == nil && !exists, err)
}

func searches(checks *checks, client *wire.Client) {
	ctx := context.Background()
	checks.fine("FileWrite", client.FileWrite(ctx, "tree/old.go", "alpha\nbeta\n", false))
	_, err := client.BashExec(ctx, wire.BashRequest{Command: "touch -d '2001-01-01' tree/old.go"})
	checks.fine("an old file", err)
	checks.fine("FileWrite", client.FileWrite(ctx, "tree/below/new.go", "gamma\nalpha\n", false))
	checks.fine("FileWrite", client.FileWrite(ctx, "tree/.dot.txt", "Alpha\n", false))

	found, err := client.GrepSearch(ctx, wire.GrepRequest{Pattern: "alpha", Path: "tree"})
	checks.fine("GrepSearch", err)
	text := found.Output
	ordered := strings.HasPrefix(text, "Found 2 matches\n") &&
		strings.Index(text, "new.go:\n  Line 2: alpha\n") < strings.Index(text, "old.go:\n  Line 1: alpha\n")
	checks.that("matches are told, newest file first", ordered && !found.Truncated, text)
	found, err = client.GrepSearch(ctx, wire.GrepRequest{Pattern: "ALPHA", Path: "tree", CaseInsensitive: true, OutputMode: "files_only", Glob: "*.go"})
	names := strings.Split(found.Output, "\n")
	checks.that("files only", err == nil && len(names) == 2 && strings.HasSuffix(names[0], "new.go"), found, err)
	found, err = client.GrepSearch(ctx, wire.GrepRequest{Pattern: "a", Path: "tree/old.go", OutputMode: "count"})
	checks.that("counts", err == nil && strings.HasSuffix(found.Output, "old.go:2"), found, err)
	found, err = client.GrepSearch(ctx, wire.GrepRequest{Pattern: "beta", Path: "tree", ContextLines: 1})
	checks.that("context", err == nil && strings.Contains(found.Output, "Line 1- alpha\n  Line 2: beta"), found, err)
	found, err = client.GrepSearch(ctx, wire.GrepRequest{Pattern: "a", Path: "tree", Limit: 1})
	checks.that("a limit", err == nil && found.Truncated && strings.HasPrefix(found.Output, "Found 1 matches"), found, err)
	found, err = client.GrepSearch(ctx, wire.GrepRequest{Pattern: "nothing like it"})
	checks.that("no match, nowhere said", err == nil && found.Output == "No matches found", found, err)
	_, err = client.GrepSearch(ctx, wire.GrepRequest{Pattern: "("})
	checks.that("what is no expression", refused(err) != nil && refused(err).Code == 400, err)

	globbed, err := client.FileGlob(ctx, "tree", "*.go", 0)
	checks.fine("FileGlob", err)
	paths := globbed.Count == 2 && len(globbed.Files) == 2 && strings.HasSuffix(globbed.Files[0], "below/new.go")
	checks.that("names are found at any depth, newest first", paths && strings.Contains(globbed.Output, "old.go"), globbed)
	globbed, err = client.FileGlob(ctx, "tree", "**/*", 1)
	checks.that("a limit of names", err == nil && globbed.Truncated && len(globbed.Files) == 1, globbed, err)
	globbed, err = client.FileGlob(ctx, "tree", ".dot*", 0)
	checks.that("hidden names", err == nil && globbed.Count == 1, globbed, err)
}

func lines(checks *checks, client *wire.Client) {
	ctx := context.Background()
	checks.fine("JSONLAppend", client.JSONLAppend(ctx, "log.jsonl", `{"a":1}`))
	checks.fine("JSONLAppend of several", client.JSONLAppend(ctx, "log.jsonl", []string{"2", "[3]"}))
	count, err := client.JSONLCount(ctx, "log.jsonl")
	checks.that("JSONLCount", err == nil && count == 3, count, err)
	two := 2
	read, err := client.JSONLRead(ctx, "log.jsonl", 1, &two)
	checks.that("JSONLRead of some", err == nil && strings.Join(read, "|") == "2|[3]", read, err)
	read, err = client.JSONLRead(ctx, "log.jsonl", 0, nil)
	checks.that("JSONLRead of all", err == nil && len(read) == 3 && read[0] == `{"a":1}`, read, err)
	_, err = client.JSONLCount(ctx, "none.jsonl")
	checks.that("JSONLCount of nothing", refused(err) != nil && refused(err).Code == 404, err)
}
