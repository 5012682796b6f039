"""The report page in a real browser: signed in, and by its public link."""
import os

import pytest
import requests
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from bench import Bench
from browser import chromium, complaints

MARKUP = "<img src=x onerror=document.title='owned'>"

pytestmark = pytest.mark.skipif(
    not os.path.exists("/proc/self"), reason="Chromium does not run without /proc")


@pytest.fixture(scope="module")
def browser():
    with chromium() as driver:
        yield driver


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """(bench, report_url) of a finished run whose names contain markup."""
    from ports import PortBlock
    ports = PortBlock()
    with Bench(tmp_path_factory.mktemp("page"), ports) as bench:
        test_id = bench.single_call(duration=4)
        test = bench.api("GET", f"/tests/{test_id}")["test"]
        bench.api("PUT", f"/tests/{test_id}", {
            name: test[name] for name in ("project_id", "scenario", "agentpool_id",
                                          "steps", "conditions", "record")}
            | {"name": MARKUP})
        data = bench.api("POST", f"/tests/{test_id}/run", {"report.mode": "kiosk"})["data"]
        bench.wait(data["session_id"])
        yield bench, data["report_url"], data["session_id"]
    ports.close()


def opened(browser, url):
    browser.get(url)
    WebDriverWait(browser, 30).until(
        lambda b: b.find_element(By.TAG_NAME, "body").get_attribute("data-drawn") == "done")
    assert complaints(browser) == []


def rows(browser, section):
    return browser.find_elements(By.CSS_SELECTOR, f"#{section} tbody tr")


def test_page_shows_the_run(browser, finished):
    _, url, _ = finished
    opened(browser, url)
    assert browser.find_element(By.ID, "status").text == "passed"
    assert len(rows(browser, "calls")) == 2
    assert len(rows(browser, "streams")) == 4
    assert len(rows(browser, "evidence")) == 2
    verdicts = rows(browser, "verdicts")
    assert verdicts and all("✓" in row.text for row in verdicts)
    plots = {p.get_attribute("data-measure")
             for p in browser.find_elements(By.CSS_SELECTOR, ".plot")}
    assert {"rtp_mos", "rtp_jitter", "rtp_pkt_per_sec"} <= plots
    assert all(c.size["height"] > 100
               for c in browser.find_elements(By.CSS_SELECTOR, ".plot canvas"))
    assert "rtp_lost" in browser.find_element(By.ID, "zero").text


@pytest.fixture(scope="module")
def media(finished):
    """(bench, kiosk link, session) of a call with every kind of media data that the
    page can show."""
    bench, _, _ = finished
    test_id = bench.single_call(
        duration=4, media_encryption="sdes-mandatory", media_nat="ice", audio_codecs=["PCMA"],
        audio_checks=True, record="media",
        sipclient_actions=[["assert_established", "10000"], ["dtmf", "12#"], ["wait", "1000"]],
        conditions=[{"role": "callee", "condition_type": "callee-dtmf-conditions",
                     "conditions": [{"type": "is", "value": "12#"}]}])
    data = bench.api("POST", f"/tests/{test_id}/run", {
        "report.mode": "kiosk", "step.0.1.media_encryption": "sdes",
        "step.0.1.media_nat": "ice"})["data"]
    assert bench.wait(data["session_id"])["status"] == "passed"
    return bench, data["report_url"], data["session_id"]


def cells(browser, section):
    titles = [t.text for t in browser.find_elements(By.CSS_SELECTOR, f"#{section} th")]
    return [dict(zip(titles, [c.text for c in row.find_elements(By.TAG_NAME, "td")]))
            for row in rows(browser, section)]


