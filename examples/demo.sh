#!/usr/bin/env bash
# Figure 1 of Zhao & Sturman, played by a real broker with a live market feed: John Doe joins the
# promotional group, becomes premium, and expires. KEEP=1 leaves the broker running.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH="$PWD/.venv/bin:$PATH"

say() { printf '\n%s\n' "$*"; }

if [ -n "${KEEP:-}" ]; then
    data=${DEMO_DATA:-$PWD/build/demo}
    if [ -e "$data/demo.pid" ] && kill -0 "$(cat "$data/demo.pid")" 2>/dev/null; then
        echo "a broker of an earlier demo still runs: stop it by \`kill $(cat "$data/demo.pid")\`" >&2
        exit 1
    fi
    rm -rf "$data"
else
    data=$(mktemp -d)
fi
mkdir -p "$data"
broker=
clean_up() {
    [ -z "$broker" ] || kill "$broker" 2>/dev/null || true
    [ -z "$broker" ] || wait "$broker" || true
    rm -rf "$data"
}
trap clean_up EXIT

say "1. Three people with passwords, and a broker on a free port of this machine."
for name in exchange jane john; do
    echo "the password of $name" | headgate user add "$name" --data "$data" --password-file -
done
: >"$data/broker.log"
HEADGATE_HTTP_PORT=0 HEADGATE_LOGGING_LEVEL=warning \
    headgate up --data "$data" --broker demo >>"$data/broker.log" 2>&1 &
broker=$!
until grep -q '^Ctrl-C' "$data/broker.log"; do
    kill -0 "$broker" 2>/dev/null || { cat "$data/broker.log" >&2; exit 1; }
    sleep 0.1
done
head -n -1 "$data/broker.log"
url=$(sed -n 's/^ *http  *//p' "$data/broker.log")

export HEADGATE_URL="$url" HEADGATE_DATA="$data"
python examples/market.py "$url" "$data"

if [ -n "${KEEP:-}" ]; then
    echo "$broker" >"$data/demo.pid"
    disown "$broker"
    trap - EXIT
    say "The broker goes on at $url (process $broker). Try it:"
    cat <<END
    export HEADGATE_URL=$url HEADGATE_DATA=$data PATH="$PWD/.venv/bin:\$PATH"
    headgate status
    headgate policy history
    headgate policy explain --principal john --event '{"type": "news", "issue": "ibm"}'
    HEADGATE_PASSWORD='the password of john' headgate sub --as john --filter "issue = 'ibm'"
    kill $broker    # stops it
END
fi
