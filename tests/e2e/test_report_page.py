"""The page of a run in a real browser: signed in, live, and by its public link."""
import contextlib
import json
import os
import re
import sqlite3
import struct

import pytest
import requests
from selenium.common.exceptions import ElementClickInterceptedException, StaleElementReferenceException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from bench import Bench
from browser import chromium, complaints, looked_at
from fake_agent import NOW_US, FakeAgent, calibration, evidence, good_call, point, registered

MARKUP = "<img src=x onerror=document.title='owned'>"
CALLS = 500

pytestmark = pytest.mark.skipif(
    not os.path.exists("/proc/self"), reason="Chromium does not run without /proc")


@pytest.fixture(scope="module")
def browser():
    with chromium() as driver:
        yield driver


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    from ports import PortBlock
    ports = PortBlock()
    with Bench(tmp_path_factory.mktemp("page"), ports) as made:
        yield made
    ports.close()


@pytest.fixture(scope="module")
def media(bench):
    """(kiosk link, session) of a failed call with every kind of media data: a transfer
    that is refused, digits, recordings, encryption."""
    test_id = bench.single_call(
        duration=6, media_encryption="sdes-mandatory", media_nat="ice", audio_codecs=["PCMA"],
        audio_checks=True, record="media", rtp_capture=True,
        sipclient_actions=[["assert_established", "10000"], ["dtmf", "12#"], ["wait", "1500"],
                           ["transfer", "1009"], ["wait", "1000"]],
        conditions=[{"role": "callee", "condition_type": "callee-dtmf-conditions",
                     "conditions": [{"type": "is", "value": "12#"}]},
                    {"role": "caller", "condition_type": "caller-mos-conditions",
                     "conditions": [{"type": "ge", "value": "4.45"}]}])
    data = bench.api("POST", f"/tests/{test_id}/run", {
        "report.mode": "kiosk", "step.0.1.media_encryption": "sdes",
        "step.0.1.media_nat": "ice"})["data"]
    assert bench.wait(data["session_id"])["status"] == "failed"
    return data["report_url"], data["session_id"]


@pytest.fixture(scope="module")
def cookie(bench, browser):
    """The session of a signed-in user, which the browser uses too."""
    answer = requests.post(f"{bench.controller.url}/setup", timeout=60, json={
        "code": (bench.controller.state_dir / "setup-code").read_text().strip(),
        "name": "reader", "password": "reads the report"})
    assert answer.status_code == 200, answer.text
    browser.get(f"{bench.controller.witness().url}/healthz")  # a cookie needs a page of its site
    browser.add_cookie({"name": "offhook_session",
                        "value": answer.cookies["offhook_session"]})
    return answer.cookies


def drawn(browser, state="done"):
    WebDriverWait(browser, 60).until(
        lambda b: b.find_element(By.TAG_NAME, "body").get_attribute("data-drawn") == state)


def opened(browser, url, state="done"):
    browser.get(url)
    drawn(browser, state)
    assert complaints(browser) == []


def details(bench, session):
    return f"{bench.controller.witness().url}/run/details/{session}"


def text(browser, css):
    return browser.find_element(By.CSS_SELECTOR, css).text


def found(browser, css):
    return browser.find_elements(By.CSS_SELECTOR, css)


def waits(browser, condition):
    # a live page may draw an element again while it is read
    return WebDriverWait(browser, 60, ignored_exceptions=[StaleElementReferenceException]).until(
        lambda _: condition())


def press(browser, node):
    """Click, where the bar at the top does not cover the node."""
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", node)
    node.click()


def press_drawn_again(browser, ident):
    """Click a node that the page may draw again, or move, at any time: the one that is there."""
    WebDriverWait(browser, 60, ignored_exceptions=[
        StaleElementReferenceException, ElementClickInterceptedException]).until(
            lambda b: press(b, b.find_element(By.ID, ident)) is None)


def width(browser, pixels):
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
        "width": pixels, "height": 900, "deviceScaleFactor": 1, "mobile": pixels < 500})


