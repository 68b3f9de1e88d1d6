# What this machine offers: sets `python` and `uv`, and tells uv what pip was told. Is sourced.

PYTHON_NEEDED="3.11"
UV_NEEDED="0.5.0"

stop() {
    printf '%s\n' "$1" >&2
    exit 1
}

python_fits() {
    "$1" -c "import sys; sys.exit(sys.version_info < ($(echo "$PYTHON_NEEDED" | tr . ,)))" >/dev/null 2>&1
}

# The path behind a name such as `python3`: a version manager's shim must not end up in .venv.
find_python() {
    for name in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11}; do
        if python_fits "$name"; then
            "$name" -c 'import sys; print(sys.executable)'
            return
        fi
    done
    name=${PYTHON:-python3}
    stop "needs Python $PYTHON_NEEDED or newer, and \`$name\` says \`$("$name" --version 2>&1 | tail -n 1)\`; on Debian: apt-get install python3 python3-venv, or name another: make setup PYTHON=/path/to/python3"
}

has_pip() { "$1" -m pip --version >/dev/null 2>&1; }
has_venv() { "$1" -c 'import ensurepip, venv' 2>/dev/null; }

uv_fits() {
    found=$("$1" --version 2>/dev/null | awk '{print $2}') || return 1
    [ -n "$found" ] || return 1
    [ "$(printf '%s\n%s\n' "$UV_NEEDED" "$found" | sort -V | head -n 1)" = "$UV_NEEDED" ]
}

pip_install_uv() {
    # PIP_USER: a machine-wide `user = true` cannot be combined with --target.
    PIP_USER=0 "$1" -m pip install --quiet --disable-pip-version-check --root-user-action=ignore \
        --no-deps --require-hashes --only-binary=:all: --upgrade \
        --target .tools/uv -r requirements/uv.txt ||
        stop "\`pip\` could not install \`uv\` (its message is above); with another way to install it, put \`uv\` on the PATH and run make setup again"
}

install_uv() {
    echo "installing uv into .tools/" >&2
    if has_pip "$1"; then
        pip_install_uv "$1"
    elif has_venv "$1"; then
        "$1" -m venv .tools/pip
        pip_install_uv .tools/pip/bin/python
    else
        stop "needs \`uv\`, or \`pip\` or \`venv\` to install it, and \`$1\` has none of them; on Debian: apt-get install python3-venv"
    fi
}

# What pip was told about this machine, uv should know too: it reads none of pip's settings.
pip_setting() {
    "$1" -m pip config list 2>/dev/null |
        sed -n "s/^\(global\|install\|:env:\)\.$2='\(.*\)'$/\2/p" | tail -n 1
}

tell_uv_about_the_machine() {
    export UV_PYTHON_DOWNLOADS=never
    if [ -z "${UV_DEFAULT_INDEX:-}${UV_INDEX_URL:-}" ]; then
        index=$(pip_setting "$1" index-url)
        [ -z "$index" ] || export UV_DEFAULT_INDEX="$index"
    fi
    if [ -z "${SSL_CERT_FILE:-}" ]; then
        certificates=$(pip_setting "$1" cert)
        if [ -n "$certificates" ]; then
            export SSL_CERT_FILE="$certificates"
        elif [ -s /etc/ssl/certs/ca-certificates.crt ]; then
            # Without it uv trusts only its own list, and a company's authority is not on it.
            export SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt
        fi
    fi
}

python=$(find_python)
uv=.tools/uv/bin/uv
if uv_fits uv; then
    uv=uv
elif ! uv_fits "$uv"; then
    install_uv "$python"
fi
tell_uv_about_the_machine "$python"
