"""The command line: what it prints, what it writes, and how it exits."""

import dataclasses
import json
import resource
import subprocess
import sys

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

import sfumato
from sfumato.cli.app import app
from sfumato.trusted import session
from sfumato.trusted.curator import Curator
from tests.auditing.mixtures import table as two_kinds
from tests.conftest import MIXED, in_pandas, make_table

COMMANDS = (
    ["demo"], ["plan"], ["audit"], ["release"], ["evaluate"], ["check"], ["export"], ["about"],
    ["sample"], ["retrain"], ["translate"], ["inspect"], ["verify"], ["report"], ["studio"],
    ["schema", "init"], ["schema", "check"], ["ledger", "show"], ["ledger", "set-limit"], ["ledger", "export"],
    ["ledger", "move"],
)  # fmt: skip


@pytest.fixture
def place(tmp_path):
    pyarrow.parquet.write_table(make_table(500), tmp_path / "t.parquet")
    (tmp_path / "s.yaml").write_text(MIXED)
    return tmp_path


def run(*words: object):
    return CliRunner().invoke(app, [str(word) for word in words])


def release(place, *more, out="b.sfumato", epsilon="1"):
    return run(
        "release", place / "t.parquet", "--schema", place / "s.yaml", "--epsilon", epsilon, "--out", place / out, *more
    )


