// Command probe calls every method of the client against a running sandbox and ends with 1 when an answer is not what it
// must be. It prints a line per check.
//
//	probe files   BASE SECRET    sandbox, bash, files, search and lines
//	probe browser BASE SECRET    the browser
//	probe auth    BASE SECRET    tokens that are good, expired, forged or missing
package main

import (
	"fmt"
	"os"
	"strings"
)

type checks struct {
	count  int
	failed int
}

func (checks *checks) that(name string, holds bool, seen ...any) {
	checks.count++
	if holds {
		fmt.Println("ok", name)
		return
	}
	checks.failed++
	fmt.Println("FAILED", name, strings.TrimSpace(fmt.Sprintf("%+q", seen)))
}

func (checks *checks) fine(name string, err error) {
	checks.that(name, err == nil, err)
}

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: probe files|browser|auth BASE SECRET")
		os.Exit(2)
	}
	parts := map[string]func(*checks, string, string){"files": files, "browser": browser, "auth": auth}
	part, known := parts[os.Args[1]]
	if !known {
		fmt.Fprintln(os.Stderr, "no part", os.Args[1])
		os.Exit(2)
	}
	var checks checks
	part(&checks, os.Args[2], os.Args[3])
	fmt.Println(checks.count, "checks,", checks.failed, "failed")
	if checks.failed != 0 || checks.count == 0 {
		os.Exit(1)
	}
}
