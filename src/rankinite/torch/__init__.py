"""Nets of one's own in PyTorch, trained on the λ-gradients of any measure.

`LambdaLoss` is for training loops of one's own; `TorchRanker` trains any ``torch.nn.Module`` that
maps rows of features to scores, and is a ranker like the others. `Perceptron` is one whose net is
described by parameters, so that it can be loaded, and be a member of an ensemble, without code.
"""

try:
    import torch as _torch  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "torch":
        raise
    raise ModuleNotFoundError(
        "rankinite.torch needs PyTorch, which is not installed: pip install 'rankinite[torch]'",
        name="torch",
    ) from None

from rankinite.torch.loss import LambdaLoss
from rankinite.torch.perceptron import Perceptron
from rankinite.torch.torch_ranker import TorchRanker, load

__all__ = ["LambdaLoss", "Perceptron", "TorchRanker", "load"]