def test_media_of_a_call_is_shown(browser, media):
    _, url, _ = media
    opened(browser, url)
    streams = cells(browser, "streams")
    assert {s["Encryption"] for s in streams} == {"AES_CM_128_HMAC_SHA1_80"}
    assert {(s["Codec"], s["Packet ms"]) for s in streams} == {("PCMA/8000", "20")}
    received = [s for s in streams if s["Direction"] == "received"]
    assert {(s["Scale"], s["Discarded by 60 ms buffer"]) for s in received} == {("nb", "0")}
    assert all(4 < float(s["MOS behind it"]) < 4.42 for s in received), received
    assert {s["Not authentic"] for s in streams if s["Direction"] == "received"} == {"0"}
    assert all(c["Path"].startswith("ice: host 127.0.0.1:") and "undefined" not in c["Path"]
               for c in cells(browser, "calls"))
    audio = cells(browser, "audio")
    assert [(a["Call"], a["Direction"]) for a in audio] == [
        ("caller-1", "heard"), ("caller-1", "said")]
    assert all(-40 < float(a["Level dBov"]) < 0 and "Hz" in a["Tones"] for a in audio)
    digits = {(d["Call"], d["Direction"]): d for d in cells(browser, "digits")}
    assert digits["callee-1", "received"]["Digits"] == "• • •"
    assert digits["callee-1", "received"]["By"] == "rtpevent"
    assert digits["caller-1", "sent"]["Digits"] == "• • •"
    verdict, = [v for v in cells(browser, "verdicts") if "digits" in v["Condition"]]
    assert verdict["Actual"] == '"•••"'


def test_public_link_shows_no_digit(media):
    """Digits may be a PIN, so only signed-in users see them."""
    bench, url, session = media
    public = requests.get(url + "/data", timeout=10)
    assert "12#" not in public.text
    whole = requests.get(f"{bench.controller.url}/run/details/{session}/data", timeout=10,
                         auth=bench.controller.keys["admin"]).json()
    for report, shown in ((public.json(), "•••"), (whole, "12#")):
        for direction in ("in", "out"):
            assert "".join(d["digit"] for d in report["digits"]
                           if d["direction"] == direction) == shown
        verdict, = [v for v in report["verdicts"] if "digits" in v["text"]]
        assert verdict["actual"] == f'"{shown}"' and f'"{shown}"' in verdict["text"]


def test_a_call_without_audio_has_no_table_of_it(browser, finished):
    _, url, _ = finished
    opened(browser, url)
    assert {s["Encryption"] for s in cells(browser, "streams")} == {"none"}
    for section in ("audio-section", "digits-section"):
        assert not browser.find_element(By.ID, section).is_displayed()


def test_names_are_text_and_no_markup(browser, finished):
    _, url, _ = finished
    opened(browser, url)
    assert browser.find_element(By.ID, "title").text == MARKUP
    assert MARKUP in browser.title


def test_public_link_shows_no_message_bodies(browser, finished):
    bench, url, session = finished
    opened(browser, url)
    ladder = browser.find_elements(By.CSS_SELECTOR, "#ladder .message")
    assert ladder and all("  UDP 127.0.0.1:" in m.get_attribute("textContent") for m in ladder)
    assert browser.find_elements(By.CSS_SELECTOR, "#ladder pre") == []
    private = f"{bench.controller.url}/run/details/{session}"
    assert requests.get(private, timeout=10).status_code == 401
    assert requests.get(private + "/data", timeout=10).status_code == 401
    assert requests.get(url[:-1] + ("0" if url[-1] != "0" else "1") + "/data",
                        timeout=10).status_code == 404


@pytest.fixture(scope="module")
def signed_in(browser, finished):
    """The session of a signed-in reader, which the browser uses too."""
    bench, _, _ = finished
    answer = requests.post(f"{bench.controller.url}/setup", timeout=60, json={
        "code": (bench.controller.state_dir / "setup-code").read_text().strip(),
        "name": "reader", "password": "reads the report"})
    assert answer.status_code == 200, answer.text
    browser.get(f"{bench.controller.witness().url}/healthz")  # a cookie can be set only on a page of its site
    browser.add_cookie({"name": "offhook_session",
                        "value": answer.cookies["offhook_session"]})
    return answer


