"""What other libraries call things, so that a wrong word is answered with the right one."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from rankinite.errors import ParameterError

# Our words, and those that stand for them elsewhere.
_WORDS = {
    "qid": "group groups group_id query query_id qids",
    "sample_weight": "weight weights sample_weights",
    "query_weight": "group_weight",
    "valid": "eval_set evals valid_sets validation_data eval_group eval_qid",
    "valid_measure": "eval_metric eval_at metric",
    "measure": "objective loss_function eval_metric metric",
    "early_stopping": "early_stopping_rounds early_stopping_round n_iter_no_change patience",
    "n_estimators": "n_iter max_iter iterations num_iterations num_boost_round num_round n_trees "
    "num_trees n_rounds n_epochs",
    "n_epochs": "epochs n_iter max_iter iterations max_epochs n_estimators n_rounds",
    "max_leaf_nodes": "num_leaves max_leaves n_leaves",
    "max_depth": "depth",
    "min_samples_leaf": "min_child_samples min_data_in_leaf min_samples_split",
    "min_curvature_leaf": "min_child_weight min_sum_hessian_in_leaf min_sum_hessian",
    "l2_regularization": "lambda_l2 reg_lambda lambda l2_leaf_reg l2",
    "learning_rate": "lr eta shrinkage shrinkage_rate alpha",
    "query_fraction": "subsample bagging_fraction",
    "importance_fraction": "data_sample_strategy top_rate other_rate mvs_reg bootstrap_type "
    "sampling_method",
    "row_fraction": "subsample_bynode",
    "feature_fraction": "colsample_bytree colsample_bynode colsample max_features rsm",
    "max_bins": "max_bin border_count n_bins",
    "random_state": "seed random_seed",
    "n_threads": "n_jobs nthread num_threads num_thread thread_count",
    "base_model": "init_model init_score base_margin init",
    "verbose": "verbosity verbose_eval silent",
    "n_hidden": "hidden_layer_sizes hidden hidden_size",
    "truncation": "lambdarank_truncation_level",
    "normalize": "lambdarank_norm",
    "n_rounds": "num_iteration ntree_limit iteration_range ntree_end n_trees",
}
# What is different about ours.
_BUT = {
    "group": ", which is the id of its query for each row, not the sizes of the queries",
    "eval_set": ", a Dataset or a dict of them by name",
}
# Words whose meaning only comes near to that of ours.
_NEAR = {
    *("subsample", "bagging_fraction", "min_samples_split", "objective"),
    *("data_sample_strategy", "top_rate", "other_rate", "mvs_reg", "bootstrap_type"),
    "sampling_method",
}


def refuse_unknown(
    what: str, given: Mapping[str, Any], known: Collection[str], of_ranker: Collection[str] = ()
) -> None:
    """Refuse arguments that there are not, with the word to use instead if there is one.

    Parameters
    ----------
    what : str
        What was called: "LambdaMART", "fit".
    given : dict
        The arguments by name.
    known : collection of str
        Those that there are.
    of_ranker : collection of str
        Parameters of the ranker, whose method was called.
    """
    for word in given:
        if word in known:
            continue
        if word in of_ranker:
            raise ParameterError(
                f"{what} has no parameter {word!r}: it is one of the ranker, {word}=..."
            )
        like = "what comes near to it here is" if word in _NEAR else "here it is called"
        ours = [name for name, words in _WORDS.items() if word in words.split()]
        for names, where in ((known, ""), (of_ranker, ", a parameter of the ranker")):
            for name in ours:
                if name in names:
                    raise ParameterError(
                        f"{what} has no parameter {word!r}: {like} {name}{where}"
                        f"{_BUT.get(word, '')}"
                    )
        raise ParameterError(f"{what} has no parameter {word!r}; it has {', '.join(known)}")
