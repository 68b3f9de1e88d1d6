"""Is the memory of a workspace clean between calls, and never shared with who still reads it?"""

import numpy as np

from headgate.matching import layout
from headgate.matching.workspaces import Workspace


def find(workspace: Workspace, size: int) -> None:
    workspace.prepare(1, 1, 1, 1, 1)
    while size > len(workspace.found):
        workspace.room_for_found(2 * len(workspace.found))


def test_large_finds_are_handed_out_and_used_again_when_let_go() -> None:
    workspace = Workspace()
    find(workspace, 50_000)
    first = workspace.take_found(50_000)
    memory = first.base
    assert first.base is workspace.found
    find(workspace, 50_000)
    second = workspace.take_found(50_000)
    assert second.base is not memory
    find(workspace, 50_000)
    third = workspace.take_found(50_000)
    assert third.base is not memory
    assert third.base is not second.base


def test_small_finds_are_copies() -> None:
    workspace = Workspace()
    find(workspace, 10)
    assert workspace.take_found(10).base is None


def test_epochs_start_again_before_they_run_out() -> None:
    workspace = Workspace()
    workspace.prepare(4, 4, 10, 100, 10)
    workspace.words[layout.EPOCH] = 200
    workspace._seen[:] = 200
    workspace._epochs = 1_000_100
    workspace.prepare(4, 4, 10, 100, 10)
    assert workspace.words[layout.EPOCH] == 0
    assert not np.any(workspace._seen)


def test_room_grows_without_losing_what_was_found() -> None:
    workspace = Workspace()
    workspace.found[:3] = [1, 2, 3]
    workspace.words[layout.FOUND_COUNT] = 3
    workspace.room_for_found(100_000)
    assert workspace.found[:3].tolist() == [1, 2, 3]
    workspace.candidates[:4] = [1, 2, 3, 4]
    workspace.words[layout.CANDIDATE_COUNT] = 2
    workspace.room_for_candidates(5_000)
    assert workspace.candidates[:4].tolist() == [1, 2, 3, 4]
