"""Threat 15: a bundle comes back as it was, whole or not at all, and any changed byte shows."""

import contextlib
import errno
import io
import json
import zipfile

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato
from sfumato.archive import members as bundle
from sfumato.archive.members import from_arrow_file, from_json, read_members, to_arrow_file, to_json, write_members
from sfumato.archive.whole_files import whole_file
from sfumato.artefact.bundle import _from_members
from sfumato.errors import BundleError, OutputError
from tests.conftest import MIXED, make_table


@pytest.fixture(scope="module")
def release():
    schema = sfumato.Schema.from_yaml(MIXED)
    return sfumato.release(make_table(200), schema, epsilon=1.0, ledger=None, types="declared")


@pytest.fixture(scope="module")
def data(release):
    file = io.BytesIO()
    release.write(file)
    return file.getvalue()


def members_of(release) -> dict[str, bytes]:
    file = io.BytesIO()
    release.write(file)
    return read_members(file.getvalue())


def rewritten(members) -> bytes:
    """A bundle with hashes that fit, as somebody who knows the format would write it."""
    file = io.BytesIO()
    write_members(members, file)
    return file.getvalue()


def test_a_release_comes_back_as_it_was(release, tmp_path):
    release.save(tmp_path / "b.sfumato")
    again = sfumato.open(tmp_path / "b.sfumato")
    assert again.schema == release.schema
    assert again.header == release.header
    assert again.statement == release.statement
    assert again.statement.hash == release.statement.hash
    for here, there in zip(again.measurements, release.measurements, strict=True):
        assert here.to_dict() == there.to_dict()
        assert np.array_equal(here.values, there.values)
    assert again.sample(100, seed=1).equals(release.sample(100, seed=1))
    assert members_of(again) == members_of(release)


def test_a_bundle_is_json_and_arrow_and_nothing_else(release):
    for name, content in members_of(release).items():
        assert name.endswith((".json", ".arrow"))
        if name.endswith(".json"):
            json.loads(content)


def test_every_changed_byte_shows():
    small = rewritten({"a.json": b"{}", "b/000.arrow": bytes(range(60))})
    read_members(small)
    for place in range(len(small)):
        for change in (1, 128):
            changed = bytearray(small)
            changed[place] ^= change
            with pytest.raises(BundleError):
                read_members(bytes(changed))


def test_changed_bytes_of_a_release_show(data):
    rng = np.random.default_rng(0)
    for place in rng.integers(0, len(data), 400):
        changed = bytearray(data)
        changed[place] ^= int(rng.integers(1, 256))
        with pytest.raises(BundleError):
            read_members(bytes(changed))


def test_a_bundle_cut_short_or_made_longer_is_refused(data):
    for length in (0, 1, 10, len(data) // 2, len(data) - 1):
        with pytest.raises(BundleError):
            read_members(data[:length])
    with pytest.raises(BundleError):
        read_members(data + b"\0")


@given(st.binary(max_size=300))
def test_any_bytes_are_a_bundle_or_a_bundle_error(content):
    with pytest.raises(BundleError):
        read_members(content)


@settings(max_examples=300)
@given(st.data())
def test_any_content_with_fitting_hashes_is_sound_or_a_bundle_error(data):
    """Somebody who writes hashes anew can say what they like; the reader still raises nothing but its own error."""
    members = dict(_MEMBERS)
    name = data.draw(st.sampled_from(sorted(members)))
    content = bytearray(members[name])
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    members[name] = bytes(content)
    with contextlib.suppress(BundleError):
        _from_members(read_members(rewritten(members)))


_MEMBERS = members_of(
    sfumato.release(
        pa.table({"a": [True, False], "n": [1, 2]}),
        sfumato.Schema.from_yaml(
            "{sfumato: 1, name: t, target: a, columns: ["
            "{name: a, type: boolean}, {name: n, type: integer, bounds: [0, 5]}]}"
        ),
        epsilon=1.0,
        ledger=None,
        types="declared",
    )
)

JSON_DAMAGE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
)


