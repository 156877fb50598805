#!/usr/bin/env bash
# Runs the tests in sections, cheapest first, and stops at the first that fails.
#
#   test.sh [section...]     sections: format lint rust contract sdk mcp ui; all of them when none is named

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

all=(format lint rust contract sdk mcp ui)
sections=("$@")
[[ ${#sections[@]} != 0 ]] || sections=("${all[@]}")
summary=()

format() { cargo fmt --all --check; }
lint() { cargo clippy --workspace --all-targets --quiet -- -D warnings; }
rust() { cargo test --workspace; }
contract() { python_tests contract; }
sdk() { python_tests sdk; }
mcp() { python_tests mcp; }
ui() { npm --prefix "$repository/web" run --silent check && python_tests ui; }

# Steps of a section are chained with &&: `set -e` does not reach into a function whose failure is looked at.
# The Python suites drive the binary the Rust tests were built with: `cargo build` would choose other features and
# compile half the tree a second time.
python_tests() {
    cargo test --workspace --no-run --quiet &&
        ATOLL_BIN="$target/debug/atoll" "$tools/test-venv/bin/python" -m pytest -c "$repository/tests/pytest.ini" \
            "$repository/tests/$1"
}

cd "$repository"
for section in "${sections[@]}"; do
    [[ " ${all[*]} " == *" $section "* ]] || fail "no test section '$section': use ${all[*]}"
    step "$section"
    started=$SECONDS
    code=0
    "$section" || code=$?
    summary+=("$(printf '%-10s %4d s' "$section" $((SECONDS - started)))")
    if [[ $code != 0 ]]; then
        step "FAILED: $section (exit code $code). Again with: make test SECTIONS=$section"
        printf '    %s\n' "${summary[@]}" >&2
        exit "$code"
    fi
done
step 'passed'
printf '    %s\n' "${summary[@]}" >&2
