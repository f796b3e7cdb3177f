"""What we read of files that are nearly right is what their own libraries read: a few of them."""

import pytest

from tests.fuzz.origins import FORMATS, tell


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
def test_libraries_score_as_we_do(name):
    pytest.importorskip(FORMATS[name].lower())
    told = tell(name, 15)
    assert told["differs"] == 0 and told["agrees"] == 15
