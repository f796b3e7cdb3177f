import pytest

from rankinite.sweeping.pruning import Curve, PrunedError
from rankinite.sweeping.trial import Look
from rankinite.training import Run

LONGEST = 100


def rival(*values, ends=(0.5, 0.5)):
    """A complete trial whose folds had these values after 20, 40, … rounds."""
    looks = [
        Look(fold, 20 * (place + 1), value)
        for fold in range(2)
        for place, value in enumerate(values)
    ]
    ended = [Look(fold, LONGEST, value) for fold, value in enumerate(ends)]
    return sorted([*looks, *ended])


RIVALS = [rival(0.1 * k, 0.1 * k + 0.05) for k in range(1, 7)]


def curve(rivals=RIVALS, share=0.5, n_folds=2, sign=1.0):
    return Curve(rivals, share, LONGEST, n_folds, "ndcg@10", sign)


def after(looking, n_done, *values):
    run = Run(LONGEST, n_done=n_done, history={"valid": {"ndcg@10": list(values)}})
    assert looking.after_round(run) is False


def test_behind_the_median_inside_the_first_fold():
    looking = curve()
    with pytest.raises(PrunedError):
        after(looking, 20, 0.34)  # the median of 0.1, … 0.6 is 0.35
    assert looking.looks == [Look(0, 20, 0.34)]
    after(curve(), 20, 0.36)
    after(curve(share=0.75), 20, 0.34)
    with pytest.raises(PrunedError):
        after(curve(share=0.75), 20, 0.21)


def test_the_best_so_far_counts():
    looking = curve()
    after(looking, 20, 0.2, 0.4, 0.1)
    assert looking.looks == [Look(0, 20, 0.4)]
    less_is_better = curve(sign=-1.0)
    after(less_is_better, 20, 0.9, 0.2, 0.9)
    assert less_is_better.looks == [Look(0, 20, 0.2)]
    with pytest.raises(PrunedError):
        after(curve(sign=-1.0), 20, 0.9, 0.5)


def test_rounds_between_two_looks():
    looking = curve()
    after(looking, 21, 0.0)
    assert looking.looks == []


def test_a_rival_that_had_stopped_counts_by_what_it_had_come_to():
    after(curve(), 80, 0.41)  # the median of 0.15, … 0.65 is 0.4
    with pytest.raises(PrunedError):
        after(curve(), 80, 0.39)


def test_few_rivals_and_none():
    after(curve(RIVALS[:4]), 20, 0.0)
    after(curve(share=None), 20, 0.0)
    # Rivals that watched nothing are compared with at the ends of folds alone.
    after(curve([rival()] * 6), 20, 0.0)


def test_between_folds_but_not_after_the_last():
    looking = curve()
    looking.end_fold(0.6)
    after(looking, 20, 0.4)
    assert looking.looks == [Look(0, LONGEST, 0.6), Look(1, 20, 0.5)]
    looking.end_fold(0.0)
    assert looking.folds == [0.6, 0.0]
    with pytest.raises(PrunedError):
        curve().end_fold(0.4)
