#!/usr/bin/env bash
# Starts the release binary in the foreground, with a word on where it is and what it may do.
#
#   run.sh [serve's arguments]

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

listen="${ATOLL_LISTEN:-127.0.0.1:8080}"
previous=''
for argument in "$@"; do
    [[ "$previous" == --listen ]] && listen="$argument"
    [[ "$argument" == --listen=* ]] && listen="${argument#--listen=}"
    previous="$argument"
done

step 'Atoll is starting. Stop it with Ctrl-C.'
if [[ "$listen" == */* ]]; then
    note "API        unix socket $listen"
else
    note "Dashboard  http://$listen/"
    note "Terminal   http://$listen/terminal"
    ! have Xvnc || note "Desktop    http://$listen/vnc/index.html?autoconnect=true"
    note "API        http://$listen/v1/sandbox"
    note "API docs   http://$listen/v1/docs"
    [[ ! -x "$tools/sandbox-python/bin/jupyter-lab" ]] || note "Jupyter    http://$listen/jupyter/lab"
    [[ ! -x "$tools/code-server/bin/code-server" ]] || note "VS Code    http://$listen/code-server/"
    note "OpenAPI    http://$listen/v1/openapi.json"
fi
note "WARNING    no isolation yet: commands sent to it run with your own rights, as user $(id -un), on this machine"

# The sandbox's own Python comes first, for kernels and for `pip` in its shells alike.
[[ ! -x "$tools/sandbox-python/bin/python" ]] || export PATH="$tools/sandbox-python/bin:$PATH"
# Last: whoever has a code-server of their own uses that.
[[ ! -x "$tools/code-server/bin/code-server" ]] || export PATH="$PATH:$tools/code-server/bin"
# The name that documents of others use.
ln -sfn atoll "$target/release/aio"
exec "$target/release/atoll" serve "$@"
