#!/usr/bin/env bash
# Rewrites the committed files in contract/: our OpenAPI document, and the list of AIO operations we lack.

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

cd "$repository"
cargo test --workspace --no-run --quiet
document="$(mktemp)"
trap 'rm -f "$document"' EXIT
"$target/debug/atoll" openapi >"$document"
install -m 644 "$document" contract/openapi.json
step 'wrote contract/openapi.json'
"$tools/test-venv/bin/python" tests/contract/missing.py --write
