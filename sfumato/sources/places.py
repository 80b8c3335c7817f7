"""Files here and in the cloud, by pyarrow's own file systems: `s3://`, `gs://`, `abfs://`, `hdfs://`, `file://`."""

import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import pyarrow as pa
import pyarrow.fs

from sfumato.errors import DataError, RequestError

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_CREDENTIALS = re.compile(r"//[^/@]*:[^/@]*@|[?&][^=&]*(_key|secret|token|password)[^=&]*=", re.IGNORECASE)


def is_address(where: str | Path) -> bool:
    """Whether it names its own file system, or a server."""
    return isinstance(where, str) and _ADDRESS.match(where) is not None


def refuse_credentials(address: str) -> None:
    """An address is shown in errors and in the list of processes, so it must not hold a secret."""
    if _CREDENTIALS.search(address):
        raise RequestError(
            "the address holds a password or key; leave it out and give it by the environment or a file of the service"
        )


@dataclass(frozen=True)
class Place:
    """A file or a folder."""

    system: pyarrow.fs.FileSystem
    path: str

    @classmethod
    def of(cls, where: str | Path) -> "Place":
        """The place at a path or an address."""
        if not is_address(where):
            return cls(pyarrow.fs.LocalFileSystem(), str(where))
        refuse_credentials(str(where))
        try:
            return cls(*pyarrow.fs.FileSystem.from_uri(where))
        except (pa.ArrowException, OSError, ValueError) as error:
            raise DataError(f"{where} cannot be reached ({type(error).__name__}); check the address") from None

    def __str__(self) -> str:
        return self.path

    @property
    def suffix(self) -> str:
        """`.csv` for `A.csv.gz` and `a.CSV`."""
        return PurePosixPath(PurePosixPath(self.path).name.lower().removesuffix(".gz")).suffix

    @property
    def files(self) -> list["Place"]:
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
        return [Place(self.system, path) for path in paths if not self._hides(path)]

    def _hides(self, path: str) -> bool:
        below = PurePosixPath(path).parts[len(PurePosixPath(self.path).parts) :]
        return any(part[0] in "._" for part in below)

    def stream(self) -> pa.NativeFile:
        """The bytes of the file, unpacked where its name says that they are packed."""
        return self.system.open_input_stream(self.path)
