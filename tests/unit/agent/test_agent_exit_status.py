"""Which end of the agent systemd does not repeat: only one that a restart would not change."""
import os
import subprocess

import pytest
from test_agent_protocol import AGENT, agent, controller  # noqa: F401 fixtures

# root without the right to open everything
ORDINARY = ['setpriv', '--bounding-set=-dac_override,-dac_read_search'] if os.geteuid() == 0 else []


@pytest.mark.parametrize('name', ['.', 'lock', 'credentials'])
def test_state_that_cannot_be_opened_is_not_taken_for_a_refusal(controller, agent, name):
    """Its owner or mode can be corrected; status 3 says that the controller refused the agent."""
    agent.start()
    controller.wait(lambda: controller.calls('/poll'), what='poll')
    agent.term()
    assert agent.wait() == 0
    path = agent.state / name
    mode = path.stat().st_mode
    path.chmod(0)
    try:
        ended = subprocess.run([*ORDINARY, AGENT, '--config', agent.write()], timeout=60,
                               stdout=agent.log, stderr=agent.log)
    finally:
        path.chmod(mode)
    assert ended.returncode == 1
    assert 'Permission denied' in agent.text()
