#!/usr/bin/env bash
# Prints the first Python (3.9 or later) that can make a virtual environment; fails when there is none.
# A machine may have several: pyenv's in front of Debian's, the latter without ensurepip unless python3-venv is there.

set -euo pipefail

for python in python3 /usr/bin/python3; do
    if "$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 9))' 2>/dev/null; then
        command -v "$python"
        exit 0
    fi
done
echo 'no Python 3.9+ with venv and ensurepip found: install python3 and python3-venv' >&2
exit 1
