"""Features of whole queries from the scores of other rankers (Burges et al. 2011, section 4.2).

A ranker that is trained on them must not see scores of models that know the labels of the very
documents it learns from: those say more than they will of other documents. So for training each
query is scored by a model that was trained without it (`out_of_fold`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rankinite.data import Dataset, FeatureValues
from rankinite.data.feature_labels import feature_labels
from rankinite.ensemble.fitting import check_ranker, fitted
from rankinite.ensemble.folds import folds_of, in_fold
from rankinite.errors import DataError
from rankinite.models.parameters import Whole
from rankinite.models.ranker import Ranker
from rankinite.models.scores import as_scores
from rankinite.training.cross_validation import OutOfFold, watches

QUERY_FEATURES = ("max", "mean", "max of top 3", "mean of top 3")
_TOP = 3


def query_features(scores: Any, offsets: np.ndarray) -> np.ndarray:
    """The maximum and the mean of the scores of a query, over all and over the top documents.

    The top documents are the three with the highest scores, or all if there are fewer. (Then the
    third feature is always the first once more: the highest score is that of a top document.)

    Parameters
    ----------
    scores : array-like of float, shape (n_rows,)
        In stored order (queries contiguous).
    offsets : ndarray of int64, shape (n_queries + 1,)
        The rows of query q are ``offsets[q]:offsets[q + 1]``.

    Returns
    -------
    ndarray of float64, shape (n_rows, 4)
        The same for all documents of a query: maximum and mean over all, maximum and mean over the
        top three.

    Examples
    --------
    >>> import numpy as np
    >>> from rankinite.ensemble import query_features
    >>> query_features([1.0, 4.0, 2.0, 3.0, 0.5], np.array([0, 4, 5]))[[0, 4]].tolist()
    [[4.0, 2.5, 4.0, 3.0], [0.5, 0.5, 0.5, 0.5]]
    """
    offsets = np.asarray(offsets, np.int64)
    values = as_scores(scores, int(offsets[-1]), "scores")
    sizes = np.diff(offsets)
    starts, sizes = offsets[:-1][sizes > 0], sizes[sizes > 0]
    query = np.repeat(np.arange(len(sizes)), sizes)
    # By size, so that sums do not depend on the order of the rows.
    values = values[np.lexsort((-values, query))]
    place = np.arange(len(values)) - np.repeat(starts, sizes)
    found = np.empty((len(sizes), len(QUERY_FEATURES)))
    found[:, 0] = found[:, 2] = values[starts]
    found[:, 1] = _means(values, starts, sizes)
    top = np.minimum(sizes, _TOP)
    found[:, 3] = _means(values[place < _TOP], np.cumsum(top) - top, top)
    return found[query]


def _means(values: np.ndarray, starts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """The mean of each run of values."""
    if not len(starts):
        return np.empty(0)
    # In units of a power of two near the largest value nothing overflows.
    exponents = np.frexp(np.maximum.reduceat(np.abs(values), starts))[1]
    units = np.ldexp(values, -np.repeat(exponents, sizes))
    return np.ldexp(np.add.reduceat(units, starts) / sizes, exponents)


def with_features(data: Dataset, columns: Any, names: Sequence[str]) -> Dataset:
    """The data with further features behind its own.

    Parameters
    ----------
    data : Dataset
        With feature values.
    columns : array-like of float, shape (n_rows, n_new)
        In the caller's row order.
    names : sequence of str, length n_new
        If the data has names. They must be new.

    Returns
    -------
    Dataset
        The values are of the wider type of the two.
    """
    new = data.in_stored_order(np.asarray(columns))
    names = [str(name) for name in names]
    if new.ndim != 2 or new.shape[1] != len(names) or new.dtype.kind != "f":
        raise DataError(
            f"columns must be a matrix of floats with {len(names)} columns, one for each name, but "
            f"its shape is {new.shape}"
        )
    known = feature_labels(data.feature_names, data.n_features)
    twice = [name for place, name in enumerate(names) if name in known or name in names[:place]]
    if twice:
        raise DataError(
            f"the data has a feature {twice[0]!r} already: give the new one another name"
        )
    X = data.features.values(
        "this dataset holds only bins, and new features are put beside values: pass the dataset "
        "with its features"
    )
    own = data.feature_names
    matrix = np.empty((data.n_rows, X.shape[1] + new.shape[1]), np.result_type(X, new))
    matrix[:, : X.shape[1]], matrix[:, X.shape[1] :] = X, new
    return Dataset.of(data, FeatureValues(matrix, None if own is None else [*own, *names]))


def with_query_features(data: Dataset, scores: Mapping[str, Any]) -> Dataset:
    """The data with the `query_features` of some rankers behind its own features.

    Parameters
    ----------
    data : Dataset
        With feature values.
    scores : mapping from str to array-like of shape (n_rows,)
        Scores by the name of the ranker, in the caller's row order. For training they must be out
        of fold.

    Returns
    -------
    Dataset
        If the data has names, the new features are ``"mart max"``, ``"mart mean"`` and so on.
    """
    names = [f"{ranker} {feature}" for ranker in scores for feature in QUERY_FEATURES]
    columns = [query_features(data.in_stored_order(each), data.offsets) for each in scores.values()]
    # As float32, whatever the type of the data: equal values must give equal models.
    with np.errstate(over="ignore"):
        new = np.concatenate(columns, axis=1).astype(np.float32)
    return with_features(data, data.in_caller_order(new), names)


def out_of_fold(
    ranker: Ranker,
    data: Dataset,
    n_folds: int = 10,
    random_state: int | None = 0,
    *,
    folds: Any = None,
    n_threads: int | None = None,
) -> np.ndarray:
    """Scores of all documents, each by a copy of the ranker that was trained without its query.

    Parameters
    ----------
    ranker : ranker
        One with `early_stopping` (or `n_restarts`) watches the queries of the next fold and learns
        from the others, so that the fold that it scores has no part in it.
    data : Dataset
    n_folds : int
    random_state : int or None
        Of the folds, see `fold_numbers`.
    folds : array-like of int, shape (n_queries,), or mapping, optional
        The fold of each query from 0 on, in the order of ``data.qids`` or by id; drawn by default.
    n_threads : int, optional
        Threads of training and scoring; those of the ranker by default.

    Returns
    -------
    ndarray of float64, shape (n_rows,)
        In the caller's row order. Queries that weigh nothing are scored by the model that does not
        know the last fold, for none has seen them.

    Examples
    --------
    >>> import rankinite as rk
    >>> from rankinite.ensemble import out_of_fold
    >>> data = rk.artificial(n_queries=40, n_docs=10, n_features=5)
    >>> scores = out_of_fold(rk.LambdaMART(n_estimators=5), data, n_folds=4)
    >>> rk.evaluate(scores, data)["ndcg@10"] > 0.5
    True
    """
    if not isinstance(data, Dataset):
        raise DataError(f"out_of_fold needs a Dataset, not a {type(data).__name__}")
    check_ranker(ranker, "ranker")
    Whole(3 if watches(ranker) else 2).check("n_folds", n_folds)
    numbers = folds_of(data, folds, n_folds, random_state)
    found = OutOfFold(data, getattr(ranker, "sigma", 1.0))
    for fold in range(n_folds):
        with in_fold(fold):
            rest, valid = numbers != fold, None
            if watches(ranker):
                watched = numbers == (fold + 1) % n_folds
                rest, valid = rest & ~watched, data.select_queries(watched)
            model = fitted(ranker, data.select_queries(rest), valid, n_threads)
            scored = numbers == fold
            if fold == n_folds - 1:
                scored |= numbers < 0
            found.put(scored, model.score_dataset(data.select_queries(scored)))
    return data.in_caller_order(found.score_dataset(data))
