"""Every state of the page: accessible, and never wider than the screen.

They take turns: one is judged at a desk in light, the next on a phone in the dark. With NMT_SCREENSHOTS=FOLDER each is
saved as a picture, in every size and theme, and not judged.
"""

import os
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from serve.page.scenes import SCENES

pytestmark = pytest.mark.slow  # each needs a browser

SIZES = {"desktop": {"width": 1280, "height": 800}, "phone": {"width": 360, "height": 740}}
WIDTH = "[document.documentElement.scrollWidth, document.body.scrollWidth, innerWidth]"


@pytest.fixture
def axe() -> Any:
    axe_playwright = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="no axe-core: pip install axe-playwright-python"
    )
    return axe_playwright.Axe()


FOLDER = os.environ.get("NMT_SCREENSHOTS")
ALL = [(scene, size, theme) for scene in SCENES for size in SIZES for theme in ("light", "dark")]
IN_TURN = list(zip(SCENES, cycle(SIZES), cycle(("light", "dark"))))


@pytest.mark.parametrize(("scene", "size", "theme"), ALL if FOLDER else IN_TURN)
def test_a_scene_is_accessible_and_fits(scene: str, size: str, theme: str, page: Any, behaviour: Any, axe: Any) -> None:
    page.set_viewport_size(SIZES[size])
    page.emulate_media(color_scheme=theme)
    SCENES[scene](page, behaviour)
    page.wait_for_timeout(350)  # colours fade
    if FOLDER:
        page.screenshot(path=Path(FOLDER) / f"{scene}_{size}_{theme}.png", full_page="menu" not in scene)
    document, body, width = page.evaluate(WIDTH)
    assert document <= width
    assert body <= width
    if not FOLDER:
        report = axe.run(page)
        assert report.violations_count == 0, report.generate_report()
