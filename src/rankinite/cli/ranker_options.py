"""The parameters of the rankers as options, for every verb that trains.

The defaults stand here as text for the help; an option that is not given is not passed on, so
the value itself is always that of the ranker's own signature.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankinite.cli.inputs import split_measures
from rankinite.errors import ParameterError

if TYPE_CHECKING:
    from rankinite.training import Learner

# The rankers by what --ranker calls them, and as they are called in Python.
RANKERS = {
    "lambdamart": "LambdaMART",
    "mart": "MART",
    "mcrank": "McRank",
    "lambdaboost": "LambdaBoost",
    "ranknet": "RankNet",
    "lambdarank": "LambdaRank",
    "perceptron": "Perceptron",
}

_LEARN, _STEPS, _TREES, _NETS, _STOP = "What to learn", "Steps", "Trees", "Nets", "When to stop"


@dataclass(frozen=True)
class RankerOption:
    """A parameter of a ranker as an option; it is called like the parameter unless `flag` says.

    `others` holds the defaults, by ranker, that are not `default`.
    """

    kind: Any
    default: str
    panel: str
    help: str
    flag: str | None = None
    others: Mapping[str, str] = field(default_factory=dict)

    def default_of(self, ranker: str) -> str:
        """The default of one ranker."""
        return self.others.get(ranker, self.default)

    def help_text(self) -> str:
        """What the help says, with the defaults."""
        others = ", ".join(f"{value} for {ranker}" for ranker, value in self.others.items())
        return f"{self.help} Default: {self.default}{others and f' ({others})'}."


RANKER_OPTIONS = {
    "measure": RankerOption(
        str,
        "ndcg@10",
        _LEARN,
        "The measure to learn: ndcg@K, dcg@K, err@K, map, mrr, p@K, pairs, avendcg. "
        "mart, mcrank and ranknet only watch it.",
    ),
    "loss": RankerOption(
        str,
        "least_squares",
        _LEARN,
        "Loss of mart: least_squares, logistic, balanced or graded.",
    ),
    "form": RankerOption(
        str, "multinomial", _LEARN, "What mcrank learns: multinomial P(y = k) or ordinal P(y ≥ k)."
    ),
    "class_values": RankerOption(
        str,
        "label",
        _LEARN,
        "What a class counts in the score of mcrank: label, gain (2^label − 1), or numbers "
        "A,B,... from the lowest label on.",
    ),
    "base_model": RankerOption(
        Path,
        "none",
        _LEARN,
        "A model to correct: what is learned is added to its scores. Also a file of LightGBM, "
        "XGBoost or CatBoost.",
    ),
    "sigma": RankerOption(float, "1.0", _LEARN, "Slope of the pair probability."),
    "truncation": RankerOption(
        str,
        "auto",
        _LEARN,
        "How many of the first ranks pairs count for: a number, auto (some times the cut-off of "
        "the measure) or none (the measure as it stands).",
        others={"lambdaboost": "none", "lambdarank": "none", "perceptron": "none"},
    ),
    "normalize": RankerOption(
        bool,
        "normalize",
        _LEARN,
        "Weigh pairs by their gap and queries by what is still open.",
        others={
            "lambdaboost": "no-normalize",
            "lambdarank": "no-normalize",
            "perceptron": "no-normalize",
        },
    ),
    "squares": RankerOption(
        float,
        "1.0",
        _LEARN,
        "How much the squared error of the labels counts beside the lambdas of lambdamart.",
    ),
    "noise": RankerOption(
        str,
        "auto",
        _STEPS,
        "Scale of the noise at which lambdamart takes its lambdas; auto: 0.5 for fewer than "
        "100,000 documents.",
    ),
    "n_draws": RankerOption(int, "4", _STEPS, "Draws of the noise a tree."),
    "n_estimators": RankerOption(
        int, "500", _STEPS, "Number of trees; of rounds for mcrank and lambdaboost."
    ),
    "n_epochs": RankerOption(
        int, "100", _STEPS, "Passes of a net over the data.", others={"perceptron": "20"}
    ),
    "learning_rate": RankerOption(
        float,
        "0.1",
        _STEPS,
        "Factor of every step.",
        others={
            "lambdaboost": "0.5",
            "ranknet": "0.02",
            "lambdarank": "0.005",
            "perceptron": "0.001",
        },
    ),
    "step": RankerOption(
        str,
        "newton",
        _STEPS,
        "Size of a step: newton, or line_search for lambdamart (one exact weight a tree), or "
        "least_squares for lambdaboost.",
    ),
    "backfit": RankerOption(
        int,
        "0",
        _STEPS,
        "Most sweeps of lambdamart over its trees after the last, to find their weights anew.",
    ),
    "n_hidden": RankerOption(int, "10", _NETS, "Hidden units; 0 for a linear net."),
    "decay": RankerOption(
        float, "0.85", _NETS, "Factor of the learning rate when the training cost rises."
    ),
    "mode": RankerOption(
        str, "factorised", _NETS, "How ranknet goes through pairs: factorised or pairwise."
    ),
    "n_restarts": RankerOption(
        int, "0", _NETS, "Most new starts when the validation measure stalls."
    ),
    "patience": RankerOption(int, "20", _NETS, "Epochs without progress before a new start."),
    "hidden": RankerOption(
        str, "64,32", _NETS, "Units A,B,... of the hidden layers of perceptron; none: a linear net."
    ),
    "activation": RankerOption(
        str, "relu", _NETS, "What a unit of perceptron gives: relu, tanh, gelu or silu."
    ),
    "dropout": RankerOption(
        float, "0.0", _NETS, "Share of the units of perceptron that are left out in a step."
    ),
    "layer_norm": RankerOption(
        bool, "no-layer-norm", _NETS, "Normalise the layers of perceptron for each document."
    ),
    "queries_per_step": RankerOption(int, "1", _NETS, "Queries of a step of perceptron."),
    "standardize": RankerOption(
        bool, "standardize", _NETS, "Give perceptron features of mean 0 and variance 1."
    ),
    "max_leaf_nodes": RankerOption(int, "31", _TREES, "Most leaves of a tree."),
    "max_depth": RankerOption(int, "none", _TREES, "Most splits between a leaf and the root."),
    "min_samples_leaf": RankerOption(int, "20", _TREES, "Fewest documents in a leaf."),
    "min_curvature_leaf": RankerOption(
        float, "0.0", _TREES, "Least sum of second derivatives in a leaf."
    ),
    "l2_regularization": RankerOption(
        float, "0.0", _TREES, "Added to that sum, to hold back the leaves of which little is known."
    ),
    "max_bins": RankerOption(int, "255", _TREES, "Most bins of a feature, up to 255."),
    "growth": RankerOption(
        str,
        "auto",
        _TREES,
        "All nodes of a level split alike, or the best leaf first: symmetric or best_first; auto: "
        "as queries confirm that were not drawn for the tree.",
        others={"mart": "best_first", "mcrank": "best_first"},
    ),
    "split": RankerOption(
        str,
        "newton",
        _TREES,
        "Gain of a split: newton or least_squares.",
        others={"mart": "least_squares", "mcrank": "least_squares"},
    ),
    "row_fraction": RankerOption(
        float, "1.0", _TREES, "Share of the documents drawn at every node."
    ),
    "feature_fraction": RankerOption(
        float, "1.0", _TREES, "Share of the features drawn at every node."
    ),
    "query_fraction": RankerOption(
        float,
        "0.8",
        _TREES,
        "Share of the queries drawn for every tree.",
        others={"mart": "1.0", "mcrank": "1.0"},
    ),
    "importance_fraction": RankerOption(
        str,
        "auto",
        _TREES,
        "Share of their documents drawn for every tree, by how much they pull; auto: what leaves "
        "120,000 of all, 0.2 to 0.75.",
        others={"mart": "1.0", "mcrank": "1.0"},
    ),
    "confirm_steps": RankerOption(
        bool,
        "confirm-steps",
        _TREES,
        "Shorten the steps of trees that hardly help the queries that were not drawn for them, and "
        "lengthen those of late ones that still help.",
    ),
    "early_stopping": RankerOption(
        int,
        "none",
        _STOP,
        "Stop when the measure on the validation data has not risen for so many rounds, and "
        "keep the best.",
    ),
    "valid_measure": RankerOption(
        str,
        "that of --measure",
        _STOP,
        "The measure to watch on the validation data, or several A,B,...: the first one decides.",
    ),
    "random_state": RankerOption(int, "0", _STEPS, "Seed of all that is random.", flag="--seed"),
    "n_threads": RankerOption(
        int, "all cores", _STEPS, "The model does not depend on it.", flag="--threads"
    ),
}


_NUMBERS_OR_WORDS = ("truncation", "importance_fraction", "noise")


def flag_of(name: str) -> str:
    """The option that stands for a parameter: ``max_leaf_nodes`` is ``--max-leaf-nodes``."""
    return RANKER_OPTIONS[name].flag or f"--{name.replace('_', '-')}"


def takes_ranker_parameters(verb: Callable[..., None]) -> Callable[..., None]:
    """Give a verb all of `RANKER_OPTIONS`; those in use reach it as the dict `parameters`."""

    def with_parameters(**arguments: Any) -> None:
        values = {name: arguments.pop(name) for name in RANKER_OPTIONS}
        verb(**arguments, parameters={k: v for k, v in values.items() if v is not None})

    own = inspect.signature(verb, eval_str=True).parameters
    kept = [parameter for name, parameter in own.items() if name != "parameters"]
    added = [_as_parameter(name, option) for name, option in RANKER_OPTIONS.items()]
    # typer reads the options from here.
    with_parameters.__signature__ = inspect.Signature([*kept, *added])  # type: ignore[attr-defined]
    with_parameters.__annotations__ = {p.name: p.annotation for p in [*kept, *added]}
    with_parameters.__name__, with_parameters.__doc__ = verb.__name__, verb.__doc__
    return with_parameters


def _as_parameter(name: str, option: RankerOption) -> inspect.Parameter:
    flags = [flag_of(name)]
    if option.kind is bool:
        flags = [f"{flags[0]}/--no-{name.replace('_', '-')}"]
    info = typer.Option(
        *flags,
        show_default=False,
        rich_help_panel=option.panel,
        help=option.help_text(),
    )
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[option.kind | None, info],
    )


def make_ranker(kind: str, parameters: dict[str, Any]) -> Learner:
    """A ranker with these parameters, all of them checked, so that no data is read in vain.

    Parameters
    ----------
    kind : str
        One of `RANKERS`.
    parameters : dict
        By the name of the parameter; `base_model` is a path.
    """
    from rankinite.models import load
    from rankinite.models.storage import class_of

    if kind not in RANKERS:
        raise ParameterError(f"ranker must be one of {', '.join(RANKERS)}, got {kind!r}")
    learner = class_of(RANKERS[kind])
    known = learner.parameter_names()
    for name in parameters:
        if name not in known:
            raise ParameterError(
                f"{flag_of(name)} is not an option of --ranker {kind}: leave it out"
            )
    given = dict(parameters)
    if "class_values" in given:
        given["class_values"] = _class_values(given["class_values"])
    if "hidden" in given:
        given["hidden"] = _sizes(given["hidden"])
    for name in _NUMBERS_OR_WORDS:
        if name in given:
            given[name] = _number_or_word(given[name])
    if "valid_measure" in given:
        watched = split_measures(given["valid_measure"])
        given["valid_measure"] = watched if len(watched) > 1 else watched[0]
    if "base_model" in given:
        given["base_model"] = load(given["base_model"])
    ranker: Learner = learner(**given)
    ranker.check_params()
    return ranker


def _number_or_word(text: str) -> float | str | None:
    """A number if it is one; None for none; else the word, which the ranker knows or refuses."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return None if text == "none" else text


def _sizes(text: str) -> tuple[int, ...] | str:
    """Whole numbers if they are some, none of them for none; else the text, which is refused."""
    try:
        return () if text == "none" else tuple(int(part) for part in text.split(","))
    except ValueError:
        return text


def _class_values(text: str) -> str | list[float]:
    """Numbers if they are some; else the word, which the ranker knows or refuses."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        return text
