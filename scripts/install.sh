#!/usr/bin/env bash
# Puts a built atoll, its other name aio, the manual pages and the completions where shells find them.
#
#   install.sh PROGRAM [PREFIX]        PREFIX is ~/.local unless named

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

program="${1:?the built program}"
prefix="${2:-$HOME/.local}"
atoll="$prefix/bin/atoll"

# Under another name first: a server that runs from there keeps its program.
install -D "$program" "$atoll.new"
mv "$atoll.new" "$atoll"
ln -sfn atoll "$prefix/bin/aio"

mkdir -p "$prefix/share/man/man1"
"$atoll" man --directory "$prefix/share/man/man1" >/dev/null
bash="$prefix/share/bash-completion/completions" zsh="$prefix/share/zsh/site-functions" fish="$prefix/share/fish/vendor_completions.d"
mkdir -p "$bash" "$zsh" "$fish"
"$atoll" completions bash >"$bash/atoll"
"$atoll" completions zsh >"$zsh/_atoll"
"$atoll" completions fish >"$fish/atoll.fish"

note "installed $atoll and aio, manual pages and completions"
[[ ":$PATH:" == *":$prefix/bin:"* ]] || note "add $prefix/bin to your PATH to call them by name"