def flat(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help_has_an_example(command):
    shown = run(*command, "--help")
    assert shown.exit_code == 0
    assert f"sfumato {' '.join(command)}" in flat(shown.output)
    assert "Example:" in shown.output


def test_help_lists_the_commands_of_this_version_and_no_stub():
    shown = run("--help").output
    for command in (
        "demo",
        "plan",
        "release",
        "sample",
        "retrain",
        "translate",
        "inspect",
        "verify",
        "report",
        "evaluate",
        "audit",
        "schema",
        "ledger",
    ):
        assert command in shown
    assert run("--version").output == f"sfumato {sfumato.__version__}\n"


def test_a_generator_is_trained_on_a_bundle_and_nothing_is_spent(place):
    pytest.importorskip("torch", reason="torch is not installed; pip install 'sfumato[generators]'")
    assert release(place).exit_code == 0
    before = run("ledger", "export").output
    words = ("retrain", place / "b.sfumato", "--epochs", "30", "--divergence", "kl", "--checkpoint", place / "kept")
    done = run(*words, "--curve", place / "loss.svg", "--out", place / "c.sfumato")
    assert done.exit_code == 0, done.output
    assert "nothing was spent" in flat(done.output)
    assert (place / "loss.svg").read_text().startswith("<svg")
    assert run("ledger", "export").output == before
    assert run("verify", place / "c.sfumato").exit_code == 0
    assert run("sample", place / "c.sfumato", "-n", "20", "--out", place / "s.csv").exit_code == 0

    again = run(*words, "--out", place / "c.sfumato")
    assert again.exit_code == 2
    assert "is there already" in flat(again.output)
    wrong = run("retrain", place / "b.sfumato", "--generator", "gan", "--out", place / "d.sfumato")
    assert wrong.exit_code == 2
    assert "use one of mlp, residual, convolutional" in flat(wrong.output)
    assert not (place / "d.sfumato").exists()


def test_the_whole_path(place):
    done = release(place)
    assert done.exit_code == 0, done.output
    assert "b.sfumato holds the release" in flat(done.output)
    assert "(1, 1e-06)-differential privacy for one record, add-remove adjacency" in flat(done.output)
    assert "43.7% of the budget" in done.output
    assert "dataset mixed has spent epsilon 1 at delta 1e-06 in 1 release; no limit is set." in flat(done.output)

    checked = run("verify", place / "b.sfumato")
    assert checked.exit_code == 0
    assert checked.output.count(" ok ") == 11

    drawn = run("sample", place / "b.sfumato", "--out", place / "p.csv", "-n", "20", "--probabilities")
    assert drawn.exit_code == 0
    assert "p(ill=yes)" in (place / "p.csv").read_text().splitlines()[0]

    shown = flat(run("inspect", place / "b.sfumato").output)
    assert "name: age type: integer bounds: [0, 99]" in shown
    assert "not protected" in shown

    drawn = run(
        "sample",
        place / "b.sfumato",
        "-n",
        70,
        "--given",
        "age=40..60,job=cook|nurse",
        "--seed",
        1,
        "--out",
        place / "s.parquet",
    )
    assert drawn.exit_code == 0
    table = pyarrow.parquet.read_table(place / "s.parquet")
    assert len(table) == 70
    stored = pyarrow.parquet.read_table(place / "t.parquet").drop(["not_in_the_schema"])
    assert table.column_names == stored.column_names
    assert table.drop(["seen"]).schema == stored.drop(["seen"]).schema
    assert set(table.column("job").to_pylist()) <= {"cook", "nurse"}

    assert run("sample", place / "b.sfumato", "--out", place / "s.csv").exit_code == 0
    assert pyarrow.csv.read_csv(place / "s.csv").column_names == table.column_names

    assert run("report", place / "b.sfumato", "--out", place / "r.html").exit_code == 0
    assert (place / "r.html").read_text().startswith("<!doctype html>")


def test_texts_in_parquet_come_back_as_texts(place, schema):
    plain = make_table(300)
    texts = plain.set_column(plain.column_names.index("job"), "job", plain.column("job").cast(pa.string()))
    sfumato.release(texts, schema, epsilon=1.0, types="declared").save(place / "t.sfumato")
    assert run("sample", place / "t.sfumato", "-n", 50, "--seed", 1, "--out", place / "t2.parquet").exit_code == 0
    table = pyarrow.parquet.read_table(place / "t2.parquet")
    assert table.equals(sfumato.open(place / "t.sfumato").sample(50, seed=1))
    assert table.schema.field("job").type == pa.string()


def test_a_sample_of_a_frame_release_can_be_written(place, schema):
    sfumato.release(in_pandas(make_table(200)), schema, epsilon=1.0, types="declared").save(place / "p.sfumato")
    assert run("sample", place / "p.sfumato", "-n", 5, "--out", place / "p.parquet").exit_code == 0
    assert pyarrow.parquet.read_table(place / "p.parquet").column_names[0] == "ill"


def test_a_seeded_release_says_so_everywhere(place):
    done = release(place, "--seed", 7)
    assert done.exit_code == 0
    assert "NOT PRIVATE" in done.output
    checked = run("verify", place / "b.sfumato")
    assert checked.exit_code == 2
    assert "seeded: not private" in checked.output
    run("report", place / "b.sfumato", "--out", place / "r.html")
    page = (place / "r.html").read_text()
    assert "NOT PRIVATE" in page
    assert "differential privacy for one record" not in page


class TestTheLedger:
    def test_a_limit_refuses_with_exit_3_and_nothing_is_computed(self, place, monkeypatch):
        assert run("ledger", "set-limit", "mixed", "--epsilon", 1.2).exit_code == 0
        assert release(place).exit_code == 0
        monkeypatch.setattr(session, "Curator", None)  # no record may be read
        refused = release(place, out="second.sfumato")
        assert refused.exit_code == 3
        assert "limit of dataset 'mixed' does not allow this release of epsilon 1" in flat(refused.stderr)
        assert "the largest epsilon that still fits is 0.6127 at delta 1e-06" in flat(refused.stderr)
        assert not (place / "second.sfumato").exists()
        assert sorted(path.name for path in place.iterdir() if path.suffix == ".part") == []

    def test_show_set_and_export(self, place):
        assert "has no entries yet" in flat(run("ledger", "show").output)
        release(place)
        book = place / "other.sqlite"
        release(place, "--ledger", book, out="c.sfumato")
        run("ledger", "set-limit", "mixed", "--epsilon", 3, "--delta", 1e-5, "--ledger", book)
        lines = [json.loads(line) for line in run("ledger", "export", "--ledger", book).output.splitlines()]
        assert [line["kind"] for line in lines] == ["reserve", "commit", "limit"]
        assert lines[1]["previous"] == lines[0]["hash"]
        assert "add-remove  1e-05" in run("ledger", "show", "mixed", "--ledger", book).output
        assert "has no entries for nobody yet" in flat(run("ledger", "show", "nobody").output)

    def test_a_release_that_stopped_half_way_shows(self, place, monkeypatch):
        monkeypatch.setattr(Curator, "measure", lambda *_: (_ for _ in ()).throw(sfumato.SfumatoError("power cut")))
        assert release(place).exit_code == 2
        assert "1 reserved and not finished" in flat(run("ledger", "show").output)
        assert not (place / "b.sfumato").exists()


BAD = {
    "epsilon of 0": (["--epsilon", "0"], "epsilon is 0"),
    "epsilon that is none": (["--epsilon", "nan"], "epsilon is nan"),
    "delta of 1": (["--delta", "1"], "delta is 1"),
    "epsilon beyond meaning": (["--epsilon", "1e7"], "promises nothing"),
    "epsilon too small to count": (["--epsilon", "1e-9", "--delta", "1e-12"], "buys nothing"),
    "unknown mechanism": (["--mechanism", "magic"], "use one of auto, tables, mixture"),
    "a schema that is not there": (["--schema", "none.yaml"], "none.yaml: cannot be read"),
}


@pytest.mark.parametrize(("words", "message"), BAD.values(), ids=BAD)
def test_bad_input_exits_2_and_spends_nothing(place, words, message):
    failed = release(place, *words)
    assert failed.exit_code == 2
    assert message in flat(failed.stderr)
    assert run("ledger", "export").output == ""
    assert sorted(path.name for path in place.iterdir()) == ["s.yaml", "t.parquet"]


def test_bad_schemas_and_tables_exit_2_and_spend_nothing(place):
    for old, new, message in (
        ("bounds: [0, 99]", "bounds: [99, 0]", "99 is not below 0"),
        ("values: [nurse, cook, clerk]", "values: []", "is empty"),
        ("name: age", "name: years", "has no column 'years'"),
        ("target: ill", "target: ill\nunit: {column: id, records: 2}", "has no column 'id'"),
        ("type: boolean", "type: boolean, colour: red", "colour: unknown key"),
    ):
        (place / "s.yaml").write_text(MIXED.replace(old, new))
        failed = release(place)
        assert failed.exit_code == 2, message
        assert message in flat(failed.stderr)
    (place / "s.yaml").write_text(MIXED)
    (place / "t.parquet").write_bytes(b"broken")
    failed = release(place)
    assert failed.exit_code == 2
    assert "cannot be read as Parquet" in flat(failed.stderr)
    assert run("ledger", "export").output == ""


def test_an_existing_bundle_is_never_overwritten(place):
    (place / "b.sfumato").write_text("precious")
    failed = release(place)
    assert failed.exit_code == 2
    assert "is there already" in flat(failed.stderr)
    assert (place / "b.sfumato").read_text() == "precious"
    assert run("ledger", "export").output == ""


def test_label_adjacency_needs_a_target(place):
    (place / "s.yaml").write_text(MIXED.replace("target: ill", ""))
    assert "label adjacency protects the target" in flat(release(place, "--adjacency", "label").stderr)
    with pytest.raises(sfumato.SfumatoError, match="adjacency is 'both'"):
        sfumato.release(place / "t.parquet", place / "s.yaml", epsilon=1.0, adjacency="both", types="declared")


def test_a_full_disk_is_found_before_anything_is_spent(place):
    """The process may not write files as large as a bundle may need: the room cannot be claimed."""

    def small_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

    command = [
        sys.executable,
        "-c",
        "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); from sfumato.cli.app import main; main()",
    ]
    words = [
        "release",
        place / "t.parquet",
        "--schema",
        place / "s.yaml",
        "--epsilon",
        "1",
        "--out",
        place / "b.sfumato",
    ]
    done = subprocess.run(
        [*command, *map(str, words)], preexec_fn=small_files, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2, done.stderr
    assert "free some space" in flat(done.stderr)
    assert run("ledger", "export").output == ""
    assert not (place / "b.sfumato").exists()


@pytest.mark.parametrize("command", ["sample", "inspect", "verify", "report"])
def test_bad_bundles_exit_2(place, command):
    release(place)
    data = (place / "b.sfumato").read_bytes()
    more = (
        ["--out", place / "x.csv"]
        if command == "sample"
        else ["--out", place / "x.html"]
        if command == "report"
        else []
    )
    for content in (b"", data[:1000], data[:5000] + b"\0" + data[5001:]):
        (place / "bad.sfumato").write_bytes(content)
        failed = run(command, place / "bad.sfumato", *more)
        assert failed.exit_code == 2
        assert "bad.sfumato" in failed.stderr
        assert failed.stdout == ""
    assert run(command, place / "none.sfumato", *more).exit_code == 2


def test_bad_requests_exit_2(place):
    release(place)
    for words, message in (
        (["--given", "age=70..60"], "is no range"),
        (["--given", "salary=3"], "no column 'salary'"),
        (["--given", "age"], "is not a condition"),
        (["-n", "-5"], "rows is -5"),
        (["--out", place / "x.xlsx"], "must end in .parquet or .csv"),
    ):
        failed = run("sample", place / "b.sfumato", "--out", place / "x.csv", *words)
        assert failed.exit_code == 2
        assert message in flat(failed.stderr)
        assert not (place / "x.csv").exists()


class TestSchemas:
    def test_a_draft_comes_from_the_header_alone_and_is_not_yet_sound(self, place):
        draft = run("schema", "init", place / "t.parquet").output
        assert "{name: age, type: integer, bounds: [FILL, FILL]}" in draft
        assert "{name: job, type: category, values: [FILL]}" in draft
        assert "nurse" not in draft
        (place / "draft.yaml").write_text(draft)
        failed = run("schema", "check", place / "draft.yaml")
        assert failed.exit_code == 2
        assert "FILL" in failed.stderr

    def test_a_csv_header_declares_no_types(self, place):
        (place / "t.csv").write_text('age,"odd: name, here"\n40,secret\n')
        draft = run("schema", "init", place / "t.csv").output
        assert "{name: 'odd: name, here', type: FILL}" in draft
        assert "secret" not in draft
        assert run("schema", "init", place / "none.csv").exit_code == 2

    def test_a_sound_schema_is_said_to_be(self, place):
        done = run("schema", "check", place / "s.yaml")
        assert done.exit_code == 0
        assert "is valid: dataset mixed, 8 columns, target ill." in flat(done.output)
        (place / "u.yaml").write_text(MIXED + "unit: {column: id, records: 3}\n")
        assert "target ill, at most 3 records of each id." in flat(run("schema", "check", place / "u.yaml").output)


@pytest.mark.parametrize("name", ["a[bold]b.sfumato", "x[red].sfumato"])
def test_a_name_with_brackets_is_a_name(place, name):
    done = release(place, out=name)
    assert done.exit_code == 0
    assert name in done.output.replace("\n", "")


def test_places_that_cannot_be_written_exit_2(place):
    assert run("demo", "--out", place / "t.parquet").exit_code == 2
    (place / "tour" / "clinic.sfumato").mkdir(parents=True)
    assert run("demo", "--out", place / "tour").exit_code == 2
    assert release(place, out=".").exit_code == 2
    assert release(place, out="no/such/folder.sfumato").exit_code == 2
    assert run("ledger", "export").output == ""


def test_control_characters_of_a_bundle_do_not_reach_the_terminal(place, schema):
    named = sfumato.Schema.from_dict({**schema.to_dict(), "name": "red\x1b[31m"})
    sfumato.release(make_table(50), named, epsilon=1.0, ledger=None, types="declared").save(place / "b.sfumato")
    shown = run("inspect", place / "b.sfumato")
    assert shown.exit_code == 0
    assert "\x1b" not in shown.output


def test_a_pipe_gets_no_bars_and_no_colours(place):
    words = [
        "release",
        place / "t.parquet",
        "--schema",
        place / "s.yaml",
        "--epsilon",
        "1",
        "--out",
        place / "b.sfumato",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "sfumato", *map(str, words)], capture_output=True, text=True, check=True
    )
    assert all(line.startswith("warning: ") for line in done.stderr.splitlines())
    assert "\x1b" not in done.stderr
    assert "\x1b" not in done.stdout
    assert "\r" not in done.stdout


NUMBERS = """
{sfumato: 1, name: numbers, columns: [
  {name: a, type: number, bounds: [0, 10]}, {name: b, type: number, bounds: [-5, 5]}]}
"""
KINDS = """
{sfumato: 1, name: kinds, target: y, public_features: true, columns: [
  {name: a, type: number, bounds: [0, 10]}, {name: b, type: number, bounds: [-5, 5]},
  {name: y, type: category, values: ["no", "yes"]}]}
"""


def test_parts_go_from_release_to_verify_and_report(tmp_path):
    pyarrow.parquet.write_table(two_kinds(rows=400), tmp_path / "t.parquet")
    (tmp_path / "s.yaml").write_text(KINDS.replace(", public_features: true", ""))
    parts = ["--anonymize", "kernel", "--approximate", "mixture", "--adapt", "leaves", "--share", "0.3"]
    done = release(tmp_path, "--mechanism", "3a", *parts)
    assert done.exit_code == 0, done.output
    assert "the mean embedding in 256 random features by y" in flat(done.output)
    assert run("verify", tmp_path / "b.sfumato").exit_code == 0
    assert run("report", tmp_path / "b.sfumato", "--out", tmp_path / "r.html").exit_code == 0
    assert "3a (anonymize kernel, approximate mixture, adapt leaves, share 0.3)" in flat(
        (tmp_path / "r.html").read_text()
    )


class TestMixtures:
    @pytest.fixture
    def place(self, tmp_path):
        pyarrow.parquet.write_table(two_kinds(rows=400), tmp_path / "t.parquet")
        (tmp_path / "s.yaml").write_text(NUMBERS)
        return tmp_path

    def test_components_go_from_release_to_sample_and_report(self, place):
        done = release(place, "--mechanism", "mixture", "--components", 2)
        assert done.exit_code == 0, done.output
        assert "counts in boxes of 2 columns" in flat(done.output)
        assert run("verify", place / "b.sfumato").exit_code == 0
        assert len(sfumato.open(place / "b.sfumato").fitted.actions["mixture"].weights) in (1, 2)
        for action in ("mixture", "wide", "detailed"):
            words = ["sample", place / "b.sfumato", "-n", 30, "--estimate", action, "--out", place / f"{action}.csv"]
            assert run(*words, "--seed", 1).exit_code == 0
            table = pyarrow.csv.read_csv(place / f"{action}.csv")
            assert (table.num_rows, table.column_names) == (30, ["a", "b"])
        assert (place / "mixture.csv").read_text() != (place / "wide.csv").read_text()
        assert run("report", place / "b.sfumato", "--out", place / "r.html").exit_code == 0
        assert "The classes as ellipses" in (place / "r.html").read_text()

    def test_an_action_that_is_none_exits_2_and_writes_nothing(self, place):
        release(place, "--mechanism", "mixture", "--components", 1)
        failed = run("sample", place / "b.sfumato", "--estimate", "narrow", "--out", place / "x.csv")
        assert failed.exit_code == 2
        assert "the estimate is 'narrow'; use one of mixture, wide, detailed" in flat(failed.stderr)
        assert not (place / "x.csv").exists()

    def test_tables_have_no_actions(self, place):
        release(place, "--mechanism", "tables")
        failed = run("sample", place / "b.sfumato", "--estimate", "wide", "--out", place / "x.csv")
        assert failed.exit_code == 2
        assert "mechanism mixture" in flat(failed.stderr)

    @pytest.mark.parametrize(
        ("schema", "words", "message"),
        [
            (NUMBERS, ["--mechanism", "mixture", "--components", "0"], "0 components are asked for; ask for 1 to 50"),
            (NUMBERS, ["--mechanism", "mixture", "--components", "51"], "51 components are asked for"),
            (NUMBERS, ["--components", "3"], "components are for mechanism mixture"),
            (KINDS, ["--mechanism", "mixture", "--components", "3"], "leave components out"),
            (MIXED, ["--mechanism", "mixture"], "is a category, and a Gaussian mixture has numbers"),
            (MIXED, ["--share", "0.2"], "share: for mechanism 3a alone"),
            (MIXED, ["--mechanism", "3a", "--anonymize", "masks"], "use one of tables, slices, kernel"),
        ],
        ids=["none", "too many", "tables", "a target", "categories", "no parts", "no such part"],
    )
    def test_bad_requests_exit_2_and_spend_nothing(self, place, schema, words, message):
        (place / "s.yaml").write_text(schema)
        failed = release(place, *words)
        assert failed.exit_code == 2
        assert message in flat(failed.stderr)
        assert run("ledger", "export").output == ""
        assert not (place / "b.sfumato").exists()

    def test_public_features_are_given_to_verify(self, place):
        (place / "s.yaml").write_text(KINDS)
        assert release(place, "--mechanism", "mixture", "--adjacency", "label").exit_code == 0
        without = run("verify", place / "b.sfumato")
        assert without.exit_code == 4
        assert "NOT CHECKED  model follows from the measurements: it was fitted with public features" in without.output
        assert "is not verified; this could not be checked: model follows" in flat(without.stderr)
        checked = run("verify", place / "b.sfumato", "--features", place / "t.parquet")
        assert checked.exit_code == 0, checked.output
        assert "model follows from the measurements: fitted anew" in flat(checked.output)
        pyarrow.csv.write_csv(two_kinds(rows=400).drop(["y"]), place / "f.csv")
        assert run("verify", place / "b.sfumato", "--features", place / "f.csv").exit_code == 0

    def test_a_model_that_was_never_measured_is_no_pass(self, place):
        """Statement and measurements of epsilon 0.1, model of epsilon 100."""
        settings = {"mechanism": "mixture", "adjacency": "label", "ledger": None}
        table, schema = two_kinds(rows=400), sfumato.Schema.from_yaml(KINDS)
        honest, leak = (sfumato.release(table, schema, epsilon=epsilon, **settings) for epsilon in (0.1, 100.0))
        dataclasses.replace(honest, fitted=leak.fitted).save(place / "b.sfumato")
        assert run("verify", place / "b.sfumato").exit_code == 4
        assert run("verify", place / "b.sfumato", "--features", place / "t.parquet").exit_code == 2

    def test_other_features_do_not_keep_the_claim(self, place):
        (place / "s.yaml").write_text(KINDS)
        release(place, "--mechanism", "mixture", "--adjacency", "label")
        others = {
            "other.parquet": two_kinds(rows=300),
            "half.parquet": two_kinds(rows=400).select(["a"]),
        }
        for name, table in others.items():
            pyarrow.parquet.write_table(table, place / name)
            failed = run("verify", place / "b.sfumato", "--features", place / name)
            assert failed.exit_code == 2, name
            assert "does not keep its claim: model follows from the measurements" in flat(failed.stderr)

    def test_features_that_cannot_be_read_exit_2(self, place):
        (place / "s.yaml").write_text(KINDS)
        release(place, "--mechanism", "mixture", "--adjacency", "label")
        (place / "broken.parquet").write_bytes(b"broken")
        for name in ("broken.parquet", "none.parquet", "none.csv"):
            failed = run("verify", place / "b.sfumato", "--features", place / name)
            assert failed.exit_code == 2
            assert "cannot be read" in flat(failed.stderr)
            assert "give a Parquet, CSV or .npz file" in flat(failed.stderr)


def test_a_reader_who_goes_early_is_no_error(place):
    assert release(place).exit_code == 0
    words = f"{sys.executable} -m sfumato inspect {place / 'b.sfumato'} | head -n 1"
    shown = subprocess.run(["bash", "-c", words], capture_output=True, text=True, check=True)
    assert "terminated" not in shown.stderr
    assert shown.stdout.count("\n") == 1
