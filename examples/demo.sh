#!/usr/bin/env bash
# A short story with filters and policies: what a right allows, and what a subscriber then sees.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH="$PWD/.venv/bin:$PATH"

bold='' plain=''
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then bold=$'\033[1m' plain=$'\033[0m'; fi

say() { printf '\n%s%s%s\n' "$bold" "$*" "$plain"; }
show() {
    printf '$ headgate filter explain'
    for word in "$@"; do
        case $word in
            --*) printf ' %s' "$word" ;;
            *\'*) printf ' "%s"' "$word" ;;
            *) printf " '%s'" "$word" ;;
        esac
    done
    printf '\n'
    headgate filter explain "$@"
}

say "1. A shop shares its announcements, with a right in the papers' own notation."
right='(string message new_product)'
show "$right"

say "2. A partner wants cheap news: the right covers it. Weather it does not cover, and an event shows why."
show "$right" '(string message new_product, integer price < 100)'
show "$right" "weather = 'sunny' AND temperature > 25"

say "3. A strict right limits the attributes, too: who may read message and price gets no colour."
show '(string message any, integer price any)' \
    --event '{"message": "new_product", "price": 23, "color": "red"}'

say "4. A lower bound asks a publisher to stay with what it knows: price is fine, a colour alone is not."
show '(string message new_product, integer price < 100)' '(string message new_product, integer price < 53)'
show '(string message new_product, integer price < 100)' '(string message new_product, string color any)'

say "5. Only together do these two alternatives cover the third filter; no part of them does alone."
show 'price < 50 OR price >= 50 AND symbol IS STRING' "symbol = 'IBM' AND price BETWEEN 10 AND 90"

say "6. What can't be read is refused, with the place and what was expected."
headgate filter explain "price >= 10 AND" || true

store=$(mktemp -d)
trap 'rm -rf "$store"' EXIT
export HEADGATE_STORE="$store/policy"
policy() {
    printf '$ headgate policy'
    for word in "$@"; do
        case $word in
            *[!A-Za-z0-9./-]*) printf " '%s'" "$word" ;;
            *) printf ' %s' "$word" ;;
        esac
    done
    printf '\n'
    headgate policy "$@"
}
event='{"type": "quote", "symbol": "IBM", "price": 101, "volume": 5000}'

say "7. A policy stands in a file, with tests that say what it is for. Applied, it is version 1."
policy test examples/policy.yaml
policy apply examples/policy.yaml --as ann --why "The first customers"

say "8. John is in the promotional group: dear quotes are not for him, and it says why."
policy explain --principal john --event "$event"

say "9. John becomes premium: two changes make version 2, and the same question has another answer."
sed -e 's/\[john\]/[]/' -e 's/\[jane, james\]/[jane, james, john]/' examples/policy.yaml >"$store/policy.yaml"
policy diff "$store/policy.yaml"
policy apply "$store/policy.yaml" --as ann --why "John is premium" --expect 1
policy explain --principal john --event "$event"

say "10. Nothing is overwritten: what he might see at version 1 is still known."
policy explain --principal john --event "$event" --version 1
