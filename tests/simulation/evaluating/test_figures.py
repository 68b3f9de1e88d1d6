"""Is the figure a picture with all lines in it, the same for the same numbers?"""

from __future__ import annotations

import builtins
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from PIL import Image

from headgate.simulation.evaluating.conditions import Conditions
from headgate.simulation.evaluating.evaluation import Evaluation, evaluate_network
from headgate.simulation.evaluating.figures import (
    PIXELS,
    FigureError,
    check_figure,
    draw_latencies,
)
from headgate.simulation.evaluating.latencies import Start


@pytest.fixture(scope="module")
def evaluation() -> Evaluation:
    return evaluate_network(Conditions(records=5), (1, 3), runs=2)


def test_a_png_opens_has_its_size_and_shows_four_colours(
    evaluation: Evaluation, tmp_path: Path
) -> None:
    path = tmp_path / "latencies.png"
    draw_latencies(evaluation, path)
    with Image.open(path) as image:
        image.load()
        assert (image.format, image.size) == ("PNG", PIXELS)
        colours = {colour for _, colour in image.convert("RGB").getcolors(2**24) or ()}
    assert {(0, 114, 178), (0, 158, 115), (230, 159, 0), (192, 57, 43)} <= colours


def test_an_svg_says_in_text_what_it_shows(evaluation: Evaluation, tmp_path: Path) -> None:
    path = tmp_path / "latencies.SVG"
    draw_latencies(evaluation, path)
    root = ElementTree.fromstring(path.read_bytes())  # our own
    said = " ".join(" ".join(root.itertext()).split())
    for label in ("steady delivery", *(how.value for how in Start), "latency, ms"):
        assert label in said
    assert "hops from the publisher's broker to the subscriber's" in said
    assert "2 runs" in said


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_the_same_numbers_give_the_same_bytes(
    evaluation: Evaluation, tmp_path: Path, ending: str
) -> None:
    one, other = (tmp_path / f"{name}.{ending}" for name in ("one", "other"))
    draw_latencies(evaluation, one)
    draw_latencies(evaluation, other)
    assert one.read_bytes() == other.read_bytes()


@pytest.mark.parametrize(
    ("name", "refusal"),
    [
        ("latencies.pdf", "expected a figure that ends in .png or .svg, found `"),
        ("latencies", "expected a figure that ends in .png or .svg, found `"),
        ("nowhere/latencies.png", "expected a folder for the figure, found no `"),
    ],
)
def test_what_cannot_be_drawn_is_refused(tmp_path: Path, name: str, refusal: str) -> None:
    with pytest.raises(FigureError, match=refusal):
        check_figure(tmp_path / name)


def test_without_matplotlib_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    original = builtins.__import__

    def without(name: str, *more: Any, **others: Any) -> Any:
        if name.partition(".")[0] == "matplotlib":
            raise ImportError(name)
        return original(name, *more, **others)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(FigureError) as raised:
        check_figure(tmp_path / "latencies.png")
    assert str(raised.value) == "a figure needs matplotlib: `pip install 'headgate[plots]'`"


def test_to_measure_needs_no_matplotlib() -> None:
    import subprocess

    code = "import sys, headgate.cli.evaluations; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