@settings(max_examples=300)
@given(st.data())
def test_any_json_in_place_of_ours_is_sound_or_a_bundle_error(data):
    members = dict(_MEMBERS)
    name = data.draw(st.sampled_from([name for name in sorted(members) if name.endswith(".json")]))
    content = json.loads(members[name])
    key = data.draw(st.sampled_from(sorted(content)))
    content[key] = data.draw(JSON_DAMAGE)
    members[name] = to_json(content)
    with contextlib.suppress(BundleError):
        _from_members(read_members(rewritten(members)))


def test_what_is_not_known_is_refused(tmp_path):
    """Another member, another key: never ignored."""
    cases = [{**_MEMBERS, "private_rows.csv": b"age\n40\n"}]
    for name in ("header.json", "statement.json", "measurements.json", "model.json", "schema.json"):
        cases += [{**_MEMBERS, name: to_json({**json.loads(_MEMBERS[name]), "rows": [40]})}]
    measured = json.loads(_MEMBERS["measurements.json"])
    measured["measurements"][0]["rows"] = [40]
    cases.append({**_MEMBERS, "measurements.json": to_json(measured)})
    for number, members in enumerate(cases):
        path = tmp_path / f"{number}.sfumato"
        path.write_bytes(rewritten(members))
        with pytest.raises(BundleError):
            sfumato.open(path)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("statement.json", '"units_spent": ', '"units_spent": -'),
        ("statement.json", '"epsilon": 1.0', '"epsilon": NaN'),
        ("statement.json", '"seeded": false', '"seeded": "\\ud800"'),
        ("measurements.json", '"mu": ', '"mu": -'),
        ("header.json", '"arrow"', '"excel"'),
        ("model.json", '"size": ', '"size": -'),
        ("model.json", '"given": []', '"given": [{"column": "n", "runs": [[5, 2]], "low": null, "high": null}]'),
        ("schema.json", '"name": "n"', '"name": "m"'),
        ("schema.json", '"bounds": [', '"bounds": [3, '),
    ],
)
def test_content_that_does_not_fit_is_refused(tmp_path, name, old, new):
    text = " ".join(_MEMBERS[name].decode().split())
    assert old in text, text
    (tmp_path / "b.sfumato").write_bytes(rewritten({**_MEMBERS, name: text.replace(old, new, 1).encode()}))
    with pytest.raises(BundleError):
        sfumato.open(tmp_path / "b.sfumato")


@pytest.mark.parametrize("files", [[], None, 5, {"a.json": 3}, {}])
def test_a_manifest_of_another_shape_is_refused(files):
    manifest = {"format": "sfumato bundle", "version": "2.0.0", "made_by": "", "made_on": "", "files": files}
    manifest["digest"] = bundle._digest(manifest)
    with pytest.raises(BundleError):
        read_members(bundle._archive({"manifest.json": to_json(manifest), "a.json": b"{}"}))


def test_an_archive_that_says_more_than_it_holds_is_refused():
    """Many entries that share the same bytes: refused before anything is unpacked."""
    data = bytearray(bundle._archive({"manifest.json": b"{}" * 500, "b": b"x"}))
    entry = bytes(data[data.index(b"PK\x01\x02") :])
    first = entry[: entry.index(b"PK\x01\x02", 4)]
    start = data.index(b"PK\x01\x02")
    many = bytes(data[:start]) + first * 50
    size = len(first) * 50
    end = (
        b"PK\x05\x06"
        + bytes(4)
        + (50).to_bytes(2, "little") * 2
        + size.to_bytes(4, "little")
        + start.to_bytes(4, "little")
        + bytes(2)
    )
    with pytest.raises(BundleError, match="more than it does"):
        read_members(many + end)


@pytest.mark.parametrize("version", ["1.0.0", "2.5.0", None])
def test_another_major_version_is_refused(monkeypatch, version):
    monkeypatch.setattr(bundle, "FORMAT_VERSION", version)
    data = rewritten({"a.json": b"{}"})
    monkeypatch.undo()
    with pytest.raises(BundleError, match="format version"):
        read_members(data)


