"""Models for the Learning to Rank plugins of Elasticsearch and OpenSearch.

Both read XGBoost's files, in two forms: ``dump`` is what ``dump_model`` gives, the type
``model/xgboost+json``; ``raw`` is what ``save_model`` gives, ``model/xgboost+json+raw``. Neither
plugin looks at the base score, so that it goes into the leaves.
"""

from __future__ import annotations

import numpy as np

from rankinite.errors import ExportError
from rankinite.exchange.plain import PlainForest
from rankinite.exchange.writers.dump import dumped
from rankinite.exchange.writers.folding import check_single, check_zeros, in_leaves
from rankinite.exchange.writers.names import names_from_one
from rankinite.exchange.writers.texts import to_json
from rankinite.exchange.writers.xgboost import saved_model

FORMS = ("dump", "raw")
_ENGINE = "Elasticsearch and OpenSearch"


def write(plain: PlainForest, *, variant: str = ".json", form: str = "dump") -> bytes:
    """The definition of a model.

    Parameters
    ----------
    form : str
        ``"dump"`` for the type model/xgboost+json, ``"raw"`` for model/xgboost+json+raw.
    """
    if form not in FORMS:
        raise ExportError(f"form must be 'dump' or 'raw', got {form!r}")
    check_zeros(plain, _ENGINE)
    check_single(plain, _ENGINE)
    plain = in_leaves(plain)
    if form == "raw":
        return to_json(saved_model(plain, names_from_one(plain)), "1e39").encode()
    return dumped(plain, _ENGINE, plain.forest.value.astype(np.float32)).encode()
