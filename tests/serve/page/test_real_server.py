"""The page before the server that people start, with a model of random weights: it shows the server's answers.

With NMT_SCREENSHOTS=FOLDER and NMT_DEMO=RUN, a model of `make demo`, the picture of README.md is saved as page.png.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from serve.page.scenes import settled, until

pytest.importorskip("starlette", reason="no Starlette: pip install nmt[serve]")

import httpx
from helpers.servers import listening
from helpers.small_runs import make_run

pytestmark = pytest.mark.slow  # each needs a browser
TEXT = "der Hund sieht ein Haus . heute schläft der Mann ."
DEMO = "The hungry butchers have sold the bag. Laura has repaired the new plates next to the desk in the house."


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("runs")
    runs = [make_run(folder / name, attention=name, max_length_a=6.0, max_length_b=0.0) for name in ("general", "none")]
    with listening(f"models=[{','.join(map(str, runs))}]") as (url, _):
        yield f"{url}/"


@pytest.fixture
def url(served: str) -> str:
    return served


def answer(url: str, **more: Any) -> dict[str, Any]:
    response = httpx.post(f"{url}v1/translate", json={"text": TEXT, "source": "en", "target": "de", **more})
    found: dict[str, Any] = response.raise_for_status().json()
    return found


def write(page: Any) -> None:
    page.select_option("#from", "en")
    page.fill("#source", TEXT)
    settled(page)


def shown(page: Any, pane: str = "#target") -> str:
    return " ".join(str(page.locator(f"{pane} .words").text_content()).split())


def as_words(text: str) -> str:
    return " ".join(text.split())


def test_the_translation_is_the_servers(page: Any, url: str) -> None:
    write(page)
    assert shown(page) == as_words(answer(url)["texts"][0]["text"])


def test_two_models_are_compared(page: Any, url: str) -> None:
    write(page)
    page.select_option("#compare", "none")
    settled(page, "#target-compared")
    assert shown(page, "#target-compared") == as_words(answer(url, model="none")["texts"][0]["text"])
    assert shown(page) != shown(page, "#target-compared")


def test_a_word_has_counterparts_and_continuations(page: Any, url: str) -> None:
    write(page)
    page.hover("#target .word >> nth=1")
    until(page, "document.querySelectorAll('#marks .mark').length > 0")
    asked: list[dict[str, Any]] = []
    page.on("request", lambda request: asked.append(request.post_data_json) if request.method == "POST" else None)
    page.click("#target .word >> nth=1")
    page.wait_for_selector("[role=option]")
    page.keyboard.type("Hund ")
    page.keyboard.press("Enter")
    until(page, "document.querySelector('#target .words').textContent.includes('Hund')")
    settled(page)
    [prefix] = {each["prefix"] for each in asked if "Hund" in each.get("prefix", "")}
    assert shown(page) == as_words(answer(url, prefix=prefix)["texts"][0]["text"])


def test_the_attention_and_the_tree_are_shown(page: Any, url: str) -> None:
    write(page)
    page.click("#target .look")
    page.wait_for_selector(".heat")
    rows = page.evaluate(
        "[...document.querySelectorAll('.heat tbody tr')].map(row => [...row.querySelectorAll('td')]"
        ".map(cell => Number(cell.style.getPropertyValue('--w'))))"
    )
    [sentence] = answer(url, attention="pieces", split=False)["texts"][0]["sentences"]
    [[matrix]] = sentence["attention"]  # one layer, one head
    assert len(rows) == len(matrix)
    assert rows == [pytest.approx(row, abs=0.001) for row in matrix]
    page.click("#tab-search")
    page.wait_for_selector("svg .node.best")
    assert page.locator(".status:visible").count() == 0


@pytest.mark.skipif(not {"NMT_SCREENSHOTS", "NMT_DEMO"} <= os.environ.keys(), reason="no NMT_SCREENSHOTS and NMT_DEMO")
def test_the_picture_of_the_readme_is_of_the_demo(browser: Any) -> None:
    with listening(f"model={os.environ['NMT_DEMO']}") as (url, _):
        page = browser.new_page(viewport={"width": 1000, "height": 425}, device_scale_factor=1.5)
        page.goto(url)
        until(page, "document.querySelector('#to').value !== ''")
        page.fill("#source", DEMO)
        settled(page)
        page.hover("#target .word >> nth=-1")
        page.wait_for_timeout(350)  # colours fade
        page.screenshot(path=Path(os.environ["NMT_SCREENSHOTS"]) / "page.png")
        assert shown(page).endswith("repariert.")
        page.close()