@pytest.mark.looks
def test_the_answer_comes_first(bench, browser, cookie, media):
    opened(browser, details(bench, media[1]))
    assert text(browser, "#status") == "Failed"
    sentence = text(browser, "#sentence")
    assert "transfer to 1009" in sentence and "404 No Such Subscriber" in sentence
    assert "MOS" in sentence and "at least 4.45 is asked for" in sentence
    failed = found(browser, ".cond")
    assert len(failed) == 2 and not any(".scroll" in c.get_attribute("class") for c in failed)
    want = [c.find_element(By.CSS_SELECTOR, ".want dd").text for c in failed]
    was = [c.find_element(By.CSS_SELECTOR, ".got dd").text for c in failed]
    assert "at least 4.45" in want and "did not hold" in was
    mos, = [w for w in was if re.fullmatch(r"4\.\d\d", w)]
    assert f"was {mos} in call" in sentence
    folded = [b for b in found(browser, "#verdicts .more") if "passed" in b.text]
    assert len(folded) == 1 and not found(browser, "#verdicts table")
    looked_at(browser, "report")
    press(browser, folded[0])
    assert found(browser, "#verdicts table caption") and found(browser, "#verdicts th[scope=col]")
    data = requests.get(f"{bench.controller.url}/run/details/{media[1]}/data", timeout=60,
                        auth=bench.controller.keys["admin"]).json()
    late = [e["send_lateness_ms"].get("p99", e["send_lateness_ms"]["max"])
            for e in data["evidence"] if e.get("send_lateness_ms")]
    limit = max(late) >= 10 or data["flaws"] or any(  # on a busy machine
        e.get(k) for e in data["evidence"] for k in (
            "send_errors", "receive_queue_drops", "sip_queue_drops", "ring_drops", "packets_unsent",
            "starts_missed", "dtls_dropped", "stun_dropped")) \
        or any(e.get("steal_pct", 0) >= 1 or e.get("loop_lateness_p99_ms", 0) >= 100
               or e.get("send_scheduling") == "overrun" for e in data["evidence"])
    assert text(browser, "#tester-answer") == ("Yes" if limit else "No")


def test_shards_are_a_table_of_runs_that_have_them(bench, browser, cookie, media):
    opened(browser, details(bench, media[1]))
    assert not browser.find_element(By.ID, "shards-card").is_displayed()

    def rows(sql):
        with contextlib.closing(bench.controller.open_database()) as db:
            db.execute(sql, (media[1],))
            db.commit()

    caller = "WHERE role = 'caller' AND run_id = (SELECT id FROM run WHERE session_id = ?)"
    rows(f"UPDATE lease SET shards = 2, began_us = 1700000000000000, began_error_us = 1234 {caller}")
    try:
        opened(browser, details(bench, media[1]))
        assert browser.find_element(By.ID, "shards-card").is_displayed()
        cells = [c.text for c in found(browser, "#shards tbody td, #shards tbody th")]
        assert cells == ["caller", "1 of 2", "agent0", "finished", "1", "0.5", "0.0", "1.2"], cells
        assert "Reduced" not in browser.find_element(By.TAG_NAME, "main").text
        rows("UPDATE run SET shards_lost = 1 WHERE session_id = ?")
        opened(browser, details(bench, media[1]))
        assert "Reduced: 1 shard was lost" in browser.find_element(By.ID, "shards").text
        assert "Reduced: 1 shard was lost" in browser.find_element(By.ID, "sentence").text
        opened(browser, media[0])  # agents are not public
        assert not browser.find_element(By.ID, "shards-card").is_displayed()
    finally:
        rows("UPDATE run SET shards_lost = 0 WHERE session_id = ?")
        rows(f"UPDATE lease SET shards = 1, began_us = NULL, began_error_us = NULL {caller}")



def test_a_claim_links_to_its_evidence(bench, browser, cookie, media):
    opened(browser, details(bench, media[1]))
    link = next(a for a in found(browser, ".see a") if a.text.startswith("404"))
    press(browser, link)
    assert text(browser, "#message h3").strip() == "404 No Such Subscriber"
    assert "Call-ID:" in text(browser, "#message .raw")
    press(browser, next(a for a in found(browser, ".see a") if a.text.startswith("MOS")))
    assert found(browser, "#clock .band")[0].is_displayed()


def test_one_clock(bench, browser, cookie, media):
    opened(browser, details(bench, media[1]))
    measures = {n.get_attribute("data-measure") for n in found(browser, "#clock [data-measure]")}
    assert {"rtp_mos", "rtp_jitter", "rtp_pkt_per_sec"} <= measures
    assert "Lost" in text(browser, "#clock .zero")
    pictures = found(browser, "#clock svg[role=img]")
    assert all(p.get_attribute("aria-label") for p in pictures)
    actions = next(p.get_attribute("aria-label") for p in pictures
                   if p.get_attribute("aria-label").startswith("Actions"))
    assert "1 at" in actions and "transfer 1009: was refused" in actions
    clock = browser.find_element(By.ID, "clock")
    before = text(browser, ".cursor b")
    clock.send_keys(Keys.ARROW_RIGHT)
    assert float(text(browser, ".cursor b")[:-2]) > float(before[:-2])


