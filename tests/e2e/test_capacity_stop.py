"""Capacity searches that end early, wait, or are limited by the tester; as test_capacity_search.py."""
from test_capacity_search import begin, lab, over, read, until  # noqa: F401: a fixture


def test_a_search_is_stopped(lab):
    number = begin(lab, trial_s=60)
    until(lab, number, lambda s: lab.phone.calls)
    assert lab.controller.request("DELETE", f"/capacity-searches/{number}").status_code == 409
    lab.api("POST", f"/capacity-searches/{number}/stop")
    assert lab.controller.request("POST", f"/capacity-searches/{number}/stop").status_code == 409
    search = until(lab, number, over)
    assert (search["status"], search["next_at"]) == ("stopped", None)
    trial, = search["trials"]
    assert trial["outcome"] == "void"
    assert lab.api("GET", f"/runs/{trial['session_id']}")["run"]["status"] == "stopped"
    assert not lab.phone.calls
    # between two trials
    number = begin(lab, cool_down_s=600)
    search = until(lab, number, lambda s: s["next_at"] and s["trials"])
    assert search["trials"][0]["outcome"] == "held"
    lab.api("POST", f"/capacity-searches/{number}/stop")
    search = read(lab, number)
    assert (search["status"], search["trial_count"]) == ("stopped", 1)
    lab.api("DELETE", f"/capacity-searches/{number}")
    assert lab.controller.request("GET", f"/capacity-searches/{number}").status_code == 404
    assert lab.api("GET", f"/runs/{search['trials'][0]['session_id']}")["run"]["status"] == "passed"


def test_a_stopped_run_stops_its_search(lab):
    number = begin(lab, trial_s=60)
    until(lab, number, lambda s: lab.phone.calls)
    lab.api("POST", f"/runs/{read(lab, number)['trials'][0]['session_id']}/stop")
    search = until(lab, number, over)
    assert (search["status"], search["description"]) == ("stopped", "the run of a trial was stopped")


def test_a_search_waits_for_the_limit_of_its_project(lab):
    run = lab.start(lab.test, {"step.0.0.call_duration": "60"})
    number = begin(lab, max_trials=1)
    search = until(lab, number, lambda s: s["waiting_for"])
    assert search["waiting_for"] == "the project has 1 of at most 1 runs in progress"
    assert search["trials"] == []
    lab.api("POST", f"/runs/{run}/stop")
    search = until(lab, number, over)
    assert (search["status"], search["waiting_for"], search["trial_count"]) == ("done", None, 1)


def test_the_tester_is_the_limit(lab, monkeypatch):
    first, last = lab.ports.rtp
    pairs = (last - first + 1) // 2
    monkeypatch.setattr(lab.phone, "limit", 4 * pairs)
    number = begin(lab, min=pairs // 2, max=2 * pairs, width_percent=100)
    search = until(lab, number, over)
    result = search["result"]
    assert (search["status"], result["limit"], result["condition"]) == ("done", "tester", None)
    assert result["lower"] <= pairs
    above = [t for t in search["trials"] if t["load"] > pairs]
    assert above and all(t["outcome"] == "saturated" for t in above), search["trials"]
    # on a busy machine the sentence of the result may be of a trial that was late as well
    assert any("of the RTP range" in t["sentence"] for t in above), above
    assert result["sentence"] in {t["sentence"] for t in search["trials"]}
