"""How do the latencies look? A figure like Figure 4 of Zhao & Sturman: latency by hops.

The only place that imports `matplotlib`, and only when somebody asks for a figure.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, final

from headgate.model.errors import HeadgateError, named
from headgate.simulation.evaluating.evaluation import Evaluation
from headgate.simulation.evaluating.latencies import Start
from headgate.simulation.evaluating.samples import Sample

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ENDINGS: Final = (".png", ".svg")
_INCHES: Final = (7.2, 4.8)
_DOTS_PER_INCH: Final = 150
PIXELS: Final = tuple(round(side * _DOTS_PER_INCH) for side in _INCHES)
"""Width and height of a PNG."""
_METADATA: Final[dict[str, dict[str, Any]]] = {"png": {"Software": None}, "svg": {"Date": None}}
"""Nothing of when, and with what, it was drawn."""


class FigureError(HeadgateError, ValueError):
    """A figure can't be drawn."""


@final
@dataclass(frozen=True)
class _Line:
    """How one line looks: told apart by its marker and dashes, too, for who sees no colours."""

    label: str
    colour: str
    marker: str
    dashes: str
    aside: float
    """By so many hops beside its place, so that error bars don't hide each other."""


_STEADY: Final = _Line("steady delivery", "#0072b2", "o", "-", -0.06)
_STARTS: Final = {
    Start.LOCAL: _Line(Start.LOCAL.value, "#009e73", "s", "--", -0.02),
    Start.PRINCIPAL: _Line(Start.PRINCIPAL.value, "#e69f00", "^", "-.", 0.02),
    Start.REMOTE: _Line(Start.REMOTE.value, "#c0392b", "D", "-", 0.06),
}


def check_figure(path: Path) -> None:
    """Refuse what can't be drawn before anything is measured."""
    if path.suffix.lower() not in ENDINGS:
        raise FigureError(f"expected a figure that ends in .png or .svg, found {named(str(path))}")
    if not path.parent.is_dir():
        raise FigureError(f"expected a folder for the figure, found no {named(str(path.parent))}")
    try:
        import matplotlib  # noqa: F401  # whether it is there is the check
    except ImportError:
        raise FigureError("a figure needs matplotlib: `pip install 'headgate[plots]'`") from None


def draw_latencies(evaluation: Evaluation, path: Path) -> None:
    """Write the figure, of the same bytes for the same numbers."""
    check_figure(path)
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    kind = path.suffix.lower().removeprefix(".")
    # Names in an SVG come from this and not from chance, and text stays text.
    with rc_context({"svg.hashsalt": "headgate", "svg.fonttype": "none"}):
        figure = Figure(figsize=_INCHES, dpi=_DOTS_PER_INCH, layout="constrained")
        _draw(figure.add_subplot(), evaluation)
        figure.savefig(path, format=kind, metadata=_METADATA[kind])


def _draw(axes: Axes, evaluation: Evaluation) -> None:
    # From the slowest down, so that the legend has the order of the lines.
    for how in reversed(Start):
        _draw_line(axes, _STARTS[how], evaluation.starts(how))
    _draw_line(axes, _STEADY, evaluation.steady)
    hops = list(evaluation.steady)
    axes.set_xticks(hops)
    axes.set_xlim(min(hops) - 0.5, max(hops) + 0.5)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("hops from the publisher's broker to the subscriber's")
    axes.set_ylabel("latency, ms")
    axes.set_title(_title(evaluation), fontsize="small", loc="left", color="#555555")
    axes.grid(axis="y", color="#dddddd", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="upper left", frameon=False, handlelength=3.2)


def _draw_line(axes: Axes, line: _Line, by_hops: dict[int, Sample]) -> None:
    axes.errorbar(
        [hops + line.aside for hops in by_hops],
        [sample.mean_ms for sample in by_hops.values()],
        yerr=[sample.deviation_ms for sample in by_hops.values()],
        label=line.label,
        color=line.colour,
        marker=line.marker,
        linestyle=line.dashes,
        linewidth=1.8,
        markersize=6,
        capsize=4,
        elinewidth=1.2,
    )


def _title(evaluation: Evaluation) -> str:
    one = evaluation.conditions
    return (
        f"mean and standard deviation of {evaluation.runs} runs in simulated time: "
        f"links {one.link_us / 1_000:g} to {(one.link_us + one.jitter_us) / 1_000:g} ms,\n"
        f"disks {one.sync_us / 1_000:g} ms on average, {one.think_us / 1_000:g} ms from "
        f"connecting to subscribing, {one.records_per_s:,} records a second"
    )
