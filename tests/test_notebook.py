"""What a person meets in a notebook: short reprs, HTML that can be shown, functions of the package, one example."""

import ast
import io
import json
import re
import subprocess
import sys
import types
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console

import sfumato
from sfumato.artefact.check import Outcome
from sfumato.cli.app import app
from sfumato.errors import BundleError, DataError, OutputError, SchemaError
from sfumato.fitting.generators.training import Epoch
from tests.conftest import MIXED, make_table
from tests.mechanisms.every import every_case

EXAMPLES = Path(__file__).parents[1] / "examples"
EXAMPLE, HISTORIES = EXAMPLES / "ten_minutes.ipynb", EXAMPLES / "patients_with_histories.ipynb"
LONGEST = 400
EVIL = "<script>alert('x')</script>\x1b[31m" + "&" * 200
HOSTILE = {
    "sfumato": 1,
    "name": "clinic " + EVIL[:150],
    "target": EVIL,
    "columns": [
        {"name": EVIL, "type": "category", "values": ["<b>", EVIL]},
        {"name": "born", "type": "date", "bounds": ["2020-01-01", "2020-12-31"]},
        {"name": "x_{0..9}", "type": "number", "bounds": [0, 1]},
    ],
    "constraints": [{"key": "<i>id</i>"}],
}


@pytest.fixture(scope="module")
def release():
    return sfumato.release(
        make_table(1_000), sfumato.Schema.from_yaml(MIXED), epsilon=2.0, ledger=None, types="declared"
    )


@pytest.fixture(scope="module")
def hostile():
    rng = np.random.default_rng(0)
    columns = {f"x_{place}": rng.random(50) for place in range(10)}
    days = pa.array(np.full(50, 18_400, dtype=np.int32)).cast(pa.date32())
    table = pa.table({EVIL: ["<b>"] * 50, "born": days, **columns})
    return sfumato.release(table, HOSTILE, epsilon=1.0, ledger=None, types="declared", seed=1)


class _Reader(HTMLParser):
    """The tags of a piece of HTML, which must be closed as they were opened."""

    VOID = ("rect", "line", "path", "circle")

    def __init__(self) -> None:
        super().__init__()
        self.open, self.tags, self.attributes, self.text = [], set(), set(), ""

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def read_html(page: str) -> _Reader:
    reader = _Reader()
    reader.feed(page)
    assert reader.open == []
    return reader


def everything_in(release):
    measurement = release.measurements[0]
    yield from (release, release.schema, release.statement, release.header, release.plan, measurement)
    yield from (release.model, release.fitted, measurement.statistic, release.statement.budget)
    yield from (sfumato.verify(release), sfumato.ProgressBar(), sfumato.report(release))


def test_reprs_are_short(release, hostile):
    for one in (*everything_in(release), *everything_in(hostile)):
        for words in (repr(one), f"{one!s}" if not isinstance(one, str) else ""):
            assert len(words) <= LONGEST, type(one)
            assert "object at 0x" not in words
            assert "\x1b" not in words
    assert "8 columns" in repr(release)
    assert "proven (2, 1e-06)-differential privacy for one record" in repr(release)
    assert repr(release.condition({"age": (40, 60)})).count("given age") == 1
    assert "NOT PRIVATE, seeded" in repr(hostile)
    assert "NOT PRIVATE, seeded" in repr(hostile.statement)


@pytest.mark.parametrize("name", ["tables, constraints", "slices", "mixture", "subspace"])
def test_every_mechanism_has_short_reprs_and_a_page(name):
    made = every_case()[name].release()
    for one in (made, made.model, made.plan, made.statement, *made.measurements):
        assert len(repr(one)) <= LONGEST
    for item in made.measurements:
        assert len(repr(item.statistic)) <= LONGEST
    assert len(made._repr_html_()) < 400_000


def test_a_wide_schema_is_short_too():
    columns = [{"name": f"column number {place}", "type": "boolean"} for place in range(2_000)]
    wide = sfumato.Schema.from_dict({"sfumato": 1, "name": "wide", "columns": columns})
    assert len(repr(wide)) <= LONGEST
    assert "and 1960 more" in wide._repr_html_()
    assert len(wide._repr_html_()) < 40_000


def test_notebooks_show_releases_and_schemas(release, hostile):
    for one in (release, release.schema, hostile, hostile.schema, sfumato.verify(release), sfumato.verify(hostile)):
        found = read_html(one._repr_html_())
        assert found.tags.isdisjoint({"script", "link", "img", "iframe", "object", "i"})
        assert not any(name.startswith("on") or name in ("src", "href") for name in found.attributes)
    assert "\x1b" not in hostile.schema._repr_html_()
    page = release._repr_html_()
    assert release.statement.promise in read_html(page).text
    assert page.count("<svg") == 6
    assert ">proven<" in page
    shown = read_html(release.schema._repr_html_()).text
    for words in ("1920-01-01 to 2020-12-31", "nurse, cook, clerk", "1 to 1e+06, log scale", "may be missing"):
        assert words in shown
    assert "NOT PRIVATE" in hostile._repr_html_()
    assert ">seeded: not private<" in hostile._repr_html_()
    assert "x_{0..9}" in read_html(hostile.schema._repr_html_()).text
    assert "key: &lt;i&gt;id" in hostile.schema._repr_html_()


