"""Media with a foreign phone, linphone: each codec plain and encrypted, and changes
during calls of either side. The results are compared with docs/reference/interop.md."""
import pytest

import media_interop
from media_interop import CODEC_MODES, MODES

KIND = "linphone-cli"
pytestmark = pytest.mark.skipif(media_interop.skip_reason(KIND) is not None,
                                reason=str(media_interop.skip_reason(KIND)))


@pytest.mark.parametrize("mode", CODEC_MODES)
def test_codecs(tmp_path, build, namespaces, mode):
    media_interop.codecs(build, tmp_path, namespaces, KIND, mode)


@pytest.mark.parametrize("we_call", [True, False], ids=["called", "calling"])
@pytest.mark.parametrize("mode", MODES)
def test_within_a_call(tmp_path, build, namespaces, ports, mode, we_call):
    media_interop.operations(build, tmp_path, namespaces, ports, KIND, mode, we_call)
