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
    npm --prefix "$web" run build --silent >&2
    printf '%s' "$sources_hash" >"$web/node_modules/.built"
fi
