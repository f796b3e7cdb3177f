"""A net of your own on the λ-gradients: once in your own training loop, once as a ranker.

Needs PyTorch: pip install 'rankinite[torch]'
"""

import numpy as np

import rankinite as rk
import torch
from rankinite.torch import LambdaLoss, TorchRanker

train, valid, test = rk.artificial(n_queries=(200, 50, 100), n_docs=20, n_features=10)


def make_net(n_features: int) -> torch.nn.Module:
    """Two layers, from features to one score."""
    return torch.nn.Sequential(
        torch.nn.Linear(n_features, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1)
    )


def ndcg(net: torch.nn.Module) -> float:
    """NDCG@10 on the test queries; any function of the feature matrix can be evaluated."""
    with torch.no_grad():
        scores = net(torch.from_numpy(test.X))[:, 0].numpy()
    return rk.evaluate(scores, test, "ndcg@10")["ndcg@10"]


# 1. A loop of your own. Every query has 20 documents here, so a batch is (queries, documents).
torch.manual_seed(0)
net = make_net(10)
print(f"NDCG@10 before: {ndcg(net):.4f}")
loss = LambdaLoss("ndcg@10")
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
X = torch.from_numpy(train.X).reshape(-1, 20, 10)
y = torch.from_numpy(train.y).reshape(-1, 20)
for _ in range(10):
    for batch in torch.randperm(len(X)).split(10):
        cost = loss(net(X[batch])[..., 0], y[batch])
        optimizer.zero_grad()
        cost.backward()
        optimizer.step()
print(f"NDCG@10 after a loop of your own: {ndcg(net):.4f}")

# 2. The same net as a ranker: early stopping, base models, saving, and any size of queries.
ranker = TorchRanker(
    make_net, n_epochs=30, queries_per_step=10, learning_rate=0.01, early_stopping=5
)
ranker.fit(train, valid=valid)
value = rk.evaluate(ranker, test, "ndcg@10")["ndcg@10"]
print(f"NDCG@10 after {ranker.best_iteration_} epochs as a ranker: {value:.4f}")
ranker.save("own_net.rk")
loaded = rk.torch.load("own_net.rk", make_net)
assert np.array_equal(loaded.predict(test), ranker.predict(test))
