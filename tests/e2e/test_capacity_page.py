"""The pages of capacity searches in a real browser: list and form, one search, its curve."""
import json
import os
import re
import time

import pytest
from selenium.webdriver.common.by import By

from browser import chromium, looked_at
from controller import Controller
from test_api_project_runs import TIMES
from test_login import PASSWORD, serious, set_password
from test_pages import MARKUP, Page

pytestmark = pytest.mark.skipif(
    not os.path.exists("/proc/self"), reason="Chromium does not run without /proc")

PARAMS = {"unit": "concurrent_calls", "min": 4, "max": 64, "width_percent": 10, "repeats": 2, "max_trials": 60,
          "trial_s": 10, "warm_up_s": 2, "cool_down_s": 2, "action": "0.0"}
ESTABLISHED = "caller: every call placed is established"
# Loads of a search for a capacity between 20 and 21; one trial was disturbed, one says nothing.
TRIALS = [(4, "held"), (34, "failed"), (16, "held"), (24, "saturated"), (24, "failed"), (20, "void"), (20, "held"),
          (22, "failed"), (21, "failed"), (20, "held"), (20, "held"), (21, "failed"), (21, "failed"), (20, "held")]
COUNTED = [t for t in TRIALS if t[1] != "void"]


class Lab:
    """A controller with a test, and searches that were made by their rows."""

    def __init__(self, c):
        self.c = c
        make = lambda kind, member, **body: c.api("POST", f"/{kind}", body)[member]["id"]
        target = make("targets", "target", name="t", hosts=[{"host": "127.0.0.1"}])
        pool = make("credential-pools", "credential_pool", name="c", credentials=[{"username": "1", "password": "x"}])
        self.test = make("tests", "test", name="calls", project_id=make("projects", "project", name="p"),
                         agentpool_id=make("agent-pools", "agent_pool", name="a"), steps=[[
                             {"type": "call", "role": "caller", "dial_destination": "2", "target_pool": target,
                              "credential_pool": pool}]])
        self.numbers = iter(range(100, 200))

    def search(self, trials, status="done", result=None, **more):
        """@return its number"""
        number, now = next(self.numbers), int(time.time() * 1000)
        row = {"id": number, "uuid": f"00000000-0000-4000-8000-{number:012}", "test_id": self.test, "test_name": MARKUP,
               "project_name": "p", "agentpool_name": "a", "params_json": json.dumps(PARAMS), "status": status,
               "result_json": json.dumps(result), "created_at": now - 60000, "stopped_at": now, **more}
        with self.c.open_database() as db:
            db.execute(f"INSERT INTO capacity_search ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})",
                       list(row.values()))
            for position, (load, outcome) in enumerate(trials):
                broken = ESTABLISHED if outcome == "failed" else ""
                db.execute("INSERT INTO capacity_trial VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                           (number, position, load, f"00000000-0000-4000-8000-{position:012}", now, outcome, broken,
                            f"{MARKUP} {position}" if broken else ""))
            db.commit()
        return number


RESULT = {"text": "20 to 21 calls at a time", "lower": 20, "upper": 21, "capacity": 20.5, "spread_percent": 1.5,
          "confidence_percent": 95, "limit": "target", "condition": ESTABLISHED, "sentence": MARKUP, "reached": True,
          "not_monotone": False}


@pytest.fixture(scope="module")
def lab():
    c = Controller(**{**TIMES, "claim_timeout_s": 600})
    for name, rights in (("rea", "read"), ("wil", "write")):
        assert set_password(c, name, PASSWORD, "--rights", rights).returncode == 0
    with c:
        yield Lab(c)


@pytest.fixture(scope="module")
def driver():
    with chromium() as driver:
        yield driver


@pytest.fixture
def page(driver, lab):
    return Page(driver, lab).sign_in("wil")


