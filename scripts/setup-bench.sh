#!/usr/bin/env bash
# Installs the peers of the bench: the Python ones in .tools/bench/venv, the npm one in .tools/bench/npm, programs of the
# system as packages. Does nothing while their pins stay the same. A peer that cannot be installed is told and left out: the bench runs without it.

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

pins="$repository/crates/bench/peers"
bench="$tools/bench"
mkdir -p "$bench"

install_python_peers() {
    local venv="$bench/venv" wanted python
    wanted="$(fingerprint "$pins/requirements.txt")"
    # A venv whose interpreter was removed since has a dangling link here, and is made anew.
    if stamped "$venv/.stamp" "$wanted" && [[ -x "$venv/bin/python" ]]; then
        return 0
    fi
    python="$("$repository/scripts/find-python.sh")" || return 1
    step "installing swe-rex, terminado, Playwright and websockify in .tools/bench/venv ($("$python" -V))"
    rm -rf "$venv"
    "$python" -m venv "$venv" &&
        "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps -r "$pins/requirements.txt" &&
        "$venv/bin/python" -m compileall -q "$venv/lib" >/dev/null 2>&1 || return 1
    printf '%s' "$wanted" >"$venv/.stamp"
}

install_mcp_peers() {
    local venv="$bench/mcp-venv" wanted python
    wanted="$(fingerprint "$pins/mcp-requirements.txt")"
    if stamped "$venv/.stamp" "$wanted" && [[ -x "$venv/bin/python" ]]; then
        return 0
    fi
    python="$("$repository/scripts/find-python.sh")" || return 1
    step "installing FastMCP in .tools/bench/mcp-venv ($("$python" -V))"
    rm -rf "$venv"
    "$python" -m venv "$venv" &&
        "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps -r "$pins/mcp-requirements.txt" \
            >&2 || return 1
    printf '%s' "$wanted" >"$venv/.stamp"
}

install_convert_peers() {
    local venv="$bench/convert-venv" wanted python
    wanted="$(fingerprint "$pins/convert-requirements.txt")"
    if stamped "$venv/.stamp" "$wanted" && [[ -x "$venv/bin/python" ]]; then
        return 0
    fi
    python="$("$repository/scripts/find-python.sh")" || return 1
    step "installing markitdown in .tools/bench/convert-venv ($("$python" -V))"
    rm -rf "$venv"
    "$python" -m venv "$venv" &&
        "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps -r "$pins/convert-requirements.txt" \
            >&2 || return 1
    printf '%s' "$wanted" >"$venv/.stamp"
}

install_npm_peers() {
    local packages="$bench/npm" wanted
    wanted="$(fingerprint "$pins/package.json" "$pins/package-lock.json")"
    if stamped "$packages/.stamp" "$wanted"; then
        return 0
    fi
    have npm || return 1
    step 'installing @sandbox-agent/cli and the MCP reference server in .tools/bench/npm'
    rm -rf "$packages"
    mkdir -p "$packages"
    cp "$pins/package.json" "$pins/package-lock.json" "$pins/.npmrc" "$packages/"
    npm --prefix "$packages" ci --no-audit --no-fund --loglevel=error >&2 || return 1
    # All that the package's install script, which is not run, would do.
    chmod +x "$packages"/node_modules/@sandbox-agent/cli-*/bin/sandbox-agent || return 1
    printf '%s' "$wanted" >"$packages/.stamp"
}

cp "$pins"/*.py "$bench/"
"$repository/scripts/setup-system.sh" bench
install_python_peers || {
    rm -rf "$bench/venv"
    note 'swe-rex, terminado, Playwright and websockify are left out: they need Python 3.10 or later with venv (apt-get install python3-venv)'
}
install_npm_peers || {
    rm -rf "$bench/npm"
    note '@sandbox-agent/cli is left out: it needs Node.js with npm (apt-get install nodejs npm)'
}
install_mcp_peers || {
    rm -rf "$bench/mcp-venv"
    note 'FastMCP is left out: it needs Python 3.10 or later with venv (apt-get install python3-venv)'
}
install_convert_peers || {
    rm -rf "$bench/convert-venv"
    note 'markitdown is left out: it needs Python 3.10 or later with venv (apt-get install python3-venv)'
}