def test_schemas_show_persons_and_what_is_still_unknown():
    schema = sfumato.Schema.from_dict(
        {
            "sfumato": 1,
            "name": "n",
            "unit": {"column": "who", "records": 3},
            "columns": [
                {"name": "a", "type": "number", "bounds": "estimate"},
                {"name": "b", "type": "category", "values": "discover"},
            ],
        }
    )
    text = read_html(schema._repr_html_()).text
    assert "estimated by the release" in text
    assert "discovered by the release" in text
    assert "told apart by who, may have 3 records" in text


def test_verify_takes_a_path_and_has_a_truth_value(release, hostile, tmp_path):
    release.save(tmp_path / "b.sfumato")
    found = sfumato.verify(tmp_path / "b.sfumato")
    assert found
    assert len(found) == len(list(found)) == 10
    assert "all of 10 checks were made and hold" in repr(found)
    refused = sfumato.verify(hostile)
    assert not refused
    assert refused.failed == ["noise from a cryptographic source"]
    assert "does not keep its claim: noise from" in repr(refused)
    sfumato.Ledger(tmp_path / "ledger.sqlite").set_limit("another", sfumato.Budget(1.0, 1e-6))
    not_written = sfumato.verify(release, ledger=tmp_path / "ledger.sqlite")
    assert not_written.failed == ["statement is in the ledger"]
    public = sfumato.release(
        make_table(300).select(["age", "ill"]),
        {
            "sfumato": 1,
            "name": "public",
            "target": "ill",
            "public_features": True,
            "columns": [
                {"name": "age", "type": "number", "bounds": [0, 99]},
                {"name": "ill", "type": "category", "values": ["no", "yes"]},
            ],
        },
        epsilon=4.0,
        mechanism="mixture",
        adjacency="label",
        ledger=None,
        types="declared",
    )
    open_question = sfumato.verify(public)
    assert [check.outcome for check in open_question].count(Outcome.UNCHECKED) == 1
    assert not open_question
    assert "could not be checked: model follows" in repr(open_question)
    with pytest.raises(BundleError, match="check the path"):
        sfumato.verify(tmp_path / "none.sfumato")


def test_report_of_a_release_or_a_path_into_a_string_or_a_file(release, tmp_path):
    release.save(tmp_path / "b.sfumato")
    page = sfumato.report(tmp_path / "b.sfumato", tmp_path / "r.html")
    assert (tmp_path / "r.html").read_text(encoding="utf-8") == page == sfumato.report(release)
    assert page.startswith("<!doctype html>")
    frame = read_html(page._repr_html_())
    assert frame.tags == {"iframe"}
    assert {"srcdoc", "sandbox"} <= frame.attributes
    with pytest.raises(OutputError, match="is there already"):
        sfumato.report(release, tmp_path / "r.html")
    with pytest.raises(OutputError, match="there is no folder"):
        sfumato.report(release, tmp_path / "no" / "r.html")
    with pytest.raises(BundleError, match="not the path of a bundle"):
        sfumato.report(None)


def test_evaluate_with_a_file_that_is_not_there(release, tmp_path):
    with pytest.raises(DataError, match=r"real\.parquet"):
        sfumato.evaluate(release, tmp_path / "real.parquet", tmp_path / "test.parquet")


def test_a_dictionary_is_a_schema():
    content = sfumato.Schema.from_yaml(MIXED).to_dict()
    assert sfumato.Schema.load(content) == sfumato.Schema.from_yaml(MIXED)
    made = sfumato.release(make_table(50), content, epsilon=1.0, ledger=None, types="declared")
    assert made.schema.name == "mixed"
    for wrong, message in (
        (None, "a NoneType is no schema; give a path, a dictionary"),
        (3, "a int is no schema"),
        ({"sfumato": 1, "name": "x"}, "schema, columns: is required"),
        ("none.yaml", "check the path"),
    ):
        with pytest.raises(SchemaError, match=message):
            sfumato.Schema.load(wrong)


def test_given_may_be_repeated_on_the_command_line(release, tmp_path):
    from typer.testing import CliRunner

    bundle, out = tmp_path / "b.sfumato", tmp_path / "s.parquet"
    release.save(bundle)
    command = ["sample", str(bundle), "-n", "50", "--out", str(out), "--given", "age=40..60"]
    assert CliRunner().invoke(app, [*command, "--given", "job=cook"]).exit_code == 0
    drawn = pq.read_table(out).to_pandas()
    assert drawn["age"].between(40, 60).all()
    assert set(drawn["job"]) == {"cook"}
    for more, message in (
        (["--given", "age=3"], "'age' stands in two"),
        (["--out", str(tmp_path / "no/s.csv")], "no folder"),
    ):
        failed = CliRunner().invoke(app, [*command, *more])
        assert failed.exit_code == 2
        assert message in " ".join(failed.stderr.split())


