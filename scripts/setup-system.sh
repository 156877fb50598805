#!/usr/bin/env bash
# Installs the system packages that are missing for building, running or testing.
#
#   setup-system.sh run|test|bench
#
# It looks for commands, not packages, so a tool from any source will do. Nothing is downloaded when all is there.
# Without root it names the packages: missing required ones stop it, optional ones only cost what they are for.

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

purpose="${1:-run}"
required=()
optional=()
lost=()

need() { required+=("$@"); }

# want WHAT-IS-LOST PACKAGE...
want() {
    lost+=("$1")
    optional+=("${@:2}")
}

links_programs() { have cc && echo 'int main(void){return 0;}' | cc -x c - -o /dev/null 2>/dev/null; }

find_missing() {
    local browser=(chromium fonts-liberation)
    local desktop=(tigervnc-standalone-server openbox ffmpeg fonts-noto-cjk fonts-noto-color-emoji)
    required=() optional=() lost=()
    have bash || need bash
    have setsid || need util-linux
    links_programs || need gcc libc6-dev
    [[ -e /etc/ssl/certs/ca-certificates.crt || -n "${SSL_CERT_FILE:-}" ]] || need ca-certificates
    { have node && have npm; } || want 'the page at /v1/docs and the nodejs package list' nodejs npm
    if [[ "$purpose" == test ]]; then
        # Tests of what is not there would be no tests: here it is required.
        have chromium || need "${browser[@]}"
        { have Xvnc && have openbox && have ffmpeg && have ffprobe; } || need "${desktop[@]}"
        { have ffmpeg && have ffprobe; } || need ffmpeg
        [[ -x "$tools/test-venv/bin/python" ]] || "$repository/scripts/find-python.sh" >/dev/null 2>&1 ||
            need python3 python3-venv
        have go || [[ -x /usr/local/go/bin/go ]] || need golang-go
        have curl || need curl
        have openssl || need openssl
        { have ps && have top; } || want 'the test that runs top' procps
        have less || want 'the test that runs less' less
        have vim || want 'the test that runs vim' vim
        have sudo || want 'the tests of files read and written with sudo' sudo
    elif [[ "$purpose" == bench ]]; then
        have rg || want 'ripgrep in the search contest' ripgrep
        have fdfind || want 'fd in the search contest' fd-find
        have import || want 'ImageMagick in the desktop contest' imagemagick
        [[ -x /usr/sbin/nginx ]] || want 'nginx in the transfer and preview contests' nginx-light
    else
        have chromium || want 'the browser' "${browser[@]}"
        { have Xvnc && have openbox && have ffmpeg; } ||
            want 'the desktop: screenshots, mouse and keyboard, VNC, recordings' "${desktop[@]}"
        have ffmpeg || want 'recordings that web pages can play' ffmpeg
        have python3 || want 'the Python package list' python3
    fi
}

apt() {
    local root=()
    [[ "$(id -u)" == 0 ]] || root=(sudo -n)
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq "$@" >&2
}

may_install() {
    have apt-get && { [[ "$(id -u)" == 0 ]] || { have sudo && sudo -n true 2>/dev/null; }; }
}

have cargo || fail 'cargo is not installed. Install Rust with rustup, then run this again.'

find_missing
missing=("${required[@]}" "${optional[@]}")
[[ ${#missing[@]} == 0 ]] && exit 0

if may_install; then
    step "installing system packages: ${missing[*]}"
    apt update || note 'apt-get update failed; trying with the lists at hand'
    if ! apt install -y --no-install-recommends "${missing[@]}"; then
        note 'that failed; trying the required ones alone'
        [[ ${#required[@]} == 0 ]] || apt install -y --no-install-recommends "${required[@]}" || true
    fi
    find_missing
fi

if [[ ${#optional[@]} != 0 ]]; then
    step "going on without: ${lost[*]/%/;}"
    note "to have it: apt-get install ${optional[*]}"
fi
if [[ ${#required[@]} != 0 ]]; then
    fail "required system packages are missing. As root: apt-get install ${required[*]}"
fi
