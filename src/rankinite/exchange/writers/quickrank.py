"""QuickRank's XML.

Features and thresholds are float32, leaves and sums float64, x ≤ t goes left, and missing values
are zeros.
"""

from __future__ import annotations

from rankinite.exchange.plain import PlainForest
from rankinite.exchange.writers.folding import in_leaves, zeros_for_missing
from rankinite.exchange.writers.texts import number_texts
from rankinite.exchange.writers.thresholds import single_at_most
from rankinite.exchange.writers.xml_trees import ensemble


def write(plain: PlainForest, *, variant: str = ".xml", missing: str | None = None) -> bytes:
    """The bytes of a QuickRank model.

    Parameters
    ----------
    missing : str, optional
        ``"zero"``: missing values may count as zeros, whatever the model has learned of them.
    """
    zeros_for_missing(plain, missing, "QuickRank")
    plain = in_leaves(plain)
    forest = plain.forest
    # QuickRank makes room for as many trees as are named here, and wants all of these.
    info = {
        "type": "LAMBDAMART",
        "trees": forest.n_trees,
        "leaves": forest.most_leaves,
        "shrinkage": 1,
        "leafsupport": 1,
        "discretization": 0,
        "estop": 0,
    }
    lines = ["<ranker>", "\t<info>"]
    lines += [f"\t\t<{name}>{value}</{name}>" for name, value in info.items()]
    lines.append("\t</info>")
    values = number_texts(forest.value)
    lines += ensemble(forest, single_at_most(forest.threshold), values, "\t")
    return "\n".join([*lines, "</ranker>", ""]).encode("ascii")
