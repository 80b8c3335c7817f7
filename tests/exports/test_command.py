"""The commands: what they write, and how they fail."""

import json

import pytest
import yaml
from typer.testing import CliRunner

from sfumato.artefact.about import parse_about
from sfumato.cli.app import app

ABOUT = (
    "{custodian: A, purpose: B, region: C, published: 2026-01-01, custodian_kind: Industry, author: D, contact: '<i>'}"
)


@pytest.fixture
def place(release, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    release.save(tmp_path / "b.sfumato")
    (tmp_path / "about.yaml").write_text(ABOUT, encoding="utf-8")
    return tmp_path


def run(*words):
    return CliRunner().invoke(app, list(map(str, words)))


def test_all_three_are_written(place):
    for form in ("registry", "croissant", "card"):
        done = run("export", "b.sfumato", "--to", form, "--about", "about.yaml", "--out", form)
        assert done.exit_code == 0, done.output
    assert yaml.safe_load((place / "registry").read_text())["deployment"]["basic"]["intended_use"] == "B"
    assert json.loads((place / "croissant").read_text())["creator"]["name"] == "A"
    assert (place / "card").read_text().startswith("---\n")


def test_the_report_says_what_the_custodian_says(place):
    assert run("report", "b.sfumato", "--about", "about.yaml", "--out", "r.html").exit_code == 0
    assert "&lt;i&gt;" in (place / "r.html").read_text(encoding="utf-8")


def test_the_template_is_printed(place):
    done = run("about")
    assert done.exit_code == 0
    assert parse_about(done.output.replace('"..."', '"words"'), "t").purpose == "words"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--to", "registry"], "a registry needs to know who is responsible; give --about"),
        (["--to", "card", "--table", "t.parquet"], "--table is for croissant, and --to is card; leave it out"),
        (["--to", "card", "--about", "gone.yaml"], "gone.yaml: cannot be read as a text file"),
        (["--to", "croissant", "--table", "gone.csv"], "gone.csv cannot be read"),
    ],
)
def test_errors_name_the_cure_and_nothing_is_written(place, words, message):
    done = run("export", "b.sfumato", *words, "--out", "x")
    assert done.exit_code == 2
    assert message in " ".join(done.output.split())
    assert not (place / "x").exists()


@pytest.mark.parametrize("command", ["export", "about", "report"])
def test_help_has_examples(command):
    assert f"sfumato {command}" in " ".join(run(command, "--help").output.split())
