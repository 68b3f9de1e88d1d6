"""Is every rule of the house seen to fail when it is broken, and only then?"""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TOOLS = Path(sys.executable).parent
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]

LAYERS = "rooms import only the rooms below them"
MODEL = "the service model shares nothing with what it judges"
SPARK = "pyspark is imported only by pipeline"
PLOTS = "matplotlib is imported only where figures are drawn"
PURE = "from broker down nothing does input or output"
CONTRACTS = {contract["name"]: contract for contract in SETTINGS["importlinter"]["contracts"]}
BANNED_MODULES = CONTRACTS[PURE]["forbidden_modules"]
BANNED_NAMES = SETTINGS["ruff"]["lint"]["flake8-tidy-imports"]["banned-api"]

ROOMS = [re.findall(r"\w+", floor) for floor in CONTRACTS[LAYERS]["layers"]]
ADAPTERS = ["cli", "live", "client", "simulation", "pipeline", "stores"]
CORES = [room for floor in ROOMS for room in floor if room not in ADAPTERS]


class House:
    """A copy of the sources with every room of the design, in which violations are planted."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.package = root / "src" / "headgate"
        shutil.copytree(
            ROOT / "src", root / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info")
        )
        shutil.copy(ROOT / "pyproject.toml", root)
        for floor in ROOMS:
            for room in floor:
                self.build(room)

    def build(self, room: str) -> None:
        (self.package / room).mkdir(exist_ok=True)
        (self.package / room / "__init__.py").touch()

    def plant(self, room: str, code: str) -> None:
        (self.package / room / "planted.py").write_text(f'"""Planted."""\n\n{code}\n')

    def lint_imports(self) -> tuple[int, str]:
        return self._run("lint-imports", "--no-cache")

    def ruff(self) -> tuple[int, str]:
        return self._run("ruff", "check", "--no-cache", "--output-format=concise", "src")

    def _run(self, tool: str, *arguments: str) -> tuple[int, str]:
        done = subprocess.run(
            [TOOLS / tool, *arguments],
            cwd=self.root,
            # Ahead of the installed package, which is the real one.
            env={**os.environ, "PYTHONPATH": str(self.root / "src"), "COLUMNS": "200"},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


def broken(report: str) -> set[str]:
    """The contracts that the report calls broken."""
    return {name for name in CONTRACTS if f"{name} BROKEN" in report}


def test_the_house_as_it_stands_keeps_every_contract(house: House) -> None:
    status, report = house.lint_imports()
    assert (status, broken(report)) == (0, set()), report


def test_the_contracts_name_every_room_of_the_design_once() -> None:
    assert [sorted(floor) for floor in ROOMS] == [
        ["cli"],
        ["client", "live", "pipeline", "simulation"],
        ["stores"],
        ["broker"],
        ["http", "mqtt", "peering"],
        ["gate"],
        ["flow", "log", "matching", "rights", "trust"],
        ["filters"],
        ["model"],
    ]


def test_an_import_of_any_higher_floor_is_refused(house: House) -> None:
    pairs = list(zip(ROOMS[1:], ROOMS, strict=False))
    for below, above in pairs:
        house.plant(below[0], f"import headgate.{above[0]}")
    status, report = house.lint_imports()
    assert status == 1
    assert LAYERS in broken(report)
    for below, above in pairs:
        assert f"headgate.{below[0]} is not allowed to import headgate.{above[0]}" in report


def test_an_import_of_a_neighbour_on_the_same_floor_is_refused(house: House) -> None:
    floors = [floor for floor in ROOMS if len(floor) > 1]
    for floor in floors:
        house.plant(floor[0], f"import headgate.{floor[1]}")
    status, report = house.lint_imports()
    assert status == 1
    assert broken(report) == {LAYERS}
    for floor in floors:
        assert f"headgate.{floor[0]} is not allowed to import headgate.{floor[1]}" in report


def test_a_room_that_no_floor_lists_is_refused(house: House) -> None:
    house.build("attic")
    status, report = house.lint_imports()
    assert status == 1
    assert "headgate.attic" in report
    assert broken(report) == {LAYERS}


def test_pyspark_outside_the_pipeline_is_refused(house: House) -> None:
    house.plant("live", "import pyspark.sql")
    house.plant("pipeline", "import pyspark.sql")
    status, report = house.lint_imports()
    assert status == 1
    assert broken(report) == {SPARK}
    assert "headgate.live.planted -> pyspark" in report
    assert "headgate.pipeline.planted -> pyspark" not in report


def test_matplotlib_is_imported_only_where_figures_are_drawn(house: House) -> None:
    house.plant("simulation", "import matplotlib.figure")
    house.plant("cli", "from matplotlib import pyplot")
    status, report = house.lint_imports()
    assert status == 1
    assert broken(report) == {PLOTS}
    assert "headgate.simulation.planted -> matplotlib" in report
    assert "headgate.cli.planted -> matplotlib" in report
    assert "headgate.simulation.evaluating.figures -> matplotlib" not in report


def test_a_service_model_that_asks_what_it_judges_is_refused(house: House) -> None:
    judged = CONTRACTS[MODEL]["forbidden_modules"]
    model = house.package / "simulation" / "service_model.py"
    model.write_text("\n".join(f"import {module}" for module in judged))
    status, report = house.lint_imports()
    assert status == 1
    assert broken(report) == {MODEL}
    for module in judged:
        assert f"headgate.simulation.service_model -> {module} " in report, module


def test_each_impure_module_is_refused_in_a_core(house: House) -> None:
    house.plant("filters", "\n".join(f"import {module}" for module in BANNED_MODULES))
    status, report = house.lint_imports()
    assert status == 1
    assert broken(report) == {PURE}
    for module in BANNED_MODULES:
        assert f"headgate.filters.planted -> {module} " in report, module


def test_every_core_is_held_to_purity_and_no_adapter_is(house: House) -> None:
    for room in CORES + ADAPTERS:
        house.plant(room, "import time")
    status, report = house.lint_imports()
    assert status == 1
    assert broken(report) == {PURE}
    found = set(re.findall(r"headgate\.(\w+)\.planted -> time", report))
    assert found == set(CORES)


def test_adapters_may_import_what_cores_may_not(house: House) -> None:
    for room in ADAPTERS:
        house.plant(room, "\n".join(f"import {module}" for module in BANNED_MODULES))
    status, report = house.lint_imports()
    assert status == 0, report


def test_each_impure_name_is_refused_in_every_core(house: House) -> None:
    lines = [f"import {name.split('.')[0]}\n{name}" for name in BANNED_NAMES]
    for room in CORES + ADAPTERS:
        house.plant(room, "\n".join(lines))
    status, report = house.ruff()
    assert status == 1
    found = set(re.findall(r"headgate/(\w+)/planted\.py.*TID251 `([\w.]+)` is banned", report))
    assert found == {(room, name) for room in CORES for name in BANNED_NAMES}


def test_opening_a_file_or_printing_is_refused_in_every_core(house: House) -> None:
    for room in CORES + ADAPTERS:
        house.plant(room, 'print(open("somewhere"))')
    _, report = house.ruff()
    opened = set(re.findall(r"headgate/(\w+)/planted\.py.*PTH123", report))
    printed = set(re.findall(r"headgate/(\w+)/planted\.py.*T201", report))
    assert opened == set(CORES)
    assert printed == {*CORES, *ADAPTERS} - {"cli"}
