"""``rankinite import``: a model of another library as a ranker of ours."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rankinite.cli.inputs import load_model
from rankinite.cli.options import Force
from rankinite.cli.outputs import check_new, print_result
from rankinite.errors import ModelFileError


def import_(
    file: Annotated[
        Path,
        typer.Argument(
            show_default=False,
            help="A model of LightGBM (text, JSON), XGBoost (JSON, UBJSON), CatBoost (JSON, cbm), "
            "RankLib or QuickRank.",
        ),
    ],
    model: Annotated[Path, typer.Option(help="Where to save it.")] = Path("imported.rk"),
    force: Force = False,
) -> None:
    """Turn a model of another library into a ranker, which scores as it did.

    The library is not needed. The ranker is scored by our own kernels, can be a
    base model or a member of a combination, and can be exported to other engines.
    All verbs that take a model also take the file as it is.

    Example: rankinite import lightgbm.txt --model ranker.rk
    """
    from rankinite.models import save

    check_new(model, "the ranker", force)
    ranker = load_model(file, None)
    if not hasattr(ranker, "to_state"):
        raise ModelFileError(f"{file} cannot be kept in a model file")
    save(ranker, model)
    words = ranker.in_words() if hasattr(ranker, "in_words") else type(ranker).__name__
    print_result(f"{words}\nmodel: {model}")
