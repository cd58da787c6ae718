"""States of the page that are judged by eye (screenshots.py) and by rules (test_scenes.py)."""

from collections.abc import Callable
from typing import Any

DOG = "A small dog is running across the wet grass."
LONG = """The teacher shows how it works. A small dog runs across the wet grass and the children play with the red \
ball. An old man reads the book in the park.

Two children play under the trees. The cat sleeps and the dog is running. We see how the teacher shows the book. \
The first sentence is old, the second sentence is small, and the third sentence is wet.

An old teacher and two small children read in the park. The ball is red. The dog sees the cat under the trees."""


def until(page: Any, expression: str, arg: Any = None) -> None:
    """Waits for a truth; Playwright's own way evaluates text in the page, which the page's policy forbids."""
    for _ in range(1500):
        if page.evaluate(expression, arg):
            return
        page.wait_for_timeout(20)
    raise AssertionError(f"never true: {expression}")


def write(page: Any, text: str, source: str = "en", target: str = "de") -> None:
    """The text in the given languages, translated."""
    page.select_option("#from", source)
    page.select_option("#to", target)
    page.fill("#source", text)
    settled(page)


def settled(page: Any, pane: str = "#target") -> None:
    """Waits until the pane shows the translation of all that was typed."""
    until(
        page,
        "pane => { const root = document.querySelector(pane);"
        " return root.querySelector('.word') && root.matches('[aria-busy=false]') && !root.querySelector('.stale') }",
        arg=pane,
    )


def empty(page: Any, behaviour: Any) -> None:
    """Nothing is typed yet."""


def short(page: Any, behaviour: Any) -> None:
    write(page, DOG)
    page.hover(".word >> nth=2")


def long(page: Any, behaviour: Any) -> None:
    write(page, LONG)


def slow(page: Any, behaviour: Any) -> None:
    write(page, DOG)
    behaviour.delay_s = 5
    page.fill("#source", f"{DOG} The teacher shows how it works.")
    page.wait_for_selector(".bar:visible")


def error(page: Any, behaviour: Any) -> None:
    write(page, DOG)
    behaviour.failure = (429, "too many requests", 12)
    page.fill("#source", f"{DOG} The teacher shows how it works.")
    page.wait_for_selector(".status:visible")


def caution(page: Any, behaviour: Any) -> None:
    write(page, f"{DOG} ЖЩ dog.")


def menu(page: Any, behaviour: Any) -> None:
    write(page, DOG)
    page.click(".word >> nth=2")
    page.wait_for_selector("[role=option]")
    page.keyboard.press("ArrowDown")


def opened(tab: str) -> Callable[[Any, Any], None]:
    def scene(page: Any, behaviour: Any) -> None:
        behaviour.suggestions = True
        page.reload()
        until(page, "document.querySelector('#to').value !== ''")
        write(page, f"{DOG} The teacher shows how it works.")
        page.click("#target .look")
        page.click(f"#tab-{tab}")
        page.wait_for_selector("#tabpanel > *")

    return scene


def compare(page: Any, behaviour: Any) -> None:
    write(page, f"{DOG} An old man reads the book in the park.")
    page.select_option("#compare", "none")
    settled(page, "#target-compared")
    page.wait_for_selector(".differs")


def arabic(page: Any, behaviour: Any) -> None:
    write(page, DOG, "en", "ar")
    page.hover(".word >> nth=2")


def from_arabic(page: Any, behaviour: Any) -> None:
    write(page, "كلب صغير يركض عبر العشب المبلل.", "auto", "en")
    page.hover(".word >> nth=2")


def chinese(page: Any, behaviour: Any) -> None:
    write(page, DOG, "en", "zh")
    page.hover(".word >> nth=2")


def from_chinese(page: Any, behaviour: Any) -> None:
    write(page, "小狗在湿草地上跑。", "auto", "en")
    page.click("#target .look")
    page.wait_for_selector(".heat, #tabpanel p")


def history(page: Any, behaviour: Any) -> None:
    for text in (DOG, "The teacher shows how it works."):
        write(page, text)
        page.click("#clear")
    page.click("#open-history")


def help_and_keys(page: Any, behaviour: Any) -> None:
    page.click("#open-help")


def key(page: Any, behaviour: Any) -> None:
    behaviour.key = "secret"
    page.reload()
    page.wait_for_selector("#key[open]")


SCENES: dict[str, Callable[[Any, Any], None]] = {
    "empty": empty,
    "short": short,
    "long": long,
    "slow": slow,
    "error": error,
    "caution": caution,
    "menu": menu,
    "alternatives": opened("alternatives"),
    "attention": opened("attention"),
    "search": opened("search"),
    "compare": compare,
    "arabic": arabic,
    "from_arabic": from_arabic,
    "chinese": chinese,
    "from_chinese": from_chinese,
    "history": history,
    "help": help_and_keys,
    "key": key,
}
