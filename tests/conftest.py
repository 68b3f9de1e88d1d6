"""Under which settings does hypothesis search for counterexamples?"""

from _pytest.terminal import TerminalReporter
from hypothesis import settings

from tests.proofs import COUNTED, profile

settings.register_profile("test", deadline=None, derandomize=False, print_blob=True)
settings.register_profile("soak", settings.get_profile("test"), max_examples=20_000)
settings.load_profile(profile())


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    """Show what the proofs counted: a proof of nothing must not look like one."""
    reports = [report for some in terminalreporter.stats.values() for report in some]
    lines = [
        f"{report.nodeid}: {value}"
        for report in reports
        if getattr(report, "when", None) == "call"
        for name, value in report.user_properties
        if name == COUNTED
    ]
    if lines:
        terminalreporter.section("counted by the proofs")
        for line in sorted(lines):
            terminalreporter.write_line(line)