def test_recordings_are_played(browser, media, signed_in):
    bench, _, session = media
    opened(browser, f"{bench.controller.witness().url}/run/details/{session}")
    assert len(browser.find_elements(By.CSS_SELECTOR, "#artifacts audio")) == 2
    browser.set_script_timeout(30)
    seconds = browser.execute_async_script("""
        const done = arguments[0];
        const player = document.querySelector('#artifacts audio');
        player.onerror = () => done(`error ${player.error.code}`);
        player.onloadedmetadata = () => done(player.duration);
        player.load();
        player.preload = 'metadata';""")
    assert isinstance(seconds, (int, float)) and 3 < seconds < 6, seconds
    assert complaints(browser) == []


def test_signed_in_reader_sees_the_messages(browser, finished, signed_in):
    bench, _, session = finished
    url = bench.controller.witness().url
    opened(browser, f"{url}/run/details/{session}")
    bodies = browser.find_elements(By.CSS_SELECTOR, "#ladder pre")
    assert any("INVITE" in b.get_attribute("textContent") for b in bodies)
    # everything that can be downloaded has a link
    links = [a.get_attribute("href") for a in
             browser.find_elements(By.CSS_SELECTOR, "#downloads a")]
    assert [link.rsplit("/", 1)[1] for link in links] == ["sip.txt", "sip.pcap", "stats.csv"]
    for link in links:
        answer = requests.get(link, cookies=signed_in.cookies, timeout=60)
        assert answer.status_code == 200 and len(answer.content) > 100, link
    # when printed, everything is expanded
    assert not any(d.get_attribute("open")
                   for d in browser.find_elements(By.CSS_SELECTOR, "#ladder details"))
    opened(browser, f"{url}/run/details/{session}?mode=print")
    details = browser.find_elements(By.CSS_SELECTOR, "#ladder details")
    assert details and all(d.get_attribute("open") for d in details)


def test_artifacts_are_linked(browser):
    """And missing artifacts are listed; the public link shows neither."""
    from fake_agent import NOW_US
    from test_artifacts import Bench as Files
    b = Files()
    try:
        run = b.c.api("POST", "/tests/scenarios/registration", {
            "agentpool_id": b.pool["id"], "target": "sip:127.0.0.1", "username": "1001",
            "password": "x", "report.mode": "kiosk"})["data"]
        job, = b.agent.jobs(1).values()
        assert b.agent.start(job).ok
        for name, data in (("caller-1-in.wav", b"RIFF"), ("notes.txt", b"two")):
            assert b.agent.artifact(job, name, data).ok
        assert b.agent.upload(job, "events", [{
            "t": NOW_US, "mono": 1, "kind": "artifact_lost", "name": MARKUP,
            "text": "there is no room"}]).ok
        b.end(job)
        signed_in = requests.post(f"{b.c.url}/setup", timeout=60, json={
            "code": (b.c.state_dir / "setup-code").read_text().strip(),
            "name": "reader", "password": "reads the report"})
        url = b.c.witness().url
        browser.get(f"{url}/healthz")
        browser.add_cookie({"name": "offhook_session",
                            "value": signed_in.cookies["offhook_session"]})
        opened(browser, f"{url}/run/details/{run['session_id']}")
        assert [r.text.split()[:4] for r in rows(browser, "artifacts")] == [
            [job["role"], "caller-1-in.wav", "audio/wav", "4"],
            [job["role"], "notes.txt", "text/plain", "3"]]
        link = browser.find_element(By.CSS_SELECTOR, "#artifacts a").get_attribute("href")
        assert requests.get(link, cookies=signed_in.cookies, timeout=60).content == b"RIFF"
        lost = browser.find_element(By.ID, "artifacts-lost").text
        assert MARKUP in lost and "no room" in lost
        opened(browser, run["report_url"])
        assert not browser.find_element(By.ID, "files-section").is_displayed()
        data = requests.get(run["report_url"] + "/data", timeout=60).json()
        assert "artifacts" not in data
    finally:
        b.c.__exit__(None, None, None)
