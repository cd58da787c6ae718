"""A browser, and a server whose answers are made up; tests skip visibly where no chromium is installed."""

import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()


@pytest.fixture(scope="module")  # Playwright's event loop runs as long: other files' tests have loops of their own
def browser() -> Iterator[Any]:
    """One chromium for all tests of a file."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="no Playwright: pip install playwright")
    if not CHROMIUM.exists():
        pytest.skip(f"no browser: {CHROMIUM} does not exist; apt install chromium")
    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def standin() -> Iterator[Any]:
    """The server in a thread: `url` and `behaviour`."""
    pytest.importorskip("starlette", reason="no Starlette: pip install nmt[serve]")
    uvicorn = pytest.importorskip("uvicorn", reason="no uvicorn: pip install nmt[serve]")
    from serve.page.standin import Behaviour, application

    behaviour = Behaviour()
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(application(behaviour), log_level="warning"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield type("Standin", (), {"url": f"http://127.0.0.1:{listener.getsockname()[1]}/", "behaviour": behaviour})
    server.should_exit = True
    thread.join(10)


@pytest.fixture
def behaviour(standin: Any) -> Any:
    """What the server does, as at the beginning."""
    standin.behaviour.__init__()
    return standin.behaviour


@pytest.fixture
def url(standin: Any, behaviour: Any) -> str:
    return str(standin.url)


@pytest.fixture
def context(browser: Any, url: str) -> Iterator[Any]:
    """A fresh profile that reaches the stand-in and nothing else; the test fails if the page breaks a rule."""
    context = browser.new_context(viewport={"width": 1280, "height": 800}, locale="en-GB")
    context.grant_permissions(["clipboard-read", "clipboard-write"], origin=url.rstrip("/"))
    abroad: list[str] = []
    context.on("request", lambda request: None if request.url.startswith(url) else abroad.append(request.url))
    wrong: list[str] = []
    context.on("weberror", lambda error: wrong.append(str(error.error)))
    context.on("console", lambda line: wrong.append(line.text) if "Content Security Policy" in line.text else None)
    yield context
    context.close()
    assert not wrong
    assert not abroad


@pytest.fixture
def page(context: Any, url: str) -> Any:
    """The page, opened, with the languages known."""
    page = context.new_page()
    page.goto(url)
    from serve.page.scenes import until

    until(page, "document.querySelector('#to').value !== ''")
    return page
