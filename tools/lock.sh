#!/bin/sh
# Rewrites requirements/*.txt with the newest packages; options are handed to `uv pip compile`.
set -eu
cd "$(dirname "$0")/.."
. tools/machine.sh

# One lock for every platform, by hash, without a word on where packages come from.
lock() {
    target=$1
    shift
    "$uv" pip compile --quiet --upgrade --universal --python-version "$PYTHON_NEEDED" \
        --generate-hashes --no-header --no-emit-index-url --no-emit-find-links \
        --output-file "$target" "$@"
}

lock requirements/uv.txt requirements/uv.in "$@"
lock requirements/runtime.txt pyproject.toml "$@"
lock requirements/dev.txt pyproject.toml requirements/dev.in "$@"
