"""A folder with a table full of canary values, a studio on it, and a browser that was let in."""

import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

if TYPE_CHECKING:  # without the extra, what needs it is skipped: see tests/extras.py
    from starlette.testclient import TestClient

    from sfumato.studio.studio import Studio

CANARIES = ("zx81canary", "zx82canary", "7654321", "1903-07-23", "424242.25")
ROWS = 1237
YAML = """
sfumato: 1
name: stays
columns:
  - {name: age, type: integer, bounds: [0, 110]}
  - {name: ward, type: category, values: [surgery, maternity], otherwise: surgery}
  - {name: cost, type: number, bounds: [0, 1000]}
target: ward
leave_out: [patient_id, born, notes]
"""
HOST = "127.0.0.1:8000"
LET_IN = {"origin": f"http://{HOST}"}


def make_table() -> pa.Table:
    """Each canary stands in the rows; none is in the header."""
    return pa.table(
        {
            "patient_id": [7654321] * ROWS,
            "age": [row % 90 for row in range(ROWS)],
            "ward": ["surgery", "maternity", "zx81canary"] * (ROWS // 3) + ["surgery"] * (ROWS % 3),
            "cost": [424242.25, 10.5] * (ROWS // 2) + [1.0] * (ROWS % 2),
            "born": pa.array([-24269] * ROWS, pa.int32()).cast(pa.date32()),
            "notes": ["zx82canary"] * ROWS,
        }
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Tables, and beside them a folder that the studio must not reach."""
    folder = tmp_path / "tables"
    folder.mkdir()
    pyarrow.csv.write_csv(make_table(), folder / "stays.csv")
    pyarrow.parquet.write_table(make_table(), folder / "stays.parquet")
    (tmp_path / "elsewhere.csv").write_text("secret_column\n1\n")
    return folder


@pytest.fixture
def studio(folder: Path, tmp_path: Path) -> "Studio":
    from sfumato.studio.security import Keys
    from sfumato.studio.state import open_state
    from sfumato.studio.studio import Studio

    state = open_state(folder / ".sfumato-studio")
    return Studio(folder, state, str(tmp_path / "ledger.sqlite"), Keys(HOST))


@dataclass
class Browser:
    """A browser in the studio; every answer is kept, so that a test can look at all that was ever shown."""

    studio: "Studio"
    client: "TestClient"
    shown: list[str]

    def get(self, *parts: str):
        return self._keep(self.client.get(self.studio.path(*parts)))

    def post(self, *parts: str, data=None, follow: bool = True, **more):
        return self._keep(self.client.post(self.studio.path(*parts), data=data or {}, follow_redirects=follow, **more))

    def _keep(self, answer):
        self.shown.append(answer.text + str(answer.headers))
        return answer

    def choose(self, location: str = "stays.csv", **more: str) -> str:
        """Choose a table; its name in the state."""
        answer = self.post("", data={"location": location, **more})
        assert answer.status_code == 200, answer.text
        return re.search(r"/t/([0-9a-f]{16})/describe", str(answer.url))[1]

    def describe(self, table: str, text: str = YAML) -> None:
        """Write the whole schema."""
        version = self.hidden(self.get("t", table, "describe").text, "version")
        assert self.post("t", table, "describe", "yaml", data={"yaml": text, "version": version}).status_code == 200

    @staticmethod
    def hidden(page: str, name: str) -> str:
        """A hidden field of a page."""
        return re.search(rf'name="{name}" value="([^"]*)"', page)[1]

    def ask(self, *parts: str, page: str = "", **data: str):
        """Send the form of a page, with its ticket."""
        page = page or self.get(*parts[:3]).text
        action = self.studio.path(*parts)
        form = next(one for one in page.split("<form")[1:] if f'action="{action}"' in one)
        hidden = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', form))
        return self.post(*parts, data=hidden | data)

    def wait(self, answer):
        """The page of a job, when it has ended."""
        for _ in range(600):
            if "data-state" not in answer.text:
                return answer
            time.sleep(0.1)
            answer = self._keep(self.client.get(str(answer.url)))
        raise AssertionError("the job does not end")


def let_in(studio: "Studio") -> Browser:
    """Exchange the token for a session."""
    from starlette.testclient import TestClient

    from sfumato.studio.app import build_app

    client = TestClient(build_app(studio), base_url=studio.keys.origin, headers=LET_IN)
    assert client.get("/enter", params={"token": studio.keys.token}).status_code == 200
    return Browser(studio, client, [])


@pytest.fixture
def browser(studio: "Studio") -> Browser:
    return let_in(studio)


@pytest.fixture
def jobs_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs are done at once and in this process: the same work without the seconds that a process takes to start."""
    from sfumato.studio import job, jobs

    monkeypatch.setattr(jobs, "_spawn", lambda folder, _: job.run_job(folder))
