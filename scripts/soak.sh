#!/usr/bin/env bash
# Runs the long tests (tests/soak/soak.py) against the release binary. Arguments go to it.

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

ATOLL_BIN="${ATOLL_BIN:-$target/release/atoll}" exec python3 "$repository/tests/soak/soak.py" "$@"
