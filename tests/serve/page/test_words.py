"""Words are lit on both sides, opened, replaced by others, and put back."""

from typing import Any

import pytest
from serve.page.scenes import DOG, settled, until, write

pytestmark = pytest.mark.slow  # each needs a browser

LIT = (
    "pane => [...document.querySelectorAll(`${pane} .word.lit`)]"
    ".map(word => [word.textContent, Number(word.style.getPropertyValue('--w'))])"
)
MARKED = "[...document.querySelectorAll('#marks .mark')].map(mark => Number(mark.style.getPropertyValue('--w')))"


def test_pointing_at_a_word_lights_its_counterparts_by_weight(page: Any) -> None:
    write(page, DOG)
    page.hover("#target .word >> nth=2")
    assert page.evaluate(LIT, "#target") == [["Hund", 1]]
    weights = page.evaluate(MARKED)
    assert len(weights) == 3
    assert max(weights) == weights[1] > 2 * weights[0] > 0
    page.hover("h1")
    assert page.evaluate(LIT, "#target") == []
    assert page.evaluate(MARKED) == []


def test_marks_lie_under_the_letters_of_the_textarea(page: Any) -> None:
    write(page, DOG)
    page.hover("#target .word >> nth=2")
    strongest = page.evaluate("""() => {
        const weight = (mark) => mark.style.getPropertyValue('--w');
        const marks = [...document.querySelectorAll('#marks .mark')].sort((one, other) => weight(other) - weight(one));
        const box = marks[0].getBoundingClientRect();
        const at = (x) => document.caretPositionFromPoint(x, box.top + box.height / 2);
        return [at(box.left + 1), at(box.right - 1)].map((place) => [place.offsetNode.id, place.offset]);
    }""")
    assert strongest == [["source", DOG.index("dog")], ["source", DOG.index("dog") + 3]]
    fonts = page.evaluate("""() => ['#source', '#mirror'].map((name) => {
        const style = getComputedStyle(document.querySelector(name));
        const metrics = ['font', 'lineHeight', 'padding', 'letterSpacing', 'whiteSpace', 'width'];
        return metrics.map((key) => style[key]).join();
    })""")
    assert fonts[0] == fonts[1]


def test_the_textarea_grows_with_its_text(page: Any) -> None:
    write(page, "\n".join(["The dog runs."] * 40))
    assert page.evaluate(
        "(({scrollHeight, clientHeight}) => scrollHeight <= clientHeight)(document.querySelector('#source'))"
    )


def test_pointing_at_the_text_lights_the_translation(page: Any) -> None:
    write(page, DOG)
    box = page.evaluate(
        "(() => { const range = document.createRange(); const node = document.querySelector('#mirror').firstChild;"
        " range.setStart(node, 8); range.setEnd(node, 11); const box = range.getBoundingClientRect();"
        " return [box.left + box.width / 2, box.top + box.height / 2] })()"
    )
    page.mouse.move(*box)
    page.wait_for_selector("#target .word.lit")
    lit = dict(page.evaluate(LIT, "#target"))
    assert max(lit, key=lambda word: lit[word]) == "Hund"
    page.mouse.move(5, 700)
    assert page.evaluate(LIT, "#target") == []


def test_the_caret_lights_its_word(page: Any) -> None:
    write(page, DOG)
    page.focus("#source")
    page.keyboard.press("Home")
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    lit = dict(page.evaluate(LIT, "#target"))
    assert max(lit, key=lambda word: lit[word]) == "kleiner"


def test_keys_move_over_the_words_and_light_them(page: Any) -> None:
    write(page, DOG)
    page.focus("#source")
    page.keyboard.press("Control+Enter")
    focused = "document.activeElement.textContent"
    assert page.evaluate(focused) == "Ein"
    page.keyboard.press("ArrowRight")
    assert page.evaluate(focused) == "kleiner"
    assert dict(page.evaluate(LIT, "#target"))["kleiner"] == 1
    page.keyboard.press("End")
    assert page.evaluate(focused) == "."
    page.keyboard.press("Home")
    page.keyboard.press("ArrowLeft")
    assert page.evaluate(focused) == "Ein"
    assert page.evaluate("document.querySelectorAll('#target .word[tabindex=\"0\"]').length") == 1
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "quiet copy"


