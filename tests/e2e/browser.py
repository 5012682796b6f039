"""A headless Chromium with its own profile."""
import base64
import contextlib
import json
import os
import tempfile
from pathlib import Path

from selenium import webdriver


@contextlib.contextmanager
def chromium():
    """with chromium() as browser: browser.get(url)"""
    options = webdriver.ChromeOptions()
    for flag in ("headless", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run",
                 "disable-dev-shm-usage", "disable-background-networking",
                 "disable-component-update", "disable-sync", "window-size=1250,1600"):
        options.add_argument("--" + flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    with tempfile.TemporaryDirectory() as profile:
        options.add_argument("--user-data-dir=" + profile)
        driver = webdriver.Chrome(
            service=webdriver.chrome.service.Service("/usr/bin/chromedriver"),
            options=options)
        try:
            yield driver
        finally:
            driver.quit()


def complaints(browser):
    """Errors and warnings of the page in the browser's log.

    Not what the browser's own first page (chrome://) says, nor recommendations: these are hints for
    authors of forms, written some time after the page was drawn, often when the next one is shown."""
    return [entry for entry in browser.get_log("browser")
            if entry["source"] != "recommendation" and "favicon" not in entry["message"]
            and not entry["message"].startswith("chrome://")]


UNNAMED = """return [...document.querySelectorAll('input, select, textarea, button')].filter(
  (n) => n.offsetParent && !(n.labels && n.labels.length) && !n.ariaLabel && !n.innerText.trim()
).map((n) => n.outerHTML)"""
UNSAID = """return [...document.querySelectorAll('main svg, main canvas')].filter((n) =>
  !n.closest('[aria-hidden=true]') && !n.getAttribute('aria-label')).map((n) => n.outerHTML)"""


AXE = r"""const done = arguments[0];
axe.run(document, { resultTypes: ['violations'] }).then((found) => done([axe.version, found.violations.map((v) => ({
  rule: v.id, impact: v.impact, help: v.help, nodes: v.nodes.map((n) => `${n.html.slice(0, 300)} ${n.failureSummary.split('\n').slice(1, 3).join(' ')}`) }))]), (e) => done(String(e)))"""


def axe(driver, name, width, theme):
    """For tools/check-axe: what axe-core finds on the page, a line of JSON a look."""
    driver.execute_script(Path(os.environ["OFFHOOK_AXE"]).read_text(encoding="utf-8"))
    driver.set_script_timeout(600)  # the page about the API is long
    version, found = driver.execute_async_script(AXE)
    with open(os.environ["OFFHOOK_AXE_FOUND"], "a", encoding="utf-8") as f:
        f.write(json.dumps({"page": name, "width": width, "theme": theme, "version": version,
                            "found": found}) + "\n")


def looked_at(driver, name):
    """Two widths, two themes and a zoom of 200 %: nothing is cut off, everything has a name.
    tools/screenshots keeps the pictures, tools/check-axe lets axe-core look as well. They run the
    tests that are marked "looks"."""
    folder = os.environ.get("OFFHOOK_SCREENSHOTS")
    driver.execute_script("window.scrollTo(0, 0)")
    driver.execute_cdp_cmd("Emulation.setScrollbarsHidden", {"hidden": True})
    try:
        for width, theme, scale in ((1280, "light", 1), (1280, "dark", 1), (380, "light", 1),
                                    (380, "dark", 1), (640, "light", 2)):
            driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
                "width": width, "height": 900, "deviceScaleFactor": scale, "mobile": False})
            driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {
                "features": [{"name": "prefers-color-scheme", "value": theme}]})
            assert driver.execute_script("return document.documentElement.scrollWidth") <= width
            assert driver.execute_script(UNNAMED) == [] and driver.execute_script(UNSAID) == []
            assert driver.execute_script("return document.querySelectorAll('h1').length") == 1
            assert driver.find_elements("css selector", "th:not([scope])") == []
            if "OFFHOOK_AXE" in os.environ and scale == 1:
                axe(driver, name, width, theme)
            if folder and scale == 1:
                picture = driver.execute_cdp_cmd("Page.captureScreenshot", {
                    "captureBeyondViewport": True})
                Path(folder, f"{name}-{width}-{theme}.png").write_bytes(
                    base64.b64decode(picture["data"]))
    finally:
        driver.execute_cdp_cmd("Emulation.setScrollbarsHidden", {"hidden": False})
        driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
