"""What needs a package that is not installed is skipped, and says which extra brings it; it never fails for that."""

import re
from collections.abc import Iterator
from importlib.util import find_spec

import pytest

PACKAGES = {
    "pandas": ("pandas", "spark"),
    "polars": ("polars",),
    "pyspark": ("spark",),
    "adbc_driver_manager": ("sql",),
    "adbc_driver_postgresql": ("sql",),
    "duckdb": ("sql",),
    "openpyxl": ("excel",),
    "lightgbm": ("evaluate",),
    "sklearn": ("evaluate", "sklearn"),
    "torch": ("generators",),
    "griffe": ("docs",),
    "sphinx": ("docs",),
    "dp_accounting": ("dev",),
    "opendp": ("dev",),
    "starlette": ("studio",),
    "uvicorn": ("studio",),
    "python_multipart": ("studio",),
    "httpx2": ("dev",),
    "playwright": ("dev",),
    "mypy": ("dev",),
    "hatchling": ("dev",),
    "cyclonedx": ("dev",),
}
"""The extras that bring each package. Only what is absent here is ever a reason to skip."""
ABSENT = {package: extras for package, extras in PACKAGES.items() if find_spec(package) is None}
LACKING = {extra for extras in ABSENT.values() for extra in extras}
_NAMED = re.compile(r"sfumato\[([\w,]+)\]")


def reason_to_skip(error: BaseException | None) -> str | None:
    """What to install, where an error came of a package that is absent here; None: it is a fault."""
    while error is not None:
        package = (error.name or "").partition(".")[0] if isinstance(error, ModuleNotFoundError) else ""
        if package in ABSENT:
            return f"{package} is not installed; pip install 'sfumato[{ABSENT[package][0]}]'"
        named = _NAMED.search(str(error))
        if named and LACKING & set(named[1].split(",")) and not isinstance(error, AssertionError):
            return f"pip install 'sfumato[{named[1]}]'"
        error = error.__cause__ or error.__context__
    return None


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Iterator[None]:
    """A file whose imports are absent."""
    report = yield
    if report.failed and (reason := reason_to_skip(report.call.excinfo.value)):
        report.outcome, report.longrepr = "skipped", (str(collector.path), 1, f"Skipped: {reason}")
    return report


def _skip_or_fail() -> Iterator[None]:
    try:
        return (yield)
    except Exception as error:
        if reason := reason_to_skip(error):
            pytest.skip(reason)
        raise


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Iterator[None]:
    """Fixtures."""
    return (yield from _skip_or_fail())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Iterator[None]:
    """Tests."""
    return (yield from _skip_or_fail())
