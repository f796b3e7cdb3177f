"""The one skeleton of training: learners, their rounds, the run and its callbacks, watched sets."""

from rankinite.training.callbacks import Checkpoint, EarlyStopping, Log, Progress, best_round
from rankinite.training.cross_validation import CrossValidation, cross_validate
from rankinite.training.learner import Learner
from rankinite.training.rounds import DivergedError, Rounds, add_round, train
from rankinite.training.run import Callback, History, Run
from rankinite.training.watching import Watched, WatchedSets

__all__ = [
    "Callback",
    "Checkpoint",
    "CrossValidation",
    "DivergedError",
    "EarlyStopping",
    "History",
    "Learner",
    "Log",
    "Progress",
    "Rounds",
    "Run",
    "Watched",
    "WatchedSets",
    "add_round",
    "best_round",
    "cross_validate",
    "train",
]
