"""The C in which models are written, as texts with gaps between two @.

The writer fills the gaps, and the reader finds what was filled in: a file whose text around the
gaps is another one is not of this writer, and is not taken for a model. So what is checked before a
file is written is all that a compiler will see of it.

Nothing here may depend on how a compiler rounds: there is no product that is added to something in
the sums of trees, unless `NO_CONTRACTION` stands before it, and no sum is taken in another order
than ours.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_GAP = re.compile(r"@(\w+)@")
# What a gap may hold: names and numbers, and in tables anything up to the end of the statement.
_WORD, _TABLE = r"[^\n;@]*", r"[^;@]*"


def filled(template: str, fields: Mapping[str, str]) -> str:
    """The template with its gaps filled."""
    return _GAP.sub(lambda gap: fields[gap[1]], template)


def pattern(template: str, known: Mapping[str, str]) -> re.Pattern[str]:
    """What finds the fields of a template, of which some are known.

    Fields in capitals are tables, which may go over several lines.
    """
    parts, end, seen = [], 0, set()
    for gap in _GAP.finditer(template):
        parts.append(re.escape(template[end : gap.start()]))
        field = gap[1]
        if field in known:
            parts.append(re.escape(known[field]))
        elif field in seen:
            parts.append(f"(?P={field})")
        else:
            parts.append(f"(?P<{field}>{_TABLE if field.isupper() else _WORD})")
            seen.add(field)
        end = gap.end()
    return re.compile("".join([*parts, re.escape(template[end:])]))


HEADER = """\
/* A ranking model for C and C++, in @stem@.c: compile it with the rest, and link with -lm.
 *
 *     double features[@Name@_N_FEATURES] = { ... };
 *     double score = @name@_score(features);
 *
 * A document with a higher score ranks higher. A value that is missing is NAN of math.h.
 *
 *     @name@_scores(features, n_rows, @Name@_N_FEATURES, scores);
 *
 * scores as many documents, each of which begins so many doubles after the one before. Nothing is
 * kept between calls, and any number of threads may call at the same time.
 *
 * The features, as @name@_feature_names has them:
 *
@list@
 */
#ifndef @Name@_H
#define @Name@_H

#include <stddef.h>

#define @Name@_N_FEATURES @n_features@

#ifdef __cplusplus
extern "C" {
#endif

/* After the last name comes a null pointer. */
extern const char *const @name@_feature_names[@Name@_N_FEATURES + 1];

double @name@_score(const double *features);

void @name@_scores(const double *features, size_t n_rows, size_t stride, double *scores);

#ifdef __cplusplus
}
#endif

#endif
"""

HEAD = """\
/* @name@: a ranking model in C99, which is C++ too. @stem@.h says how to use it.
 * Written by rankinite; C source 1, @kind@.
 */
#include "@stem@.h"

#include <float.h>
#include <math.h>
#include <stdint.h>

#if @Name@_N_FEATURES != @n_features@
#error "@stem@.h belongs to another model"
#endif
#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || defined(_M_FP_FAST) || \\
    (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__ != 0)
#error "compile without -ffast-math: missing values are NaN, and sums have an order"
#endif
#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 16
#error "doubles are rounded otherwise here: compile with -msse2 -mfpmath=sse"
#endif

const char *const @name@_feature_names[@Name@_N_FEATURES + 1] = {
@NAMES@0};
"""

# Scores are products, to which something is added: in one step they would be rounded once only.
NO_CONTRACTION = """
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("fp-contract=off")
#elif defined(_MSC_VER)
#pragma fp_contract(off)
#else
#pragma STDC FP_CONTRACT OFF
#endif
"""

TABLE_TYPES = """
typedef struct {
    double threshold; /* of a leaf its value */
    uint32_t slot;    /* where the row has the feature; 0 for a leaf, which leads to itself */
    uint32_t left;    /* where x <= threshold leads; right of it lies the other child */
} @name@_node;

typedef struct {
    uint32_t feature;
    uint32_t zero_is_missing;
    double missing; /* what stands for a missing value: -INFINITY goes left, NAN right */
} @name@_slot;

