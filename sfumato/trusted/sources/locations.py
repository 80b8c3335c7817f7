"""Files here and in the cloud, by pyarrow's own file systems: `s3://`, `gs://`, `abfs://`, `hdfs://`, `file://`."""

import lzma
import os
import re
import zipfile
import zlib
from collections.abc import Container, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from urllib.parse import parse_qsl

import pyarrow as pa
import pyarrow.fs

from sfumato.errors import DataError, RequestError
from sfumato.trusted.sources.transcoding import Readable

BROKEN = (  # what a stream raises that is cut short, packed in an unknown way or locked
    *(pa.ArrowException, OSError, EOFError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, RuntimeError, ValueError),
)
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_PASSWORD = re.compile(r"//[^/]*:.*@", re.DOTALL)  # a key may hold a slash, so the path is no end of it
_NEARLY = re.compile(r"://|:.*@|(?:^|[\s;?&])\w*(?:pass|pwd|secret|token|key)\w*\s*=", re.DOTALL | re.IGNORECASE)
_OPTIONS = {  # of pyarrow's addresses: those that say where and how, and never who
    *("region", "scheme", "endpoint_override", "connect_timeout", "request_timeout", "retry_limit_seconds"),
    *("project_id", "enable_tls", "blob_storage_authority", "dfs_storage_authority", "replication", "buffer_size"),
    *("default_block_size", "tls_ca_file_path", "tls_ca_dir_path", "tls_verify_certificates", "local_file"),
}


def is_address(where: str | Path) -> bool:
    """Whether it names its own file system, or a server."""
    return isinstance(where, str) and _ADDRESS.match(where) is not None


def refuse_credentials(address: str) -> None:
    """An address is shown in the list of processes, so it must not hold a secret.

    A question mark of Spark's wild cards begins no options: what then has an equals sign is a folder.
    """
    refuse_strange(address)
    options = {name.lower() for name, _ in parse_qsl(address.partition("?")[2]) if "/" not in name}
    if _PASSWORD.search(address) or options - _OPTIONS:
        raise RequestError(
            "the address holds a password or key, or an option that may be one; leave it out and give it by the "
            "environment or a file of the service"
        )


def refuse_strange(where: str | Path) -> None:
    """What is nearly an address, such as `jdbc:...` or `host=h password=p`, is no path to be quoted in an error."""
    if _is_strange(str(where)):
        raise RequestError(
            "what is given is no path here, and looks like the address of a server in a form that is not read; give a "
            "path, an address such as s3://bucket/rows, or postgresql://user@host/database, without a password"
        )


def _is_strange(where: str) -> bool:
    nearly = not is_address(where) and _NEARLY.search(where) is not None
    return nearly and not os.path.exists(where)  # noqa: PTH110 - a path that is too long raises, and is quoted


def redact_address(address: str) -> str:
    """An address as errors quote it: without a user and without options."""
    if _is_strange(address):
        return "what is given"
    where = re.split("[?#]", address, maxsplit=1)[0]
    return re.sub(r"(?<=//).*@", "", where, flags=re.DOTALL) if is_address(address) else address


@dataclass(frozen=True)
class Location:
    """A file, a folder, or a member of a zip archive."""

    system: pyarrow.fs.FileSystem
    path: str
    member: str | None = None

    @classmethod
    def of(cls, where: str | Path) -> "Location":
        """The place at a path or an address."""
        if not is_address(where):
            refuse_strange(where)
            return cls(pyarrow.fs.LocalFileSystem(), str(where))
        refuse_credentials(str(where))
        try:
            return cls(*pyarrow.fs.FileSystem.from_uri(where))
        except (pa.ArrowException, OSError, ValueError) as error:
            raise DataError(
                f"{redact_address(str(where))} cannot be reached ({type(error).__name__}); check the address"
            ) from None

    def __str__(self) -> str:
        return self.path

    @property
    def suffix(self) -> str:
        """`.csv` for `A.csv.gz` and `a.CSV`; of a member of an archive, its own."""
        if self.member is not None:
            return PurePosixPath(self.member.lower()).suffix
        return PurePosixPath(PurePosixPath(self.path).name.lower().removesuffix(".gz")).suffix

    @property
    def files(self) -> list["Location"]:
        """The file itself, or all files below the folder by name; a leading dot or underscore hides, as in Spark."""
        try:
            found = self.system.get_file_info(self.path)
            if found.type == pyarrow.fs.FileType.File:
                return [self]
            if found.type == pyarrow.fs.FileType.NotFound:
                raise DataError(f"{self} does not exist; check the path")
            below = self.system.get_file_info(pyarrow.fs.FileSelector(self.path, recursive=True))
        except (pa.ArrowException, OSError) as error:
            raise DataError(f"{self} cannot be listed ({type(error).__name__}); check it and your rights") from None
        paths = sorted(info.path for info in below if info.type == pyarrow.fs.FileType.File)
        return [Location(self.system, path) for path in paths if not self._hides(path)]

    def _hides(self, path: str) -> bool:
        return _is_hidden(PurePosixPath(path).parts[len(PurePosixPath(self.path).parts) :])

    def unzipped(self, suffixes: Container[str]) -> "Location":
        """The one member of a zip archive that has such a suffix; nothing is unpacked yet."""
        try:
            with self._archive() as archive:
                members = [replace(self, member=name) for name in archive.namelist()]
        except BROKEN as error:
            raise DataError(
                f"{self} cannot be read as a zip archive ({type(error).__name__}); check the file"
            ) from None
        found = [
            one for one in members if one.suffix in suffixes and not _is_hidden(PurePosixPath(one.member or "").parts)
        ]
        if len(found) != 1:
            raise DataError(f"{self} holds {len(found)} CSV files, and one is needed; unpack it and give the files")
        return found[0]

    @contextmanager
    def stream(self) -> Iterator[Readable]:
        """The bytes of the file, unpacked where its name says that they are packed."""
        if self.member is None:
            with self.system.open_input_stream(self.path) as stream:
                yield stream
        else:
            with self._archive() as archive, archive.open(self.member) as stream:
                yield stream

    @contextmanager
    def _archive(self) -> Iterator[zipfile.ZipFile]:
        with self.system.open_input_file(self.path) as file, zipfile.ZipFile(file) as archive:
            yield archive


def _is_hidden(parts: tuple[str, ...]) -> bool:
    return any(part[0] in "._" for part in parts)
