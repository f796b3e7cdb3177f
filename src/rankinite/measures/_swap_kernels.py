"""Kernels of swaps: how a measure changes when two documents trade their ranks."""

from __future__ import annotations

import numpy as np

from rankinite._numba import BORROWS, kernel
from rankinite.measures.codes import CASCADE, FIRST, LINEAR, PRECISIONS


@kernel(**BORROWS)
def swap_terms(code, grades, discounts, norms, G, S, U, V):
    """Write the terms from which the change of the measure under any swap follows.

    For positions i < j (i is ranked above j) of a measure other than the pairs,

        Z(after the swap) − Z(before) = (G_j − G_i) · S_i · (U_i − V_j)

    so all pairs cost a product each, after one pass of O(n). The change does not have to ask which
    of two documents is ranked above: with b the better and w the worse of them,

        |Z(after) − Z(before)| = (G_b − G_w) · max(S_b · (U_b − V_w), S_w · (U_w − V_b))

    because the term of the two that does not apply is never the larger one. The one that applies is
    not negative, whatever U and V are rounded to: neither rises from rank to rank, not even by a
    rounding error.

    Parameters
    ----------
    code : int
    grades : float64, shape (n,)
        The query's grades in rank order.
    discounts : float64, shape (≥ n,)
    norms : float64, shape (width,)
        The row of the query.
    G, S, U, V : float64, shape (≥ n,)
        Written.
    """
    if code == CASCADE:
        _cascade_terms(grades, discounts, norms[0], G, S, U, V)
    elif code == PRECISIONS:
        _precisions_terms(grades, discounts, norms[0], G, S, U, V)
    elif code == FIRST:
        _first_terms(grades, discounts, norms[0], G, S, U, V)
    else:
        weight_terms(code, grades, discounts, norms, G, U)
        for p in range(grades.shape[0]):
            S[p] = 1.0
            V[p] = U[p]


@kernel(**BORROWS)
def weight_terms(code, grades, discounts, norms, G, U):
    """Grades times weights: the documents trade their weights, (g_j − g_i)(weight_i − weight_j).

    So S is 1, and V is U. For the codes LINEAR and LAYERED.
    """
    for p in range(grades.shape[0]):
        if code == LINEAR:
            G[p] = grades[p] * norms[0]
            U[p] = discounts[p]
        else:
            G[p] = grades[p]
            U[p] = discounts[p] * norms[p] if p < norms.shape[0] else 0.0


@kernel(**BORROWS)
def _cascade_terms(grades, discounts, norm, G, S, U, V):
    """ERR in one pass down and one up (Burges et al. 2011, section 3).

    With R the grades, T = 1 − R, π_p = T_0 ⋯ T_p (the user is still reading after p) and B_p the
    value collected below p: a swap of i < j changes the term of i by π_{i−1} d_i (R_j − R_i),
    scales everything between by T_j / T_i, and changes the term of j by
    π_{j−1} d_j (R_i T_j / T_i − R_j). All three have the factor (R_j − R_i) / T_i, and

        Z(after) − Z(before) = (R_j − R_i) / T_i · [(π_i d_i − B_i) − (π_{j−1} d_j − B_{j−1})].

    The second term in the brackets is π_j d_j − B_j, as B_{j−1} = π_{j−1} R_j d_j + B_j. So V is U,
    which falls from rank to rank. The sums run from the bottom, because all in the brackets is as
    small as T_i: what is collected above i would swallow it.
    """
    n = grades.shape[0]
    reading = 1.0
    for p in range(n):
        stays = 1.0 - grades[p]
        G[p] = grades[p] * norm
        S[p] = 1.0 / stays
        V[p] = reading
        reading *= stays
        U[p] = reading
    below = 0.0
    lowest = -np.inf
    for p in range(n - 1, -1, -1):
        lowest = max(lowest, U[p] * discounts[p] - below)
        below += V[p] * grades[p] * discounts[p]
        U[p] = lowest
        V[p] = lowest


@kernel(**BORROWS)
def _precisions_terms(grades, discounts, norm, G, S, U, V):
    """AP in one pass.

    With C_p the number of relevant documents down to p and H_p = Σ d_q over the relevant q ≤ p:

    * a relevant document goes down from i to j: the term C_i d_i is lost, each relevant document
      between loses one from its count and so d_q, and C_j d_j is won:
      Z(after) − Z(before) = −[(C_i d_i − H_i) − (C_j d_j − H_j)];
    * a relevant document comes up from j to i: the term C_j d_j is lost, each one between wins
      d_q (their sum is H_j − d_j − H_i), and (C_i + 1) d_i is won:
      Z(after) − Z(before) = [(C_i + 1) d_i − H_i] − [(C_j + 1) d_j − H_j].

    The second holds for i irrelevant and j relevant, the first for the opposite; both times the
    norm. None of the terms in brackets rises from rank to rank.
    """
    count = 0.0
    harmonic = 0.0
    going_down = np.inf
    coming_up = np.inf
    for p in range(grades.shape[0]):
        relevant = grades[p] > 0.0
        if relevant:
            count += 1.0
            harmonic += discounts[p]
        going_down = min(going_down, count * discounts[p] - harmonic)
        coming_up = min(coming_up, (count + 1.0) * discounts[p] - harmonic)
        G[p] = grades[p] * norm
        S[p] = 1.0
        U[p] = going_down if relevant else coming_up
        V[p] = coming_up if relevant else going_down


@kernel(**BORROWS)
def _first_terms(grades, discounts, norm, G, S, U, V):
    """RR: only the first relevant document (at f) and the second (at s) matter.

    The one at f goes down to j: the first is then at s or j, whichever is above, so the value
    goes from d_f to max(d_s, d_j). A relevant one comes up from j to an i above f: from d_f to
    d_i. Every other swap leaves the value, which S = 0 says.
    """
    n = grades.shape[0]
    first = n
    second = n
    for p in range(n):
        if grades[p] > 0.0:
            if first == n:
                first = p
            else:
                second = p
                break
    at_first = discounts[first] if first < n else 0.0
    at_second = discounts[second] if second < n else 0.0
    for p in range(n):
        G[p] = grades[p] * norm
        S[p] = 1.0 if p <= first else 0.0
        U[p] = discounts[p]
        V[p] = at_first if grades[p] > 0.0 else max(at_second, discounts[p])
