"""The page names failures in place, in plain words, and tries again where that may help."""

import json
from typing import Any

import pytest
from serve.page.scenes import DOG, settled, until, write

pytestmark = pytest.mark.slow  # each needs a browser


def status(page: Any) -> str:
    page.wait_for_selector("#target .status:visible")
    return str(page.inner_text("#target .status"))


@pytest.mark.parametrize(
    ("failure", "words", "seconds"),
    [
        ((429, "slow down", 7), "more than the server allows", "7 s"),
        ((503, "the queue is full", 1), "busy or being restarted", "1 s"),
        ((500, "traceback", None), "Something went wrong", ""),
        ((400, "The prefix is no beginning of this translation.", None), "The prefix is no beginning", ""),
    ],
)
def test_a_refusal(failure: tuple[int, str, int | None], words: str, seconds: str, page: Any, behaviour: Any) -> None:
    page.select_option("#from", "en")
    behaviour.failure = failure
    page.fill("#source", DOG)
    text = status(page)
    assert words in text
    assert seconds in text
    behaviour.failure = None
    page.click("#target .status button")
    settled(page)
    assert page.is_hidden("#target .status")


def test_a_busy_server_is_asked_again_when_it_said(page: Any, behaviour: Any) -> None:
    page.select_option("#from", "en")
    behaviour.failure = (503, "full", 1)
    page.fill("#source", DOG)
    status(page)
    behaviour.failure = None
    settled(page)
    assert len(behaviour.texts()) == 2


def test_a_server_that_is_gone(page: Any, context: Any) -> None:
    write(page, DOG)
    context.set_offline(True)
    page.fill("#source", f"{DOG} It works.")
    assert "does not answer" in status(page)
    assert "Ein kleiner Hund" in page.inner_text("#target .words")
    context.set_offline(False)
    page.wait_for_selector("#target .sentence >> nth=1")
    settled(page)


def test_a_server_that_is_gone_from_the_beginning(context: Any, url: str) -> None:
    page = context.new_page()
    page.route("**/v1/models", lambda route: route.abort())
    page.goto(url)
    page.wait_for_selector("#notice:has-text('does not answer')")
    page.unroute("**/v1/models")
    page.click("#notice button")
    until(page, "document.querySelector('#to').value !== ''")
    assert page.is_hidden("#notice")


def test_a_text_that_is_too_long_is_not_sent(page: Any, behaviour: Any) -> None:
    page.select_option("#from", "en")
    page.fill("#source", "dog " * 1251)
    assert "too long by 4 characters" in status(page)
    assert page.inner_text("#count") == "5,004 / 5,000"
    page.wait_for_timeout(300)
    assert behaviour.texts() == []
    page.fill("#source", "dog")
    settled(page)
    assert page.is_hidden("#target .status")


def test_a_slow_server_shows_that_it_works(page: Any, behaviour: Any) -> None:
    page.select_option("#from", "en")
    behaviour.delay_s = 1.2
    page.fill("#source", DOG)
    page.wait_for_selector("#target .bar:visible")
    settled(page)
    assert page.is_hidden("#target .bar")


def test_a_stream_that_breaks_off_keeps_what_has_come(page: Any, behaviour: Any) -> None:
    page.select_option("#from", "en")
    sentence = {
        "text": 0, "sentence": 0, "score": -1, "log_prob": -1, "n_best": [], "caution": None,
        "source": {"text": "The dog runs.", "start": 0, "end": 13},
        "target": {"text": "Der Hund.", "start": 0, "end": 9},
    }  # fmt: skip
    body = f"event: sentence\ndata: {json.dumps(sentence)}\n\n"
    page.route("**/v1/translate", lambda route: route.fulfill(body=body, content_type="text/event-stream"))
    text = "The dog runs. " + "A dog is running across the wet grass. " * 20
    page.fill("#source", text)
    assert "does not answer" in status(page)
    assert page.inner_text("#target .words").startswith("Der Hund.")
    page.unroute("**/v1/translate")
    page.click("#target .status button")
    settled(page)
    assert not behaviour.texts()[-1].startswith("The dog runs.")