def test_arrows_follow_the_direction_of_the_script(page: Any) -> None:
    write(page, DOG, "en", "ar")
    page.focus("#target .word >> nth=0")
    page.keyboard.press("ArrowLeft")
    assert page.evaluate("document.activeElement.textContent") == "صغير"


def test_up_and_down_go_by_lines(page: Any) -> None:
    write(page, "The dog runs.\nThe cat sleeps.")
    page.focus("#target .word >> nth=1")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.textContent") == "Katze"
    page.keyboard.press("ArrowUp")
    assert page.evaluate("document.activeElement.textContent") == "Hund"


def test_choosing_a_continuation_translates_the_rest_anew(page: Any, behaviour: Any) -> None:
    write(page, DOG)
    page.click("#target .word >> nth=2")
    page.click("[role=option]:has-text('Welpe')")
    page.wait_for_selector("#target .word:has-text('Welpe')")
    settled(page)
    assert page.inner_text("#target .words") == "Ein kleiner Welpe ist rennt über der nasse Wiese."
    assert behaviour.asked[-1][1]["prefix"] == "Ein kleiner Welpe "
    assert page.evaluate("document.activeElement.textContent") == "Welpe"


@pytest.mark.parametrize("back", ["button", "key"])
def test_undo_puts_the_translation_back(back: str, page: Any) -> None:
    write(page, DOG)
    before = page.inner_text("#target .words")
    for word in ("Welpe", "läuft"):
        index = 2 if word == "Welpe" else 4
        page.click(f"#target .word >> nth={index}")
        page.click(f"[role=option]:has-text('{word}') >> nth=0")
        page.wait_for_selector(f"#target .word:has-text('{word}')")
    for _ in range(2):
        page.click("#target .undo") if back == "button" else page.keyboard.press("Control+z")
    assert page.inner_text("#target .words") == before
    assert page.is_disabled("#target .undo")


def test_the_menu_by_keys(page: Any) -> None:
    write(page, DOG)
    page.focus("#target .word >> nth=2")
    page.keyboard.press("Enter")
    page.wait_for_selector("[role=option]")
    assert page.evaluate("document.activeElement.id") == "menu-own"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    active = page.get_attribute("#menu-own", "aria-activedescendant")
    assert "Welpe" in page.inner_text(f"#{active}")
    page.keyboard.press("Escape")
    assert page.is_hidden("#menu")
    assert page.evaluate("document.activeElement.textContent") == "Hund"
    page.keyboard.press("Enter")
    page.wait_for_selector("[role=option]")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_selector("#target .word:has-text('Welpe')")


def test_a_word_of_ones_own(page: Any, behaviour: Any) -> None:
    write(page, DOG)
    page.click("#target .word >> nth=2")
    page.wait_for_selector("[role=option]")
    page.keyboard.type("Dackel ")
    page.keyboard.press("Enter")
    page.wait_for_selector("#target .word:has-text('Dackel')")
    assert page.inner_text("#target .words") == "Ein kleiner Dackel ist rennt über der nasse Wiese."


def test_a_translation_may_end_here(page: Any, behaviour: Any) -> None:
    write(page, DOG)
    page.click("#target .word >> nth=2")
    page.wait_for_selector("[role=option]")
    page.keyboard.type("Dackel.")
    page.click("[role=option]:has-text('(the sentence ends)')")
    page.wait_for_selector("#target .word:has-text('Dackel')")
    assert page.inner_text("#target .words") == "Ein kleiner Dackel."


