"""Ways of computing a measure, by number: what kernels know a measure by.

A kernel sees a measure as four things (see ``judged.Judged``): one of these codes, one grade a
document, one discount a rank, and one or more norms a query. Positions are 0-based, ``p``; the
rank is ``p + 1``. With g = grade, d = discount, N = norm(s) of the query:
"""

LINEAR = 0  # Σ_p g_p d_p · N                   NDCG, DCG, precision
LAYERED = 1  # Σ_p g_p d_p N_p                  mean of NDCG@1..depth
CASCADE = 2  # Σ_p g_p d_p Π_{q<p} (1 − g_q)    ERR
PRECISIONS = 3  # Σ_p g_p d_p Σ_{q≤p} g_q · N   AP, with g in {0, 1}
FIRST = 4  # d at the first p with g_p = 1      RR
PAIRS = 5  # right pairs · N
