"""The whole story in a real Chromium: choose, describe, check, plan, release, report, sample, verify.

With the keyboard alone for a part of it, at the width of a desk and of a telephone, with the policy of the pages in
force: what the browser refuses to load or to run fails the test.
"""

import shutil

import pyarrow.csv
import pytest

from sfumato.trusted.ledger import Ledger
from tests.studio.conftest import YAML
from tests.studio.test_release import Server

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed; apt install chromium")


@pytest.fixture
def server(folder, tmp_path):
    server = Server(folder, tmp_path / "ledger.sqlite")
    yield server
    assert server.kill().strip() == ""


@pytest.fixture
def page(request, server):
    """A page of a browser that notes what it refused; closed before the server, which it asks how a job is."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as player:
        browser = player.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": getattr(request, "param", 1200), "height": 900})
        page.set_default_timeout(120_000)
        page.refused = []
        page.on("console", lambda said: page.refused.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: page.refused.append(str(error)))
        page.on("request", lambda asked: page.refused.append(asked.url) if "127.0.0.1" not in asked.url else None)
        yield page
        browser.close()
    assert page.refused == []


def fits(page) -> bool:
    """Whether nothing is wider than the window."""
    page.wait_for_load_state()  # without its style a page is wider
    return page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


UNFIT_FOR_PAPER = """() => [...document.querySelectorAll("body *")].filter((one) => {
    if (!one.checkVisibility({ visibilityProperty: true })) return false;
    if (one.matches("nav, input, select, textarea, button:not(.row, .chip), .button")) return true;
    const [red, green, blue, opacity] = getComputedStyle(one).backgroundColor.match(/[\\d.]+/g).map(Number);
    return opacity !== 0 && red + green + blue < 600;
}).map((one) => one.outerHTML)"""


def is_fit_for_paper(page) -> bool:
    """Whether, printed, the page has nothing to click or to fill in, and no dark ground."""
    page.wait_for_load_state()  # the style of paper comes last
    page.emulate_media(media="print")
    unfit = page.evaluate(UNFIT_FOR_PAPER)
    page.emulate_media(media="screen")
    return unfit == []


def words_of(page) -> list[str]:
    """All that the plan says at one epsilon."""
    ids = ("#at", "#headline", "#sentence", "[data-words=gains]", "[data-words=good]", "[data-words=bad]")
    return [page.text_content(one) for one in (*ids, "[data-words=warnings]")]


def mark_of(page) -> float:
    """Where the mark of the first curve stands."""
    return float(page.locator(".mark circle").first.get_attribute("cx"))


def tab_to(page, words: str) -> None:
    """Press Tab until the element with these words, or this name, has the focus."""
    for _ in range(80):
        page.keyboard.press("Tab")
        if page.evaluate(
            "words => [document.activeElement.name, document.activeElement.textContent.trim()].includes(words)",
            words,
        ):
            return
    raise AssertionError(f"the keyboard does not reach {words}")


@pytest.mark.slow  # half a minute of one core
@pytest.mark.parametrize("page", [1200, 400], indirect=True)
def test_the_whole_story(page, server, folder, tmp_path):
    page.goto(server.address)
    page.wait_for_selector("text=Choose a table")
    assert fits(page)
    assert is_fit_for_paper(page)
    page.get_by_role("button", name="stays.csv").click()

    page.wait_for_selector("#schema")  # describe: a click for the age, words for the rest, and the rules answer at once
    assert "token" not in page.url
    assert fits(page)
    page.locator('button[value="0:age"]').click()
    page.locator("#s0", has_text="integer, 0 to 120").wait_for()
    page.wait_for_load_state()
    for place, kind in ((1, "category"), (2, "number")):
        if not page.locator(f"#c{place}").evaluate("one => one.open"):
            page.locator(f"#c{place} > summary").click()
        page.select_option(f'[name="c{place}.type"]', kind)
    page.fill('[name="c1.values"]', "surgery\nmaternity")
    page.fill('[name="c2.low"]', "1000")
    page.fill('[name="c2.high"]', "0")
    page.locator('[id="p-c2.bounds"]', has_text="write the lowest value first").wait_for()
    page.fill('[name="c2.low"]', "0")
    page.fill('[name="c2.high"]', "1000")
    if not page.locator("#c3").evaluate("one => one.open"):
        page.locator("#c3 > summary").click()
    page.locator('button[name=leave][value="born"]').click()
    page.locator('button[name=describe][value="born"]').wait_for()
    page.wait_for_load_state()
    page.select_option("[name=target]", "ward")
    page.locator("#saved", has_text="saved").wait_for()
    page.locator("#summary.fine").wait_for()
    assert "target: ward" in page.input_value("#draft")
    assert page.input_value("#draft") == page.text_content("#paper")
    assert fits(page)
    assert is_fit_for_paper(page)
    page.locator("button[name=go]").click()

    page.locator("text=Reads the private table; for the custodian's eyes only").first.wait_for()
    page.get_by_role("button", name="Read the private table now").click()
    page.locator("text=columns are taken as they are").wait_for()
    assert "zx81canary" in page.inner_text("main")
    assert fits(page)
    assert is_fit_for_paper(page)
    page.get_by_role("link", name="Go on to plan").click()

    page.fill("[name=rows]", "1,200")
    page.get_by_role("button", name="Show the forecast").click()
    page.locator("#slide").wait_for()
    was = words_of(page), mark_of(page)
    page.locator("#slide").focus()
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    assert page.inner_text("#at") == page.input_value("#epsilon") == "1.8"
    slid = words_of(page), mark_of(page)
    assert not any(one == other for one, other in zip(slid[0][2:4], was[0][2:4], strict=True))
    assert fits(page)
    assert is_fit_for_paper(page)
    with page.expect_navigation():  # what the server says at this epsilon
        page.get_by_role("button", name="Show the forecast").click()
    assert (words_of(page), mark_of(page)) == slid
    page.fill("#epsilon", "1")

    tab_to(page, "Go on to release")  # from here to the release with the keyboard alone
    page.keyboard.press("Enter")
    page.wait_for_selector("#confirm")
    page.wait_for_load_state()
    assert "factor of at most e^1 = 2.718" in page.inner_text(".promise")
    assert page.locator("#confirm .grave").is_disabled()
    assert is_fit_for_paper(page)  # before anything has the focus, which hiding would take
    tab_to(page, "purpose")
    page.keyboard.type("yearly report")
    tab_to(page, "dataset")
    page.keyboard.type("stays")
    assert not page.locator("#confirm .grave").is_disabled()
    assert fits(page)
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")  # impatient: it is one release all the same

    page.locator("text=Open the public report").wait_for()
    assert fits(page)
    made = page.url
    page.go_back()  # to the form that was sent, and on again
    page.goto(made)
    page.get_by_role("link", name="Open the public report").click()
    page.locator("text=What somebody could learn").wait_for()
    assert "zx81canary" not in page.content()
    page.goto(made)
    page.fill("#sample [name=rows]", "300")
    page.get_by_role("button", name="Draw").click()
    page.wait_for_selector("#sample .made")
    with page.expect_download() as got:
        page.get_by_role("link", name="synthetic.csv").click()
    got.value.save_as(tmp_path / "synthetic.csv")
    assert pyarrow.csv.read_csv(tmp_path / "synthetic.csv").num_rows == 300
    page.get_by_role("button", name="Verify").click()
    page.locator("#verify .state.fine", has_text="keeps its claim").wait_for()
    assert fits(page)
    assert is_fit_for_paper(page)
    page.get_by_role("link", name="All releases").click()
    page.locator("text=yearly report").first.wait_for()
    assert fits(page)
    assert is_fit_for_paper(page)
    assert sum(entry.is_reservation for entry in Ledger(tmp_path / "ledger.sqlite").entries()) == 1


@pytest.mark.slow
def test_pages_without_scripts(server):
    """Forms and links do everything; scripts make it quicker."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as player:
        browser = player.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_context(java_script_enabled=False, viewport={"width": 400, "height": 800}).new_page()
        page.set_default_timeout(120_000)
        page.goto(server.address)
        page.get_by_role("button", name="stays.parquet").click()
        page.fill("#draft", YAML)
        page.get_by_role("button", name="Save the YAML").click()
        page.locator("text=complete and valid").wait_for()
        page.locator("button[name=go]").click()
        page.get_by_role("link", name="Go on without").click()
        page.fill("[name=rows]", "1200")
        page.get_by_role("button", name="Go on to release").click()
        page.fill("[name=dataset]", "stays")
        page.locator(".grave").click()
        page.locator("text=Open the public report").wait_for()
        browser.close()