def test_the_menu_says_what_went_wrong(page: Any, behaviour: Any) -> None:
    write(page, DOG)
    behaviour.failure = (503, "full", 1)
    page.click("#target .word >> nth=1")
    page.wait_for_selector("#menu-note:has-text('busy')")


def test_the_panel_says_what_went_wrong(page: Any, behaviour: Any) -> None:
    write(page, DOG)
    behaviour.failure = (503, "full", 1)
    page.click("#target .look")
    page.wait_for_selector("#tabpanel:has-text('busy')")
    behaviour.failure = None
    page.click("#tabpanel button")
    page.wait_for_selector(".heat")


def give_key(page: Any, key: str) -> None:
    """Types a key into the dialog and sends it."""
    page.fill("#key-value", key)
    page.click("#key .strong")


def test_a_key_is_asked_for_and_sent(page: Any, behaviour: Any) -> None:
    behaviour.key = "secret"
    page.reload()
    page.wait_for_selector("#key[open]")
    give_key(page, "wrong")
    page.select_option("#from", "en")
    page.fill("#source", DOG)
    page.wait_for_selector("#key[open]")
    assert "may be wrong" in page.inner_text("#key")
    give_key(page, "secret")
    settled(page)
    assert page.evaluate("[sessionStorage.length, Object.values(localStorage).join().includes('secret')]") == [1, False]


def test_markup_in_texts_stays_text(page: Any, behaviour: Any) -> None:
    text = "<img src=x onerror=alert(1)> &amp; <b>dog</b>"
    write(page, text)
    assert page.locator(".words img, .words b, #mirror img").count() == 0
    page.click("#target .look")
    page.wait_for_selector(".heat")
    assert page.locator("#tabpanel img").count() == 0


def test_a_busy_server_in_the_middle_of_a_stream_is_asked_again(page: Any) -> None:
    page.select_option("#from", "en")
    body = f"event: error\ndata: {json.dumps({'error': 'no answer within 20 s', 'status': 503})}\n\n"
    page.route("**/v1/translate", lambda route: route.fulfill(body=body, content_type="text/event-stream"))
    page.fill("#source", "A dog is running across the wet grass. " * 20)
    assert "busy or being restarted" in status(page)
    page.unroute("**/v1/translate")
    settled(page)


def test_a_text_that_is_too_long_is_not_swapped_for_an_old_translation(page: Any) -> None:
    write(page, DOG)
    long = f"{DOG} " + "dog " * 1251
    page.fill("#source", long)
    assert "too long" in status(page)
    page.click("#swap")
    assert page.input_value("#source") == long


def test_a_text_that_is_too_long_is_not_sent_after_a_choice(page: Any, behaviour: Any) -> None:
    write(page, f"{DOG}\nA dog")
    page.fill("#source", f"{DOG}\nA dog" + " dog" * 1251)
    assert "too long" in status(page)
    asked = len(behaviour.asked)
    page.click("#target .word >> nth=1")
    page.click("#menu-list [role=option] >> nth=1")
    page.wait_for_selector("#target .words:has-text('junger')")
    page.wait_for_timeout(300)
    assert "too long" in status(page)
    assert [len(body["text"]) for _, body in behaviour.asked[asked:]] == [len(DOG)] * 2


def test_a_key_that_no_header_can_carry_is_not_taken(page: Any, behaviour: Any) -> None:
    behaviour.key = "secret"
    page.reload()
    page.wait_for_selector("#key[open]")
    give_key(page, "ключ")
    assert page.is_visible("#key")
    give_key(page, " secret ")
    assert page.is_hidden("#key")
    write(page, DOG)


def test_a_mistake_at_the_beginning_promises_no_second_try(context: Any, url: str) -> None:
    page = context.new_page()
    page.route("**/v1/models", lambda route: route.fulfill(status=500, body="{}"))
    page.goto(url)
    page.wait_for_selector("#notice:has-text('Something went wrong')")
    assert "asked again" not in page.inner_text("#notice")
