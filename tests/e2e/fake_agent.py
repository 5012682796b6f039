"""An agent that implements the protocol of docs/internals/wire.md but makes no calls."""
import threading
import time

from http_session import Session


class FakeAgent:
    """Enrols at once, or is enrolled (auth); every call of the protocol is a method.

    Answers are requests.Response, so that tests see what an agent sees.
    """

    def __init__(self, controller, token=None, name=None, capacity=4, auth=None, features=()):
        self.controller = controller
        self.session = Session()
        self.capacity, self.features = capacity, list(features)
        self.held = []
        self.seq = {}
        self.auth = tuple(auth) if auth else self._enrol(token, name)

    def _enrol(self, token, name):
        answer = self.post("/register", {
            "token": token, "name": name, "version": "0.0",
            "protocols": [1], "features": self.features, "capacity": self.capacity},
            auth=None)
        assert answer.status_code == 201, answer.text
        body = answer.json()
        return body["agent_id"], body["secret"]

    def call(self, method, path, body=None, auth="own", timeout=60):
        return self.session.request(
            method, f"{self.controller.url}/api/v2/agent{path}", json=body,
            auth=self.auth if auth == "own" else auth, timeout=timeout)

    def post(self, path, body=None, **kwargs):
        return self.call("POST", path, body if body is not None else {},
                         **kwargs)

    def poll(self, free=None, timeout=60, **more):
        answer = self.post("/poll", {
            "free": self.capacity if free is None else free,
            "leases": self.held, "draining": False, "cursor": "", **more}, timeout=timeout)
        assert answer.status_code in (200, 204), answer.text
        if answer.status_code == 204:
            return []
        body = answer.json()
        # a restarted agent gets the intervals from the answer
        conf = self.controller.conf
        for name in ("poll_s", "renew_s", "lease_s"):
            assert body[name] == conf[name]
        return body["jobs"]

    def jobs(self, count, timeout=60):
        """Poll until this many jobs are offered."""
        found = []
        until = time.monotonic() + timeout
        while len(found) < count and time.monotonic() < until:
            found += self.poll()
        assert len(found) == count, found
        return {job["role"]: job for job in found}

    def start(self, job):
        answer = self.post(f"/leases/{job['lease_id']}/start", {"epoch": job["epoch"]})
        if answer.ok:
            self.held.append(job["lease_id"])
        return answer

    def renew(self, job, progress=0.5):
        return self.call("PUT", f"/leases/{job['lease_id']}",
                         {"state": "running", "progress": progress})

    def barrier(self, job, step):
        return self.post(f"/leases/{job['lease_id']}/barriers/{step}",
                         {"ready": True})

    def upload(self, job, kind, items, seq=None):
        member = {"stats": "series", "events": "events",
                  "sip": "messages"}[kind]
        lease = job["lease_id"]
        if seq is None:
            seq = self.seq[lease] = self.seq.get(lease, 0) + 1
        return self.post(f"/leases/{lease}/{kind}",
                         {"seq": seq, member: items})

    def artifact(self, job, name, content, media="application/octet-stream"):
        return self.session.put(
            f"{self.controller.url}/api/v2/agent/leases/{job['lease_id']}/artifacts/{name}",
            data=content, headers={"Content-Type": media}, auth=self.auth, timeout=60)

    def finish(self, job, outcome="completed", reason="", last_seq=None):
        lease = job["lease_id"]
        if last_seq is None:
            last_seq = self.seq.get(lease, 0)
        answer = self.post(f"/leases/{lease}/finish", {
            "outcome": outcome, "reason": reason, "last_seq": last_seq})
        if answer.ok and lease in self.held:
            self.held.remove(lease)
        return answer


NOW_US = int(time.time() * 1e6)


def evidence(**more):
    return {"t": NOW_US, "mono": 99, "kind": "evidence", "packets_sent": 500,
            "packets_received": 500, "send_errors": 0,
            "receive_queue_drops": 0, "ring_drops": 0, "invalid_packets": 0,
            **more}


def calibration(**members):
    return {"time": "2026-01-02 03:04:05", "version": "0.1.0", "kernel": "6.1", "scheduling": "realtime",
            "limited_by": "lateness", "processors": 2, "duration_s": 60.0, "calls": 100, "lateness_p99_ms": 1.0,
            "bounds_calls": 50, "packets": 75000, "lost": 0, "jitter_median_ms": 0.01, "jitter_max_ms": 0.3,
            "rtt_median_ms": 0.01, "rtt_max_ms": 0.2, "clock_resolution_ns": 20.0, "clock_step_ms": 0.0,
            "clock_drift_ppm": 1.0, "jitter_bound_ms": 0.05, "rtt_bound_ms": 0.04, "loss_bound_pct": 0.0, **members}


def registered(account):
    return [{"t": NOW_US, "mono": 1, "kind": "state", "state": "REGISTER_OK",
             "account": account},
            {"t": NOW_US, "mono": 1, "kind": "register", "account": account,
             "ok": True, "code": 200, "reason": "OK", "ms": 3.5,
             "expires_s": 60}]


def good_call(role, account, peer, out):
    def state(name, mono):
        return {"t": NOW_US, "mono": mono, "kind": "state", "state": name,
                "account": account, "call": f"{role}-1"}
    return [state("CALL_OUTGOING" if out else "CALL_INCOMING", 2),
            state("CALL_ESTABLISHED", 4), state("CALL_CLOSED", 9),
            {"t": NOW_US, "mono": 9, "kind": "call", "call": f"{role}-1",
             "account": account, "direction": "out" if out else "in",
             "peer": f"sip:{peer}@x", "call_id": "c1", "established": True,
             "pdd_ms": 120.5, "setup_ms": 300, "duration_ms": 10000,
             "end": "local" if out else "remote", "code": 200,
             "reason": "OK", "streams": [
                 {"dir": "in", "ssrc": "0000000a", "codec": "PCMU",
                  "packets": 500, "bytes": 86000, "received": 500,
                  "expected": 500, "lost": 0, "loss_pct": 0,
                  "mos_total": 4.409286, "r_factor": 93.2}]}]


def point(role, t, avg, measure="rtp_jitter", direction="in"):
    return {"role": role, "dir": direction, "measure": measure, "t": t,
            "n": 10, "min": avg, "max": avg, "avg": avg, "median": avg,
            "p75": avg, "p90": avg, "p95": avg, "stddev": 0}


def together(*calls):
    """Run functions in parallel. @return their results in order"""
    results = [None] * len(calls)

    def run(i, call):
        results[i] = call()

    threads = [threading.Thread(target=run, args=(i, c))
               for i, c in enumerate(calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results
