"""A release on disk: one archive of JSON and Arrow files with their hashes. No code, no pickle.

The archive is an uncompressed zip file in one canonical form (order, dates and attributes are fixed), so that
`read_members` can build it again from its members and compare: a change of any byte shows.

Compatibility: the format has a semantic version. A reader takes every bundle of its own major version, refuses others,
and never ignores a member that it does not know.
"""

import datetime as dt
import hashlib
import io
import json
import zipfile
from collections.abc import Mapping
from typing import Any, BinaryIO

import pyarrow as pa

from sfumato._version import __version__
from sfumato.errors import BundleError

FORMAT = "sfumato bundle"
FORMAT_VERSION = "2.5.0"
_MANIFEST = "manifest.json"
_KEYS = {"format", "version", "made_by", "made_on", "files", "digest"}


def write_members(members: Mapping[str, bytes], file: BinaryIO) -> None:
    """Write an archive of these members, with a manifest of their hashes in front."""
    manifest = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "made_by": f"sfumato {__version__}",
        "made_on": dt.datetime.now(dt.UTC).date().isoformat(),
        "files": {name: _fingerprint(data) for name, data in members.items()},
    }
    manifest["digest"] = _digest(manifest)
    file.write(_archive({_MANIFEST: to_json(manifest), **members}))


def read_members(data: bytes) -> dict[str, bytes]:
    """The members of an archive, in order, without the manifest.

    Edge cases
        Cut short, changed in any byte, another format or major version: `BundleError`.
    """
    members = _unpack(data)
    manifest = from_json(members.pop(_MANIFEST, b""), _MANIFEST)
    if manifest.get("format") != FORMAT:
        raise BundleError("this is not a sfumato bundle; check the file")
    if str(manifest.get("version")).split(".")[0] != FORMAT_VERSION.split(".")[0]:
        raise BundleError(
            f"the bundle has format version {manifest.get('version')}; this sfumato reads {FORMAT_VERSION}"
        )
    files = {name: _fingerprint(content) for name, content in members.items()}
    if manifest.get("files") != files or manifest.get("digest") != _digest(manifest) or set(manifest) != _KEYS:
        changed = "a file or the manifest"
    elif _archive({_MANIFEST: to_json(manifest), **members}) != data:
        changed = "the archive"
    else:
        return members
    raise BundleError(f"{changed} was changed after the bundle was written; ask for a fresh copy")


def _fingerprint(content: bytes) -> dict[str, Any]:
    return {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}


def _unpack(data: bytes) -> dict[str, bytes]:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = archive.infolist()
            if any(entry.compress_type != zipfile.ZIP_STORED for entry in entries):
                raise BundleError("the archive is compressed; a sfumato bundle is not")
            if sum(entry.file_size for entry in entries) > len(data):
                raise BundleError("the archive says that it holds more than it does; ask for a fresh copy")
            return {entry.filename: archive.read(entry) for entry in entries}
    except (zipfile.BadZipFile, OSError, ValueError, KeyError, NotImplementedError, RuntimeError, EOFError) as error:
        raise BundleError(
            f"the bundle is cut short or damaged ({type(error).__name__}); ask for a fresh copy"
        ) from None


def _archive(members: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, data in members.items():
            info = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
            info.create_system, info.external_attr = 3, 0o644 << 16
            archive.writestr(info, data)
    return buffer.getvalue()


def _digest(manifest: Mapping[str, Any]) -> str:
    content = {key: value for key, value in manifest.items() if key != "digest"}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def to_json(content: object) -> bytes:
    """Content as a JSON file."""
    return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False).encode()


def from_json(data: bytes, name: str) -> dict[str, Any]:
    """The mapping in a JSON file."""
    try:
        content = json.loads(data.decode(), parse_constant=_no_number)
        json.dumps(content, ensure_ascii=False).encode()  # halves of surrogate pairs are no text
    except (ValueError, RecursionError):
        raise BundleError(f"{name} is not JSON; ask for a fresh copy") from None
    if not isinstance(content, dict):
        raise BundleError(f"{name} is not a JSON object; ask for a fresh copy")
    return content


def _no_number(word: str) -> None:
    raise ValueError(f"{word} is no number")


def to_arrow_file(table: pa.Table) -> bytes:
    """A table as an Arrow file."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def from_arrow_file(data: bytes, name: str) -> pa.Table:
    """The table in an Arrow file, every buffer checked."""
    try:
        with pa.ipc.open_file(pa.BufferReader(data)) as reader:
            table = reader.read_all()
        table.validate(full=True)
    except (pa.ArrowException, OSError) as error:
        raise BundleError(f"{name} is not a sound Arrow file ({type(error).__name__}); ask for a fresh copy") from None
    return table
