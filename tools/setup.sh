#!/bin/sh
# Makes .venv/ from the lock file, with nothing on the machine but a Python and pip or venv.
set -eu
cd "$(dirname "$0")/.."
. tools/machine.sh

if ! python_fits .venv/bin/python; then
    "$uv" venv --quiet --clear --python "$python" .venv
fi
echo "installing what requirements/dev.txt locks into .venv/" >&2
# Compiled once here: a command that a person types shall not compile it again.
"$uv" pip sync --quiet --require-hashes --compile-bytecode --python .venv/bin/python requirements/dev.txt
"$uv" pip install --quiet --no-deps --no-build-isolation --python .venv/bin/python --editable .
touch .venv/.complete
