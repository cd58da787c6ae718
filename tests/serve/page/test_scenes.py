"""Every state of the page, light and dark, at a desk and on a phone: accessible, and never wider than the screen.

With NMT_SCREENSHOTS=FOLDER each is saved as a picture, in every size and theme, and not judged.
"""

import os
from pathlib import Path
from typing import Any

import pytest
from serve.page.scenes import SCENES

SIZES = {"desktop": {"width": 1280, "height": 800}, "phone": {"width": 360, "height": 740}}
WIDTH = "[document.documentElement.scrollWidth, document.body.scrollWidth, innerWidth]"


@pytest.fixture
def axe() -> Any:
    axe_playwright = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="no axe-core: pip install axe-playwright-python"
    )
    return axe_playwright.Axe()


FOLDER = os.environ.get("NMT_SCREENSHOTS")
ALL = [(size, theme) for size in SIZES for theme in ("light", "dark")]


@pytest.mark.parametrize(("size", "theme"), ALL if FOLDER else [("desktop", "light"), ("phone", "dark")])
@pytest.mark.parametrize("scene", SCENES)
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