def test_ladder_has_a_column_an_address_and_keys(bench, browser, cookie, media):
    opened(browser, details(bench, media[1]))
    names = [t.text for t in found(browser, "#ladder .axis.strong")]
    assert names[0] == "caller" and len(names) == 3 and names[2] == "callee", names
    gaps = found(browser, "#ladder .axis.gap")
    assert gaps and found(browser, "#ladder .row-hit.refused")
    first = text(browser, "#message .raw")
    browser.find_element(By.TAG_NAME, "body").send_keys("k")
    assert text(browser, "#message .raw") != first
    browser.find_element(By.TAG_NAME, "body").send_keys("j")
    assert text(browser, "#message .raw") == first
    browser.find_element(By.TAG_NAME, "body").send_keys("?")
    waits(browser, lambda: "Next and previous message" in text(browser, "dialog"))
    press(browser, browser.find_element(By.CSS_SELECTOR, "dialog button"))
    runs = bench.api("GET", "/runs?count=1")["total"]
    browser.find_element(By.TAG_NAME, "body").send_keys("gr")
    waits(browser, lambda: browser.current_url.endswith("/runs"))
    assert bench.api("GET", "/runs?count=1")["total"] == runs


def test_figures_of_a_call(bench, browser, cookie, media):
    opened(browser, details(bench, media[1]))
    press(browser, browser.find_element(By.CSS_SELECTOR, "[data-call=caller-1]"))
    shown = text(browser, ".detail")
    for words in ("AES_CM_128_HMAC_SHA1_80", "PCMA/8000", "Level dBov", "ice: host 127.0.0.1:",
                  "Discarded by a 60 ms buffer", "Not authentic", "1 2 # (rtpevent"):
        assert words in shown, words
    assert "undefined" not in shown


def test_last_figures_stand_beside_the_conditions(bench, browser, cookie, media):
    """On the page of the test and in its editor, until the test is changed."""
    run = bench.api("GET", f"/runs/{media[1]}")["run"]
    own = [v for v in run["verdicts"] if not v["built_in"]]
    assert re.fullmatch(r"4\.\d{3,}", own[1]["actual"])  # a MOS, which has two decimals in pages
    shorter = [own[0]["actual"], f"{float(own[1]['actual']):.2f}"]
    was = [(f"last run: {figure}", "" if v["passed"] else "bad") for v, figure in zip(own, shorter)]
    assert len(was) == 2 and was[1][1] == "bad"

    def shown(path, ready):
        browser.get(f"{bench.controller.witness().url}{path}")
        drawn(browser, ready)
        assert complaints(browser) == []
        return [(n.text, n.get_attribute("class").replace("last-figure", "").strip())
                for n in found(browser, "#conditions .last-figure")]

    paths = [(f"/tests/{run['test_id']}", "done"), (f"/tests/{run['test_id']}/edit", "done")]
    assert [shown(*p) for p in paths] == [was, was]
    rules = list(dict.fromkeys(v["text"] for v in run["verdicts"] if v["built_in"]))
    assert len(rules) > 3 and text(browser, "#built-in summary") == \
        f"{len(rules)} more are judged in every run: {rules[0]} …"
    press(browser, browser.find_element(By.CSS_SELECTOR, "#built-in summary"))
    assert [li.text for li in found(browser, "#built-in li")] == rules
    bar, = found(browser, "#since .strip a")
    assert bar.get_attribute("href").endswith(f"/run/details/{media[1]}")
    assert text(browser, "#since").startswith("Failing since ")
    value = found(browser, "#conditions [data-key=value] input")[-1]
    value.clear()
    assert [n.text for n in found(browser, "#conditions .last-figure")] == [w[0] for w in was]
    browser.execute_script(
        "window.addEventListener('beforeunload', (e) => e.stopImmediatePropagation(), true)")
    test = bench.api("GET", f"/tests/{run['test_id']}")["test"]
    bench.api("PUT", f"/tests/{run['test_id']}", {**test, "description": "changed since"})
    assert [shown(*p) for p in paths] == [[], []]
    assert not browser.find_element(By.ID, "built-in").is_displayed()
    assert found(browser, "#since .strip a")


def test_sound_and_files(bench, browser, cookie, media):
    opened(browser, details(bench, media[1]))
    waits(browser, lambda: len(found(browser, "#clock .wave svg path")) == 2)
    play = browser.find_element(By.CSS_SELECTOR, "#player .big")
    press(browser, play)
    assert play.get_attribute("aria-label") == "Pause"
    press(browser, play)
    stereo = browser.execute_async_script("""
        const done = arguments[arguments.length - 1], make = URL.createObjectURL;
        URL.createObjectURL = (blob) => { URL.createObjectURL = make;
          blob.arrayBuffer().then((b) => done([...new Uint8Array(b.slice(0, 44)), b.byteLength]));
          return 'data:,'; };
        document.getElementById('save-stereo').click();""")
    head, length = bytes(stereo[:44]), stereo[44]
    assert head[:4] + head[8:16] == b"RIFFWAVEfmt " and struct.unpack("<HHII", head[20:32]) == (
        1, 2, 8000, 8000 * 4) and length > 44 + 3 * 8000 * 4
    links = [a.get_attribute("href") for a in found(browser, "#downloads a")]
    assert [link.rsplit("/", 1)[1] for link in links][:4] == [
        "sip.txt", "sip.pcap", "packets.pcapng", "stats.csv"]
    for link in links + [a.get_attribute("href") for a in found(browser, "#artifacts a")]:
        answer = requests.get(link, cookies=cookie, timeout=60)
        assert answer.status_code == 200 and len(answer.content) > 100, link
    assert complaints(browser) == []


