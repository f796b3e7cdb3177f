import os
import time
import warnings

import pytest

from rankinite.errors import DataError, RankiniteWarning
from tests.fuzz.engine import READ, REFUSED, TARGETS, all_targets, attempt, run, target


@target("odd", lambda: [b"whole"], lambda whole, rng: whole[: rng.integers(6)])
def odd(content: bytes) -> None:
    """A reader that does a different thing for every length."""
    match len(content):
        case 0:
            raise DataError("there is nothing")
        case 1:
            raise ZeroDivisionError
        case 2:
            os._exit(3)
        case 3:
            time.sleep(60)
        case 4:
            warnings.warn("ours", RankiniteWarning, stacklevel=1)
        case 5:
            warnings.warn("of another", UserWarning, stacklevel=1)


def test_cases_are_always_the_same():
    chosen = TARGETS["odd"]
    assert [chosen.case(k) for k in range(9)] == [chosen.case(k) for k in range(9)]
    assert {len(chosen.case(k)) for k in range(50)} == set(range(6))
    assert "odd" not in all_targets()


def test_everything_that_can_happen_is_found():
    chosen = TARGETS["odd"]
    lengths = {len(chosen.case(k)): k for k in range(50)}
    assert attempt(chosen, lengths[0]) == REFUSED
    assert attempt(chosen, lengths[4]) == READ
    assert "ZeroDivisionError" in attempt(chosen, lengths[1])
    assert "UserWarning: of another" in attempt(chosen, lengths[5])
    numbers = range(8)
    outcomes, findings = run(chosen, numbers, limit=0.5)
    bad = [k for k in numbers if len(chosen.case(k)) not in (0, 4)]
    assert [finding.number for finding in findings] == bad
    assert outcomes.total() == 8
    deaths = [k for k in bad if len(chosen.case(k)) in (2, 3)]
    assert deaths, "choose other numbers: no case hangs or dies"
    for finding in findings:
        assert finding.how.startswith("the process ended") == (finding.number in deaths)


@pytest.mark.parametrize("name", all_targets())
def test_whole_files_are_read(name, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for whole in all_targets()[name].wholes():
        all_targets()[name].load(whole)
