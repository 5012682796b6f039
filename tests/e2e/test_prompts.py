"""Uploaded prompts: fetched by their hash, cached, and heard in the call."""
import hashlib
import io
import os
import struct
import time
import wave

import pytest

from bench import Bench
from capture import Capture
from fake_agent import FakeAgent
from ports import PortBlock
from test_api_basics import problem


def wav(level, seconds=1):
    """A constant level: in G.711 one byte repeated, unlike any tone."""
    out = io.BytesIO()
    with wave.open(out, "wb") as w:
        w.setnchannels(1)
        w.setsampwidth(2)
        w.setframerate(8000)
        w.writeframes(struct.pack("<h", level) * 8000 * seconds)
    return out.getvalue()


def slow():
    """A WAV at 1000 Hz, a sample rate that no codec has."""
    return wav(1000)[:24] + struct.pack("<I", 1000) + wav(1000)[28:]


def long():
    """11 minutes of 8 bit at 4000 Hz."""
    out = io.BytesIO()
    with wave.open(out, "wb") as w:
        w.setnchannels(1)
        w.setsampwidth(1)
        w.setframerate(4000)
        w.writeframes(b"\x80" * 4000 * 660)
    return out.getvalue()


def upload(bench, name, content, **more):
    answer = bench.controller.request(
        "POST", "/appimages", data={"name": name, "kind": "prompt", **more},
        files={"file": ("p.wav", content, "audio/wav")})
    assert answer.status_code == 201, answer.text
    return answer.json()["appimage"]


def common_bytes(capture):
    """For each stream, the most frequent byte of the payload and its share."""
    out = capture._tshark("-Y", "rtp && !rtcp", "-T", "fields", "-e", "rtp.ssrc",
                          "-e", "rtp.p_type", "-e", "rtp.payload")
    streams = {}
    for line in out.splitlines():
        ssrc, kind, payload = line.split("\t")
        if kind in ("0", "8"):
            streams.setdefault(ssrc, bytearray()).extend(
                bytes.fromhex(payload.replace(":", "")))
    return {ssrc: max((data.count(b) / len(data), b) for b in range(256))
            for ssrc, data in streams.items() if data}


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    ports = PortBlock()
    with Bench(tmp_path_factory.mktemp("prompts"), ports) as b:
        yield b
    ports.close()


def cache(bench):
    return bench.agents[0].state_dir / "prompts"


def test_prompt_is_fetched_once_and_heard(bench, tmp_path):
    content = wav(8000)
    image = upload(bench, "announcement", content)
    test = bench.single_call(duration=3, audio_codecs=["PCMA"], prompt="announcement")
    with Capture(tmp_path, bench.ports.rtp) as capture:
        run, _ = bench.run(test)
    assert run["status"] == "passed", run["result_description"]
    assert (cache(bench) / image["sha256"]).read_bytes() == content
    shares = sorted(common_bytes(capture).values())
    assert len(shares) == 2
    # one role plays the prompt, the other the agent's own tone
    assert shares[1][0] > 0.95 and shares[0][0] < 0.5, shares
    fetches = f"/agent/appimages/{image['sha256']}"
    assert bench.controller.log().count(fetches) == 1
    run, _ = bench.run(test)
    assert run["status"] == "passed" and bench.controller.log().count(fetches) == 1


def test_latest_upload_of_a_name_counts(bench):
    for version, level in (("1", 1000), ("2", 2000)):
        image = upload(bench, "versions", wav(level), version=version)
    run, _ = bench.run(bench.single_call(duration=1, prompt="versions"))
    assert run["status"] == "passed", run["result_description"]
    assert sorted(os.listdir(cache(bench)))
    assert (cache(bench) / image["sha256"]).exists()
    assert not (cache(bench) / hashlib.sha256(wav(1000)).hexdigest()).exists()


def test_lost_file_is_an_error_of_ours(bench):
    image = upload(bench, "lost", wav(3000))
    os.unlink(bench.controller.state_dir / "appimages" / str(image["id"]))
    session = bench.start(bench.single_call(duration=1, prompt="lost"))
    # 500 is retried: the run continues until it is stopped
    until = time.monotonic() + 30
    while image["sha256"] not in bench.controller.log() and time.monotonic() < until:
        time.sleep(0.05)
    bench.api("POST", f"/runs/{session}/stop")
    assert bench.wait(session)["status"] == "stopped"
    assert not (cache(bench) / image["sha256"]).exists()
    run, _ = bench.run(bench.single_call(duration=1))
    assert run["status"] == "passed"  # the agent has capacity again


def test_prompt_that_was_deleted_is_named(bench):
    """Deleted between the start and the fetch: the job names the missing prompt."""
    image = upload(bench, "gone", wav(4000))
    agent = bench.agents[0]
    agent.stop()
    test = bench.single_call(duration=1, prompt="gone")
    session = bench.start(test)
    problem(bench.controller.request("DELETE", f"/appimages/{image['id']}"), 409)
    bench.controller.request("DELETE", f"/tests/{test}")
    answer = bench.controller.request("DELETE", f"/appimages/{image['id']}")
    assert answer.status_code == 204, answer.text
    agent.start()
    run = bench.wait(session)
    assert run["status"] == "errored" and "prompt" in run["result_description"]


