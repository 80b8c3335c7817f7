"""How the studio is started: what is refused before anything listens, and what the address in the browser hides."""

import logging
import socket
import stat
import warnings
import webbrowser
from urllib.parse import unquote, urlparse

import pytest
from typer.testing import CliRunner

from sfumato.cli.app import app
from sfumato.errors import RequestError
from sfumato.studio import server
from sfumato.studio.state import read_json


def run(*words: object):
    return CliRunner().invoke(app, ["studio", *map(str, words)])


def test_a_folder_that_is_none(tmp_path):
    found = run(tmp_path / "nowhere")
    assert found.exit_code == 2
    assert "is no folder" in found.output


def test_a_port_that_is_taken(tmp_path):
    with socket.socket() as other:
        other.bind((server.HOST, 0))
        other.listen()
        found = run(tmp_path, "--port", other.getsockname()[1], "--no-browser")
    assert found.exit_code == 2
    assert "is taken" in found.output


def test_a_state_that_cannot_be_kept(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RequestError, match="is no folder"):
        server.serve(tmp_path / "file")
    assert run(tmp_path, "--state", tmp_path / "file" / "s").exit_code == 2


def test_a_ledger_that_cannot_be(tmp_path):
    found = run(tmp_path, "--no-browser", "--ledger", "postgresql://ada:pw7canary@127.0.0.1:1/x")
    assert found.exit_code == 2
    assert "holds a password" in found.output
    assert "pw7canary" not in found.output
    assert "enter?token" not in found.output


def test_without_its_packages_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    found = run(tmp_path)
    assert found.exit_code == 2
    assert "pip install 'sfumato[studio]'" in found.output


def test_it_listens_to_this_machine_alone():
    with server._listen(0) as listening:
        assert listening.getsockname()[0] == "127.0.0.1"


def test_the_usual_port_is_not_named_by_browsers():
    assert server._host(80) == "127.0.0.1"
    assert server._host(8000) == "127.0.0.1:8000"


def test_nobody_hears_what_libraries_say_of_a_table(monkeypatch, capfd):
    monkeypatch.setattr(logging.root.manager, "disable", 0)
    with warnings.catch_warnings():
        server._be_quiet()
        warnings.warn("zx81canary", UserWarning, stacklevel=1)
        logging.getLogger("asyncio").critical("zx81canary")
    logging.disable(logging.NOTSET)
    assert "zx81canary" not in "".join(capfd.readouterr())


def test_the_address_is_in_no_list_of_processes(tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    server._open_browser(tmp_path, "http://127.0.0.1:1/enter?token=secret")
    assert "secret" not in opened[0]
    page = tmp_path / "open.html"
    assert unquote(urlparse(opened[0]).path) == str(page)
    assert "token=secret" in page.read_text()
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    assert read_json(tmp_path / "nothing.json") is None
