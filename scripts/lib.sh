# shellcheck shell=bash
# Shared by the scripts here: progress lines, and installing what is missing. Source it, do not run it.

# shellcheck disable=SC2034  # the scripts that source this use them
repository="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
# shellcheck disable=SC2034
tools="$repository/.tools"
# shellcheck disable=SC2034
target="${CARGO_TARGET_DIR:-$repository/target}"

step() { printf '==> %s\n' "$*" >&2; }
note() { printf '    %s\n' "$*" >&2; }
fail() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}
have() { command -v "$1" >/dev/null 2>&1; }

# Prints one hash over the contents and names of the given files and directories.
fingerprint() {
    find "$@" -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum | cut -d ' ' -f 1
}

# Whether stamp file $1 holds $2.
stamped() { [[ -f "$1" && "$(<"$1")" == "$2" ]]; }
