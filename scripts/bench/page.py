"""The page in chromium before a real server: its first paint, and how soon typed text is translated on screen."""

import statistics
from pathlib import Path
from typing import Any

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
PAINTS, KEYS = 5, 31
PAUSE_MS = 400  # of the typist; the next key then begins a burst, and is sent at once
BETWEEN_KEYS_MS = 30  # of one burst

# Notes the time of the last key, and the time when the translation of all that was typed has been painted.
WATCH = """() => {
    const source = document.querySelector('#source');
    source.addEventListener('input', () => { window.began = performance.now(); window.shown = null; }, {capture: true});
    new MutationObserver(() => {
        const began = window.began;
        if (!document.querySelector('#target .stale')) requestAnimationFrame(() => setTimeout(() => {
            if (began === window.began) window.shown = performance.now() - began;
        }));
    }).observe(document.querySelector('#target .words'), {childList: true, subtree: true, attributes: true});
}"""
PAINTED = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
SHOWN = "() => window.shown !== null && !document.querySelector('#target .stale') && window.shown"


def measure(url: str, text: str) -> dict[str, list[float]]:
    """Milliseconds to the first paint, from a key after a pause, and from the last of some quick keys."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        paints = []
        for _ in range(PAINTS):
            page = browser.new_context().new_page()
            page.goto(url)
            page.wait_for_timeout(PAUSE_MS)
            paints.append(page.evaluate(PAINTED))
            page.context.close()
        page = browser.new_context(bypass_csp=True).new_page()  # wait_for_function evaluates text
        page.goto(url)
        page.wait_for_function("document.querySelector('#to').value !== ''")
        page.evaluate(WATCH)
        found = {"first paint": paints}
        rest = text.rpartition(" ")[0]  # a text of its own for each time: the page remembers translations
        for name, letters in (("a key after a pause", "a"), ("the last of some quick keys", "abcd")):
            found[name] = [_typed(page, f"{rest} {number}", letters) for number in range(KEYS)]
        browser.close()
    return found


def _typed(page: Any, text: str, letters: str) -> float:
    page.fill("#source", text)
    page.wait_for_function(SHOWN)
    page.wait_for_timeout(PAUSE_MS)
    page.locator("#source").press_sequentially(letters, delay=BETWEEN_KEYS_MS)
    return float(page.wait_for_function(SHOWN).json_value())


def described(milliseconds: list[float]) -> str:
    """The median and the slowest."""
    return f"{statistics.median(milliseconds):.0f} ms; {max(milliseconds):.0f} ms"
