"""Who is heard: one browser, by our own pages, at one name; and what no answer may hold (threats in docs/studio.md)."""

import logging
import re
import stat
from importlib.resources import files

import pytest
from starlette.testclient import TestClient

from sfumato.errors import OutputError
from sfumato.studio import app as app_module
from sfumato.studio.app import build_app
from sfumato.studio.security import COOKIE, Keys
from sfumato.studio.state import open_state
from sfumato.studio.steps import choose
from tests.studio.conftest import HOST, LET_IN, let_in


def outsider(studio, **headers):
    return TestClient(build_app(studio), base_url=studio.keys.origin, headers={**LET_IN, **headers})


class TestEntering:
    def test_the_token_works_once(self, studio):
        address = f"/enter?token={studio.keys.token}"
        assert outsider(studio).get(address).status_code == 200
        assert outsider(studio).get(address).status_code == 403
        assert studio.keys.token is None

    @pytest.mark.parametrize("query", ["", "?token=", "?token=wrong", "?token=None", "?token=%C3%A9"])
    def test_no_other_token_works(self, studio, query):
        token = studio.keys.token
        answer = outsider(studio).get(f"/enter{query}")
        assert answer.status_code == 403
        assert COOKIE not in answer.cookies
        assert outsider(studio).get(f"/enter?token={token}").status_code == 200

    def test_the_cookie_is_bound_to_our_pages(self, studio):
        cookie = outsider(studio).get(f"/enter?token={studio.keys.token}").headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert f"path={studio.path('').lower()}" in cookie  # no other server on 127.0.0.1 gets it
        assert "domain" not in cookie

    def test_nobody_else_is_let_in(self, studio, browser):
        for path in ("/", studio.path(""), studio.path("static", "studio.css"), "/enter/x"):
            assert outsider(studio).get(path).status_code == 403
        for cookie in ("", "x", studio.keys.place, '"', "\x7f"):
            answer = outsider(studio, cookie=f"{COOKIE}={cookie}").get(studio.path(""))
            assert answer.status_code == 403
        assert browser.get("").status_code == 200

    def test_cookies_of_other_servers_are_in_nobodys_way(self, browser):
        ours = f"{COOKIE}={browser.studio.keys.session}"
        for cookies in (f"a[b]=c; {ours}", f"{COOKIE}=forged; {ours}", f'x="; {ours}', f"=; ;{ours};"):
            assert outsider(browser.studio, cookie=cookies).get(browser.studio.path("")).status_code == 200

    def test_without_the_place_there_is_nothing(self, browser):
        session = browser.studio.keys.session
        answer = outsider(browser.studio, cookie=f"{COOKIE}={session}").get("/other/")
        assert answer.status_code == 404


class TestRequests:
    @pytest.mark.parametrize("host", ["evil.example", "localhost:8000", "127.0.0.1", "127.0.0.1:8001", ""])
    def test_another_name_is_not_ours(self, browser, host):
        assert browser.client.get(browser.studio.path(""), headers={"host": host}).status_code == 421

    @pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:9", "https://127.0.0.1:8000"])
    @pytest.mark.parametrize("method", ["GET", "POST"])
    def test_another_origin_is_refused(self, browser, origin, method):
        answer = browser.client.request(method, browser.studio.path(""), headers={"origin": origin})
        assert answer.status_code == 403

    def test_two_origins_are_none(self, browser):
        client = browser.client
        headers = [("host", HOST), ("origin", "http://evil.example"), ("origin", f"http://{HOST}")]
        request = client.build_request("GET", browser.studio.path(""))
        request.headers = type(request.headers)([*headers, ("cookie", request.headers["cookie"])])
        assert client.send(request).status_code == 403

    @pytest.mark.parametrize(
        ("kind", "body"),
        [
            ("multipart/form-data", b"zx81canary"),
            ("multipart/form-data; boundary=x", b"zx81canary"),
            ("multipart/form-data; boundary=x", b'--x\r\nContent-Disposition: form-data; name="location"\r\n\r\nq'),
            ("multipart/form-data; boundary=x", b"--x\r\nContent-Disposition: form-data\r\n\r\nq\r\n--x--\r\n"),
            ("application/json", b'{"location": "stays.csv"}'),
            ("application/x-www-form-urlencoded", b"&".join(b"a%d=1" % field for field in range(50_001))),
            ("application/x-www-form-urlencoded", b"location=%ED%A0%80%00"),
        ],
    )
    def test_a_form_that_is_none(self, browser, kind, body, caplog, capfd):
        with caplog.at_level(logging.INFO):
            answer = browser.client.post(browser.studio.path(""), content=body, headers={"content-type": kind})
        assert answer.status_code == 400
        assert not list((browser.studio.state / "tables").iterdir())
        assert "zx81canary" not in answer.text + caplog.text + "".join(capfd.readouterr())

    def test_a_post_without_an_origin_is_refused(self, browser):
        del browser.client.headers["origin"]
        assert browser.client.get(browser.studio.path("")).status_code == 200
        assert browser.client.post(browser.studio.path(""), data={"location": "stays.csv"}).status_code == 403

    @pytest.mark.parametrize("site", ["cross-site", "same-site"])
    def test_a_request_for_another_page_is_refused(self, browser, site):
        answer = browser.client.get(browser.studio.path(""), headers={"sec-fetch-site": site})
        assert answer.status_code == 403

    @pytest.mark.parametrize("method", ["HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"])
    def test_other_methods_are_not_heard(self, browser, method):
        assert browser.client.request(method, browser.studio.path("")).status_code == 405

    def test_too_much_is_not_read(self, browser):
        path = browser.studio.path("")
        assert browser.client.post(path, headers={"content-length": str(1 << 40)}).status_code == 413
        assert browser.client.post(path, headers={"transfer-encoding": "chunked"}).status_code == 411
        assert browser.client.post(path, headers={"content-length": "-1"}).status_code == 411

    @pytest.mark.parametrize(
        "path",
        ["t/%2e%2e/%2e%2e/etc/passwd", "t/0000000000000000/describe", "t/x/describe", "static/../app.py", "static/x"],
    )
    def test_a_path_names_nothing_else_on_the_disk(self, browser, path):
        assert browser.get(*path.split("/")).status_code in (403, 404)


