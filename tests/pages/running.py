"""Runs the blocks of a page in a folder, as its reader would."""

import doctest
import io
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import yaml
from typer.testing import CliRunner

from sfumato.artefact.about import load_about
from sfumato.cli.app import app
from sfumato.trusted.schema.file import read_schema
from tests.pages.blocks import Block
from tests.pages.prepared import BASE_SCHEMA

ROOT = Path(__file__).parents[2]
_WIDTH = "80"
_SHELL = {"cat", "head", "ls", "mkdir", "wc"}
_WRITTEN = re.compile(r"(?:--out |--curve |\.save\(\"|report\(release, \")([\w.]+\.\w+)")
_NUMBER = r"[-+]?\d[\d,.]*(?:e[-+]?\d+)?"


def run_block(block: Block, names: dict[str, Any], folder: Path) -> None:
    """Run one block, and compare what it prints with what the page shows."""
    if block.language == "python":
        _make_way(block, block.text, folder)
    if block.saved_as:
        (folder / block.saved_as).write_text(block.text, encoding="utf-8")
    match block.language:
        case "python" if not block.saved_as:
            _check(block, block.prints, _run_python(block, names))
        case "python":
            compile(block.text, str(block), "exec")
        case "pycon":
            _run_session(block, names)
        case "console":
            for command, shown in commands_of(block.text):
                _check(block, shown, _run_command(block, command, folder))
        case "yaml":
            check_yaml(block.text, folder)


def commands_of(text: str) -> Iterator[tuple[str, str]]:
    """Each command of a session, and what the page shows below it."""
    command, shown = None, []
    for line in text.replace("\\\n", " ").splitlines():
        if line.startswith("$ "):
            if command is not None:
                yield command, "\n".join(shown)
            command, shown = line[2:], []
        else:
            shown.append(line)
    assert command is not None, "a session begins with $"
    yield command, "\n".join(shown)


def agrees(shown: str, printed: str, *, varies: bool) -> bool:
    """Whether a page shows what was printed: `...` stands for anything, a figure that varies for any other."""
    pieces = []
    for piece in shown.split():
        if varies:
            pieces.append(re.sub(f"(?:{_NUMBER})", "<number>", piece))
        else:
            pieces.append(piece)
    pattern = re.escape(" ".join(pieces)).replace(re.escape("..."), ".*?")
    pattern = re.sub("─+", "─+", pattern).replace(re.escape("<number>"), _NUMBER).replace("<number>", _NUMBER)
    return re.search(pattern, " ".join(printed.split())) is not None


def _make_way(block: Block, text: str, folder: Path) -> None:
    """Outside of a tutorial a block stands for itself: what it writes may be there already, which is an error."""
    if block.page.parent.name != "tutorials":
        for name in _WRITTEN.findall(text):
            (folder / name).unlink(missing_ok=True)


def _check(block: Block, shown: str | None, printed: str) -> None:
    if shown and shown.strip():
        assert agrees(shown, printed, varies=block.varies), f"{block} prints\n{printed}"


def _run_python(block: Block, names: dict[str, Any]) -> str:
    with redirect_stdout(io.StringIO()) as printed:
        exec(compile(block.text, str(block), "exec"), names)
    return printed.getvalue()


def _run_session(block: Block, names: dict[str, Any]) -> None:
    for example in doctest.DocTestParser().get_examples(block.text):
        with redirect_stdout(io.StringIO()) as printed:
            exec(compile(example.source, str(block), "single"), names)
        _check(block, example.want, printed.getvalue())


def _run_command(block: Block, line: str, folder: Path) -> str:
    words, into = _words(line)
    _make_way(block, line, folder)
    if words[0] == "sfumato":
        done = CliRunner().invoke(app, words[1:], prog_name="sfumato", env={"COLUMNS": _WIDTH, "TERM": "dumb"})
        code, printed, output = done.exit_code, done.output, done.stdout
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
    elif words[0] == "pip":
        return _check_extras(words[-1])
    elif words[0] == "make":
        assert f"\n{words[1]}:" in (ROOT / "Makefile").read_text(encoding="utf-8"), line
        return ""
    else:
        assert words[0] in {"python", *_SHELL}, f"{block}: {line}"
        program = [sys.executable, *words[1:]] if words[0] == "python" else words
        process = subprocess.run(program, cwd=folder, capture_output=True, text=True, check=False)
        code, printed, output = process.returncode, process.stdout + process.stderr, process.stdout
    assert (code != 0) == block.refused, f"{block}: {line}\n{printed}"
    if into:
        (folder / into).write_text(output, encoding="utf-8")
    return printed


def _words(line: str) -> tuple[list[str], str | None]:
    words = shlex.split(line, comments=True)
    return (words[:-2], words[-1]) if words[-2:-1] == [">"] else (words, None)


def _check_extras(requirement: str) -> str:
    """What a page tells to install is an extra that there is."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    named = re.search(r"\[(.*)\]", requirement)
    for name in named.group(1).split(",") if named else ():
        assert name in extras, requirement
    return ""


def check_yaml(text: str, folder: Path) -> None:
    """A schema, a part of one, or an about.yaml: whichever it is, the library reads it."""
    content = yaml.safe_load(text)
    if "custodian" in content:
        (folder / "_about.yaml").write_text(text, encoding="utf-8")
        load_about(folder / "_about.yaml")
    elif "constraints" in content and len(content) == 1:
        for one in content["constraints"]:  # they are examples, and not all of them go together
            _read({**BASE_SCHEMA, "constraints": [one]}, folder)
    elif "sfumato" in content:
        _read(content, folder)
    elif "columns" in content:
        _read({"sfumato": 1, "name": "page", **content}, folder)
    else:
        _read({**BASE_SCHEMA, **content}, folder)


def _read(content: dict[str, Any], folder: Path) -> None:
    path = folder / "_schema.yaml"
    path.write_text(yaml.safe_dump(content, allow_unicode=True), encoding="utf-8")
    read_schema(path)
