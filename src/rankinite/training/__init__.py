"""What all learners share while they train: the run, its callbacks, the sets that are watched."""

from rankinite.training.callbacks import Checkpoint, EarlyStopping, Log, Progress, best_round
from rankinite.training.learner import Learner
from rankinite.training.run import Callback, History, Run

__all__ = [
    "Callback",
    "Checkpoint",
    "EarlyStopping",
    "History",
    "Learner",
    "Log",
    "Progress",
    "Run",
    "best_round",
]