typedef struct {
    const @name@_node *nodes;
    const uint32_t *roots;
    size_t n_trees;
    const @name@_slot *slots;
    size_t n_slots;
    double start, scale, divisor, bias;
} @name@_forest;
"""

# One forest: what it looks at, its nodes, where its trees begin, and what is done with their sum.
TABLES = """
static const @name@_slot @name@_slots_@k@[] = {@SLOTS@};

static const @name@_node @name@_nodes_@k@[] = {
@NODES@};

static const uint32_t @name@_roots_@k@[] = {
@ROOTS@};

static const @name@_forest @name@_forest_@k@ = {
    @name@_nodes_@k@, @name@_roots_@k@, @n_trees@, @name@_slots_@k@, @n_slots@,
    @start@, @scale@, @divisor@, @bias@};
"""

# `sum` is double or float, in which every partial sum is kept.
TABLE_FUNCTIONS = """
#define @Name@_LANES 16
#define @Name@_FEW 8
#define @Name@_MOST_SLOTS @most_slots@

typedef @sum@ @name@_sum;

static void @name@_look(const @name@_forest *forest, const double *features, double *row)
{
    size_t k;
    row[0] = -INFINITY;
    for (k = 1; k < forest->n_slots; k++) {
        const @name@_slot *slot = forest->slots + k;
        double x = features[slot->feature];
        int zero = x >= -@nothing@ && x <= @nothing@;
        row[k] = x != x || (zero && slot->zero_is_missing) ? slot->missing : x;
    }
}

/* Several rows in one tree, or one row (step 0) in several trees: while one of them waits for the
 * next node, the others go on. They start at roots, and end at leaves. */
static void @name@_descend(const @name@_node *nodes, const double *rows, size_t step, uint32_t *at,
                           size_t n)
{
    uint32_t moved;
    do {
        size_t k;
        moved = 0;
        for (k = 0; k < n; k++) {
            const @name@_node *node = nodes + at[k];
            uint32_t to = node->left + !(rows[k * step + node->slot] <= node->threshold);
            moved |= to ^ at[k];
            at[k] = to;
        }
    } while (moved != 0);
}

static double @name@_of_sum(const @name@_forest *forest, @name@_sum sum)
{
    return (double)sum * forest->scale / forest->divisor + forest->bias;
}

static double @name@_one(const @name@_forest *forest, const double *features)
{
    double row[@Name@_MOST_SLOTS];
    uint32_t at[@Name@_LANES];
    @name@_sum sum = (@name@_sum)forest->start;
    size_t t, n, k;
    @name@_look(forest, features, row);
    for (t = 0; t < forest->n_trees; t += n) {
        n = forest->n_trees - t < @Name@_LANES ? forest->n_trees - t : @Name@_LANES;
        for (k = 0; k < n; k++)
            at[k] = forest->roots[t + k];
        @name@_descend(forest->nodes, row, 0, at, n);
        for (k = 0; k < n; k++)
            sum = (@name@_sum)(sum + forest->nodes[at[k]].threshold);
    }
    return @name@_of_sum(forest, sum);
}
"""

TABLE_ROWS = """
#if defined(__GNUC__)
#define @Name@_ASK_FOR(place) __builtin_prefetch(place)
#else
#define @Name@_ASK_FOR(place) ((void)(place))
#endif

static void @name@_some(const @name@_forest *forest, const double *features, size_t n_rows,
                        size_t stride, double *scores)
{
    double rows[@Name@_LANES * @Name@_MOST_SLOTS];
    uint32_t at[@Name@_LANES];
    @name@_sum sums[@Name@_LANES];
    size_t t, k;
    for (k = 0; k < n_rows; k++) {
        @name@_look(forest, features + k * stride, rows + k * forest->n_slots);
        sums[k] = (@name@_sum)forest->start;
    }
    for (t = 0; t < forest->n_trees; t++) {
        /* The next tree, by lines of the cache of four nodes. */
        if (t + 2 < forest->n_trees)
            for (k = forest->roots[t + 1]; k < forest->roots[t + 2]; k += 4)
                @Name@_ASK_FOR(forest->nodes + k);
        for (k = 0; k < n_rows; k++)
            at[k] = forest->roots[t];
        @name@_descend(forest->nodes, rows, forest->n_slots, at, n_rows);
        for (k = 0; k < n_rows; k++)
            sums[k] = (@name@_sum)(sums[k] + forest->nodes[at[k]].threshold);
    }
    for (k = 0; k < n_rows; k++)
        scores[k] = @name@_of_sum(forest, sums[k]);
}

