"""Train on the processes of an MPI job: mpiexec -n 4 python examples/on_workers.py

Every process has queries of its own, here those that it makes, and all of them get the model that
one process would have got from all queries, bit for bit. Process 0 speaks and writes.
"""

import rankinite as rk

comm = rk.mpi()
everything, valid = rk.artificial(n_queries=(200, 60), n_docs=20, n_features=10)
share = everything.select_queries(range(comm.rank, everything.n_queries, comm.size))
valid = valid.select_queries(range(comm.rank, valid.n_queries, comm.size))

model = rk.LambdaMART(n_estimators=30, max_leaf_nodes=15, early_stopping=10)
model.fit(share, valid=valid, communicator=comm)

found = rk.evaluate(model, valid, ["ndcg@10", "map"], communicator=comm)
if comm.rank == 0:
    model.save("ranker.rk")
    print(f"{comm.size} workers, {comm.traffic.total.bytes:,} bytes told by worker 0")
    print(found)
