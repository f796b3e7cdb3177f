"""Declarations by name: the grids of the papers, and one that suits LambdaMART's defaults."""

from __future__ import annotations

from rankinite.errors import ParameterError
from rankinite.sweeping.declaration import Declaration, parse_declaration

_TEXTS = {
    # The parameters that count most around the defaults, of which docs/quality.md tells what each
    # is worth on data of all sizes. Early stopping chooses the number of trees.
    "lambdamart": """
ranker = "lambdamart"
sampler = "tpe"
trials = 40

[fixed]
n_estimators = 1000
early_stopping = 50

[space]
learning_rate = { low = 0.02, high = 0.2, log = true }
max_leaf_nodes = { low = 7, high = 127, log = true }
min_samples_leaf = { low = 5, high = 200, log = true }
query_fraction = { low = 0.5, high = 1.0 }
feature_fraction = { low = 0.3, high = 1.0 }
""",
    # Burges et al. 2011, section 4.2: learning rates from a list, leaves from 50 to 400 in steps of
    # 30, 3,000 trees, ten folds, ERR or NDCG. All that the paper does not name is as it is here.
    "lambdamart-004": """
ranker = "lambdamart"
sampler = "grid"
folds = 10

[fixed]
n_estimators = 3000
early_stopping = 200

[space]
learning_rate = [0.01, 0.05, 0.1, 0.3, 0.5]
max_leaf_nodes = { low = 50, high = 400, step = 30 }
""",
    # Burges et al. 2011, section 4.2: hidden nodes from 10 to 30 in steps of 5, learning rates from
    # 1e-4 to 1e-2, of which the paper does not say how many: here two a decade. 500 epochs with
    # restarts when progress on the validation queries slows, ten folds.
    "lambdarank-004": """
ranker = "lambdarank"
sampler = "grid"
folds = 10

[fixed]
n_epochs = 500
n_restarts = 5

[space]
n_hidden = { low = 10, high = 30, step = 5 }
learning_rate = { low = 1e-4, high = 1e-2, log = true, points = 5 }
""",
    # Wu et al. 2008, section 5.2: leaves L and shrinkage v are tuned, and so is the number of trees
    # M. The settings they came to, L = 10, 15 and 20, v = 0.1 and M up to 1,000, lie inside; the
    # paper does not list what else was tried.
    "lambdamart-000": """
ranker = "lambdamart"
sampler = "grid"

[fixed]
n_estimators = 1000
early_stopping = 100

[space]
learning_rate = [0.05, 0.1, 0.2]
max_leaf_nodes = [5, 10, 15, 20, 30]
""",
    # Wu et al. 2008, section 5.2: LambdaRank by its layers (no hidden nodes is one layer), hidden
    # nodes and learning rate. The best were two layers, ten nodes, 1e-4 or 1e-5; ours divides
    # features by their spread first, so rates are larger.
    "lambdarank-000": """
ranker = "lambdarank"
sampler = "grid"

[fixed]
n_epochs = 300
early_stopping = 50

[space]
n_hidden = [0, 5, 10, 15]
learning_rate = { low = 1e-4, high = 1e-2, log = true, points = 5 }
""",
    # Gao et al. 2009, sections 5.1 and 5.2: the shrinkage ν and the number of rounds M are chosen
    # on validation data. They came to ν = 0.5 and M = 500; what else was tried is not listed.
    "lambdaboost-002": """
ranker = "lambdaboost"
sampler = "grid"

[fixed]
n_estimators = 1000
early_stopping = 100

[space]
learning_rate = [0.05, 0.1, 0.2, 0.5, 1.0]
""",
    # Gao et al. 2009, sections 5.2 and 5.3: ν and L, which came to 0.5 and 20; against noise
    # shallow trees, and shares of the documents and features that are drawn at every node (0.7).
    "lambdasmart-002": """
ranker = "lambdamart"
sampler = "random"
trials = 60

[fixed]
n_estimators = 1000
early_stopping = 100

[space]
learning_rate = [0.05, 0.1, 0.2, 0.5]
max_leaf_nodes = [2, 5, 10, 15, 20]
row_fraction = [0.3, 0.5, 0.7, 1.0]
feature_fraction = [0.3, 0.5, 0.7, 1.0]
""",
}
PRESETS = tuple(_TEXTS)


def preset(name: str) -> Declaration:
    """The declaration of a name."""
    if name not in _TEXTS:
        raise ParameterError(f"there is no preset {name!r}; there are {', '.join(PRESETS)}")
    return parse_declaration(_TEXTS[name], f"the preset {name}")