def test_would_another_buffer_have_helped(bench, browser, cookie, media):
    opened(browser, details(bench, media[1]))
    assert text(browser, "#quality-title") == "Would another buffer have helped?"
    browser.execute_script("""
        document.getElementById('quality-buffer').value = 'fixed:160';
        document.getElementById('quality-codec').value = 'G729';""")
    press(browser, found(browser, "#quality-ask")[0])
    waits(browser, lambda: found(browser, "#quality-said"))
    answer = bench.api("GET", f"/runs/{media[1]}/quality?jitter_buffer=fixed:160&codec=G729")
    one, = answer["streams"]
    least = answer["least"]["ms"]
    said = text(browser, "#quality-said")
    assert f"takes a fixed buffer of {least} ms" in said if least else said.startswith("None of")
    cells = [cell.text for cell in found(browser, "#quality-found tbody td")]
    assert cells[0] == "caller" and cells[1] == one["key"]["ssrc"]
    assert cells[2] == f"{one['measured'][0]['mos']:.2f}"
    assert cells[3] == str(one["rescored"][0]["discarded"])
    assert cells[4] == f"{one['rescored'][0]['mos']:.2f}"
    assert cells[6] == one["least"]["sentence"]
    assert len(found(browser, "#quality-found svg path.line")) == 1
    width(browser, 380)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 380
    width(browser, 1280)
    assert complaints(browser) == []


def test_public_link_shows_less(bench, media):
    url, session = media
    whole = requests.get(f"{bench.controller.url}/run/details/{session}/data", timeout=60,
                         auth=bench.controller.keys["admin"]).json()
    assert whole["run"]["history"][-1]["session_id"] == session and whole["run"]["test_id"]
    assert any(s["state"] == "CALL_DTMF_1" for s in whole["states"])
    answer = requests.get(url + "/data", timeout=60)
    assert "12#" not in answer.text and "1, 100 ms" not in answer.text
    public = answer.json()
    assert {"history", "id", "test_id", "project_id"}.isdisjoint(public["run"])
    assert "artifacts" not in public and not any("text" in m for m in public["messages"])
    for report, shown in ((public, "•••"), (whole, "12#")):
        for direction in ("in", "out"):
            assert "".join(d["digit"] for d in report["digits"]
                           if d["direction"] == direction) == shown
    digits = [s for s in public["states"] if s["state"].startswith("CALL_DTMF_")]
    assert digits and all("text" not in s for s in digits)
    assert {s["state"] for s in digits} <= {"CALL_DTMF_START", "CALL_DTMF_END", "CALL_DTMF_•"}


def test_share_and_revoke(bench, browser, cookie):
    """The link works in a second browser, which is not signed in, until it is revoked."""
    session = bench.start(bench.single_call(duration=1))
    bench.wait(session)
    opened(browser, details(bench, session))
    press(browser, browser.find_element(By.ID, "share"))
    waits(browser, lambda: found(browser, "#share-public"))
    press(browser, browser.find_element(By.ID, "share-public"))
    field = browser.find_element(By.CSS_SELECTOR, "dialog .in")
    waits(browser, lambda: "/kiosk/" in field.get_property("value"))
    link = field.get_property("value")
    with chromium() as other:
        opened(other, link)
        assert text(other, "#status") == "Passed" and "hold" in text(other, "#sentence")
        assert not found(other, "#rerun, #share, #stop")
        assert not other.find_element(By.ID, "files").is_displayed()
        assert len(found(other, "#ladder .ladder-row")) > 5
        press(browser, browser.find_element(By.ID, "share-revoke"))
        waits(browser, lambda: not browser.find_element(By.ID, "share-revoke").is_displayed())
        assert requests.get(link, timeout=60).status_code == 404
        assert requests.get(link + "/data", timeout=60).status_code == 404
    assert complaints(browser) == []
    assert requests.get(details(bench, session), timeout=60).status_code == 401