class TestProgress:
    """Bars in terminals and notebooks, silence elsewhere."""

    def show(self, console):
        bar = sfumato.ProgressBar(console)
        bar("measuring <b>")
        for number in (1, 2, 10):
            bar(Epoch(number, 10, 1_000.0 / number, None))
        return bar

    def test_a_terminal_gets_lines_and_a_bar(self):
        console = Console(force_terminal=True, record=True, width=100, file=io.StringIO())
        assert "after 1 stages" in repr(self.show(console))
        text = console.export_text()
        assert re.search(r"0\.0 s  measuring <b>\n", text)
        assert "epoch 10 of 10, loss 100" in text
        assert "epoch 2 of 10" not in text  # too soon after the first

    def test_a_notebook_gets_one_block_that_is_replaced(self, monkeypatch):
        shown = []
        handle = types.SimpleNamespace(update=lambda page: shown.append(page))

        def display(page, display_id):
            assert display_id
            shown.append(page)
            return handle

        module = types.ModuleType("IPython.display")
        module.HTML, module.display = str, display
        monkeypatch.setitem(sys.modules, "IPython", types.ModuleType("IPython"))
        monkeypatch.setitem(sys.modules, "IPython.display", module)
        self.show(Console(force_jupyter=True))
        assert len(shown) == 3
        assert 'max="10"' in shown[-1]
        assert "measuring &lt;b&gt;" in shown[-1]
        assert read_html(shown[-1]).tags == {"div", "progress"}

    def test_a_pipe_gets_nothing(self, capsys):
        self.show(Console(stderr=True))
        assert capsys.readouterr() == ("", "")

    def test_a_release_tells_its_stages(self):
        bar = sfumato.ProgressBar(Console(stderr=True))
        sfumato.release(
            make_table(50), sfumato.Schema.from_yaml(MIXED), epsilon=1.0, ledger=None, types="declared", progress=bar
        )
        assert re.search("after [3-9] stages", repr(bar))


def run_cells(path: Path) -> dict[str, list[str]]:
    """Run the code of a notebook from top to bottom, as Jupyter would; the last value of each cell is shown.

    Returns what each cell shows, by its id.
    """
    names, shown = {"__name__": "__main__"}, {}
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] != "code":
            continue
        body = ast.parse("".join(cell["source"]))
        last = body.body.pop() if body.body and isinstance(body.body[-1], ast.Expr) else None
        exec(compile(body, cell["id"], "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), cell["id"], "eval"), names)
            page = value._repr_html_() if hasattr(value, "_repr_html_") else None
            shown[cell["id"]] = [repr(value), page]
    return shown


class TestExample:
    """The notebooks of ten minutes, and of patients with histories."""

    @pytest.mark.parametrize("path", [EXAMPLE, HISTORIES], ids=lambda path: path.stem)
    def test_it_is_kept_without_outputs(self, path):
        content = json.loads(path.read_text(encoding="utf-8"))
        assert content["nbformat"] == 4
        for cell in content["cells"]:
            assert cell["cell_type"] == "markdown" or (cell["outputs"], cell["execution_count"]) == ([], None)

    def test_it_runs_from_top_to_bottom(self, capsys):
        shown = run_cells(EXAMPLE)
        assert len(shown) > 8
        for words, _ in shown.values():
            assert len(words) < 2_000
        told = capsys.readouterr().out
        assert "did you mean 'nights'?" in told
        assert "differential privacy for one record" in told
        pages = " ".join(html or "" for _, html in shown.values())
        assert "what an attacker gains" in pages.lower()  # the plan
        assert "readmitted" in pages
        assert "limit" in told.splitlines()[-1]

    @pytest.mark.slow
    def test_histories_run_from_top_to_bottom(self, capsys):
        shown = run_cells(HISTORIES)
        assert len(shown) > 8
        assert all(len(words) < 4_000 for words, _ in shown.values())
        assert "with all of their rows in all tables" in capsys.readouterr().out
        checks = next(words for words, _ in shown.values() if "before birth" in words)
        assert "'before birth': 0, 'men in maternity': 0" in checks
        pages = " ".join(html or "" for _, html in shown.values())
        assert "computed from private records, with no noise" in pages
        assert "stays: row before" in pages


LIGHT = """
import sys
import sfumato
for name in ("rich", "jinja2", "markupsafe", "sklearn", "scipy", "IPython", "pandas"):
    assert name not in sys.modules, name
release = sfumato.open(sys.argv[1])
repr(release), repr(release.schema), release.schema._repr_html_()
assert not {"rich", "jinja2", "markupsafe", "scipy"} & set(sys.modules)
release._repr_html_()
private = ("trusted.curator", "trusted.sources", "trusted.noise", "trusted.ledger", "api", "fitting.mechanisms")
print([name for name in private if f"sfumato.{name}" in sys.modules])
"""


def test_showing_a_release_loads_little(release, tmp_path):
    release.save(tmp_path / "b.sfumato")
    run = subprocess.run(
        [sys.executable, "-c", LIGHT, str(tmp_path / "b.sfumato")], capture_output=True, text=True, check=False
    )
    assert run.stdout == "[]\n", run.stderr
