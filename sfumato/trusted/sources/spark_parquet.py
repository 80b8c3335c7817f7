"""A Spark frame that is nothing but Parquet files: workers read these themselves, with the reader of local files.

Of what a sum takes, handing rows over from Java to Python is by far the most.

Formal guarantees
    Only where the plan of a frame is known to the last part are its files taken for its records: every row of every
    row group once, in columns of the types that the frame declares. Whatever else stands in a plan (a filter, a
    projection, columns of partitions, a table of a catalog, a cache) or in the settings, Spark reads. So it does where
    files are no longer those that it listed when the frame was made, which it would read up to their old ends.
    Each row group belongs to one task by its number, so that a task that runs twice reads the same records.

Edge cases
    A moment in milliseconds that does not fit into microseconds stops Spark; here it is out of bounds. A checksum that
    Hadoop keeps beside a file (`.name.crc`) is not compared.
"""

import math
import re
from collections import Counter
from functools import partial
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.fs

from sfumato.errors import DataError
from sfumato.trusted.sources import spark_workers as workers
from sfumato.trusted.sources.files import Parquet, inspect_parquet
from sfumato.trusted.sources.locations import Location
from sfumato.trusted.sources.spark_session import MOST_PARTS, map_batches, silent

MOST_FILES = 1 << 12  # whose footers the driver reads
_NUMBERS = 1 << 26  # of a part, where there is work enough for all cores: half a second of reading and counting
_JAVA = "org.apache.spark.sql.execution.datasources."
_PLAIN = ["LogicalRelation", "HadoopFsRelation", "parquet.ParquetFileFormat", "InMemoryFileIndex"]
_OPTIONS = {"path", "paths", "mergeschema", "recursivefilelookup"}
_SETTINGS = {  # under which files hold what the frame does, and nobody else has a say
    "spark.sql.extensions": "",
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.parquet.fieldId.read.enabled": "false",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
}
_HADOOP_SETTINGS = ("parquet.crypto.factory.class", "fs.file.impl")  # keys of encrypted files; other local files
_LISTED = re.compile(r"; length=(\d+);.*?; modification_time=(\d+);")
_MILLISECOND = 10**6

State = list[tuple[int, int]]  # of each file its size and when it was written


class ParquetFiles:
    """The row groups of files that each worker can open, as Spark asks of whatever lies at a local path."""

    def __init__(self, frame: Any, files: list[Parquet], storage: pa.Schema, state: State) -> None:
        self._spark, self._storage = frame.sparkSession, storage
        self._groups = tuple((one.file.path, one.groups) for one in files)
        self._rows = sum(one.rows for one in files)
        self._state = state

    def map(self, names: tuple[str, ...], work: workers.Work, layout: pa.Schema) -> Any:
        """The frame that `work` makes of the batches of each part of the files.

        A task costs some hundredths of a second, so there are a few for each core, and more only of long tables.
        """
        groups, cores = sum(count for _, count in self._groups), self._spark.sparkContext.defaultParallelism
        wanted = cores * math.ceil(self._rows * len(names) / _NUMBERS / cores)
        places = self._spark.range(0, groups, 1, max(1, min(groups, wanted, MOST_PARTS)))
        return map_batches(places, partial(workers.read_files, self._groups, self._storage, names, work), layout)

    def check(self) -> None:
        """Refuse files that have changed since the frame was opened."""
        if _state_of([path for path, _ in self._groups]) != self._state:
            raise DataError("files of the frame have changed while they were read; release a copy that stays as it is")


def files_of(frame: Any, storage: pa.Schema) -> ParquetFiles | None:
    """The files of a frame that is nothing but them; None where that is not certain, or they are not at local paths.

    `storage` are the columns to be read, with their types in the frame. Only footers are read.
    """
    try:
        with silent():
            paths = _paths_of(frame)
            listed = _listed_state_of(frame) if paths else []
        state = _state_of(paths)
        files = [inspect_parquet(Location.of(path)) for path in paths]
        as_listed = sorted((size, written // _MILLISECOND) for size, written in state) == listed
        if files and as_listed and all(_holds(one, storage) for one in files):
            return ParquetFiles(frame, files, storage, state)
    except Exception:  # noqa: BLE001 - Spark Connect has no plan to look at; whatever else it is, Spark may know better
        return None
    return None


def _paths_of(frame: Any) -> list[str]:
    """The paths of the files of a frame that is nothing but Parquet files, in order; none for other frames."""
    spark, plan = frame.sparkSession, frame._jdf.queryExecution().analyzed()
    if any(spark.conf.get(name, usual) != usual for name, usual in _SETTINGS.items()) or _is_kept(frame):
        return []
    hadoop = spark._jsparkSession.sessionState().newHadoopConf()
    if any(hadoop.get(name) for name in _HADOOP_SETTINGS):
        return []
    if plan.getClass().getName() != _JAVA + _PLAIN[0]:
        return []
    relation = plan.relation()
    parts = [plan, relation, relation.fileFormat(), relation.location()]
    if [part.getClass().getName() for part in parts] != [_JAVA + name for name in _PLAIN]:
        return []
    if not set(relation.options().keySet().mkString("\n").split("\n")) <= _OPTIONS:
        return []
    if not relation.partitionSchema().isEmpty():
        return []
    if relation.location().allFiles().length() > MOST_FILES:
        return []
    listed = [urlsplit(address) for address in frame.inputFiles()]
    paths = sorted(unquote(address.path) for address in listed)
    plain = all((one.scheme, one.netloc, one.query, one.fragment) == ("file", "", "", "") for one in listed)
    hidden = any(path.rpartition("/")[2].startswith(("_", ".")) for path in paths)  # some of these Spark reads
    return paths if plain and not hidden else []


def _listed_state_of(frame: Any) -> State:
    """Of each file its size and the millisecond when it was written, as Spark listed them, sorted.

    A file that is read twice is here twice, and once among the paths.
    """
    listed = frame._jdf.queryExecution().analyzed().relation().location().allFiles().mkString("\n")
    return sorted((int(size), int(written)) for size, written in _LISTED.findall(listed))


def _is_kept(frame: Any) -> bool:
    level = frame.storageLevel
    return bool(level.useMemory or level.useDisk)


def _holds(file: Parquet, wanted: pa.Schema) -> bool:
    """Whether a file holds columns in types that Spark and Arrow read alike, in the calendar of today.

    Spark takes names that differ in capitals alone for the same, and refuses two of them.
    """
    if any(key.startswith(b"org.apache.spark.legacy") for key in file.writer):
        return False
    if file.writer.get(b"org.apache.spark.version", b"4") < b"3":
        return False
    stored = file.storage
    names = Counter(_folded(name) for name in stored.names)
    return all(
        field.name in stored.names
        and names[_folded(field.name)] == 1
        and _plain(stored.field(field.name).type) == field.type
        for field in wanted
    )


def _folded(name: str) -> str:
    return name.lower().casefold()


def _plain(kind: pa.DataType) -> pa.DataType:
    """A type as Spark declares it, which knows neither dictionaries nor large texts, and microseconds alone."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_timestamp(kind) and kind.unit in ("s", "ms"):
        return pa.timestamp("us", kind.tz)
    return {pa.large_string(): pa.string(), pa.large_binary(): pa.binary()}.get(kind, kind)


def _state_of(paths: list[str]) -> State:
    found = pyarrow.fs.LocalFileSystem().get_file_info(paths)
    return [(one.size, one.mtime_ns) for one in found]