@pytest.mark.looks
def test_live_run_turns_into_the_report(bench, browser, cookie):
    session = bench.start(bench.single_call(duration=120))
    opened(browser, details(bench, session), "partly")
    waits(browser, lambda: text(browser, "#status") == "Running"
          and "2 legs up" in text(browser, "#sentence"))
    assert browser.find_element(By.ID, "progress").is_displayed()
    assert "Not judged yet" in text(browser, "#verdicts") and not found(browser, "#rerun")
    waits(browser, lambda: found(browser, "[data-measure=rtp_pkt_per_sec]"))
    # each of these is drawn again every second, perhaps while it is read
    assert waits(browser, lambda: text(browser, "[data-measure-now=calls] .v")) == "2"
    assert waits(browser, lambda: {s.get_attribute("data-state") for s in found(browser, "#live [data-state]")}) == {
        "CALL_ESTABLISHED"}
    newest = waits(browser, lambda: text(browser, "[data-measure-now=rtp_jitter] .d"))
    waits(browser, lambda: text(browser, "[data-measure-now=rtp_jitter] .d") != newest)
    looked_at(browser, "live")
    press_drawn_again(browser, "stop")
    drawn(browser)
    assert text(browser, "#status") == "Stopped" and not found(browser, "#stop")
    assert found(browser, "#rerun") and not browser.find_element(By.ID, "live-card").is_displayed()
    assert complaints(browser) == []


@pytest.fixture(scope="module")
def fake(bench):
    """An agent that makes no calls, and a way to give a test to it."""
    pool = bench.api("POST", "/agent-pools", {"name": "fake"})["agent_pool"]
    agent = FakeAgent(bench.controller, pool["join_token"], "fake")

    def given(name, conditions=None):
        test = bench.api("GET", f"/tests/{bench.single_call(4, conditions)}")["test"]
        bench.api("PUT", f"/tests/{test['id']}", {
            n: test[n] for n in ("project_id", "scenario", "steps", "conditions", "record")}
            | {"name": name, "agentpool_id": pool["id"]})
        return test["id"]

    def jobs(test_id):
        session = bench.start(test_id)
        found = agent.jobs(2)
        for job in found.values():
            assert agent.start(job).ok
        return session, found
    return agent, given, jobs


@pytest.fixture(scope="module")
def busy(bench, fake):
    """A run of 500 calls, some of them refused; every text of it that comes from outside
    is markup. Its agent lost packets."""
    agent, given, started = fake
    session, jobs = started(given(MARKUP))
    for role, job in jobs.items():
        account = "1001" if role == "caller" else "1002"
        state, *_, call = good_call(role, account, MARKUP, role == "caller")
        calls = []
        for i in range(CALLS):
            one = json.loads(json.dumps(call)) | {"call": f"{role}-{i + 1}", "call_id": f"c{i}"}
            one["streams"][0]["jitter_ms"] = {"avg": 1 + i / 1000}
            if i % 100 == 7:
                one |= {"established": False, "end": "rejected", "expected_end": False,
                        "code": 486, "reason": MARKUP, "streams": []}
            calls.append(one)
        assert agent.upload(job, "stats", [point(role, int(NOW_US / 1e6), 3.0)]).ok
        for at in range(0, CALLS, 250):
            assert agent.upload(job, "events", calls[at:at + 250]).ok
        assert agent.upload(job, "sip", [{
            "t": NOW_US, "mono": 1, "dir": "received", "transport": "udp",
            "local": "127.0.0.1:5999", "peer": "127.0.0.1:5060",
            "data": f"SIP/2.0 486 {MARKUP}\r\nServer: {MARKUP}\r\nCSeq: 1 INVITE\r\n"
                    "Call-ID: c7\r\n\r\n"}]).ok
        assert agent.artifact(job, "notes.txt", b"two").ok
        assert agent.upload(job, "events", registered(account) + [
            evidence(receive_queue_drops=3, calls_most=120, calibration={"calls": 100}),
            {"t": NOW_US, "mono": 1, "kind": "artifact_lost", "name": MARKUP, "text": "no room"},
            {"t": NOW_US, "mono": 1, "kind": "artifact_cut", "name": "rtp.pcap", "text": MARKUP},
            {"t": NOW_US, "mono": 1, "kind": "flaw", "name": "late", "count": 4,
             "text": MARKUP}]).ok
    for job in jobs.values():
        assert agent.finish(job).ok
    bench.wait(session)
    return session


def test_500_calls_are_usable(bench, browser, cookie, busy):
    for pixels, height in ((1280, 6000), (380, 8000)):
        width(browser, pixels)
        opened(browser, details(bench, busy))
        assert len(found(browser, "#calls-body tbody tr")) < 20
        assert browser.execute_script("return document.documentElement.scrollHeight") < height
        assert browser.execute_script("return document.documentElement.scrollWidth") <= pixels
        assert len(found(browser, "*")) < 3000
        print(f"{CALLS} calls, {pixels} px:", browser.execute_script(
            "return performance.getEntries().filter((e) => ['paint', 'mark'].includes(e.entryType))"
            ".map((e) => `${e.name} ${Math.round(e.startTime)} ms`).join(', ')"))
    width(browser, 1280)
    fold = next(b for b in found(browser, "#calls-body .more") if "more calls of" in b.text)
    rows = len(found(browser, "#calls-body tbody tr"))
    press(browser, fold)
    assert len(found(browser, "#calls-body tbody tr")) == rows + (4 if "486" in fold.text else 25)