def test_a_later_minor_version_is_read(monkeypatch):
    monkeypatch.setattr(bundle, "FORMAT_VERSION", "3.7.3")
    data = rewritten({"a.json": b"{}"})
    monkeypatch.undo()
    assert read_members(data) == {"a.json": b"{}"}


def test_other_archives_are_refused(tmp_path):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("manifest.json", "{}")
    with pytest.raises(BundleError, match="compressed"):
        read_members(file.getvalue())
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("manifest.json", '{"format": "something else"}')
    with pytest.raises(BundleError, match="not a sfumato bundle"):
        read_members(file.getvalue())
    with pytest.raises(BundleError, match=r"none\.sfumato cannot be read"):
        sfumato.open(tmp_path / "none.sfumato")


@pytest.mark.parametrize("name", ["schema.json", "model.arrow", "measurements/000.arrow"])
def test_a_bundle_without_a_part_is_refused(tmp_path, name):
    members = {key: value for key, value in _MEMBERS.items() if key != name}
    (tmp_path / "b.sfumato").write_bytes(rewritten(members))
    with pytest.raises(BundleError):
        sfumato.open(tmp_path / "b.sfumato")


def test_json_and_arrow_files():
    with pytest.raises(BundleError, match="not JSON"):
        from_json(b"{", "x.json")
    with pytest.raises(BundleError, match="not JSON"):
        from_json(b"[" * 100_000, "x.json")
    with pytest.raises(BundleError, match="not a JSON object"):
        from_json(b"[]", "x.json")
    table = pa.table({"x": [1, 2]})
    assert from_arrow_file(to_arrow_file(table), "x").equals(table)
    with pytest.raises(BundleError, match="not a sound Arrow file"):
        from_arrow_file(b"ARROW1", "x.arrow")


class TestWholeOrNotAtAll:
    def test_nothing_is_left_of_a_file_that_failed(self, tmp_path):
        def fail():
            with whole_file(tmp_path / "x") as file:
                file.write(b"half")
                raise RuntimeError

        with pytest.raises(RuntimeError):
            fail()
        assert list(tmp_path.iterdir()) == []

    def test_nothing_is_overwritten(self, tmp_path):
        (tmp_path / "x").write_text("mine")
        with pytest.raises(OutputError, match="is there already"), whole_file(tmp_path / "x"):
            pass
        assert (tmp_path / "x").read_text() == "mine"

    def test_claimed_room_is_given_back(self, tmp_path):
        with whole_file(tmp_path / "x", room=1 << 20) as file:
            assert sum(path.stat().st_size for path in tmp_path.iterdir()) == 1 << 20
            file.write(b"three")
        assert (tmp_path / "x").read_bytes() == b"three"

    def test_a_file_that_appears_meanwhile_is_not_overwritten(self, tmp_path):
        def write():
            with whole_file(tmp_path / "x") as file:
                file.write(b"ours")
                (tmp_path / "x").write_text("theirs")

        with pytest.raises(OutputError, match="is there already"):
            write()
        assert (tmp_path / "x").read_text() == "theirs"
        assert len(list(tmp_path.iterdir())) == 1

    def test_a_file_system_without_links_will_do(self, tmp_path, monkeypatch):
        def refuse(self, target):
            raise OSError(errno.EPERM, "no links here")

        monkeypatch.setattr("pathlib.Path.hardlink_to", refuse)
        with whole_file(tmp_path / "x") as file:
            file.write(b"ours")
        assert (tmp_path / "x").read_bytes() == b"ours"

    def test_a_full_disk_is_told(self, tmp_path):
        with pytest.raises(OutputError, match="free some space"), whole_file(tmp_path / "x", room=1 << 60):
            raise AssertionError("never reached")
        assert list(tmp_path.iterdir()) == []

    def test_a_folder_that_is_not_there_is_told(self, tmp_path):
        with pytest.raises(OutputError, match="cannot be written"), whole_file(tmp_path / "no" / "x"):
            pass
