"""Bundles that somebody made up: valid hashes, and content that lies.

`python -m tests.fuzzing.bundles MECHANISM SECONDS SEED` opens as many as it can and prints what went wrong: an error
that is not one of the library's own, or work that takes longer than it may. Memory is limited by the system.
"""

import collections
import copy
import io
import json
import random
import resource
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

import sfumato
from sfumato.archive import members as bundle
from sfumato.artefact import bundle as layout
from sfumato.artefact import verify as verification
from sfumato.errors import SfumatoError
from sfumato.reports.public import public_report
from tests.mechanisms.every import every_case

MEMORY = 6 << 30
SECONDS_FOR_ONE = 20
EVIL: list[Any] = [
    *(0, -1, 1, 2, 3, 50, 1000, 10**6, 10**9, 10**12, 2**31, 2**53, 2**63, -(2**40), 10**40),
    *(1e308, -1e308, 1e-308, 5e-324, 0.5, -0.5, 1e999, -1e999, "", "x", "9" * 5_000, "zone ../../etc", None, True),
    *([], {}, [[]], {"kind": "x"}, {"shape": [2**40], "int32": ""}, {"shape": [1], "int32": "AAAAAA=="}),
]


Found = tuple[int, int, dict[tuple[str, str], list[str]]]
"""How many bundles were tried and opened, and what went wrong, by stage and kind."""


class TooSlow(BaseException):
    """Raised by the clock."""


