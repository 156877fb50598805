#!/usr/bin/env bash
# Makes .tools/sandbox-python, the Python that code run in the sandbox finds, with what sandbox-python.txt pins; does
# nothing while that and Python stay the same. Without a fitting Python it says what is lost and goes on when it is for
# running, and fails when it is for testing.
#
#   setup-sandbox-python.sh run|test

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

purpose="${1:-run}"
venv="$tools/sandbox-python"
pins="$repository/scripts/sandbox-python.txt"

# A venv whose interpreter was removed since has a dangling link here, and is made anew.
wanted="$(fingerprint "$pins")"
if stamped "$venv/.stamp" "$wanted" && [[ -x "$venv/bin/python" ]]; then
    exit 0
fi

# The first Python that is new enough for the pins and can make a virtual environment.
find_python() {
    local python
    for python in python3 python3.13 python3.12 python3.11 /usr/bin/python3; do
        if "$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            command -v "$python"
            return 0
        fi
    done
    return 1
}

give_up() {
    rm -rf "$venv"
    [[ "$purpose" != test ]] || fail "no Python environment for the sandbox: $1"
    step "going on without Python code execution: $1"
    exit 0
}

python="$(find_python)" || give_up 'it needs Python 3.11 or later with venv (apt-get install python3 python3-venv)'
step "installing the sandbox's Python in .tools/sandbox-python ($("$python" -V))"
rm -rf "$venv"
mkdir -p "$tools"
"$python" -m venv "$venv" || give_up 'the virtual environment could not be made'
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps -r "$pins" ||
    give_up 'its packages could not be installed'
printf '%s' "$wanted" >"$venv/.stamp"