def test_the_tester_was_the_limit(bench, browser, cookie, busy):
    opened(browser, details(bench, busy))
    assert text(browser, "#tester-answer") == "Yes"
    assert "6" in text(browser, "#evidence") and "dropped in a socket queue" in \
        text(browser, "#evidence").lower()
    assert "more calls at once than calibrated" in text(browser, "#evidence").lower()


def test_texts_from_outside_are_text(bench, browser, cookie, busy):
    opened(browser, details(bench, busy))
    assert text(browser, "#name") == MARKUP and MARKUP in browser.title
    assert MARKUP in text(browser, "#message .raw") and MARKUP in text(browser, "#artifacts-lost")
    assert f"rtp.pcap is not complete: {MARKUP}" in text(browser, "#artifacts-lost")
    assert MARKUP in text(browser, "#evidence") and MARKUP in text(browser, "#sentence")
    assert found(browser, "main img") == []


def test_history_of_the_test(bench, browser, cookie, busy):
    """Other runs of the test: a bar each, in order, linked; the last that passed is named."""
    path = next(bench.controller.state_dir.glob("*.db"))
    with sqlite3.connect(path, timeout=30) as db:
        columns = [r[1] for r in db.execute("PRAGMA table_info(run)") if r[1] != "id"]
        row = dict(zip(columns, db.execute(
            f"SELECT {','.join(columns)} FROM run WHERE session_id = ?", [busy]).fetchone()))
        for i, status in enumerate(["passed"] * 24 + ["failed"] * 2):
            copy = row | {"session_id": f"00000000-0000-4000-8000-{i:012}", "status": status}
            db.execute(f"INSERT INTO run ({','.join(columns)}) VALUES "
                       f"({','.join('?' * len(columns))})", [copy[c] for c in columns])
    last = "00000000-0000-4000-8000-000000000025"
    opened(browser, details(bench, last))
    bars = found(browser, "#since .strip a")
    assert len(bars) == 21 and [b.get_attribute("class") for b in bars[-2:]] == ["f", "f now"]
    assert "Failing since" in text(browser, "#since") and "2 runs in a row" in text(browser, "#since")
    assert "Last passed" in text(browser, "#facts")
    browser.find_element(By.TAG_NAME, "body").send_keys("[")
    waits(browser, lambda: browser.current_url.endswith("000000000024"))
    drawn(browser)


def message(t_ms, direction, data):
    return {"t": NOW_US + t_ms * 1000, "mono": 1, "dir": direction, "transport": "udp",
            "local": "127.0.0.1:5999", "peer": "127.0.0.1:5060",
            "data": data.replace("\n", "\r\n")}


def talk(answer, server, relay):
    """A call that is transferred, as the caller sees it."""
    own = "Call-ID: c1\nCSeq: {}\n"
    sdp = f"\nv=0\no=- 1 1 IN IP4 {relay}\nc=IN IP4 {relay}\nm=audio 4000 RTP/AVP 0\na=ptime:20\n"
    invite = own.format("1 INVITE")
    refer = own.format("2 REFER")
    return [message(0, "sent", f"INVITE sip:1002@x SIP/2.0\n{invite}{sdp}"),
            message(5, "received", f"SIP/2.0 100 Trying\n{invite}Server: {server}\n\n"),
            message(900, "received", f"SIP/2.0 200 OK\n{invite}Server: {server}\n{sdp}"),
            message(901, "sent", f"ACK sip:1002@x SIP/2.0\n{own.format('1 ACK')}\n"),
            message(2000, "sent", f"REFER sip:1002@x SIP/2.0\n{refer}\n"),
            message(2030, "received", f"SIP/2.0 {answer}\n{refer}Server: {server}\n\n")]


@pytest.fixture(scope="module")
def two(bench, fake):
    """Two runs of a test: the first passed; in the second the MOS is too low, and the
    transfer was refused."""
    agent, given, started = fake
    test_id = given("compared", [{"role": "caller", "condition_type": "caller-mos-conditions",
                                  "conditions": [{"type": "ge", "value": "4.0"}]}])
    sessions = []
    for mos, jitter, talked in ((4.4, 1.8, talk("202 Accepted", "pbx/1", "192.0.2.1")),
                                (3.6, 4.2, talk("404 Not Found", f"pbx/2 {MARKUP}", "192.0.2.2"))):
        session, jobs = started(test_id)
        for role, job in jobs.items():
            account, peer = ("1001", "1002") if role == "caller" else ("1002", "1001")
            *states, call = good_call(role, account, peer, role == "caller")
            call["streams"][0]["mos_total"] = mos
            states[-1]["t"] += 5_000_000  # closed: the axis is that of the call
            assert agent.upload(job, "stats", [point(
                role, int(NOW_US / 1e6) + s, figure, measure) for s in range(5)
                for measure, figure in (("rtp_mos", mos), ("rtp_jitter", jitter), ("rtp_lost_pct", 0.5))]).ok
            if role == "caller":
                assert agent.upload(job, "sip", talked).ok
            assert agent.upload(job, "events", registered(account) + states
                                + [call, evidence(calls_most=1, calibration=calibration(
                                    jitter_bound_ms=1.5, loss_bound_pct=0.02))]).ok
            assert agent.finish(job).ok
        bench.wait(session)
        sessions.append(session)
    yield sessions
    for session in sessions:  # its SIP messages are too short for the bench's witness
        bench.api("DELETE", f"/runs/{session}")


