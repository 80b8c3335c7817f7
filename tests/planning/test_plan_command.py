"""The command, its page and its JSON."""

import json

import pytest
from typer.testing import CliRunner

from sfumato.cli.app import app
from sfumato.fitting.mechanisms.framework.parts import CHOICES
from tests.conftest import MIXED


@pytest.fixture
def schema_file(tmp_path):
    file = tmp_path / "s.yaml"
    file.write_text(MIXED)
    return file


def run(file, *words):
    return CliRunner().invoke(app, ["plan", str(file), *map(str, words)])


def flat(text: str) -> str:
    return " ".join(text.split())


def test_the_terminal_shows_verdict_errors_questions_and_the_curve(schema_file):
    shown = run(schema_file, "--rows", 50_000, "--epsilon", 1)
    assert shown.exit_code == 0, shown.output
    for words in ("good for", "not for", "of the budget", "other epsilons", "a coin is right 50 times", "no private"):
        assert words in flat(shown.output)
    assert "guessed right" not in shown.output


def test_risk_comes_first_where_it_is_asked_for(schema_file):
    shown = flat(run(schema_file, "--rows", 50_000, "--epsilon", 1, "--risk").output)
    assert shown.index("What an attacker gains") < shown.index("good for")
    assert "guessed right" in shown


def test_a_page_holds_pictures_and_nothing_from_outside(schema_file, tmp_path):
    shown = run(schema_file, "--rows", 50_000, "--epsilon", 1, "--out", tmp_path / "plan.html")
    page = (tmp_path / "plan.html").read_text()
    assert shown.exit_code == 0
    assert page.count("<svg") == 6
    assert "<script" not in page
    assert "src=" not in page
    assert "http" not in page.replace('xmlns="http://www.w3.org/2000/svg"', "")


def test_json_is_all_there_is(schema_file):
    content = json.loads(run(schema_file, "--rows", 50_000, "--smallest-group", 60, "--json").output)
    assert content["expected"]["smallest_group"] <= 60
    assert content["mechanism"] == "tables"


def test_warnings_are_shown(schema_file):
    shown = flat(run(schema_file, "--rows", 200, "--epsilon", 12, "--delta", 0.1).output)
    assert shown.count("warning:") >= 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--rows", 0, "--epsilon", 1), "1 or more"),
        (("--rows", 100), "give either epsilon"),
        (("--rows", 100, "--epsilon", 1, "--mechanism", "magic"), "use one of"),
        (("--rows", 100, "--target-gap", 0.0001), "no epsilon up to 10"),
        (("--rows", 100, "--epsilon", 1, "--adapt", "leaves"), "for mechanism 3a alone"),
    ],
)
def test_errors_end_with_2(schema_file, words, said):
    shown = run(schema_file, *words)
    assert shown.exit_code == 2
    assert said in flat(shown.output)


PARTS = ("--mechanism", "3a", "--anonymize", "kernel", "--adapt", "leaves", "--share", 0.2)


def test_chosen_parts_are_shown_everywhere(schema_file, tmp_path):
    words = "3a (anonymize kernel, approximate mixture, adapt leaves, share 0.2)"
    shown = run(schema_file, "--rows", 5_000, "--epsilon", 1, *PARTS, "--out", tmp_path / "plan.html")
    assert words in flat(shown.output)
    assert "mean embedding of whole records" in flat(shown.output)
    assert "four tables out of five" not in flat(shown.output)
    page = (tmp_path / "plan.html").read_text()
    assert words in page
    assert "was not tried with this mechanism" in page
    content = json.loads(run(schema_file, "--rows", 5_000, "--epsilon", 1, *PARTS, "--json").output)
    assert content["settings"] == {"anonymize": "kernel", "approximate": "mixture", "adapt": "leaves", "share": 0.2}


@pytest.mark.parametrize("command", ["release", "plan", "audit"])
def test_every_choice_of_the_parts_is_named_by_the_help(command):
    shown = flat(CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "300"}).output)
    for part, choices in CHOICES.items():
        assert f"--{part}" in shown
        assert f"of 3a: {', '.join(choices[:-1])} or {choices[-1]}" in shown
    for words in ("--share", "--components", "Parts by name"):
        assert words in shown


def test_help_has_an_example(schema_file):
    assert "Example: sfumato plan" in flat(run(schema_file, "--help").output).replace("`", "")
