"""Alternatives, attention, the search tree, and two models side by side."""

from typing import Any

import pytest
from serve.page.scenes import DOG, settled, until, write

pytestmark = pytest.mark.slow  # each needs a browser

CELLS = (
    "[...document.querySelectorAll('.heat tbody tr')]"
    ".map(row => [...row.querySelectorAll('td')].map(cell => Number(cell.style.getPropertyValue('--w'))))"
)


def test_an_alternative_becomes_the_translation(page: Any, behaviour: Any) -> None:
    write(page, DOG)
    page.click("#target .alternatives")
    page.wait_for_selector(".alternative")
    rows = page.locator(".n-best tbody tr")
    assert rows.count() == 5
    assert "−0.31" in rows.nth(0).inner_text()
    assert page.get_attribute(".alternative >> nth=0", "aria-pressed") == "true"
    other = page.inner_text(".alternative >> nth=2")
    page.click(".alternative >> nth=2")
    until(page, "text => document.querySelector('#target .words').innerText === text", arg=other)
    assert behaviour.asked[-1][1].get("prefix") == other or behaviour.asked[-2][1].get("prefix") == other
    page.wait_for_selector(".alternative[aria-pressed=true] >> text=" + other)
    assert rows.count() == 5  # the list stays: one may change one's mind
    page.click("#target .undo")
    assert page.inner_text("#target .words").startswith("Ein kleiner")


def test_the_matrix_shows_each_head_and_the_mean(page: Any) -> None:
    write(page, DOG)
    page.click("#target .look")
    page.wait_for_selector(".heat")
    mean = page.evaluate(CELLS)
    assert all(abs(sum(row) - 1) < 0.02 for row in mean)
    heads = []
    for layer in range(2):
        for head in range(2):
            page.select_option("#tabpanel label:has-text('Layer') select", index=layer + 1)
            page.select_option("#tabpanel label:has-text('Head') select", index=head + 1)
            heads.append(page.evaluate(CELLS))
    assert abs(sum(head[0][0] for head in heads) / 4 - mean[0][0]) < 0.002
    assert len({tuple(head[0]) for head in heads}) == 4
    columns, rows = page.locator(".heat thead th").count(), page.locator(".heat tbody tr").count()
    assert (rows, columns) == (len(mean), len(mean[0]))


def test_keys_move_over_the_matrix(page: Any) -> None:
    write(page, DOG)
    page.click("#target .look")
    page.wait_for_selector(".heat")
    page.focus(".heat td[tabindex='0']")
    assert "Ein ← ▁A" in page.inner_text(".readout")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    assert "▁klein ← ▁small" in page.inner_text(".readout")
    assert page.inner_text(".heat th.lit >> nth=0").strip().endswith("small")
    page.keyboard.press("End")
    assert "← ▁." in page.inner_text(".readout")


def test_the_tree_has_one_best_path_to_an_end(page: Any) -> None:
    write(page, DOG)
    page.click("#target .look")
    page.click("#tab-search")
    page.wait_for_selector("svg .node")
    best = page.locator("svg .node.best").all_text_contents()
    steps = page.locator("svg .step").count()
    assert len(best) == steps
    assert page.locator("svg .node.end").count() == page.locator(".ended li").count()
    page.click("summary")
    assert "(chosen)" in page.inner_text(".ended")


def test_tabs_by_keys_and_escape(page: Any) -> None:
    write(page, DOG)
    page.focus("#target .alternatives")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "tab-alternatives"
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.id") == "tab-attention"
    assert page.get_attribute("#tab-attention", "aria-selected") == "true"
    assert page.get_attribute("#target .look", "aria-expanded") == "true"
    page.keyboard.press("Escape")
    assert page.is_hidden("#inside")
    assert page.evaluate("document.activeElement.classList.contains('look')")


def test_the_panel_goes_with_the_sentence(page: Any, behaviour: Any) -> None:
    write(page, "The dog runs. The cat sleeps. A man reads.")
    page.click("#target .alternatives")
    page.wait_for_selector(".alternative")
    assert page.inner_text("#which") == "Sentence 1 of 3"
    page.click("#next")
    page.wait_for_selector(".alternative:has-text('Katze')")
    assert page.inner_text("#which") == "Sentence 2 of 3"
    page.focus("#target .sentence >> nth=2 >> .word >> nth=0")
    page.wait_for_selector(".alternative:has-text('Ein Mann')")
    assert behaviour.asked[-1][1]["split"] is False


def test_the_panel_follows_the_typing(page: Any) -> None:
    write(page, "The dog runs.")
    page.click("#target .look")
    page.wait_for_selector(".heat")
    page.fill("#source", "The cat sleeps.")
    page.wait_for_selector(".heat th:has-text('Katze')")


def test_two_models_side_by_side(page: Any, behaviour: Any) -> None:
    write(page, DOG)
    page.select_option("#compare", "none")
    settled(page, "#target-compared")
    assert page.inner_text("#target .caption") == "general"
    assert page.inner_text("#target-compared .caption") == "none"
    assert page.inner_text("#target-compared .words") != page.inner_text("#target .words")
    assert page.locator("#target-compared .differs").count() >= 1
    page.click("#target-compared .look")
    page.wait_for_selector("#tabpanel:has-text('no attention')")
    assert behaviour.asked[-1][1]["model"] == "none"
    page.fill("#source", "The cat sleeps.")
    until(page, "document.querySelector('#target-compared .words').innerText === 'Der Katze schläft.'")
    settled(page)
    page.select_option("#compare", "")
    assert page.is_hidden("#target-compared")
    assert page.locator("#target .differs").count() == 0


def test_pointing_lights_both_models(page: Any) -> None:
    write(page, DOG)
    page.select_option("#compare", "additive")
    settled(page, "#target-compared")
    page.focus("#source")
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert page.locator("#target .lit").count() > 0
    assert page.locator("#target-compared .lit").count() > 0


def test_no_choice_of_models_where_there_is_one(page: Any) -> None:
    page.select_option("#from", "en")
    page.select_option("#to", "zh")
    assert page.is_disabled("#model")
    assert page.is_hidden("#compare")


@pytest.mark.parametrize("on", [True, False])
def test_suggestions_only_where_the_server_keeps_them(on: bool, page: Any, behaviour: Any) -> None:
    behaviour.suggestions = on
    page.reload()
    until(page, "document.querySelector('#to').value !== ''")
    write(page, DOG)
    page.click("#target .alternatives")
    page.wait_for_selector(".alternative")
    assert page.locator(".suggest").count() == on
    if on:
        page.fill(".suggest input", "Ein Hündchen läuft.")
        page.click(".suggest button")
        page.wait_for_selector(".suggest:has-text('Thank you')")
        path, body = behaviour.asked[-1]
        assert path == "/suggest"
        assert body == {"q": DOG, "s": "Ein Hündchen läuft.", "source": "en", "target": "de"}
