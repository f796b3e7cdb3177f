"""Training and scoring on the workers of a Dask cluster.

The learners take Dask data frames and arrays, train on all workers of a client together, and give
the model that one process would have given, byte for byte::

    import rankinite.dask

    ranker = rankinite.dask.LambdaMART(client=client, n_estimators=200)
    ranker.fit(frame, "label", qid="query", valid=valid_frame)
    scores = ranker.predict(other_frame)  # a Dask series, not computed yet
    ranker.to_local().save("ranker.rk")
"""

try:
    import dask.array as _array  # noqa: F401
    import dask.dataframe as _dataframe  # noqa: F401
    import distributed as _distributed  # noqa: F401
    import xgboost as _xgboost  # noqa: F401
except ImportError as error:
    raise ModuleNotFoundError(
        "rankinite.dask needs Dask with its data frames, distributed and XGBoost, and not all of "
        f"them are there ({error}): pip install 'rankinite[dask]'",
        name=error.name,
    ) from None

from rankinite.dask.learners import MART, LambdaMART, McRank

__all__ = ["MART", "LambdaMART", "McRank"]
