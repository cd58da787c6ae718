"""Languages, swap, copy, links, history, theme and keys."""

from typing import Any

import pytest
from serve.page.scenes import DOG, settled, until, write

pytestmark = pytest.mark.slow  # each needs a browser


def test_swap_takes_the_translation_as_the_text(page: Any) -> None:
    write(page, "A dog runs.")
    assert page.is_enabled("#swap")
    page.click("#swap")
    settled(page)
    assert page.input_value("#source") == "Ein Hund rennt."
    assert (page.input_value("#from"), page.input_value("#to")) == ("de", "en")
    until(page, "document.querySelector('#target .words').innerText === 'A dog runs.'")


def test_swap_only_where_both_directions_are_served(page: Any, behaviour: Any) -> None:
    behaviour.directions = [("one", "en", "de", True)]
    page.reload()
    until(page, "document.querySelector('#to').value !== ''")
    assert page.is_disabled("#swap")
    assert page.locator("#from option").all_inner_texts() == ["English"]  # nothing to detect


def test_detected_languages_can_be_swapped(page: Any) -> None:
    write(page, "A dog runs.", "auto", "de")
    page.click("#swap")
    settled(page)
    assert page.input_value("#from") == "de"


def test_a_direction_that_is_not_served_is_said(page: Any) -> None:
    page.select_option("#from", "auto")
    page.select_option("#to", "zh")
    page.fill("#source", "Der Hund ist da.")
    page.wait_for_selector("#target .status:has-text('No model translates from German to Chinese')")


def test_languages_are_remembered(page: Any) -> None:
    page.select_option("#from", "en")
    page.select_option("#to", "ar")
    page.reload()
    until(page, "document.querySelector('#to').value === 'ar'")
    assert page.input_value("#from") == "en"


def test_copy_and_clear(page: Any) -> None:
    write(page, DOG)
    page.click("#target .copy")
    page.wait_for_selector("#target .copy:has-text('Copied')")
    assert page.evaluate("navigator.clipboard.readText()") == page.inner_text("#target .words")
    page.click("#clear")
    assert page.input_value("#source") == ""
    assert page.inner_text("#target .words") == ""
    assert page.evaluate("document.activeElement.id") == "source"
    assert page.is_visible("#target .empty")


def test_a_link_carries_the_text_and_never_reaches_the_server(page: Any, context: Any, url: str) -> None:
    write(page, f"{DOG}\nÜber & # 50 %?")
    page.select_option("#compare", "none")
    page.click("#target .link")
    page.wait_for_selector("#target .link:has-text('Copied')")
    address = page.evaluate("navigator.clipboard.readText()")
    assert address.startswith(f"{url}#")
    other = context.new_page()
    asked: list[str] = []
    other.on("request", lambda request: asked.append(request.url))
    other.goto(address)
    settled(other)
    settled(other, "#target-compared")
    assert other.input_value("#source") == f"{DOG}\nÜber & # 50 %?"
    assert (other.input_value("#from"), other.input_value("#to"), other.input_value("#compare")) == ("en", "de", "none")
    assert not any("dog" in one for one in asked)


def test_the_history_stays_in_the_browser(page: Any, behaviour: Any) -> None:
    write(page, DOG)
    page.click("#clear")
    write(page, "The cat sleeps.")
    page.wait_for_timeout(1700)
    page.click("#open-history")
    assert page.locator(".entry").count() == 2
    page.click(".entry:has-text('dog')")
    settled(page)
    assert page.input_value("#source") == DOG
    page.click("#open-history")
    page.click("#history-list li:has-text('cat') [aria-label^=Delete]")
    assert page.locator(".entry").count() == 1
    page.click("#history-clear")
    assert page.locator(".entry").count() == 0
    assert {path for path, _ in behaviour.asked} == {"/v1/translate"}


def test_one_draft_is_one_entry(page: Any) -> None:
    write(page, "The dog")
    page.wait_for_timeout(1700)
    page.fill("#source", "The dog runs.")
    page.wait_for_timeout(2000)
    page.click("#open-history")
    assert page.locator(".entry").count() == 1
    assert "The dog runs." in page.inner_text(".entry")


def test_the_history_can_be_switched_off(page: Any) -> None:
    write(page, DOG)
    page.click("#clear")
    page.click("#open-history")
    page.click("#history-on")
    page.keyboard.press("Escape")
    write(page, "The cat sleeps.")
    page.click("#clear")
    assert "dog" not in page.evaluate("localStorage.getItem('nmt-history')")
    assert "cat" not in page.evaluate("localStorage.getItem('nmt-history')")


def test_the_theme_is_kept_and_there_before_the_first_paint(page: Any) -> None:
    back = "getComputedStyle(document.body).backgroundColor"
    page.emulate_media(color_scheme="light")
    light = page.evaluate(back)
    page.click("#theme")
    page.click("#theme")
    assert page.inner_text("#theme") == "Theme: dark"
    dark = page.evaluate(back)
    assert dark != light
    page.route("**/main.js", lambda route: route.abort())
    page.reload()
    assert page.evaluate(back) == dark


@pytest.mark.parametrize("module", ["main.js", "api.js"])
def test_a_page_whose_modules_do_not_come_says_so(module: str, page: Any) -> None:
    page.route(f"**/{module}", lambda route: route.abort())
    page.reload()
    page.wait_for_selector("#notice:not([hidden])")
    assert page.inner_text("#notice") == "A part of this page did not come from the server. Load the page again."
    page.unroute(f"**/{module}")
    page.reload()
    until(page, "document.querySelector('#to').value !== ''")
    assert page.is_hidden("#notice")


def test_single_keys_and_their_switch(page: Any) -> None:
    write(page, DOG)
    page.focus("#target .word >> nth=0")
    page.keyboard.press("?")
    assert page.is_visible("#help")
    page.keyboard.press("Escape")
    page.keyboard.press("i")
    page.wait_for_selector(".heat")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "source"
    page.keyboard.type("?")
    assert page.is_hidden("#help")
    page.click("#open-help")
    page.click("#single-keys-on")
    page.keyboard.press("Escape")
    page.focus("#target .copy")
    page.keyboard.press("?")
    assert page.is_hidden("#help")


def test_the_end_of_the_translation_is_announced_not_each_letter(page: Any) -> None:
    page.evaluate(
        "window.said = []; new MutationObserver(() => window.said.push(document.querySelector('#live').textContent))"
        ".observe(document.querySelector('#live'), {childList: true})"
    )
    page.select_option("#from", "en")
    page.locator("#source").press_sequentially("The dog runs.", delay=30)
    until(page, "window.said.length > 0")
    page.wait_for_timeout(900)
    *before, last = page.evaluate("window.said")
    assert last == "Translation: Der Hund rennt."
    assert len(before) <= 2  # a busy machine types with pauses


def test_everything_is_reached_by_tab(page: Any) -> None:
    write(page, DOG)
    page.focus("#from")
    order = []
    for _ in range(14):
        order.append(page.evaluate("document.activeElement.id || document.activeElement.className"))
        page.keyboard.press("Tab")
    assert order[:7] == ["from", "swap", "to", "model", "compare", "source", "clear"]
    assert order[7].startswith("word")
    assert order[8:12] == ["quiet copy", "quiet link", "quiet alternatives", "quiet look"]