def test_the_beginning_of_a_word_shows_words_that_begin_so(page: Any, behaviour: Any) -> None:
    write(page, DOG)
    page.click("#target .word >> nth=2")
    page.wait_for_selector("[role=option]")
    page.keyboard.type("We")
    until(page, "document.querySelectorAll('[role=option]').length === 1")
    assert page.inner_text("[role=option] b") == "Welpe"
    assert behaviour.asked[-1][1]["prefix"] == "Ein kleiner We"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_selector("#target .word:has-text('Welpe')")


def test_the_sentence_may_end_here(page: Any) -> None:
    write(page, DOG)
    page.click("#target .word >> nth=3")
    page.click("[role=option] >> text=/^\\.$/")
    settled(page)
    until(page, "document.querySelector('#target .words').textContent === 'Ein kleiner Hund.'")


def test_a_choice_survives_edits_of_other_sentences(page: Any, behaviour: Any) -> None:
    write(page, "The dog runs. The cat sleeps.")
    page.click("#target .word >> nth=1")
    page.click("[role=option]:has-text('Welpe')")
    page.wait_for_selector("#target .word:has-text('Welpe')")
    page.focus("#source")
    page.keyboard.press("Control+End")
    page.keyboard.insert_text("!")
    page.wait_for_timeout(300)
    settled(page)
    assert page.inner_text("#target .words") == "Der Welpe rennt. Der Katze schläft.!"


def test_a_choice_during_a_translation_loses_nothing(page: Any, behaviour: Any) -> None:
    write(page, "The dog runs. The cat sleeps.")
    behaviour.delay_s = 1.0
    page.focus("#source")
    page.keyboard.press("Control+End")
    page.keyboard.insert_text("!")
    page.wait_for_timeout(300)  # on its way
    page.click("#target .word >> nth=1")
    page.wait_for_selector("[role=option]")
    behaviour.delay_s = 0
    page.click("[role=option]:has-text('Welpe')")
    settled(page)
    until(page, "document.querySelector('#target .words').innerText === 'Der Welpe rennt. Der Katze schläft.!'")


def test_chinese_words_stand_without_spaces(page: Any) -> None:
    write(page, f"{DOG} {DOG}", "en", "zh")
    text = page.text_content("#target .words")
    assert text == "一只小狗正在跑过湿漉漉的草地。" * 2
    assert page.get_attribute("#target .words", "lang") == "zh"
    page.click("#target .word >> nth=2")
    page.click("[role=option]:has-text('幼犬')")
    page.wait_for_selector("#target .word:has-text('幼犬')")
    assert page.text_content("#target .words").startswith("一只幼犬正在")


def test_a_model_without_attention_has_words_too(page: Any) -> None:
    write(page, DOG)
    page.select_option("#model", "none")
    settled(page)
    page.hover("#target .word >> nth=1")
    assert page.evaluate(LIT, "#target") == [["kleiner", 1]]
    assert page.evaluate(MARKED) == []
    page.click("#target .word >> nth=1")
    page.wait_for_selector("[role=option]")


@pytest.mark.parametrize(("source", "target"), [("en", "ar"), ("ar", "en")])
def test_right_to_left(source: str, target: str, page: Any) -> None:
    texts = {"en": DOG, "ar": "كلب صغير يركض عبر العشب المبلل."}
    write(page, texts[source], source, target)
    sides = {source: "#source", target: "#target .words"}
    for language, selector in sides.items():
        assert page.get_attribute(selector, "lang") == language
        direction = page.evaluate("name => getComputedStyle(document.querySelector(name)).direction", selector)
        assert direction == ("rtl" if language == "ar" else "ltr")
    page.hover("#target .word >> nth=1")
    assert page.evaluate(MARKED)


def test_the_menu_asks_for_what_the_server_cut_as_one_sentence(page: Any, behaviour: Any) -> None:
    write(page, DOG)
    page.click("#target .word >> nth=1")
    page.wait_for_selector("#menu-list [role=option]")
    assert [body["split"] for path, body in behaviour.asked if path == "/v1/continuations"] == [False]
