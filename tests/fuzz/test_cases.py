"""Damaged files of every kind: a few of those that ``make fuzz`` goes through."""

import pytest

from tests.fuzz.engine import all_targets, run


@pytest.mark.parametrize("name", all_targets())
def test_damaged_files_are_read_or_refused_in_a_sentence(name):
    n_cases = round(100 * all_targets()[name].share)
    outcomes, findings = run(all_targets()[name], range(n_cases))
    assert not findings, findings[0].how
    assert outcomes.total() == n_cases >= 5