class TestAnswers:
    def test_every_answer_has_the_headers(self, browser):
        table = browser.choose()
        client, path = browser.client, browser.studio.path
        answers = [
            browser.get(""),
            browser.get("static", "studio.js"),
            browser.get("t", table, "describe"),
            browser.get("t", table, "check"),
            browser.get("t", table, "plan"),
            browser.get("nothing"),
            client.get(path(""), headers={"host": "evil.example"}),
            outsider(browser.studio).get(path("")),
        ]
        for answer in answers:
            policy = answer.headers["content-security-policy"]
            assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
            assert "unsafe" not in policy
            assert "frame-ancestors 'none'" in policy
            assert answer.headers["cache-control"] == "no-store"
            assert answer.headers["referrer-policy"] == "same-origin"
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["x-frame-options"] == "DENY"
            assert "access-control-allow-origin" not in answer.headers
            assert "server" not in answer.headers

    def test_no_template_needs_what_the_policy_forbids(self):
        for file in files("sfumato.studio").joinpath("templates").iterdir():
            text = file.read_text(encoding="utf-8")
            assert not re.search(r'\s(style|on\w+)="', text), file.name
            assert not re.search(r"<(style|iframe|object|embed|base)\b", text), file.name
            assert not re.search(r"(src|href|action)=\"(https?:)?//", text), file.name
            for tag in re.findall(r"<script[^>]*>", text):
                assert "src=" in tag or 'type="application/json"' in tag, file.name
            assert "|safe" not in text, file.name

    def test_an_error_says_nothing_of_itself(self, studio, monkeypatch, caplog, capfd):
        def broken(ask):
            raise ValueError("zx81canary")

        monkeypatch.setattr(choose, "show", broken)
        monkeypatch.setattr(app_module.choose, "show", broken)
        browser = let_in(studio)
        with caplog.at_level(logging.DEBUG):
            answer = browser.get("")
        assert answer.status_code == 500
        said = answer.text + caplog.text + "".join(capfd.readouterr())
        assert "zx81canary" not in said
        assert "Traceback" not in said
        assert "ValueError" not in said


class TestState:
    def test_nobody_else_can_read_it(self, browser):
        browser.describe(browser.choose())
        state = browser.studio.state
        for path in (state, *state.rglob("*")):
            mode = stat.S_IMODE(path.lstat().st_mode)
            assert mode == (0o700 if path.is_dir() else 0o600), path

    def test_a_link_is_refused(self, tmp_path):
        (tmp_path / "real").mkdir()
        (tmp_path / "link").symlink_to(tmp_path / "real")
        with pytest.raises(OutputError, match="is a link"):
            open_state(tmp_path / "link")
        (tmp_path / "file").write_text("")
        with pytest.raises(OutputError, match="name another"):
            open_state(tmp_path / "file")

    def test_an_open_folder_is_closed(self, tmp_path):
        (tmp_path / "s").mkdir(mode=0o755)
        assert stat.S_IMODE(open_state(tmp_path / "s").stat().st_mode) == 0o700

    def test_keys_are_fresh(self):
        one, other = Keys(HOST), Keys(HOST)
        assert one.token != other.token
        assert one.place != other.place
        assert len(one.token) >= 43
        assert one.token not in repr(one._lock)
