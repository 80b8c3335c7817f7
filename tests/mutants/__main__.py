"""`python -m tests.mutants`: break the trusted code in one place at a time, and see whether a test notices.

`mutants.toml` lists the places: what stands there, what the mutant puts there, and the tests that should fail. A mutant
that no test kills is printed as a survivor; `survivors.md` argues for each one that it breaks no promise.
Exit code 1 if a mutant survives that is not argued for there, or if fewer than 95 of 100 are killed.
"""

import argparse
import concurrent.futures
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
COPIED = ("sfumato", "tests", "papers", "docs", "pyproject.toml", "README.md")
SECONDS = 300  # a mutant that makes tests go on for ever is noticed
LEAST_KILLED = 0.95


@dataclass(frozen=True)
class Mutant:
    """One change of one place."""

    number: int
    file: str
    original: str
    mutant: str
    tests: tuple[str, ...]

    def __str__(self) -> str:
        shown = " ".join(self.mutant.split()) or "(nothing)"
        return f"{self.number:3d} {self.file}: {' '.join(self.original.split())[:70]} -> {shown[:70]}"

    def put_into(self, tree: Path) -> None:
        path = tree / self.file
        text = (ROOT / self.file).read_text()
        if text.count(self.original) != 1:
            raise SystemExit(
                f"{self}: the original stands {text.count(self.original)} times in the file; mend the list"
            )
        path.write_text(text.replace(self.original, self.mutant))


def listed() -> list[Mutant]:
    """All mutants of the list, counted through."""
    content = tomllib.loads((HERE / "mutants.toml").read_text())
    found = []
    for number, item in enumerate(content["mutant"], start=1):
        tests = item.get("tests") or content["tests"][item["file"]]
        found.append(Mutant(number, item["file"], item["original"], item["mutant"], tuple(tests)))
    return found


def argued() -> set[str]:
    """The headings of `survivors.md`: the mutants that may live."""
    lines = (HERE / "survivors.md").read_text().splitlines()
    return {line.removeprefix("## ").strip() for line in lines if line.startswith("## ")}


def name_of(mutant: Mutant) -> str:
    """How `survivors.md` calls a mutant."""
    return f"{mutant.file}: `{' '.join(mutant.mutant.split())}`"


def copied_tree(place: Path) -> Path:
    """A copy of all that tests need."""
    tree = Path(tempfile.mkdtemp(dir=place))
    for name in COPIED:
        source = ROOT / name
        ignored = shutil.ignore_patterns("__pycache__")
        _ = (
            shutil.copytree(source, tree / name, ignore=ignored)
            if source.is_dir()
            else shutil.copy(source, tree / name)
        )
    return tree


def is_killed(mutant: Mutant, tree: Path) -> bool:
    """Whether a test fails in a tree with the mutant; the tree is as before afterwards."""
    mutant.put_into(tree)
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *mutant.tests]
    environment = {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
    try:
        done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return True
    finally:
        shutil.copy(ROOT / mutant.file, tree / mutant.file)
    if done.returncode in (3, 4, 5):  # pytest itself failed; other codes are failed tests, or a process that died
        raise SystemExit(f"{mutant}: the tests could not be run: {done.stdout.decode()[-2000:]}")
    return done.returncode != 0


def check_unbroken(mutants: list[Mutant], tree: Path) -> None:
    """Tests that fail without any mutant would kill them all."""
    tests = sorted({test for mutant in mutants for test in mutant.tests})
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    code = "import sfumato; print(sfumato.__file__)"
    environment = {**os.environ, "PYTHONPATH": str(tree), "OMP_NUM_THREADS": "1"}
    found = subprocess.run(
        [sys.executable, "-c", code], cwd=tree, env=environment, capture_output=True, text=True, check=True
    )
    if not found.stdout.startswith(str(tree)):
        raise SystemExit("the tests would run on another copy of the library; unset what leads there")
    if subprocess.run(command, cwd=tree, env=environment, stdout=subprocess.DEVNULL, check=False).returncode:
        raise SystemExit("the tests fail without any mutant; mend that first")


def main() -> None:
    """See the top."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="mutants whose file or number is this, such as noise.py or 17")
    parser.add_argument("--first", type=int, default=1, help="go on from this number")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--no-check", action="store_true", help="do not run the tests without mutants first")
    asked = parser.parse_args()
    mutants = [
        one
        for one in listed()
        if one.number >= asked.first and (asked.only in one.file or asked.only == str(one.number))
    ]
    with tempfile.TemporaryDirectory() as place:
        trees: queue.Queue[Path] = queue.Queue()
        for _ in range(asked.jobs):
            trees.put(copied_tree(Path(place)))
        if not asked.no_check:
            check_unbroken(mutants, trees.queue[0])

        def run(mutant: Mutant) -> tuple[Mutant, bool]:
            tree, start = trees.get(), time.monotonic()
            try:
                killed = is_killed(mutant, tree)
            finally:
                trees.put(tree)
            print(f"{'killed  ' if killed else 'SURVIVED'} {time.monotonic() - start:5.0f} s  {mutant}", flush=True)
            return mutant, killed

        with concurrent.futures.ThreadPoolExecutor(asked.jobs) as pool:
            results = list(pool.map(run, mutants))
    report(results)


def report(results: list[tuple[Mutant, bool]]) -> None:
    """The count, the survivors, and the exit code."""
    survivors = [mutant for mutant, killed in results if not killed]
    share = 1 - len(survivors) / max(1, len(results))
    print(f"\n{len(results) - len(survivors)} of {len(results)} mutants killed ({share:.1%})")
    known = argued()
    unknown = [mutant for mutant in survivors if name_of(mutant) not in known]
    for mutant in survivors:
        print(f"{'NOT ARGUED' if mutant in unknown else 'argued    '}  {name_of(mutant)}")
    sys.exit(bool(unknown or share < LEAST_KILLED))


if __name__ == "__main__":
    main()