def test_error_bounds_are_in_the_plots(bench, browser, cookie, two):
    opened(browser, details(bench, two[1]))
    jitter = "#clock [data-measure=rtp_jitter]"
    bands = found(browser, f"{jitter} path.bound")
    assert len(bands) == 2 and all(b.get_attribute("d").endswith("Z") for b in bands)
    assert all("4.2 ± 1.50" in legend.text for legend in found(browser, f"{jitter} .legend div"))
    assert "4.2 to 4.2 ± 1.50" in browser.find_element(By.CSS_SELECTOR, f"{jitter} .plot svg").get_attribute("aria-label")
    loss = "#clock [data-measure=rtp_lost_pct]"  # a whisker at each bar
    assert len(found(browser, f"{loss} path.bound")) == len(found(browser, f"{loss} rect")) > 0
    assert not found(browser, "#clock [data-measure=rtp_mos] path.bound")


def test_a_line_has_a_gap_where_nothing_was_measured(bench, browser, cookie, fake):
    """One of reports, which come every few seconds, has none there."""
    agent, given, started = fake
    session, jobs = started(given("gaps"))
    begin = int(NOW_US / 1e6)
    for role, job in jobs.items():
        account, peer = ("1001", "1002") if role == "caller" else ("1002", "1001")
        *states, call = good_call(role, account, peer, role == "caller")
        states[-1]["t"] += 40_000_000
        if role == "caller":
            assert agent.upload(job, "stats", [point(role, begin + s, 2.5) for s in (*range(5), 20, *range(30, 35))] +
                                [point(role, begin + s, 9.5, "rtp_rtt") for s in (3, 8, 15, 20, 26)]).ok
        assert agent.upload(job, "events", registered(account) + states + [call, evidence()]).ok
        assert agent.finish(job).ok
    bench.wait(session)
    opened(browser, details(bench, session))
    parts = {m: [n.get_attribute("d").count("L") + 1 for n in found(browser, f"#clock [data-measure={m}] path.line")]
             for m in ("rtp_jitter", "rtp_rtt")}
    assert parts == {"rtp_jitter": [5, 1, 5], "rtp_rtt": [5]}
    assert [len(found(browser, f"#clock [data-measure={m}] circle")) for m in parts] == [1, 0]
    legends = [f"#clock [data-measure={m}] .legend b" for m in parts]
    assert text(browser, legends[0]) == "2.5"
    browser.find_element(By.ID, "clock").send_keys(Keys.ARROW_RIGHT * 12)
    assert [text(browser, css) for css in legends] == ["–", "9.5"]
    assert text(browser, "#timeline-note") == ""


def test_points_that_were_left_out_are_counted(bench, browser, cookie, two):
    """The page gets data that say so."""
    script = browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": """
        const real = window.fetch;
        window.fetch = async (path, ...rest) => {
          const answer = await real(path, ...rest);
          if (!String(path).endsWith('/data')) return answer;
          return new Response(JSON.stringify({ ...await answer.json(), points_omitted: 4 }), { status: 200 });
        };"""})
    try:
        opened(browser, details(bench, two[1]))
        assert text(browser, "#timeline-note") == "4 further points left out; the CSV file has all"
    finally:
        browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", script)


def test_home_says_what_changed(bench, browser, cookie, two):
    """What explains the condition that failed; the markup in the peer's Server stays text."""
    wanted = ("What changed since the last passed run: The media address in the 200 INVITE that caller received "
              'was "192.0.2.1" and is "192.0.2.2".')
    browser.get(bench.controller.witness().url + "/")
    waits(browser, lambda: wanted in [p.text for p in found(browser, "#broken .changed")])
    assert complaints(browser) == []


