"""Is everything in the place where a reader would look for it?"""

import ast
import os
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]

# In pieces, so that this file doesn't name what it looks for.
HOSTS = [
    ".".join(parts)
    for parts in (
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("npmjs", "org"),
        ("npmjs", "com"),
        ("yarnpkg", "com"),
        ("deb", "debian", "org"),
        ("security", "debian", "org"),
        ("maven", "org"),
        ("maven", "apache", "org"),
        ("anaconda", "org"),
    )
]
ACROSS = "Across modules: "


def modules_without_mirror(root: Path) -> list[str]:
    """The test files that should exist, and don't."""
    package = root / "src" / "headgate"
    mirrors = [
        Path("tests", module.relative_to(package).parent, f"test_{module.name}")
        for module in sorted(package.rglob("*.py"))
        if module.name != "__init__.py"
    ]
    return [str(mirror) for mirror in mirrors if not (root / mirror).exists()]


def purposeless_tests(root: Path) -> list[str]:
    """The test files of a room that mirror no module and don't say what they prove across them."""
    tests = root / "tests"
    return [
        str(path.relative_to(root))
        for path in sorted(tests.rglob("test_*.py"))
        if path.parent != tests
        and not _mirrored(root, path.relative_to(tests)).exists()
        and not (ast.get_docstring(ast.parse(path.read_text())) or "").startswith(ACROSS)
    ]


def _mirrored(root: Path, test: Path) -> Path:
    return root / "src" / "headgate" / test.parent / test.name.removeprefix("test_")


def fragments_not_one_sentence(root: Path) -> list[str]:
    """The change fragments that are not exactly one sentence."""
    return [
        path.name
        for path in sorted((root / "changes").glob("*.md"))
        if path.name != "README.md" and not _is_one_sentence(path.read_text())
    ]


def _is_one_sentence(text: str) -> bool:
    ends = re.findall(r"[.!?](?=\s|$)", text)
    return len(ends) == 1 and text.strip().endswith(ends[0]) and "\n\n" not in text.strip()


def files_naming_a_host(root: Path) -> list[str]:
    """The files that name a place from which packages come: that is the machine's to know."""
    needle = re.compile("|".join(map(re.escape, HOSTS)).encode(), re.IGNORECASE)
    return [
        str(path.relative_to(root)) for path in _files(root) if needle.search(path.read_bytes())
    ]


def _files(root: Path) -> Iterator[Path]:
    lines = (ROOT / ".gitignore").read_text().splitlines()
    ignored = {".git", *(line.removesuffix("/") for line in lines if line.endswith("/"))}
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(set(folders) - ignored)
        yield from (Path(folder, name) for name in sorted(names) if Path(folder, name).is_file())


def names_not_locked(wanted: list[str], lock: str) -> list[str]:
    """The packages asked for that the lock file doesn't pin with a hash."""
    pinned = set(re.findall(r"^([\w.-]+)==\S+.* \\\n +--hash=sha256:", lock, re.MULTILINE))
    names = [re.split(r"[^\w.-]", line, maxsplit=1)[0].lower() for line in wanted]
    return [name for name in names if name not in pinned]


def test_every_module_has_its_mirror_among_the_tests() -> None:
    assert modules_without_mirror(ROOT) == []


def test_every_test_file_of_a_room_mirrors_a_module_or_says_what_it_proves_across_them() -> None:
    assert purposeless_tests(ROOT) == [], f"or open its docstring with `{ACROSS}`"


def test_every_change_fragment_is_one_sentence() -> None:
    assert fragments_not_one_sentence(ROOT) == []


def test_no_file_names_a_package_host() -> None:
    assert files_naming_a_host(ROOT) == []


def test_every_dependency_is_locked_with_a_hash() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    tools = (ROOT / "requirements" / "dev.in").read_text().splitlines()[1:]
    for name, wanted in {
        "runtime.txt": project["dependencies"],
        "dev.txt": [*project["dependencies"], *tools],
        "uv.txt": ["uv"],
    }.items():
        lock = (ROOT / "requirements" / name).read_text()
        assert names_not_locked(wanted, lock) == [], f"`make lock` adds them to {name}"


def test_a_module_without_mirror_is_found(tmp_path: Path) -> None:
    _write(tmp_path / "src/headgate/room/__init__.py")
    _write(tmp_path / "src/headgate/room/module.py")
    _write(tmp_path / "src/headgate/room/inner/module.py")
    expected = ["tests/room/inner/test_module.py", "tests/room/test_module.py"]
    assert modules_without_mirror(tmp_path) == expected
    _write(tmp_path / expected[0])
    assert modules_without_mirror(tmp_path) == expected[1:]


def test_a_test_file_without_purpose_is_found(tmp_path: Path) -> None:
    _write(tmp_path / "src/headgate/room/module.py")
    _write(tmp_path / "tests/test_house.py")
    _write(tmp_path / "tests/room/test_module.py")
    _write(tmp_path / "tests/room/test_stray.py", '"""Something."""')
    _write(tmp_path / "tests/room/test_laws.py", '"""Across modules: does it hold?"""')
    assert purposeless_tests(tmp_path) == ["tests/room/test_stray.py"]


def test_a_fragment_of_no_or_two_sentences_is_found(tmp_path: Path) -> None:
    _write(tmp_path / "changes/README.md", "Many. Sentences.")
    _write(tmp_path / "changes/1-good.md", "`gate.py` gates\nevery event.\n")
    _write(tmp_path / "changes/2-empty.md")
    _write(tmp_path / "changes/3-open.md", "No end")
    _write(tmp_path / "changes/4-two.md", "One. Two.")
    expected = ["2-empty.md", "3-open.md", "4-two.md"]
    assert fragments_not_one_sentence(tmp_path) == expected


def test_a_named_host_is_found_wherever_it_hides(tmp_path: Path) -> None:
    for number, host in enumerate(HOSTS):
        _write(tmp_path / f"deep/.hidden/{number}.lock", f"from //FILES.{host.upper()}/simple")
    _write(tmp_path / ".venv/pip.conf", HOSTS[0])
    assert len(files_naming_a_host(tmp_path)) == len(HOSTS)


def test_a_package_without_pin_or_hash_is_found() -> None:
    lock = "kept==1.0 ; sys_platform == 'x' \\\n    --hash=sha256:00\nloose==1.0\n"
    assert names_not_locked(["kept>=1", "loose", "Absent>=2"], lock) == ["loose", "absent"]


def _write(path: Path, text: str = "") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
