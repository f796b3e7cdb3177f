"""What is done in a step: a model trained, a member made of its models, a way to combine tried."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from rankinite._numba import threads
from rankinite.combination import Combination
from rankinite.combination.choosing import held_out_scores
from rankinite.data import Dataset
from rankinite.distributed import About, Communicator, Serial
from rankinite.ensemble.augmentation import augmented
from rankinite.ensemble.bagging import Bagging
from rankinite.ensemble.declaration import Declaration, Member
from rankinite.ensemble.folds import fold_numbers
from rankinite.ensemble.material import Material
from rankinite.ensemble.narrowed import Narrowed, columns_of, narrowed
from rankinite.ensemble.plan import MEMBER, SUBSET, TRAIN, WAY, Step, scored_out_of_fold, title
from rankinite.ensemble.query_features import with_query_features
from rankinite.ensemble.rescaled import Rescaled
from rankinite.ensemble.run_folder import RunFolder
from rankinite.ensemble.stacked import Stacked
from rankinite.ensemble.subsets import best_subset, cross_fitted
from rankinite.errors import ParameterError
from rankinite.formats.files import replacing
from rankinite.models.ranker import Ranker
from rankinite.training import Learner, Log
from rankinite.training.cross_validation import watches

# Parts of the held-out queries, in each of which a combination is measured that the others made.
N_PARTS = 5


class Workshop:
    """Does the steps of a plan, and keeps what comes out in the folder of the run.

    Parameters
    ----------
    declaration : Declaration
    train : Material
    valid : Material or None
        If it is there, members are combined by their scores on it.
    folder : RunFolder
    n_threads : int or None
    """

    def __init__(
        self,
        declaration: Declaration,
        train: Material,
        valid: Material | None,
        folder: RunFolder,
        n_threads: int | None,
    ) -> None:
        self.declaration, self.train, self.valid = declaration, train, valid
        self.folder, self.n_threads = folder, n_threads
        self.folds = fold_numbers(train.data, declaration.n_folds, declaration.seed)
        self.scored = scored_out_of_fold(declaration, valid is not None)
        # The steps by name, of the members that there are to be and of their combination.
        self.steps: dict[str, Step] = {}
        self.combined: list[str] = []
        self._prepared: tuple[str, Dataset] | None = None

    @property
    def held_out(self) -> Material:
        """The data whose scores members are compared and combined by."""
        return self.train if self.valid is None else self.valid

    @cached_property
    def parts(self) -> np.ndarray:
        """The part of each held-out query, in the order in which scores are kept."""
        queries = self.held_out.judged()
        n_parts = min(N_PARTS, queries.n_queries)
        return fold_numbers(queries, n_parts, self.declaration.seed)

    def do(self, step: Step) -> None:
        """Do a step, and record that it is done."""
        started = time.perf_counter()
        self.folder.begin(step)
        act = {
            TRAIN: self._train,
            MEMBER: self._make_member,
            WAY: self._try_way,
            SUBSET: self._find_subset,
        }[step.kind]
        with threads(self.n_threads):
            files = act(step)
        self.folder.finish(step, files, time.perf_counter() - started)

    def distributes(self, step: Step) -> bool:
        """Whether all workers of a job can do a step together: the training of boosted trees."""
        if step.kind != TRAIN:
            return False
        learner = self.declaration.members[step.owner].learner(self.declaration.seed)
        try:
            learner.check_distributes()
        except ParameterError:
            return False
        return True

    def do_together(self, step: Step, workers: Communicator) -> None:
        """Do a step with all workers, each on its share of the queries; worker 0 keeps the result.

        The model is that of one worker with all queries, byte for byte.
        """
        started = time.perf_counter()
        if workers.rank == 0:
            self.folder.begin(step)
        with threads(self.n_threads):
            learner, data = self._fit(step, About(workers, step.name))
            if workers.rank == 0:
                files = self._keep(step, learner, data)
                self.folder.finish(step, files, time.perf_counter() - started)

    def member_scores(self, name: str) -> np.ndarray:
        """Held-out scores of a member, as they are kept."""
        of = "held-out" if self.valid is None else "valid"
        return self.folder.read_scores(self.steps[name], self.held_out.data.n_rows, of)

    def table(self, names: Sequence[str] | None = None) -> Dataset:
        """The held-out scores of members, all that are combined by default."""
        wanted = self.combined if names is None else names
        return self.held_out.table([self.member_scores(name) for name in wanted])

    def combination(self, way: Sequence[str], rankers: Mapping[str, Any]) -> Combination:
        """How members are combined, untrained."""
        method, normalize = way
        return Combination(
            rankers,
            method,
            self.declaration.measure,
            normalize,
            random_state=self.declaration.seed,
            n_threads=self.n_threads,
        )

    def _train(self, step: Step) -> list[Path]:
        return self._keep(step, *self._fit(step, Serial()))

    def _fit(self, step: Step, workers: Communicator) -> tuple[Learner, Dataset]:
        """A trained model of a member, and the data that it has learned some of."""
        member = self.declaration.members[step.owner]
        learner = member.learner(self.declaration.seed, self.n_threads)
        data = self._data_of(member)
        learned, watched = self._queries(member, step.part, watches(learner))
        train = data.select_queries(learned)
        if member.augment is not None:
            train = augmented(
                train,
                member.augment.fraction,
                member.augment.times,
                single_labels=member.augment.single_labels,
                random_state=self.declaration.seed,
            )
        valid = None if watched is None else data.select_queries(watched)
        learner.fit(
            _share(train, workers),
            valid=None if valid is None else _share(valid, workers),
            callbacks=[Log(self.folder.log(step))] if workers.rank == 0 else [],
            communicator=workers,
        )
        return learner, data

    def _keep(self, step: Step, learner: Learner, data: Dataset) -> list[Path]:
        """Keep a model, and its scores of the fold that it has not learned from."""
        learner.save(self.folder.model(step))
        files = [self.folder.model(step)]
        if step.part is not None:
            here = self.folds == step.part
            rows = np.repeat(here, data.query_sizes)
            scores = np.zeros(data.n_rows)
            scores[rows] = learner.score_dataset(data.select_queries(here))
            files.append(self.folder.write_scores(step, self.train.kept(scores, rows)))
        return files

    def _queries(
        self, member: Member, part: int | None, watching: bool
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Which queries a model learns from and which it watches, bool of shape (n_queries,).

        In a bag it watches the fold that it does not learn from. Else a fold is held out from all
        that decides, and the next one is watched.
        """
        folds = self.folds
        if part is not None and member.bag:
            return folds != part, folds == part
        rest = np.ones(len(folds), bool) if part is None else folds != part
        if not watching:
            return rest, None
        watched = folds == (0 if part is None else (part + 1) % self.declaration.n_folds)
        return rest & ~watched, watched

    def _data_of(self, member: Member) -> Dataset:
        """The training data as the ranker of a member sees it."""
        if self._prepared is None or self._prepared[0] != member.name:
            data = self._widened(member)
            if member.features is not None:
                data = narrowed(data, self._columns(member, data))
            self._prepared = member.name, data
        return self._prepared[1]

    def _widened(self, member: Member) -> Dataset:
        """The training data with the features that come from other members."""
        data = self.train.data
        if not member.extra:
            return data
        scores = {}
        for other in member.extra:
            kept = self.folder.read_scores(self.steps[other], data.n_rows)
            scores[other] = data.in_caller_order(self.train.stored(kept))
        return with_query_features(data, scores)

    def _columns(self, member: Member, widened: Dataset) -> list[int]:
        """Of the features of the data those that are declared, and all that come from members."""
        own = self.train.data
        chosen = columns_of(member.features or (), own.n_features, own.feature_names)
        return [*chosen, *range(own.n_features, widened.n_features)]

    def _make_member(self, step: Step) -> list[Path]:
        member = self.declaration.members[step.owner]
        model = self._model_of(member)
        if member.normalize != "none":
            model = Rescaled.of(model, member.by_probability, member.normalize)
        model.n_threads = self.n_threads
        model.save(self.folder.model(step))
        files = [self.folder.model(step)]
        if member.name in self.scored:
            scores = self._out_of_fold(member)
            if isinstance(model, Rescaled):
                scores = model.rescaled(scores, self.train.data.offsets)
            files.append(self.folder.write_scores(step, self.train.kept(scores)))
        if self.valid is not None:
            scores = model.score_dataset(self.valid.data)
            files.append(self.folder.write_scores(step, self.valid.kept(scores), "valid"))
        return files

    def _model_of(self, member: Member) -> Ranker:
        """The trained ranker of a member, for data as it was given."""
        if member.scores_of is not None:
            return self.folder.read_model(self.steps[member.scores_of])
        if member.bag:
            parts = range(self.declaration.n_folds)
            model: Ranker = Bagging.of(
                [self.folder.read_model(self._part(member, k)) for k in parts]
            )
        else:
            model = self.folder.read_model(self._part(member, None))
        widened = self._widened(member)
        if member.features is not None:
            model = Narrowed.of(model, self._columns(member, widened), widened)
        if member.extra:
            bases = {other: self.folder.read_model(self.steps[other]) for other in member.extra}
            model = Stacked.of(model, bases)
        return model

    def _out_of_fold(self, member: Member) -> np.ndarray:
        """Scores of the training data in stored order, before they are put on another scale."""
        data = self.train.data
        if member.scores_of is not None:
            return self.train.stored(
                self.folder.read_scores(self.steps[member.scores_of], data.n_rows)
            )
        scores = np.empty(data.n_rows)
        for part in range(self.declaration.n_folds):
            rows = np.repeat(self.folds == part, data.query_sizes)
            kept = self.folder.read_scores(self._part(member, part), int(rows.sum()))
            self.train.put(scores, kept, rows)
        return scores

    def _part(self, member: Member, part: int | None) -> Step:
        """The step that trained one of a member's models."""
        return next(
            step
            for step in self.steps.values()
            if (step.kind, step.owner, step.part) == (TRAIN, member.name, part)
        )

    def _try_way(self, step: Step) -> list[Path]:
        way = next(each for each in self.declaration.combine.ways if title(each) == step.owner)
        table = self.table()
        model = self.combination(way, self.as_columns())
        return [self.folder.write_scores(step, held_out_scores(model, table, self.parts))]

    def _find_subset(self, step: Step) -> list[Path]:
        table, by = self.table(), self.declaration.measure
        chosen = best_subset(table, by)
        scores = cross_fitted(table, by, self.parts)
        path = self.folder.path / "combination" / "subset.json"
        names = [self.combined[column] for column in chosen]
        with replacing(path) as temporary:
            temporary.write_text(json.dumps(names) + "\n", encoding="utf-8")
        return [path, self.folder.write_scores(step, scores)]

    def subset(self) -> list[str]:
        """The members that the search has found."""
        path = self.folder.path / "combination" / "subset.json"
        return json.loads(path.read_text(encoding="utf-8"))

    def as_columns(self, names: Sequence[str] | None = None) -> dict[str, np.ndarray]:
        """Members as rankers of a `table`: each gives its own column."""
        wanted = self.combined if names is None else names
        return dict(zip(wanted, np.eye(len(wanted)), strict=True))


def _share(rows: Dataset, workers: Communicator) -> Dataset | None:
    """Every so-manieth query, this worker's own; None if there is none for it."""
    if workers.size == 1:
        return rows
    mine = np.arange(workers.rank, rows.n_queries, workers.size)
    return rows.select_queries(mine) if len(mine) else None
