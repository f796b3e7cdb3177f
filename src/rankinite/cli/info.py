"""``rankinite info``: what a file holds, a model or data."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankinite.cli.data_files import DataFiles, at_hand
from rankinite.cli.inputs import label_if_there
from rankinite.cli.options import AsJson, Label, Qid
from rankinite.cli.outputs import number_or_none, print_result
from rankinite.errors import DataError

if TYPE_CHECKING:
    from rankinite.data import Dataset

Facts = dict[str, Any]


def info(
    path: Annotated[
        Path, typer.Argument(metavar="MODEL|DATA", show_default=False, help="The file.")
    ],
    features: Annotated[
        int, typer.Option(help="How many features of a model to show, the most important first.")
    ] = 10,
    as_json: AsJson = False,
    label: Label = "label",
    qid: Qid = "qid",
) -> None:
    """Show what a file holds: a ranker, a model of another library, or data.

    Example: rankinite info ranker.rk
    """
    import rankinite
    from rankinite.models.parameters import Whole

    Whole(0).check("features", features)
    facts: Facts = {"file": str(path)}
    path = at_hand(path)
    facts["bytes"] = path.stat().st_size
    if _is_model(path):
        facts |= _of_model(path, features)
    else:
        facts |= _of_data(path, label, qid)
    facts["rankinite"] = rankinite.__version__
    print_result(json.dumps(facts, indent=2) if as_json else _in_words(facts))


def _is_model(path: Path) -> bool:
    """Whether a file holds a model; data in its binned form is in the same container."""
    from rankinite.formats.array_file import is_array_file, map_arrays
    from rankinite.models import is_model_file

    if is_array_file(path):
        _, metadata = map_arrays(path, lambda why: DataError(f"{path} is damaged: {why}"))
        return "rankinite" in metadata
    return is_model_file(path)


def _of_model(path: Path, n_shown: int) -> Facts:
    from rankinite.models import load
    from rankinite.models.file import VERSION
    from rankinite.models.ranker import feature_names_of

    model = load(path)
    names = feature_names_of(model)
    facts: Facts = {"kind": getattr(model, "origin", type(model).__name__)}
    if hasattr(model, "in_words"):
        facts["summary"] = model.in_words()
    if hasattr(model, "booster"):
        facts["library"] = model.library
    else:
        facts["model format"] = VERSION
    facts["features"] = model.n_features_in_
    facts["feature names"] = names is not None
    if hasattr(model, "parameter_names"):
        facts["parameters"] = _changed_parameters(model)
    if getattr(model, "chosen_", None):
        facts["chosen by auto"] = model.chosen_
    if hasattr(model, "n_symmetric_"):
        facts["symmetric trees"] = model.n_symmetric_
    if hasattr(model, "n_rounds_"):
        facts["rounds"], facts["best round"] = model.n_rounds_, model.best_iteration_
        facts["history"] = _history(model)
    weights = _weights(model)
    if weights is not None:
        what, values = weights
        facts[what] = _largest(values, names, n_shown)
    return facts


def _changed_parameters(model: Any) -> Facts:
    """The parameters that are not the default, as JSON has them."""
    defaults = inspect.signature(type(model).__init__).parameters
    changed = {}
    for name, value in model.get_params(deep=False).items():
        plain = _as_json(value)
        if plain != _as_json(defaults[name].default):
            changed[name] = plain
    return changed


def _as_json(value: Any) -> Any:
    return value if isinstance(value, (int, float, str, type(None))) else _kind(value)


def _kind(value: Any) -> str:
    if isinstance(value, (list, tuple, dict)):
        return ", ".join(map(str, value))
    return str(getattr(value, "origin", value if hasattr(value, "name") else type(value).__name__))


def _history(model: Any) -> list[Facts]:
    """First, best and last value of everything that was watched."""
    from rankinite.measures import measure

    found = []
    for name, by_measure in model.history_.items():
        for spec, values in by_measure.items():
            try:
                lower = measure(spec).lower_is_better
            except ValueError:  # a measure of the user's own
                lower = False
            known = [value for value in values if value == value]
            if not known:
                continue
            best = min(known) if lower else max(known)
            found.append(
                {
                    "set": name,
                    "measure": spec,
                    "first": number_or_none(values[0]),
                    "best": best,
                    "best round": values.index(best) + 1,
                    "last": number_or_none(values[-1]),
                }
            )
    return found


def _weights(model: Any) -> tuple[str, Any] | None:
    """What each feature, or each ranker inside, counts."""
    for attribute, what in (
        ("feature_importances_", "importance"),
        ("coef_", "weights"),
        ("weights", "weights"),
        ("shares_", "shares"),
    ):
        try:
            values = getattr(model, attribute, None)
        except ValueError:  # a property that this very model lacks
            values = None
        if values is not None:
            return what, values
    return None


def _largest(values: Any, names: list[str] | None, n_shown: int) -> dict[str, float]:
    import numpy as np

    from rankinite.data.feature_labels import feature_labels

    if isinstance(values, dict):
        names, values = list(values), list(values.values())
    values = np.asarray(values, np.float64)
    labels = feature_labels(names, len(values))
    order = np.argsort(-np.abs(values), kind="stable")[:n_shown]
    return {labels[j]: float(values[j]) for j in order.tolist() if values[j] != 0}


def _of_data(path: Path, label: str, qid: str) -> Facts:
    import numpy as np

    from rankinite.data import FeatureBins
    from rankinite.formats import read

    rows = read(path, label=label_if_there(DataFiles((path,)), label), qid=qid)
    sizes = rows.query_sizes
    facts: Facts = {
        "kind": "binned data" if isinstance(rows.features, FeatureBins) else "data",
        "rows": rows.n_rows,
        "queries": rows.n_queries,
        "documents a query": {
            "fewest": int(sizes.min()),
            "median": float(np.median(sizes)),
            "most": int(sizes.max()),
        },
        "features": rows.n_features,
        "feature names": rows.feature_names is not None,
        "labels": None,
    }
    if rows.y is not None:
        values, counts = np.unique(rows.y, return_counts=True)
        if len(values) <= 20:
            pairs = zip(values.tolist(), counts.tolist(), strict=True)
            facts["labels"] = {f"{value:g}": n for value, n in pairs}
        else:
            facts["labels"] = {"lowest": float(values[0]), "highest": float(values[-1])}
    facts["weights"] = rows.weight is not None or rows.query_weight is not None
    facts["pairs"] = 0 if rows.preferences is None else len(rows.preferences.first)
    if not isinstance(rows.features, FeatureBins):
        facts |= _of_values(rows)
    return facts


def _of_values(rows: Dataset) -> Facts:
    import numpy as np

    missing = int(np.isnan(rows.X).sum())
    with np.errstate(invalid="ignore"):
        varying = int((np.nanmax(rows.X, axis=0) > np.nanmin(rows.X, axis=0)).sum())
    return {"missing values": missing, "features that vary": varying}


def _in_words(facts: Facts) -> str:
    """A line a fact, and tables for what has several."""
    from rankinite._text_table import aligned

    lines, tables = [], []
    for name, value in facts.items():
        if name == "history":
            if value:
                cells = [
                    (
                        each["set"],
                        each["measure"],
                        _number(each["first"]),
                        f"{each['best']:.4f} (round {each['best round']})",
                        _number(each["last"]),
                    )
                    for each in value
                ]
                tables.append(aligned(("watched", "measure", "first", "best", "last"), cells))
        elif name in ("importance", "weights", "shares") and isinstance(value, dict):
            largest = [(key, f"{each:.4g}") for key, each in value.items()]
            tables.append(aligned(("", name), largest))
        else:
            lines.append(f"{name}: {_plain(value)}")
    return "\n\n".join(["\n".join(lines), *tables])


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"


def _plain(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(f"{key} {_plain(each)}" for key, each in value.items()) or "all defaults"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:g}" if isinstance(value, float) else str(value)