def paths(content: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where something stands in JSON; of long lists some places."""
    yield path
    if isinstance(content, dict):
        for key in content:
            yield from paths(content[key], (*path, key))
    elif isinstance(content, list):
        places = range(len(content)) if len(content) < 8 else random.sample(range(len(content)), 8)
        for place in places:
            yield from paths(content[place], (*path, place))


def put(content: Any, path: tuple[Any, ...], value: Any) -> Any:
    """The content with another value at a place."""
    if not path:
        return value
    content = copy.copy(content)
    content[path[0]] = put(content[path[0]], path[1:], value)
    return content


def cut(content: Any, path: tuple[Any, ...]) -> Any:
    """The content without what stands at a place."""
    content = copy.deepcopy(content)
    inner = content
    for key in path[:-1]:
        inner = inner[key]
    del inner[path[-1]]
    return content


def lied(content: Any) -> tuple[Any, str]:
    """The content with one or two lies, and what they are."""
    told = []
    for _ in range(random.choice([1, 1, 1, 2])):
        path = random.choice(list(paths(content)))
        if path and random.random() < 0.1:
            content = cut(content, path)
            told.append(f"{path} gone")
        else:
            value = random.choice(EVIL)
            content = put(content, path, value)
            told.append(f"{path} = {value!r}"[:90])
    return content, "; ".join(told)


def lied_table(table: pa.Table) -> tuple[pa.Table, str]:
    """An Arrow table that lies: other numbers, other types, columns that are gone or twice, no rows, many rows."""
    name = random.choice(table.column_names)
    column, place = table.column(name), table.column_names.index(name)
    match random.randrange(8):
        case 0:
            return table.drop_columns([name]), f"{name} gone"
        case 1:
            return table.append_column(name, column), f"{name} twice"
        case 2:
            return table.slice(0, random.choice([0, 1, max(0, len(table) - 1)])), "cut"
        case 3:
            return pa.concat_tables([table] * 3), "three times"
        case 4:
            return table.set_column(place, name, pa.nulls(len(table), column.type)), f"{name} null"
        case 5:
            odd = random.choice([pa.string(), pa.int8(), pa.float16(), pa.list_(pa.float64()), pa.null(), pa.bool_()])
            return table.set_column(place, name, pa.nulls(len(table), odd)), f"{name} as {odd}"
    if not len(table) or not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        return table.set_column(place, name, column.take(pa.array([0] * len(table)))) if len(table) else table, "same"
    values = column.to_numpy(zero_copy_only=False).copy()
    evil = random.choice(
        [0, -1, 1, 2**31 - 1, 2**62, -(2**62)] if values.dtype.kind == "i" else [np.nan, np.inf, -1.0, 1e308]
    )
    values[random.randrange(len(values))] = evil
    return table.set_column(place, name, pa.array(values)), f"{name} has {evil}"


def forged(members: dict[str, bytes]) -> tuple[bytes, str]:
    """A bundle with fresh hashes in which one member lies."""
    kind = random.random()
    names = list(members)
    if kind < 0.03:
        one, other = random.sample(names, 2)
        members, told = {**members, one: members[other], other: members[one]}, f"{one} and {other} swapped"
    elif kind < 0.05:
        name = random.choice(names)
        members, told = (
            {**members, name: random.choice([b"", b"[" * 10**5, b'{"a":' * 10**5, b"\xff" * 99])},
            f"{name} is garbage",
        )
    elif kind < 0.2 and any(name.endswith(".arrow") for name in names):
        name = random.choice([name for name in names if name.endswith(".arrow")])
        table, told = lied_table(bundle.from_arrow_file(members[name], name))
        members = {**members, name: bundle.to_arrow_file(table)}
        told = f"{name}: {told}"
    else:
        name = random.choice([name for name in names if name.endswith(".json")])
        content, told = lied(json.loads(members[name]))
        text = json.dumps(content, indent=1, ensure_ascii=False).replace("Infinity", "1e999")
        members, told = {**members, name: text.encode("utf-8", "replace")}, f"{name}: {told}"
    file = io.BytesIO()
    bundle.write_members(members, file)
    return file.getvalue(), told


def use(data: bytes, table: pa.Table, stages: list[str], thorough: bool) -> None:
    """All that a receiver does with a bundle."""
    stages.append("open")
    release = layout._from_members(bundle.read_members(data))
    stages.append("inspect")
    _ = release.statement.promise, release.statement.remainder, release.size, repr(release.schema)
    stages.append("sample")
    release.sample(5)
    release.sample(5, output="arrow", probabilities=release.schema.target is not None)
    stages.append("marginal")
    for name in release.schema.by_name:
        release.marginal(name)
    stages.append("log_prob")
    release.log_prob(table)
    if release.schema.target:
        stages.append("predict")
        release.predict_proba(table)
    stages.append("save")
    release.write(io.BytesIO())
    if thorough:
        stages.append("verify")
        verification.verify(release)
        stages.append("report")
        public_report(release)


def fuzz(mechanism: str, seconds: float, seed: int, most: int = 10**9) -> Found:
    """How many bundles were tried and opened, and what went wrong, by stage and kind."""
    random.seed(seed)
    warnings.simplefilter("error")
    case = every_case()[mechanism]
    made = case.release(case.table.slice(0, 300))
    file = io.BytesIO()
    made.write(file)
    members = bundle.read_members(file.getvalue())
    rows = case.table.slice(0, 3)
    return forge_and_use(members, lambda data, stages, thorough: use(data, rows, stages, thorough), seconds, most)


def forge_and_use(
    members: dict[str, bytes], use: Callable[[bytes, list[str], bool], None], seconds: float, most: int
) -> Found:
    """Use lies about a sound bundle until the time is over; `use` tells its stages, and does more if it is thorough."""
    wrong: dict[tuple[str, str], list[str]] = collections.defaultdict(list)
    tried = opened = 0
    signal.signal(signal.SIGALRM, _ring)
    end = time.monotonic() + seconds
    while time.monotonic() < end and tried < most:
        data, told = forged(members)
        tried += 1
        stages: list[str] = []
        signal.alarm(SECONDS_FOR_ONE)
        try:
            use(data, stages, random.random() < 0.1)
        except SfumatoError:
            pass
        except TooSlow:
            wrong[stages[-1], "too slow"].append(told)
        except BaseException as error:  # noqa: BLE001 - this is what is looked for
            wrong[stages[-1], type(error).__name__].append(f"{told} -> {str(error)[:90]}")
        finally:
            signal.alarm(0)
        opened += len(stages) > 1
    return tried, opened, dict(wrong)


def _ring(*_: object) -> None:
    raise TooSlow


def main() -> None:
    """See the top."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    mechanism, seconds, seed = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
    most = int(sys.argv[4]) if len(sys.argv) > 4 else 10**9
    tried, opened, wrong = fuzz(mechanism, seconds, seed, most)
    print(f"{mechanism}: {tried} bundles, {opened} opened")
    for kind, examples in wrong.items():
        print(f"WRONG {kind} {len(examples)}: {examples[0]}")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    assert sfumato
    main()
