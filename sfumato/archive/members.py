"""A release on disk: one archive of JSON and Arrow files with their hashes. No code, no pickle.

The archive is an uncompressed zip file in one canonical form (order, dates and attributes are fixed), so that
`read_members` can build it again from its members and compare: a change of any byte shows.

Compatibility: the format has a semantic version. A reader takes bundles of its own major version, refuses others,
and never ignores a member that it does not know.
"""

import datetime as dt
import hashlib
import io
import json
import math
import struct
import zipfile
from collections.abc import Mapping
from typing import Any, BinaryIO, NoReturn

import pyarrow as pa

from sfumato._version import __version__
from sfumato.errors import BundleError

FORMAT = "sfumato bundle"
FORMAT_VERSION = "3.5.0"
_ARROW = b"ARROW1\0\0"  # how an Arrow file begins; it ends so too, without the zeros
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
            f"the bundle has format version {manifest.get('version')}, this sfumato reads {FORMAT_VERSION}; open it "
            f"with the version that wrote it ({manifest.get('made_by')}), or ask the custodian for a new release"
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
    if data and not data.startswith(b"PK"):
        raise BundleError("this is not a sfumato bundle; give the file that a release was written to")
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
        content = json.loads(data.decode(), parse_constant=_no_number, parse_float=_finite)
        json.dumps(content, ensure_ascii=False).encode()  # halves of surrogate pairs are no text
    except (ValueError, RecursionError):
        raise BundleError(f"{name} is not JSON; ask for a fresh copy") from None
    if not isinstance(content, dict):
        raise BundleError(f"{name} is not a JSON object; ask for a fresh copy")
    return content


def _finite(digits: str) -> float:
    number = float(digits)
    return number if math.isfinite(number) else _no_number(digits)


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number")


def to_arrow_file(table: pa.Table) -> bytes:
    """A table as an Arrow file."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def from_arrow_file(data: bytes, name: str, *, nulls: bool = False) -> pa.Table:
    """The table in an Arrow file, every buffer checked; unless `nulls` are allowed, no value is missing.

    It takes no more memory than the file: only plain types are read, of which every value has its bytes, and nothing
    that is compressed. The messages are read one after the other, as they lie; the list at the end of the file is not
    believed.
    """
    try:
        if not (data.startswith(_ARROW) and data.endswith(_ARROW.rstrip(b"\0"))):
            raise pa.ArrowInvalid("no Arrow file")
        messages = pa.ipc.MessageReader.open_stream(pa.BufferReader(pa.py_buffer(data)[len(_ARROW) :]))
        first = messages.read_next_message()
        if first.type != "schema":  # Arrow checks no other message before it reads a schema from it
            raise pa.ArrowInvalid("no schema")
        layout = pa.ipc.read_schema(first)
        if not all(_is_plain(field.type) for field in layout):
            raise pa.ArrowInvalid("a type that no bundle has")
        table = pa.Table.from_batches([_batch(message, layout) for message in messages], layout)
        table.validate(full=True)
        if not nulls and any(map(_has_nulls, table.columns)):
            raise pa.ArrowInvalid("nulls")
    except (pa.ArrowException, OSError, struct.error, EOFError) as error:
        raise BundleError(f"{name} is not a sound Arrow file ({type(error).__name__}); ask for a fresh copy") from None
    return table


def _is_plain(storage: pa.DataType) -> bool:
    """Whether it is one of the types that bundles and checkpoints have."""
    sized = pa.types.is_fixed_size_list(storage) and storage.list_size > 0
    if sized or pa.types.is_list(storage):
        return bool(storage.value_type == pa.float64())
    return storage in (pa.int64(), pa.float64(), pa.string(), pa.large_binary())


def _batch(message: pa.ipc.Message, layout: pa.Schema) -> pa.RecordBatch:
    if message.type != "record batch" or _is_compressed(message.metadata.to_pybytes()):
        raise pa.ArrowInvalid("a message that no bundle has")
    return pa.ipc.read_record_batch(message, layout)


def _is_compressed(metadata: bytes) -> bool:
    """Whether the header of a record batch names a compression: its fourth field, behind the third of the message."""
    message = struct.unpack_from("<I", metadata)[0]
    header = _field(metadata, message, 2)
    return (
        header is not None and _field(metadata, header + struct.unpack_from("<I", metadata, header)[0], 3) is not None
    )


def _field(metadata: bytes, table: int, number: int) -> int | None:
    """Where a field of a flatbuffer's table lies, None where it is not given."""
    fields = table - struct.unpack_from("<i", metadata, table)[0]
    if 4 + 2 * number >= struct.unpack_from("<H", metadata, fields)[0]:
        return None
    offset = struct.unpack_from("<H", metadata, fields + 4 + 2 * number)[0]
    return table + offset if offset else None


def _has_nulls(column: pa.ChunkedArray) -> bool:
    """At any depth."""
    inner = column.type.num_fields and any(_has_nulls(pa.chunked_array([chunk.flatten()])) for chunk in column.chunks)
    return bool(column.null_count or inner)
