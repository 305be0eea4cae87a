"""The chat as a person uses it: every button is clicked, and the page is read when all is over.

It needs a Chromium on the PATH (Debian's package `chromium`) and `playwright` to drive it.
"""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvicorn
from playwright.sync_api import Page, expect, sync_playwright

from finalcall.testing import FAULTS, FaultServer

sys.path.insert(0, str(Path(__file__).parent))
from app import SCRIPTS, answer, create_app

PATIENCE = 30_000
"""Milliseconds that a message may take to be over: its limits of silence pass many times."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with FaultServer(answer) as model:
        config = uvicorn.Config(create_app(model.base_url), port=0, log_level="warning")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def browser_page(address: str) -> Iterator[Page]:
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        pytest.fail("no chromium on the PATH; Debian's package is called chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(address)
        yield page
        browser.close()


def click(page: Page, button: str) -> None:
    page.get_by_role("button", name=button, exact=True).click()


def wait_until_over(page: Page) -> None:
    expect(page.locator("body")).to_have_attribute("data-over", "true", timeout=PATIENCE)


@pytest.mark.parametrize("fault", SCRIPTS)
def test_every_block_ends(browser_page: Page, fault: str) -> None:
    """Whatever the stream does, the block says how it ended, and only a whole call has run."""
    click(browser_page, fault)
    wait_until_over(browser_page)
    blocks = browser_page.locator(".block").all()
    lines = [block.locator("output").inner_text() for block in blocks]
    states = [block.get_attribute("data-state") for block in blocks]
    print(f"{fault}: {lines}")
    assert [block.get_attribute("data-open") for block in blocks] == ["false"] * len(blocks)
    if fault == "none" or FAULTS[fault].harm == "none":
        assert lines == ["✓ Open a ticket — done"]
    else:
        assert lines
        assert set(states) <= {"not run", "cancelled"}


def test_stop_cancels(browser_page: Page) -> None:
    """The Stop button ends a message in the middle, and its block says so."""
    click(browser_page, "stall-with-pings")
    expect(browser_page.locator(".block")).to_have_attribute("data-state", "preparing")
    click(browser_page, "Stop")
    wait_until_over(browser_page)
    assert browser_page.locator(".block output").inner_text() == "⊘ Open a ticket — cancelled"


def test_a_form_fills_in_and_hides_what_is_sensitive(browser_page: Page) -> None:
    """The person sees the fields that the display names, and never the access code."""
    click(browser_page, "stall")
    expect(browser_page.locator(".block dd").first).to_contain_text("The n")
    wait_until_over(browser_page)
    click(browser_page, "none")
    wait_until_over(browser_page)
    shown = browser_page.locator("main").inner_text()
    assert "The night run stopped after customer 1,204" in shown
    assert "•••" in shown
    assert "tulip" not in browser_page.content()
