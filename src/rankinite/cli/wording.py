"""What the library says, in the words of the command line: options instead of arguments."""

from __future__ import annotations

import re

from rankinite.cli.ranker_options import RANKER_OPTIONS, flag_of

# Arguments of functions, by the option that stands for them.
_FLAGS = {name: flag_of(name) for name in RANKER_OPTIONS} | {
    "n_features": "--n-features",
    "n_rounds": "--n-rounds",
    "n_directions": "--directions",
    "n_folds": "--folds",
    "max_distance": "--max-distance",
    "seed_fraction": "--seed-fraction",
    "valid": "--valid",
    "resume": "--resume",
    "label": "--label",
    "qid": "--qid",
    "weight": "--weight",
    "features": "--features",
    "document": "--document",
    "method": "--method",
    "choose": "--choose",
    "curves": "--curves",
    "radius": "--radius",
    "confidence": "--confidence",
    "fraction": "--fraction",
    "blank": "--blank",
    "others": "--other",
    "ranker": "--ranker",
    "threads": "--threads",
    "seed": "--seed",
    "folds": "--folds",
    "same_id": "--same-id",
}
# What has no option: said in other words.
_PHRASES = {
    ", or label=None if there are no labels": "",
    "the data has no labels: pass y": "the data has no labels: pass data with labels",
}
_NAMES = "|".join(sorted(_FLAGS, key=len, reverse=True))
_RARE_NAMES = "|".join(name for name in _FLAGS if "_" in name)
# Not inside a path, a quoted word or an option.
_BEFORE, _AFTER = r"(?<![\w./'\"`@:-])", r"(?![\w/'\"`@=-]|\.\w)"
# "valid=", "n_features=5"
_WITH_VALUE = re.compile(rf"{_BEFORE}({_NAMES})=(\w+(?:\.\w+)*|'[^']*')?")
# At the start of a sentence, where it is what the sentence is about.
_SUBJECT = re.compile(rf"^({_NAMES}) (?=must|is |was|has |needs|does|cannot|takes|names|asks)")
# Words that no sentence would have by chance.
_RARE = re.compile(rf"{_BEFORE}({_RARE_NAMES}){_AFTER}")


def in_options(message: str) -> str:
    """A message of the library, with options in the place of arguments."""
    for phrase, instead in _PHRASES.items():
        message = message.replace(phrase, instead)
    message = _WITH_VALUE.sub(_flag_and_value, message)
    message = _SUBJECT.sub(lambda found: f"{_FLAGS[found[1]]} ", message)
    return _RARE.sub(lambda found: _FLAGS[found[1]], message)


def _flag_and_value(found: re.Match) -> str:
    flag, value = _FLAGS[found[1]], found[2]
    return flag if value is None else f"{flag} {value}".replace("'", "")