def test_a_search_is_started_and_stopped(page, lab):
    page.open(f"/tests/{lab.test}")
    page.find("#capacity").click()
    page.wait(lambda: page.find("body").get_attribute("data-drawn") == "done" and page.texts("#searches"))
    assert page.texts("#searches") == ["There is no search yet."]
    assert page.find("#form [name=test_id]").get_attribute("value") == str(lab.test)
    page.fill(min="64", max="4")
    page.press("Start")
    page.refused("must be above min")
    assert page.find("#form [name=max]").get_attribute("aria-invalid") == "true"
    page.fill(min="4", max="64", trial_s="30")
    page.press("Start")
    page.wait(lambda: "/capacity/" in page.driver.current_url and page.texts("#trials tbody tr"))
    search, = lab.c.api("GET", "/capacity-searches")["capacity_searches"]
    assert page.driver.current_url.endswith(f"/capacity/{search['id']}")
    assert [search[n] for n in ("test_id", "min", "max", "trial_s", "status")] == [lab.test, 4, 64, 30, "running"]
    page.wait(lambda: page.texts("#sentence") == ["Trial 1 is in progress with 4 calls at a time."])
    assert page.texts("h1 .badge") == ["running"] and "4 to 64 calls at a time" in page.find("#facts").text
    row, = page.rows("trials")
    assert "in progress" in row and "Trial 1" in row
    page.press("Stop")
    page.wait(lambda: page.texts("h1 .badge") == ["stopped"])
    assert page.find("#sentence").text.startswith("It was stopped.")
    assert "says nothing" in page.rows("trials")[0]
    assert [b.text for b in page.all("#tools .btn")] == ["Search again", "Delete"]
    page.press("Delete")
    page.press("Delete", "dialog")
    page.wait(lambda: page.driver.current_url.endswith("/capacity"))
    assert lab.c.api("GET", "/capacity-searches")["total"] == 0 and serious(page.driver) == []


@pytest.mark.looks
def test_what_was_found(page, lab):
    number = lab.search(TRIALS, result=RESULT)
    page.open(f"/capacity/{number}")
    assert page.find("h1").text == f"Capacity of {MARKUP}\nfound"
    assert page.find("#sentence").text == \
        f"20 to 21 calls at a time, with 95 % confidence. The limit is the target: {ESTABLISHED}."
    rows = page.rows("trials")
    assert len(rows) == len(TRIALS) and "Trial 14" in rows[0] and "20 calls at a time" in rows[0]
    assert f"{MARKUP} 1" in rows[-2] and "34 calls at a time" in rows[-2]
    words = {"held": "held", "failed": "failed", "saturated": "tester saturated", "void": "says nothing"}
    assert [row.split("\t")[0].strip() for row in reversed(rows)] == [words[t[1]] for t in TRIALS]
    disturbed, = [r for r in rows if "tester saturated" in r]
    assert "Does not count" in disturbed
    links = [a.get_attribute("href") for a in page.all("#trials tbody a")]
    assert links[-1].endswith("/run/details/00000000-0000-4000-8000-000000000000")
    # the curve: each trial that counts in its shape, from left to right by its load
    marks = page.all("#curve .trial")
    assert [m.tag_name for m in marks] == [{"held": "circle", "failed": "rect", "saturated": "path"}[t[1]] for t in COUNTED]
    held = {t[0]: float(m.get_attribute("cx")) for m, t in zip(marks, COUNTED) if t[1] == "held"}
    assert held[4] < held[16] < held[20]
    places = [(m.get_attribute("cx"), m.get_attribute("cy")) for m in marks if m.tag_name == "circle"]
    assert len(set(places)) == len(places)  # stacked, not one over the other
    points = [tuple(map(float, p.split(","))) for p in
              page.find("#curve polyline").get_attribute("points").split()]
    assert points == sorted(points, key=lambda p: p[0]) and points[0][1] < points[-1][1]
    box = page.driver.find_element(By.CSS_SELECTOR, "#curve rect")
    assert abs(float(box.get_attribute("x")) - held[20]) < 0.1
    assert page.driver.title == f"Capacity of {MARKUP} – Offhook"  # not run as a script
    looked_at(page.driver, "capacity-search")
    page.open("/capacity")
    row, = [r for r in page.rows("searches") if "found" in r]
    assert MARKUP in row and "20 to 21 calls at a time" in row and f"the target: {ESTABLISHED}" in row
    assert re.search(rf"\b{len(TRIALS)}\b", row) and serious(page.driver) == []


def test_what_was_not_found(page, lab):
    tester = {**RESULT, "limit": "tester", "condition": None, "reached": False, "upper": None,
              "text": "at least 20 calls at a time so far"}
    number = lab.search(TRIALS[:3], result=tester)
    page.open(f"/capacity/{number}")
    said = page.find("#sentence").text
    assert said.startswith("At least 20 calls at a time so far, with 95 % confidence. "
                           "The limit is the tester; the target can do more.")
    assert "wider than 10 %" in said and page.texts("h1 .badge") == ["not narrow"]
    number = lab.search([], status="errored", description="the test was not started: it was deleted")
    page.open(f"/capacity/{number}")
    assert page.find("#sentence").text == "It ended before its time: the test was not started: it was deleted."
    assert page.texts("h1 .badge") == ["errored"] and page.all("#curve polyline") == []


def test_a_reader_starts_and_deletes_nothing(driver, lab):
    page = Page(driver, lab).sign_in("rea")
    number = lab.search(TRIALS, result=RESULT)
    page.open(f"/capacity/{number}")
    assert page.all("#tools .btn") == []
    page.open("/capacity")
    assert not page.find("#form").is_displayed() and page.rows("searches")
