"""The command that opens the studio in a browser."""

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.options import LedgerAddress
from sfumato.cli.terminal import report_errors, say


@report_errors
def studio(
    folder: Annotated[Path, typer.Argument(help="tables are chosen below this folder")] = Path(),
    ledger: LedgerAddress = None,
    state: Annotated[
        Path | None,
        typer.Option(help="where drafts, jobs and results are kept; by default .sfumato-studio in FOLDER"),
    ] = None,
    port: Annotated[int, typer.Option(help="on 127.0.0.1; by default one that is free", min=0, max=65_535)] = 0,
    browser: Annotated[bool, typer.Option(help="open the page in the browser, or print its address alone")] = True,
) -> None:
    """Choose, describe, check, plan, release and look in the browser, on this machine alone.

    Nothing is reachable from another machine, and no account is needed: the address that is printed works once. Needs
    `pip install 'sfumato[studio]'`.

    Example: `sfumato studio /srv/tables`
    """
    from importlib.util import find_spec

    from sfumato.errors import RequestError

    if not all(map(find_spec, ("starlette", "uvicorn", "python_multipart"))):
        raise RequestError("the studio needs packages that are not installed; pip install 'sfumato[studio]'")
    from sfumato.studio.server import serve

    serve(folder, state=state, ledger=ledger, port=port, browser=browser, say=say)