BAD = {
    "text": (b"no audio at all", 'prompt "text" is no audio file that libsndfile reads'),
    "header": (wav(1)[:44], 'prompt "header" has no audio in it'),
    "slow": (slow(), 'prompt "slow" has a rate that is not from 4000 to 192000 Hz'),
    "long": (long(), 'prompt "long" is too long: 10 min at most'),
}


@pytest.fixture(scope="module", name="bad_runs")
def bad_runs_fixture(bench):
    """All runs are started at once."""
    started = {}
    for name, (content, words) in BAD.items():
        upload(bench, name, content)
        started[name] = (bench.start(bench.single_call(duration=1, prompt=name)), words)
    upload(bench, "fine", wav(6000))
    play = [["assert_established"], ["play", "text"]]
    started["play"] = (bench.start(bench.single_call(duration=1, sipclient_actions=play)),
                       'play "text" is no audio file')
    started["expect"] = (bench.start(bench.single_call(duration=1, expect_prompt="slow")),
                         'expect_prompt "slow" has a rate')
    started["nowhere"] = (bench.start(bench.single_call(duration=1, prompt="nowhere")),
                          'prompt "nowhere" is neither an uploaded prompt nor in the agent\'s')
    return started


@pytest.mark.parametrize("name", [*BAD, "play", "expect", "nowhere"])
def test_bad_prompt_is_named_before_anybody_is_called(bench, bad_runs, name):
    session, words = bad_runs[name]
    run = bench.wait(session, timeout=120)
    assert run["status"] == "errored" and words in run["result_description"], run
    lines = [m["line"] for m in bench.report(session)["messages"]]
    assert not [line for line in lines if line.startswith("INVITE")], lines


def test_an_application_is_not_played(bench):
    """Whatever its content: it was uploaded without kind=prompt."""
    image = upload(bench, "build", wav(7000), kind="application")
    for wrong, place in (({"prompt": "build"}, "/step.1.1.prompt"),
                         ({"expect_prompt": "build"}, "/step.1.1.expect_prompt"),
                         ({"sipclient_actions": [["assert_established"], ["play", "build"]]},
                          "/step.1.1.sipclient_actions/1/1")):
        answer = bench.controller.request(
            "POST", f"/tests/{bench.single_call(duration=1, **wrong)}/run")
        error, = problem(answer, 422)["errors"]
        assert error["pointer"] == place, error
        assert "'build' is of the kind application" in error["detail"], error
    bench.api("PUT", f"/appimages/{image['id']}", {"name": "build", "kind": "prompt"})
    run, _ = bench.run(bench.single_call(duration=1, prompt="build"))
    assert run["status"] == "passed", run["result_description"]


def test_empty_prompt_is_refused(bench):
    answer = bench.controller.request("POST", "/appimages", data={"name": "empty", "kind": "prompt"},
                                      files={"file": ("p.wav", b"", "audio/wav")})
    assert problem(answer, 422)["errors"][0]["pointer"] == "/content"


def plays(bench, pool, prompt):
    """A test of one role that plays the prompt, by the agents of the pool."""
    made = {kind: bench.api("POST", f"/{kind}", {"name": f"plays {prompt}", **body})
            for kind, body in (("projects", {}), ("targets", {"hosts": [{"host": "127.0.0.1"}]}),
                               ("credential-pools", {"credentials": [{"username": "1"}]}))}
    step = {"type": "call", "role": "caller", "dial_destination": "2", "prompt": prompt,
            "target_pool": made["targets"]["target"]["id"],
            "credential_pool": made["credential-pools"]["credential_pool"]["id"]}
    return bench.api("POST", "/tests", {
        "name": f"plays {prompt}", "project_id": made["projects"]["project"]["id"],
        "agentpool_id": pool["id"], "steps": [[step]]})["test"]["id"]


def test_an_agent_fetches_what_its_job_names(bench):
    image = upload(bench, "hash", wav(5000))
    c = bench.controller
    path = f"/agent/appimages/{image['sha256']}"
    problem(c.request("GET", path), 401)
    problem(c.request("GET", path, key=None), 401)
    pool = c.api("POST", "/agent-pools", {"name": "hash"})["agent_pool"]
    fake = FakeAgent(c, pool["join_token"], "hash", capacity=1)
    other = FakeAgent(c, pool["join_token"], "of the same pool", capacity=1)
    problem(c.request("GET", path, key=fake.auth), 404)
    session = bench.start(plays(bench, pool, "hash"))
    job = fake.jobs(1)["caller"]
    for _ in ("offered", "started"):
        answer = c.request("GET", path, key=fake.auth)
        assert answer.status_code == 200 and answer.content == wav(5000)
        problem(c.request("GET", path, key=other.auth), 404)
        assert fake.start(job).ok
    unnamed = upload(bench, "of no job", wav(6000))
    problem(c.request("GET", f"/agent/appimages/{unnamed['sha256']}", key=fake.auth), 404)
    for wrong in ("0" * 64, "x", "..%2F..%2Foffhook.db", image["sha256"].upper()):
        problem(c.request("GET", f"/agent/appimages/{wrong}", key=fake.auth), 404)
    assert fake.finish(job, "failed", "x").ok
    bench.wait(session)
    problem(c.request("GET", path, key=fake.auth), 404)
