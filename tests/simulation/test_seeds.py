"""Across modules: does the network keep its promises in thousands of seeded runs, to the byte?"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from headgate.simulation.counting import FLOOR, Counts, hardly_taken, in_words
from headgate.simulation.running import run, run_portion
from headgate.simulation.schedules import FAULTS
from tests.proofs import COUNTED, proof_size

PARTS = 20
SEEDS = proof_size(test=2_000, soak=100_000)
FIRST = int(os.environ.get("HEADGATE_FIRST_SEED", "0"))

EXPECTED = [
    *(f"fault: {fault.__struct_config__.tag}" for fault in FAULTS),
    "beginning of a stream removed", "owed and removed", "records removed",
    "subscription from an offset",
    "attach served here", "attach upstream", "batch against an old version", "batch refused",
    "bytes in pieces", "catching up apart", "checkpoint", "client moved",
    "connection ended by a version", "conservative send", "dial into a partition", "dial refused",
    "disk full at a sync", "failover", "frames repeated", "gap", "garbage injected",
    "held for a version", "held for causal order",
    "killed midway", "killed with unsynced writes", "late acknowledgement refused", "lease lost",
    "link closed by a core", "link late after a partition", "link lost in a partition",
    "local start", "match at an old version", "new principal", "nobody advertises it",
    "nonsense refused", "publication of a domain refused", "repeated record",
    "publication known already", "publication refused", "publication refused for now",
    "publication repeated", "publication without answer", "read from the log", "remote start",
    "repeated publication", "slow consumer", "starting point", "subscription ended by its broker",
    "subscription refused", "subscription resumed by its client", "takeover of a durable name",
    "torn write", "view for a domain", "withheld at the subscriber's broker",
    "withheld from a domain",
]  # fmt: skip
"""What must have happened somewhere, or the seeds prove less than they say."""


def seeds_of(part: int) -> range:
    return range(FIRST + SEEDS * part // PARTS, FIRST + SEEDS * (part + 1) // PARTS)


@pytest.mark.proof
@pytest.mark.parametrize("part", range(PARTS))
def test_every_seed_keeps_every_promise(
    part: int, parts: Path, record_property: Callable[[str, object], None]
) -> None:
    summary = run_portion(seeds_of(part))
    assert not summary.failed, f"try `headgate simulate --seed {summary.failed[0][0]}`"
    assert hardly_taken(summary.counts, ["deliveries", "records", "versions"], floor=100) == []
    total = sum_of_parts(parts, part, summary.counts)
    if total is not None:
        record_property(COUNTED, f"{SEEDS:,} runs, {in_words(total)}")
        assert hardly_taken(total, EXPECTED) == []


@pytest.fixture
def parts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the counts of all parts, whichever worker runs them."""
    base = tmp_path_factory.getbasetemp()
    found = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "parts"
    found.mkdir(exist_ok=True)
    return found


def sum_of_parts(parts: Path, part: int, counts: Counts) -> Counts | None:
    """The counts of all parts, for the last of them to be done."""
    unfinished = parts / f"{part}.unfinished"
    unfinished.write_text(json.dumps(counts))
    unfinished.rename(parts / f"{part}.json")
    done = sorted(parts.glob("*.json"))
    if len(done) < PARTS:
        return None
    total = Counts()
    for path in done:
        total.add(json.loads(path.read_text()))
    return total


def test_the_last_part_to_be_done_sums_all(tmp_path: Path) -> None:
    counts = [sum_of_parts(tmp_path, part, Counts(kill=part)) for part in range(PARTS)]
    assert counts == [*[None] * (PARTS - 1), {"kill": sum(range(PARTS))}]


def test_what_is_hardly_taken_is_seen() -> None:
    counts = Counts(dict.fromkeys(EXPECTED, FLOOR))
    assert hardly_taken(counts, EXPECTED) == []
    del counts["failover"]
    assert hardly_taken(counts, EXPECTED) == ["failover (0)"]


DIGEST = """
import hashlib
from headgate.simulation.running import run
for seed in range(6):
    outcome = run(seed, trace=True)
    print(seed, hashlib.sha256("\\n".join(outcome.trace).encode()).hexdigest())
"""


@pytest.mark.parametrize("hash_seed", ["0", "1", "4711"])
def test_a_seed_gives_the_same_trace_to_the_byte_however_names_are_hashed(hash_seed: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", DIGEST],
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=True,
    )
    here = [
        hashlib.sha256("\n".join(run(seed, trace=True).trace).encode()).hexdigest()
        for seed in range(6)
    ]
    assert done.stdout.split() == [word for pair in enumerate(here) for word in map(str, pair)]
