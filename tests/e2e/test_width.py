"""Reports on a narrow screen: nothing leaves it, but what scrolls by itself."""

import shutil

import lynx as l
import machine
import pytest
from browser import Browser

RECORDED = f"{l.SOURCE}/tests/recorded"
PAGES = {
    "report": ("show", f"{RECORDED}/bundles/small.lynx", "--html"),
    "experiment": ("show", f"{RECORDED}/bundles/experiment.lynx", "--html"),
    "audit": ("audit", f"{RECORDED}/bundles/small.lynx", "--html"),
    "history": ("history", f"{RECORDED}/history", "--html"),
    "trace": ("attribute", f"{RECORDED}/traces/otlp.json", "--html"),
    "profile": ("attribute", f"{RECORDED}/profiles/h100-qwen.json.gz", "--html"),
}


@pytest.fixture(scope="module")
def browser():
    machine.need("chromedriver", shutil.which("chromedriver"), "chromium-driver is not installed")
    b = Browser()
    yield b
    b.close()


@pytest.mark.parametrize("width", [390, 768])
@pytest.mark.parametrize("name", PAGES)
def test_nothing_leaves_the_screen(browser, tmp_path, name, width):
    path = tmp_path / f"{name}.html"
    r = l.lynx(*PAGES[name], path)
    assert path.exists(), r.stderr
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    override = {"cmd": "Emulation.setDeviceMetricsOverride", "params": size}
    browser("POST", "/goog/cdp/execute", override)
    browser.go(f"file://{path}")
    assert browser.run("return document.documentElement.scrollWidth") <= width


if __name__ == "__main__":
    l.main(__file__)
