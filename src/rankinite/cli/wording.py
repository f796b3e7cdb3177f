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
    "distribute": "--distribute",
    "select": "--select",
    "overlap": "--overlap",
    "label": "--label",
    "qid": "--qid",
    "weight": "--weight",
    "features": "--features",
    "document": "--document",
    "documents": "--document",
    "every": "--checkpoint-every",
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
    "trials": "--trials",
    "sampler": "--sampler",
    "prune": "--prune",
    "jobs": "--jobs",
    "labelled": "--labelled",
}
# What has no option: said in other words.
_PHRASES = {
    ", or label=None if there are no labels": "",
    "the data has no labels: pass y": "the data has no labels: pass data with labels",
    " or None, got": ", got",
    "pass preferred= with the name of the right one": "rename the column",
    "pass other= with the name of the right one": "rename the column",
    "add them by with_preferences": "add them by --pairs",
    "the data of like=": "the training data",
    "save it again with like=": "save it again with the bins of the training data",
    "this dataset holds only bins": "the data holds only bins",
    "pass the dataset with its features": "pass the file of values that it was made of",
    "use the same number, or the dataset with its features": "use the same number, or its values",
    ", LambdaBoost or LinearScorer": " or LambdaBoost",
    "expansion looks for near documents": (
        "--max-distance and --seed-fraction look for near documents"
    ),
    "is a model: leave it out, or pass the data": "is a model: leave them out, or pass the data",
    " of the expansion": "",
    "pass others, or choose another method": "pass --other, or choose another --method",
}
_NAMES = "|".join(sorted(_FLAGS, key=len, reverse=True))
_RARE_NAMES = "|".join(name for name in _FLAGS if "_" in name)
# Not inside a path, a quoted word or an option.
_BEFORE, _AFTER = r"(?<![\w./'\"`@:-])", r"(?![\w/'\"`@=-]|\.\w)"
# "valid=", "n_features=5", "features=['a', 'b']"
_VALUE = r"\w+(?:\.\w+)*|'[^']*'|\"[^\"]*\"|\[[^\]]*\]"
_WITH_VALUE = re.compile(rf"{_BEFORE}({_NAMES})=({_VALUE})?")
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
    if value is None:
        return flag
    plain = value.strip("[]").replace(", ", ",") if value.startswith("[") else value
    return f"{flag} {plain}".replace("'", "").replace('"', "")
