"""Models for Vespa, which turns them into ranking expressions over doubles.

The form ``lightgbm`` is LightGBM's ``dump_model``, whose thresholds and leaves stay doubles; in
``xgboost``, XGBoost's ``dump_model``, thresholds become float32. Vespa compares x < t in both. An
expression cannot say infinity.
"""

from __future__ import annotations

import json

from rankinite.errors import ExportError
from rankinite.exchange.plain import PlainForest
from rankinite.exchange.writers.dump import dumped
from rankinite.exchange.writers.folding import check_zeros, in_leaves
from rankinite.exchange.writers.names import names_from_one
from rankinite.exchange.writers.texts import check_depth, nested, number_texts
from rankinite.exchange.writers.thresholds import for_doubles, strictly_below

FORMS = ("lightgbm", "xgboost")


def write(plain: PlainForest, *, variant: str = ".json", form: str = "lightgbm") -> bytes:
    """The bytes of a file for the folder ``models`` of an application.

    Parameters
    ----------
    form : str
        ``"lightgbm"`` for the feature ``lightgbm(file)``, ``"xgboost"`` for ``xgboost(file)``.
    """
    if form not in FORMS:
        raise ExportError(f"form must be 'lightgbm' or 'xgboost', got {form!r}")
    check_zeros(plain, "Vespa")
    plain = in_leaves(plain)
    if form == "xgboost":
        return dumped(plain, "Vespa", plain.forest.value, infinite=False).encode()
    return _lightgbm(plain).encode()


def _lightgbm(plain: PlainForest) -> str:
    forest = plain.forest
    check_depth(forest, "Vespa")
    strict = strictly_below(forest, for_doubles(plain), infinite=False)
    features, missing_left = forest.feature.tolist(), strict.missing_left.tolist()
    conditions, values = number_texts(strict.threshold), number_texts(forest.value)

    def split(node: int, left: str, right: str) -> str:
        return (
            f'{{"split_feature":{features[node]},"threshold":{conditions[node]},'
            f'"decision_type":"<=","default_left":{str(missing_left[node]).lower()},'
            f'"missing_type":"NaN","left_child":{left},"right_child":{right}}}'
        )

    def leaf(number: int) -> str:
        return f'{{"leaf_value":{values[number]}}}'

    trees = ",\n".join(
        f'{{"tree_index":{t},"tree_structure":'
        f"{nested(forest, t, strict.left, strict.right, leaf, split)}}}"
        for t in range(forest.n_trees)
    )
    names = json.dumps(names_from_one(plain))
    return (
        '{"name":"tree","version":"v4","num_class":1,"num_tree_per_iteration":1,'
        f'"max_feature_idx":{plain.n_features - 1},"objective":"lambdarank",'
        f'"feature_names":{names},\n"tree_info":[\n{trees}\n],\n'
        '"pandas_categorical":null}\n'
    )
