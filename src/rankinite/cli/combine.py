"""``rankinite combine``: several rankers as one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankinite.cli.data_files import DataFiles
from rankinite.cli.inputs import Expected, judge_labels, model_at_hand, named_files, read_like
from rankinite.cli.options import AsJson, DataPaths, Force, Label, Qid, SameId, Threads
from rankinite.cli.outputs import check_new, number_or_none, print_result, save_or_keep
from rankinite.cli.reporting import tell_reading
from rankinite.errors import DataError, ParameterError, RankiniteWarning

if TYPE_CHECKING:
    from rankinite.combination import Combination, Contender
    from rankinite.data import Dataset
    from rankinite.measures import Measure


def combine(
    data: DataPaths,
    model: Annotated[
        list[str],
        typer.Option(
            metavar="[NAME=]FILE",
            show_default=False,
            help="A saved ranker, also of LightGBM, XGBoost or CatBoost; give several.",
        ),
    ],
    output: Annotated[Path, typer.Option(help="Where to save the combination.")] = Path(
        "combined.rk"
    ),
    force: Force = False,
    method: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="average, linear, net, powell, exact_powell, pair_tree, or all: the best of them.",
        ),
    ] = "average",
    measure: Annotated[str, typer.Option(help="What the combination is to do well.")] = "ndcg@10",
    normalize: Annotated[
        str,
        typer.Option(metavar="data|query|query_max|none", help="How scores are made comparable."),
    ] = "data",
    test: Annotated[
        list[Path] | None,
        typer.Option(
            show_default=False,
            help="Other labelled queries, to measure on; give several files one by one.",
        ),
    ] = None,
    folds: Annotated[
        int, typer.Option(help="Of the cross-validation by which --method all chooses.")
    ] = 5,
    seed: Annotated[int, typer.Option(help="Of linear, net and the folds.")] = 0,
    as_json: AsJson = False,
    threads: Threads = None,
    label: Label = "label",
    qid: Qid = "qid",
    same_id: SameId = "error",
) -> None:
    """Combine rankers by weights that are learned on DATA, and save the result as one ranker.

    DATA should be other data than the rankers were trained on. With --method all
    each method is tried, and the one is saved that is best on --test or, without
    it, in a cross-validation on DATA. Without NAME= a ranker is called by the
    name of its file.

    Example: rankinite combine valid.txt --model a.rk --model b.rk --test test.txt
    """
    from rankinite.combination import Combination
    from rankinite.models import load

    check_new(output, "the combination", force)
    files = named_files(model)
    if len(files) < len(model):
        raise ParameterError(f"two rankers have the same name in {', '.join(model)}: use NAME=FILE")
    rankers = {name: load(model_at_hand(path)) for name, path in files.items()}
    first = Combination(
        rankers,
        "average" if method == "all" else method,
        measure,
        normalize,
        random_state=seed,
        n_threads=threads,
    )
    first.check_params()
    expected = _features_of(rankers, files)
    given = dict.fromkeys([DataFiles.of(some, same_id) for some in (data, test) if some])
    for some in given:
        tell_reading(some)
    sets = {
        name: read_like(some, expected, label=label, qid=qid)
        for name, some in zip(_short_names(list(given)), given, strict=True)
    }
    for some, rows in zip(given, sets.values(), strict=True):
        judge_labels([measure], some, rows)
    job = _Job(rankers, sets, first, folds)
    if method == "all":
        job.choose()
    else:
        first.fit(job.data)
    save_or_keep(job.combination, output)
    print_result(job.as_json() if as_json else f"{job.as_tables()}\nmodel: {output}")


def _short_names(sets: list[DataFiles]) -> list[str]:
    """The files without their folders, unless two have one name."""
    names = [str(DataFiles(tuple(Path(path.name) for path in each.paths))) for each in sets]
    return names if len(set(names)) == len(names) else [str(each) for each in sets]


def _features_of(rankers: dict[str, Any], files: dict[str, Path]) -> Expected:
    """The features that all rankers were trained on."""
    from rankinite.models import Ranker
    from rankinite.models.ranker import feature_names_of, takes_width

    first = max(rankers, key=lambda name: rankers[name].n_features_in_)
    model = rankers[first]
    for name, other in rankers.items():
        if not takes_width(other, model.n_features_in_):
            raise DataError(
                f"{files[first]} has {model.n_features_in_} features, but {files[name]} has "
                f"{other.n_features_in_}: combine rankers of the same features"
            )
    # Other libraries may have changed the names.
    own = [name for name, each in rankers.items() if isinstance(each, Ranker)]
    named = [name for name in own if hasattr(rankers[name], "feature_names_in_")]
    chosen = [*named, *own, first][0]
    names = feature_names_of(rankers[chosen]) if named else None
    return Expected(model.n_features_in_, names, f"the model {files[chosen]}")


class _Job:
    """Rankers and data, and what came out."""

    def __init__(
        self,
        rankers: dict[str, Any],
        sets: dict[str, Dataset],
        combination: Combination,
        n_folds: int,
    ) -> None:
        self.rankers, self.sets = rankers, sets
        self.combination, self.n_folds = combination, n_folds
        # The methods that were tried, by name, with what each came to.
        self.tried: dict[str, float] = {}
        self.judge = ""

    @property
    def data(self) -> Dataset:
        return next(iter(self.sets.values()))

    @property
    def measure(self) -> Measure:
        from rankinite.measures import measure

        return measure(self.combination.measure)

    def choose(self) -> None:
        """Try all methods, and fit the one that is best on the test data or across the folds."""
        from rankinite.combination.choosing import compare_methods, ways_to_combine

        ways = ways_to_combine(self.combination.normalize)
        if len(self.sets) > 1:
            self.judge = list(self.sets)[-1]
            found = self._tested(ways)
        else:
            first = self.combination
            self.judge = f"{self.n_folds} folds"
            found = compare_methods(
                self.rankers,
                self.data,
                self.measure,
                ways,
                n_folds=self.n_folds,
                random_state=first.random_state,
                n_threads=first.n_threads,
            )
        made = [self._made(each.method, each.normalize) for each in found]
        self.tried = {_title(m): each.held_out for m, each in zip(made, found, strict=True)}
        self.combination = made[0].fit(self.data)

    def _tested(self, ways: list[tuple[str, str]]) -> list[Contender]:
        """What the methods come to on the test data, the best first."""
        import warnings

        from rankinite.combination import Contender

        rows = self.sets[self.judge]
        with warnings.catch_warnings():
            # What is amiss with a ranker is told when the best one is fitted.
            warnings.simplefilter("ignore", RankiniteWarning)
            found = [
                Contender(*way, self._value(self._made(*way).fit(self.data), rows)) for way in ways
            ]
        sign = 1.0 if self.measure.lower_is_better else -1.0
        return sorted(found, key=lambda contender: sign * contender.held_out)

    def _made(self, method: str, normalize: str) -> Combination:
        from rankinite.combination import Combination

        params = self.combination.get_params(deep=False)
        return Combination(**{**params, "method": method, "normalize": normalize})

    def _value(self, ranker: Any, rows: Dataset) -> float:
        from rankinite.measures import evaluate

        return evaluate(ranker, rows, self.measure)[self.measure]

    def values(self) -> dict[str, list[float]]:
        """The measure on each set, of each ranker and at last of the combination."""
        scorers = {**self.rankers, f"combination by {_title(self.combination)}": self.combination}
        return {
            name: [self._value(scorer, rows) for rows in self.sets.values()]
            for name, scorer in scorers.items()
        }

    def as_tables(self) -> str:
        from rankinite._text_table import aligned

        tables = []
        if self.tried:
            tried = [(name, f"{value:.4f}") for name, value in self.tried.items()]
            tables.append(aligned(("method", f"{self.measure}, {self.judge}"), tried))
            best = f"the best is {_title(self.combination)}"
            if self.judge in self.sets:
                best += f"; {self.judge} has chosen it, and flatters it a little"
            tables.append(best)
        values = [(name, *(f"{v:.4f}" for v in some)) for name, some in self.values().items()]
        tables.append(aligned((str(self.measure), *self.sets), values))
        shares = self._shares()
        if shares is None:
            tables.append(self.combination.in_words())
        else:
            raw = self.combination.weights_
            weights = [
                (n, f"{raw[n]:.6g}", f"{round(100 * s, 1) + 0.0:.1f} %") for n, s in shares.items()
            ]
            tables.append(aligned(("ranker", "weight", "share"), weights))
        return "\n\n".join(tables)

    def as_json(self) -> str:
        *members, own = self.values().items()
        shares = self._shares()

        def by_set(values: list[float]) -> dict[str, float | None]:
            return dict(zip(self.sets, map(number_or_none, values), strict=True))

        return json.dumps(
            {
                "measure": str(self.measure),
                "method": self.combination.method,
                "normalize": self.combination.normalize,
                "rankers": {name: by_set(values) for name, values in members},
                "combination": by_set(own[1]),
                "weights": None if shares is None else self.combination.weights_,
                "shares": shares,
                "tried": {name: number_or_none(value) for name, value in self.tried.items()},
            },
            indent=2,
        )

    def _shares(self) -> dict[str, float] | None:
        """What each ranker counts; None for a net."""
        return getattr(self.combination, "shares_", None)


def _title(combination: Combination) -> str:
    """The method, with the normalisation if it is not the usual one."""
    usual = combination.normalize == "data"
    return combination.method if usual else f"{combination.method} ({combination.normalize})"