@pytest.mark.looks
def test_two_runs_are_compared(bench, browser, cookie, two):
    passed, failed = two
    opened(browser, details(bench, failed))
    waits(browser, lambda: found(browser, "#changes .changed li"))
    changes = text(browser, "#changes")
    assert "REFER was answered with 404" in changes and "before with 202" in changes, changes
    assert "pbx/2" in changes and "202 Accepted" in changes and "192.0.2.2" in changes
    browser.find_element(By.TAG_NAME, "body").send_keys("c")
    waits(browser, lambda: f"/runs/compare?a={passed}&b={failed}" in browser.current_url)
    drawn(browser)
    assert text(browser, "h1") == "1 condition broke between these runs"
    assert "the answer to REFER: 404 Not Found in place of 202 Accepted" in \
        text(browser, "#sentence")
    assert any("REFER was answered with 404" in li.text for li in found(browser, "#changed li"))
    rows = found(browser, "#verdicts table tbody tr")
    assert len(rows) == 1 and "3.6" in rows[0].text
    mos = found(browser, "#dists [data-measure=rtp_mos]")
    assert all("−0.80" in m.text for m in mos)
    press(browser, browser.find_element(By.CSS_SELECTOR, "#dists button.more"))  # it does not differ
    jitter = found(browser, "#dists [data-measure=rtp_jitter]")
    assert len(jitter) == 2 and all("within the error bounds" in j.text and "± 1.50" in j.text for j in jitter), [j.text for j in jitter]
    assert "A median 4.40" in mos[0].find_element(By.TAG_NAME, "svg").get_attribute("aria-label")
    kinds = [g.get_attribute("class") for g in found(browser, "#ladder .cmp-row")]
    assert kinds == ["cmp-row", "cmp-row only-a", "cmp-row only-b"] or \
        kinds == ["cmp-row only-a", "cmp-row only-b"], kinds
    fold = browser.find_element(By.CSS_SELECTOR, "#ladder .fold-row")
    assert "5 alike: INVITE 1002 to REFER" in fold.get_attribute("aria-label")
    fold.send_keys(Keys.ENTER)
    waits(browser, lambda: len(found(browser, "#ladder .cmp-row")) == 7)
    assert "192.0.2.2" in text(browser, "#sdp .p") and "192.0.2.1" in text(browser, "#sdp .m")
    assert "Another media address" in text(browser, "#sdp")
    assert MARKUP in text(browser, "#headers") and found(browser, "main img") == []
    looked_at(browser, "compare")
    press_drawn_again(browser, "only")
    assert not found(browser, "#ladder .fold-row")
    browser.find_element(By.TAG_NAME, "body").send_keys("x")
    waits(browser, lambda: f"a={failed}&b={passed}" in browser.current_url)
    drawn(browser)
    assert text(browser, "h1") == "1 condition holds again" and complaints(browser) == []


def test_the_order_of_two_legs_is_no_difference(bench, browser, cookie, two):
    opened(browser, f"{bench.controller.witness().url}/runs")
    rows = browser.execute_async_script("""
        const done = arguments[arguments.length - 1], same = (p, q) => p === q;
        import('/static/compare_model.js').then(({ align, paired }) => done(
          [['INVITE 100 180 200 ACK', 'INVITE 180 100 200 ACK'], ['INVITE 200', 'INVITE 486'],
           ['BYE', ''], ['', 'BYE']].map((pair) => paired(align(...pair.map((t) =>
            t.split(' ').filter(Boolean)), same), same).map((r) => [r.a, r.b]))));""")
    assert sorted(map(tuple, rows[0])) == sorted((w, w) for w in "INVITE 100 180 200 ACK".split())
    assert rows[1] == [["INVITE", "INVITE"], ["200", None], [None, "486"]]
    assert rows[2] == [["BYE", None]] and rows[3] == [[None, "BYE"]]


def test_runs_are_chosen_to_be_compared(bench, browser, cookie, two):
    opened(browser, f"{bench.controller.witness().url}/runs?test=compared")
    boxes = [b.get_attribute("id") for b in found(browser, "#runs input[type=checkbox]")]
    assert len(boxes) == 2 and not browser.find_element(By.ID, "compare").is_enabled()
    for box in boxes:  # the list is drawn again at any time
        browser.execute_script("document.getElementById(arguments[0]).click()", box)
    waits(browser, lambda: browser.find_element(By.ID, "compare").is_enabled())
    press(browser, browser.find_element(By.ID, "compare"))
    waits(browser, lambda: f"a={two[0]}&b={two[1]}" in browser.current_url)
    drawn(browser)


def test_print_opens_the_figures(bench, browser, cookie, media):
    opened(browser, details(bench, media[1]) + "?mode=print")
    assert found(browser, ".detail") and found(browser, "#verdicts table")


def test_artifacts_are_not_public(bench, media):
    answer = requests.get(details(bench, media[1]) + "/data", timeout=60)
    assert answer.status_code == 401
    url = media[0]
    wrong = url[:-1] + ("0" if url[-1] != "0" else "1")
    assert requests.get(wrong + "/data", timeout=60).status_code == 404
