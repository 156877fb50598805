#!/usr/bin/env bash
# Installs VS Code (code-server) in .tools/code-server with what scripts/code-server pins, and the Node.js it needs; does
# nothing while the pins stay the same. Nothing is compiled: of the native parts only those are used that come built, and
# the rest (a log library, a watchdog, Kerberos) VS Code does without. When it cannot be installed it says what is lost and
# goes on when it is for running, and fails when it is for testing.
#
#   setup-code-server.sh run|test

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

purpose="${1:-run}"
pins="$repository/scripts/code-server"
place="$tools/code-server"

wanted="$(fingerprint "$pins")"
if stamped "$place/.stamp" "$wanted" && [[ -x "$place/bin/code-server" ]]; then
    exit 0
fi

give_up() {
    rm -rf "$place"
    [[ "$purpose" != test ]] || fail "no VS Code: $1"
    step "going on without VS Code: $1"
    exit 0
}

have npm || give_up 'it is installed with npm (apt-get install nodejs npm)'
npm_quietly() { npm --no-audit --no-fund --ignore-scripts --loglevel=error "$@" >&2; }

step 'installing VS Code in .tools/code-server (800 MB on disk; a minute or so)'
rm -rf "$place"
mkdir -p "$place/bin"
cp "$pins/package.json" "$pins/package-lock.json" "$pins/.npmrc" "$place/"
note '1/3: code-server and Node.js'
npm_quietly --prefix "$place" ci || give_up 'its package could not be installed'
code_server="$place/node_modules/code-server"
note '2/3: the packages of VS Code'
# Its own list of versions lacks one package, so that `npm ci` refuses it; all others are taken from the list.
npm_quietly --prefix "$code_server/lib/vscode" install --omit=dev || give_up 'its packages could not be installed'
note '3/3: the packages of its extensions'
npm_quietly --prefix "$code_server/lib/vscode/extensions" install --omit=dev ||
    give_up "its extensions' packages could not be installed"

node="$(find "$place/node_modules" -path '*/node-linux-*/bin/node' | head -n 1)"
[[ -n "$node" ]] || give_up "there is no Node.js 24 for this machine ($(uname -m))"
cat >"$place/bin/code-server" <<END
#!/bin/sh
exec '$node' '$code_server/out/node/entry.js' "\$@"
END
chmod +x "$place/bin/code-server"
home="$(mktemp -d)"
HOME="$home" "$place/bin/code-server" --version >/dev/null || give_up 'it does not start'
rm -rf "$home"
printf '%s' "$wanted" >"$place/.stamp"
