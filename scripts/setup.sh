#!/usr/bin/env bash
# Sets this machine up: system packages, web pages, the sandbox's Python and VS Code and, for tests, their own. Safe to
# run again; when nothing is to do it says nothing.
#
#   setup.sh run|test

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

purpose="${1:-run}"
[[ "$purpose" == run || "$purpose" == test ]] || fail "unknown purpose '$purpose': use run or test"

"$repository/scripts/setup-system.sh" "$purpose"
"$repository/scripts/setup-web.sh"
"$repository/scripts/setup-sandbox-python.sh" "$purpose"
"$repository/scripts/setup-code-server.sh" "$purpose"
if [[ "$purpose" == test ]]; then
    "$repository/scripts/setup-python.sh"
    "$repository/scripts/setup-npm.sh"
fi
