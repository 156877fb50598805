#!/usr/bin/env bash
# Makes .tools/test-venv with what tests/requirements.txt pins; does nothing while that and Python stay the same.

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

venv="$tools/test-venv"
wanted="$(fingerprint "$repository/tests/requirements.txt")"

# A venv whose interpreter was removed since has a dangling link here, and is made anew.
if stamped "$venv/.stamp" "$wanted" && [[ -x "$venv/bin/python" ]]; then
    exit 0
fi

python="$("$repository/scripts/find-python.sh")"
step "installing the Python test environment in .tools/test-venv ($("$python" -V))"
rm -rf "$venv"
mkdir -p "$tools"
"$python" -m venv "$venv"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps -r "$repository/tests/requirements.txt"
printf '%s' "$wanted" >"$venv/.stamp"
