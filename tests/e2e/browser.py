"""A headless Chromium with its own profile."""
import contextlib
import tempfile

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
    """Errors of the page in the browser's log.

    chrome:// is the browser's own first page, which is ignored."""
    return [entry for entry in browser.get_log("browser")
            if "favicon" not in entry["message"] and not entry["message"].startswith("chrome://")]