static void @name@_sums(const @name@_forest *forest, const double *features, size_t n_rows,
                        size_t stride, double *scores)
{
    size_t i = 0;
    while (i < n_rows) {
        size_t n = n_rows - i < @Name@_LANES ? n_rows - i : @Name@_LANES;
        if (n < @Name@_FEW) {
            n = 1;
            scores[i] = @name@_one(forest, features + i * stride);
        } else {
            @name@_some(forest, features + i * stride, n, stride, scores + i);
        }
        i += n;
    }
}
"""

# Rows of so many slots would need too much of the stack together.
TABLE_ROWS_APART = """
static void @name@_sums(const @name@_forest *forest, const double *features, size_t n_rows,
                        size_t stride, double *scores)
{
    size_t i;
    for (i = 0; i < n_rows; i++)
        scores[i] = @name@_one(forest, features + i * stride);
}
"""

BRANCH_TYPES = """
typedef struct {
    double (*const *trees)(const double *x);
    size_t n_trees;
    double start, scale, divisor, bias;
} @name@_forest;
"""

BRANCH_ZERO = """
static int @name@_zero(double x)
{
    return x >= -@nothing@ && x <= @nothing@;
}
"""

BRANCH_TREE = """
static double @name@_tree_@k@_@t@(const double *x)
{
"""

BRANCHES = """
static double (*const @name@_trees_@k@[])(const double *x) = {
@TREES@};

static const @name@_forest @name@_forest_@k@ = {
    @name@_trees_@k@, @n_trees@, @start@, @scale@, @divisor@, @bias@};
"""

BRANCH_FUNCTIONS = """
#define @Name@_TOGETHER 64

typedef @sum@ @name@_sum;

/* Tree after tree, so that the code of a tree is at hand for all rows. */
static void @name@_some(const @name@_forest *forest, const double *features, size_t n_rows,
                        size_t stride, double *scores)
{
    @name@_sum sums[@Name@_TOGETHER];
    size_t t, i;
    for (i = 0; i < n_rows; i++)
        sums[i] = (@name@_sum)forest->start;
    for (t = 0; t < forest->n_trees; t++)
        for (i = 0; i < n_rows; i++)
            sums[i] = (@name@_sum)(sums[i] + forest->trees[t](features + i * stride));
    for (i = 0; i < n_rows; i++)
        scores[i] = (double)sums[i] * forest->scale / forest->divisor + forest->bias;
}

static void @name@_sums(const @name@_forest *forest, const double *features, size_t n_rows,
                        size_t stride, double *scores)
{
    size_t i, n;
    for (i = 0; i < n_rows; i += n) {
        n = n_rows - i < @Name@_TOGETHER ? n_rows - i : @Name@_TOGETHER;
        @name@_some(forest, features + i * stride, n, stride, scores + i);
    }
}
"""

FOREST_SCORES = """
void @name@_scores(const double *features, size_t n_rows, size_t stride, double *scores)
{
    @name@_sums(&@name@_forest_0, features, n_rows, stride, scores);
}

double @name@_score(const double *features)
{
    double score;
    @name@_scores(features, 1, @Name@_N_FEATURES, &score);
    return score;
}
"""

# The chances of all grades, and what they are worth: value · chance, added up.
EXPECTED = {
    "multinomial": """
static double @name@_expected(const double *outputs)
{
    double largest = outputs[0], total = 0.0, score = 0.0, e[@Name@_CLASSES];
    size_t k;
    for (k = 1; k < @Name@_OUTPUTS; k++)
        largest = outputs[k] > largest ? outputs[k] : largest;
    for (k = 0; k < @Name@_OUTPUTS; k++) {
        e[k] = exp(outputs[k] - largest);
        total += e[k];
    }
    for (k = 0; k < @Name@_CLASSES; k++)
        score += @name@_values[k] * (e[k] / total);
    return score;
}
""",
    "ordinal": """
static double @name@_expected(const double *outputs)
{
    double above = 1.0, score = 0.0;
    size_t k;
    for (k = 0; k < @Name@_OUTPUTS; k++) {
        double small = exp(-fabs(outputs[k]));
        double at_least = (outputs[k] >= 0.0 ? 1.0 : small) / (1.0 + small);
        at_least = at_least < above ? at_least : above;
        score += @name@_values[k] * (above - at_least);
        above = at_least;
    }
    return score + @name@_values[@Name@_CLASSES - 1] * above;
}
""",
}

CLASSES = """
#define @Name@_OUTPUTS @n_outputs@
#define @Name@_CLASSES @n_classes@
#define @Name@_BLOCK 64

static const double @name@_values[] = {@VALUES@};

static const @name@_forest *const @name@_forests[] = {
@FORESTS@};
"""

CLASS_SCORES = """
void @name@_scores(const double *features, size_t n_rows, size_t stride, double *scores)
{
    double sums[@Name@_BLOCK], outputs[@Name@_BLOCK][@Name@_OUTPUTS];
    size_t first, n, i, k;
    for (first = 0; first < n_rows; first += n) {
        n = n_rows - first < @Name@_BLOCK ? n_rows - first : @Name@_BLOCK;
        for (k = 0; k < @Name@_OUTPUTS; k++) {
            @name@_sums(@name@_forests[k], features + first * stride, n, stride, sums);
            for (i = 0; i < n; i++)
                outputs[i][k] = sums[i];
        }
        for (i = 0; i < n; i++)
            scores[first + i] = @name@_expected(outputs[i]);
    }
}

double @name@_score(const double *features)
{
    double score;
    @name@_scores(features, 1, @Name@_N_FEATURES, &score);
    return score;
}
"""

LINEAR = """
static const double @name@_weights[] = {
@WEIGHTS@};

double @name@_score(const double *features)
{
    double sum = 0.0;
    size_t j;
    for (j = 0; j < @Name@_N_FEATURES; j++) {
        double x = @cast@features[j];
        if (x == x)
            sum += x * @name@_weights[j];
    }
    return @intercept@ + sum;
}
"""

STANDARDISED = """
static const double @name@_mean[] = {
@MEAN@};

static const double @name@_scale[] = {
@SCALE@};

/* What stands for -INFINITY and INFINITY. */
static const double @name@_low[] = {
@LOW@};

static const double @name@_high[] = {
@HIGH@};

static double @name@_standardised(double x, size_t j)
{
    double z;
    if (x > DBL_MAX)
        x = @name@_high[j];
    else if (x < -DBL_MAX)
        x = @name@_low[j];
    z = (x - @name@_mean[j]) * @name@_scale[j];
    if (z != z)
        return 0.0;
    return z > @farthest@ ? @farthest@ : z < -@farthest@ ? -@farthest@ : z;
}
"""

NET_WITHOUT_LAYER = """
static const double @name@_output[] = {
@OUTPUT@};

double @name@_score(const double *features)
{
    double sum = 0.0;
    size_t j;
    for (j = 0; j < @Name@_N_FEATURES; j++)
        sum += @name@_standardised(features[j], j) * @name@_output[j];
    return sum + @output_bias@;
}
"""

NET = """
#define @Name@_N_HIDDEN @n_hidden@

/* All weights of a feature lie together. */
static const double @name@_hidden[] = {
@HIDDEN@};

static const double @name@_hidden_bias[] = {
@BIAS@};

static const double @name@_output[] = {
@OUTPUT@};

double @name@_score(const double *features)
{
    double sums[@Name@_N_HIDDEN] = {0.0}, sum = 0.0;
    size_t j, k;
    for (j = 0; j < @Name@_N_FEATURES; j++) {
        double z = @name@_standardised(features[j], j);
        for (k = 0; k < @Name@_N_HIDDEN; k++)
            sums[k] += z * @name@_hidden[j * @Name@_N_HIDDEN + k];
    }
    for (k = 0; k < @Name@_N_HIDDEN; k++)
        sum += tanh(sums[k] + @name@_hidden_bias[k]) * @name@_output[k];
    return sum + @output_bias@;
}
"""

SCORES_ONE_BY_ONE = """
void @name@_scores(const double *features, size_t n_rows, size_t stride, double *scores)
{
    size_t i;
    for (i = 0; i < n_rows; i++)
        scores[i] = @name@_score(features + i * stride);
}
"""
