"""The files of the forge: actions are pinned, rights are the least, nothing is kept that could be stolen."""

import re
import tomllib

import pytest
import yaml

from tests.packaging.building import ROOT

FOLDER = ROOT / ".github" / "workflows"
PIN = re.compile(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
pytestmark = pytest.mark.skipif(
    not FOLDER.is_dir(), reason="the files of the forge are no part of the source distribution"
)
RIGHTS = {"contents: read", "id-token: write", "attestations: write"}


@pytest.fixture(params=["tests.yml", "docs.yml", "release.yml"])
def text(request) -> str:
    return (FOLDER / request.param).read_text(encoding="utf-8")


def test_every_action_is_pinned_by_its_commit(text):
    used = re.findall(r"uses: (.*)$", text, re.MULTILINE)
    assert used
    assert not [line for line in used if not PIN.fullmatch(line)]


def test_one_action_has_one_version():
    everything = "".join(path.read_text(encoding="utf-8") for path in FOLDER.glob("*.yml"))
    used = set(re.findall(r"uses: (.*)$", everything, re.MULTILINE))
    assert len(used) == len({line.partition("@")[0] for line in used})


def test_classifiers_name_what_is_tried_and_nothing_else():
    """Versions of Python and systems in pyproject.toml are those that a red test stops a change for."""
    jobs = yaml.safe_load((FOLDER / "tests.yml").read_text(encoding="utf-8"))["jobs"]
    tried = [entry for entry in jobs["library"]["strategy"]["matrix"]["include"] if entry["tried"]]
    assert all(entry["os"].startswith("ubuntu") for entry in tried)
    versions = {entry["python"] for entry in tried} | {
        step["with"]["python-version"] for step in jobs["everything"]["steps"] if "setup-python" in step.get("uses", "")
    }
    stated = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["classifiers"]
    assert {line for line in stated if re.search(r"Python :: 3\.", line)} == {
        f"Programming Language :: Python :: {version}" for version in versions
    }
    assert [line for line in stated if line.startswith("Operating System")] == ["Operating System :: POSIX :: Linux"]


def test_rights_are_given_to_jobs_and_are_few(text):
    workflow = yaml.safe_load(text)
    assert workflow["permissions"] == {}
    for job in workflow["jobs"].values():
        assert {f"{right}: {value}" for right, value in job["permissions"].items()} <= RIGHTS
        assert job["timeout-minutes"] <= 60


def test_who_may_sign_runs_no_code_of_the_checkout(text):
    for job in yaml.safe_load(text)["jobs"].values():
        if "id-token" in job["permissions"]:
            assert not [step for step in job["steps"] if "checkout" in step.get("uses", "")]
        for step in job["steps"]:
            assert "checkout" not in step.get("uses", "") or step["with"]["persist-credentials"] is False


def test_no_secret_and_no_words_of_others_in_a_shell(text):
    assert "secrets." not in text
    assert "pull_request_target" not in text
    for job in yaml.safe_load(text)["jobs"].values():
        assert not [step for step in job["steps"] if "${{" in step.get("run", "")]
