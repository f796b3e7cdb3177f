"""Nets that rank: RankNet and LambdaRank, linear or with a hidden layer."""

from rankinite.nets.lambdarank import LambdaRank
from rankinite.nets.net import Net
from rankinite.nets.ranknet import RankNet

__all__ = ["LambdaRank", "Net", "RankNet"]
