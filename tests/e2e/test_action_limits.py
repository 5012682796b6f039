"""How many requests of an action are under way at a time."""
import pytest

from engine import Engine, target
from sip_peer import SipPeer

ACCOUNTS, LIMIT = 150, 100


@pytest.mark.parametrize("action", [
    {"type": "register"},
    {"type": "options"},
    {"type": "message", "message": "hello"},
    {"type": "publish", "presence": "open"}], ids=lambda action: action["type"])
def test_requests_that_wait_for_their_turn(build, ports, action):
    """The peer is silent until a request is repeated: all that would have been sent were sent before."""
    asked, at_once = [], []

    def answer(request):
        call = request.header("call-id")
        if call not in asked:
            asked.append(call)
        elif not at_once and request.header("expires") != "0":
            at_once.append(len(asked))
        if not at_once:
            return []
        if request.method == "REGISTER":
            return request.registered(request.header("expires"))
        return request.reply(200, "OK", *(["SIP-ETag: e", "Expires: 3600"] if request.method == "PUBLISH" else []))

    steps = [[{**action, "target": target("127.0.0.1", ports.phone),
               "credentials": [{"username": f"1{i:03}"} for i in range(ACCOUNTS)]}]]
    with SipPeer(ports.phone, answer), Engine(build, "caller", steps, ports) as engine:
        engine.run()
        assert engine.finish["outcome"] == "completed", engine.finish
    assert at_once == [LIMIT] and len(asked) >= ACCOUNTS
