"""A fake agent that reports the results that a test gives it."""
import threading

from fake_agent import FakeAgent, evidence, registered


class Worker:
    """Takes every job of its pool; verdict(spec) returns how each ends.

    verdict returns "passed", "failed", "error", or "hold": the job continues until the
    controller cancels it. The specs of the jobs are in self.specs.
    """

    def __init__(self, controller, token, verdict, name="worker"):
        self.agent = FakeAgent(controller, token, name, capacity=1)
        self.verdict = verdict
        self.specs = []
        self.failure = None
        self._end = threading.Event()
        self.thread = threading.Thread(target=self._work)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self._end.set()
        self.thread.join()
        self.agent.post("/disconnect", {"reason": "the test is over"})
        if self.failure and exc[0] is None:
            raise self.failure

    def _work(self):
        try:
            while not self._end.is_set():
                for job in self.agent.poll(t=0):
                    self._carry_out(job)
        except Exception as e:  # the test's own thread raises it
            self.failure = e

    def _pass(self, job, step):
        """@return False: the run was stopped at the barrier"""
        while (answer := self.agent.barrier(job, step)).status_code == 204:
            if self.agent.renew(job).json().get("command") == "cancel":
                return False
        assert answer.status_code == 200, answer.text
        return True

    def _carry_out(self, job):
        answer = self.agent.start(job)
        if answer.status_code == 410:  # stopped before it began
            return
        assert answer.status_code == 200, answer.text
        self.specs.append(job["spec"])
        outcome = self.verdict(job["spec"])
        if outcome == "hold":
            while not self._end.is_set():
                answer = self.agent.renew(job)
                if answer.json().get("command") == "cancel":
                    break
                self._end.wait(0.1)
            assert self.agent.finish(job, "stopped").status_code == 200
            return
        if outcome == "passed":
            if not all(self._pass(job, n) for n in range(len(job["spec"]["steps"]))):
                assert self.agent.finish(job, "stopped").status_code == 200
                return
            for step in job["spec"]["steps"]:
                for action in step:
                    for c in action.get("credentials", []):
                        assert self.agent.upload(
                            job, "events", registered(c["username"])).ok
            assert self.agent.upload(job, "events", [evidence()]).ok
        reason = {"failed": "no", "error": "broken"}.get(outcome, "")
        answer = self.agent.finish(
            job, {"passed": "completed"}.get(outcome, outcome), reason)
        assert answer.status_code == 200, answer.text
