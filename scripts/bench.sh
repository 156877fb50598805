#!/usr/bin/env bash
# Measures the release build beside its peers and prints the tables. A run of everything also puts them, with this
# machine described, into docs/benchmarks.md.
#
#   bench.sh [--quick] [contest...]

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

document="$repository/docs/benchmarks.md"
begin='<!-- bench: begin -->'
end='<!-- bench: end -->'

describe_machine() {
    local processor memory
    processor="$(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo | head -n 1)"
    memory="$(awk '/^MemTotal:/ {printf "%.0f GB", $2 * 1024 / 1e9}' /proc/meminfo)"
    printf 'Measured on %s at commit %s, on one machine:\n\n' "$(date -u +%Y-%m-%d)" "$(git_commit)"
    printf '| processor | cores | memory | kernel | system | bash |\n| --- | --- | --- | --- | --- | --- |\n'
    printf '| %s | %s | %s | %s | %s | %s |\n' "${processor:-$(uname -m)}" "$(nproc)" "$memory" \
        "$(uname -sr)" "$(. /etc/os-release && printf '%s' "${PRETTY_NAME:-unknown}")" "$BASH_VERSION"
}

git_commit() {
    local commit
    commit="$(git -C "$repository" rev-parse --short HEAD 2>/dev/null)" || commit='unknown'
    git -C "$repository" diff --quiet HEAD 2>/dev/null || commit+=' with changes'
    printf '%s' "$commit"
}

# Replaces what lies between the two marks of the document with standard input.
replace_tables() {
    local rewritten="$document.new"
    {
        sed "/^$begin\$/q" "$document"
        printf '\n'
        cat
        printf '\n'
        sed -n "/^$end\$/,\$p" "$document"
    } >"$rewritten"
    mv "$rewritten" "$document"
}

"$repository/scripts/setup-bench.sh"
step 'building the bench'
cargo build --release --package atoll-bench --manifest-path "$repository/Cargo.toml"

# A network namespace of its own, where that is allowed: nobody else's traffic, firewall or connection tracking in the
# times, and nothing a peer might send leaves the machine.
alone=()
if have ip && unshare --net ip link set lo up 2>/dev/null; then
    # shellcheck disable=SC2016  # the words are expanded by the inner shell
    alone=(unshare --net bash -c 'ip link set lo up && exec "$@"' bash)
else
    note 'no network namespace of its own: measuring in the ordinary one'
fi

tables="$(mktemp)"
trap 'rm -f "$tables"' EXIT
code=0
"${alone[@]}" "$target/release/atoll-bench" --atoll "$target/release/atoll" --peers "$tools/bench" \
    --python "$tools/sandbox-python/bin" \
    --markdown "$tables" "$@" || code=$?

if [[ $# == 0 && $code == 0 ]]; then
    { describe_machine && printf '\n' && cat "$tables"; } | replace_tables
    step 'the tables are in docs/benchmarks.md'
fi
exit "$code"
