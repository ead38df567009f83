/* The averages of the mean-value hierarchy at many anchors.
 *
 * Every average is a sum over nodes (x0 + r y, tau0 - r^2 s) around an anchor (ball_nodes.c), of
 * integrands made from the field and the drift there (sources.c):
 *     F(x0,tau0) = mean of F + (C1 r^2/4) mean of h_F         F = v, u/u0, w/u0
 *     S(x0,tau0) = mean of grad v + r mean of (arm h_v)
 * with the constants of the ball in D = dim + lift dimensions.
 *
 * Monte Carlo: N antithetic pairs. The k-th pairs of the two averages of a line make one number
 * (one row); the standard error is that of the mean of these N independent numbers. The pairs of an
 * anchor are cut into at most CHUNKS chunks; a task is one chunk of one anchor, and the chunks are
 * merged in their order, so that threads change no bit. Draws depend on (seed, index of the anchor,
 * pair).
 *
 * Cubature: exact rules, ROTATIONS rotations of the rule. The estimate is the mean over the
 * rotations. Its error is the standard error over rotations, the change from degree p-2 to p, and
 * rounding. The change is |change of the average of F| + |change of its source|. It is too small
 * where the errors of both degrees agree by chance. So it is at least the change from p-4 to p-2
 * times the geometric mean of the ratios of the two changes over all columns.
 *
 * A number to reproduce: in two dimensions (C1 r^2/4) = 0.00994718 r^2. */
#include "mean/averages.h"
#include "ball/ball_nodes.h"
#include "base/context.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "mean/moments.h"

#include <math.h>
#include <string.h>

enum {
    CHUNKS = 64, /* tasks per anchor at most, unless they would be too long */
    MIN_CHUNK_PAIRS = 1024,
    MAX_CHUNK_PAIRS = 1 << 18, /* a task ends soon enough for a stop to be heard */
    BLOCK_PAIRS = 1024,        /* pairs that are evaluated in one call of the field, in small dim */
    BLOCK_DOUBLES = 65536,     /* and the coordinates of a block otherwise */
    ROTATIONS = 4,             /* rotations of a cubature rule */
    KINDS = 3,
    RULES = 3 /* of degree p, p-2, p-4 */
};
/* What is left when an integrand is constant: the rounding of its sum, relative to its size. */
static const double ROUNDING = 64 * 2.220446049250313e-16;

/* ---- what one thread works with ---- */

typedef struct thread_scratch {
    hb_context context;
    hb_nodes nodes;
    hb_ball_nodes unit;      // random: (2 pairs)
    hb_ball_nodes_draw draw; // random
    double *values;          // (2 pairs, HB_COLUMNS)
    double *rows;            // (pairs, columns)
    double *totals;          // (3, 1 + 2 RULES, columns): cubature
} thread_scratch;

typedef struct average_run {
    const hb_anchors *anchors;
    hb_average_wish wish;
    size_t d, columns;
    size_t block_pairs, chunk_pairs, chunks; /* of Monte Carlo */
    int n_threads, rotations;
    thread_scratch *scratch; // (n_threads)
    double *parts;           // (n, chunks, 1 + 2 columns): count, means, squares
    hb_ball_nodes units[RULES][KINDS][ROTATIONS]; /* empty below degree 0 */
    double *mean, *error;                         // (n, columns)
} average_run;

#define SCRATCH(member, count) HB_MEMBER(thread_scratch, member, count)

static hb_status average_create_scratch(average_run *run, hb_workspace *work)
{
    const hb_anchors *anchors = run->anchors;
    const size_t pairs = run->block_pairs, n = 2 * pairs, d = run->d;
    HB_TRY(HB_WORKSPACE_EACH(
        anchors->context, work, run->scratch, (size_t)run->n_threads, SCRATCH(nodes.x, n * d),
        SCRATCH(nodes.tau, n), SCRATCH(nodes.v, n), SCRATCH(nodes.gradient, n * d),
        SCRATCH(nodes.drift, n * d), SCRATCH(nodes.divergence, n), SCRATCH(unit.y, n * d),
        SCRATCH(unit.s, n), SCRATCH(unit.arm, n * d), SCRATCH(draw.z, pairs * d),
        SCRATCH(draw.sigma, pairs), SCRATCH(draw.uniform, pairs), SCRATCH(values, n * HB_COLUMNS),
        SCRATCH(rows, pairs * run->columns), SCRATCH(totals, 3 * (1 + 2 * RULES) * run->columns)));
    for (int t = 0; t < run->n_threads; t++) {
        thread_scratch *own = run->scratch + t;
        own->context = hb_context_child(anchors->context, 1);
        own->nodes.capacity = n;
        own->draw.dim = anchors->equation.dim;
        own->draw.lift = anchors->settings.lift;
        own->draw.c_g = anchors->constants.c_g;
    }
    return HB_OK;
}

/* Nodes first .. first+n-1 of a rule around anchor i, with the field and, for sources, the
 * drift. */
static hb_status evaluate_nodes(const average_run *run, thread_scratch *scratch, size_t i,
                                hb_ball_nodes_kind kind, const hb_ball_nodes *unit, size_t first,
                                size_t n)
{
    const hb_anchors *anchors = run->anchors;
    const double r = anchors->radius[i], *x0 = anchors->x + i * run->d;
    hb_nodes *nodes = &scratch->nodes;
    nodes->n = n;
    for (size_t k = 0; k < n; k++) {
        const double *y = unit->y + (first + k) * run->d;
        for (size_t c = 0; c < run->d; c++) nodes->x[k * run->d + c] = x0[c] + r * y[c];
        nodes->tau[k] = anchors->tau0 - r * r * unit->s[first + k];
    }
    const int gradient = kind != HB_BALL_NODES_VALUE || run->wish.score;
    HB_TRY(hb_field_values(&scratch->context, &anchors->equation, n, nodes->x, nodes->tau, nodes->v,
                           gradient ? nodes->gradient : NULL));
    if (kind == HB_BALL_NODES_VALUE) return HB_OK;
    return hb_drift_values(&scratch->context, &anchors->equation, n, nodes->x, nodes->tau,
                           nodes->drift, nodes->divergence);
}

/* Integrands of v, u, w at the nodes, into scratch->values. */
static void fill_values(const average_run *run, thread_scratch *scratch, size_t i,
                        hb_ball_nodes_kind kind)
{
    if (kind == HB_BALL_NODES_VALUE)
        hb_anchor_deviations(&scratch->nodes, run->anchors->v[i], scratch->values);
    else
        hb_sources(&scratch->nodes, (int)run->d, run->anchors->v[i], scratch->values);
}

/* ---- Monte Carlo ---- */

/* rows += factor * (mean over the pair) for v, u, w. */
static void add_pair_values(const average_run *run, thread_scratch *scratch, size_t pairs,
                            double factor)
{
    for (size_t k = 0; k < pairs; k++)
        for (size_t c = 0; c < HB_COLUMNS; c++)
            scratch->rows[k * run->columns + c] += factor * 0.5 *
                                                   (scratch->values[2 * k * HB_COLUMNS + c] +
                                                    scratch->values[(2 * k + 1) * HB_COLUMNS + c]);
}

static void add_pair_gradients(const average_run *run, thread_scratch *scratch, size_t pairs)
{
    const double *gradient = scratch->nodes.gradient;
    for (size_t k = 0; k < pairs; k++)
        for (size_t c = 0; c < run->d; c++)
            scratch->rows[k * run->columns + HB_COLUMNS + c] +=
                0.5 * (gradient[2 * k * run->d + c] + gradient[(2 * k + 1) * run->d + c]);
}

/* rows += r arm (h_v(+) - h_v(-))/2 */
static void add_pair_arms(const average_run *run, thread_scratch *scratch, size_t i, size_t pairs)
{
    const double r = run->anchors->radius[i];
    for (size_t k = 0; k < pairs; k++) {
        const double odd = 0.5 * (hb_source_v(&scratch->nodes, (int)run->d, 2 * k) -
                                  hb_source_v(&scratch->nodes, (int)run->d, 2 * k + 1));
        for (size_t c = 0; c < run->d; c++)
            scratch->rows[k * run->columns + HB_COLUMNS + c] +=
                r * odd * scratch->unit.arm[2 * k * run->d + c];
    }
}

static hb_status add_pairs(const average_run *run, thread_scratch *scratch, size_t i,
                           hb_ball_nodes_kind kind, uint64_t first, size_t pairs)
{
    const double r = run->anchors->radius[i];
    HB_TRY(hb_ball_nodes_random(&scratch->context, &scratch->draw, kind, first, pairs,
                                &scratch->unit));
    HB_TRY(evaluate_nodes(run, scratch, i, kind, &scratch->unit, 0, 2 * pairs));
    if (kind == HB_BALL_NODES_SCORE) {
        add_pair_arms(run, scratch, i, pairs);
        return HB_OK;
    }
    if (run->wish.values) {
        fill_values(run, scratch, i, kind);
        add_pair_values(run, scratch, pairs,
                        kind == HB_BALL_NODES_VALUE ? 1
                                                    : 0.25 * run->anchors->constants.C1 * r * r);
    }
    if (kind == HB_BALL_NODES_VALUE && run->wish.score) add_pair_gradients(run, scratch, pairs);
    return HB_OK;
}

static int kind_is_wanted(const average_run *run, int kind)
{
    return kind == HB_BALL_NODES_VALUE ||
           (kind == HB_BALL_NODES_SOURCE ? run->wish.values : run->wish.score);
}

static hb_moments part_of(const average_run *run, size_t i, size_t chunk)
{
    double *part = run->parts + (i * run->chunks + chunk) * (1 + 2 * run->columns);
    return (hb_moments){part[0], run->columns, part + 1, part + 1 + run->columns};
}

static hb_status sum_blocks(const average_run *run, thread_scratch *scratch, size_t i,
                            uint64_t first, size_t pairs, hb_moments *moments)
{
    HB_TRY(hb_ball_nodes_seeds(&scratch->context, run->anchors->settings.seed, i,
                               scratch->draw.seeds));
    for (size_t done = 0, count; done < pairs; done += count) {
        count = pairs - done < run->block_pairs ? pairs - done : run->block_pairs;
        memset(scratch->rows, 0, count * run->columns * sizeof(double));
        for (int kind = 0; kind < KINDS; kind++)
            if (kind_is_wanted(run, kind))
                HB_TRY(add_pairs(run, scratch, i, (hb_ball_nodes_kind)kind, first + done, count));
        hb_moments_add(moments, count, scratch->rows);
    }
    return HB_OK;
}

/* Task: one chunk of one anchor. */
static hb_status average_chunk(void *user, size_t index, int thread)
{
    const average_run *run = user;
    thread_scratch *scratch = run->scratch + thread;
    const size_t i = index / run->chunks, chunk = index % run->chunks;
    const size_t first = chunk * run->chunk_pairs, samples = run->anchors->settings.samples;
    const size_t left = first < samples ? samples - first : 0;
    const size_t pairs = left < run->chunk_pairs ? left : run->chunk_pairs;
    double *part = run->parts + index * (1 + 2 * run->columns);
    memset(part, 0, (1 + 2 * run->columns) * sizeof *part);
    hb_moments moments = part_of(run, i, chunk);
    const hb_status status = sum_blocks(run, scratch, i, first, pairs, &moments);
    part[0] = moments.count;
    return hb_context_adopt(run->anchors->context, &scratch->context, status);
}

/* Deviations are differences of numbers of size 1 (u/u0) and |v0|; the score's source is r h_v. */
static double rounding_error(const hb_anchors *a, size_t i, size_t column, double mean)
{
    const double size = column < HB_COLUMNS ? 1 + fabs(a->v[i]) : a->radius[i] * a->source_size[i];
    return ROUNDING * (size + fabs(mean));
}

static void join_chunks(const average_run *run)
{
    for (size_t i = 0; i < run->anchors->n; i++) {
        hb_moments total = part_of(run, i, 0);
        for (size_t chunk = 1; chunk < run->chunks; chunk++) {
            const hb_moments part = part_of(run, i, chunk);
            hb_moments_merge(&total, &part);
        }
        for (size_t c = 0; c < run->columns; c++) {
            run->mean[i * run->columns + c] = total.mean[c];
            run->error[i * run->columns + c] =
                hb_moments_error(&total, c) + rounding_error(run->anchors, i, c, total.mean[c]);
        }
    }
}

static hb_status average_by_draws(average_run *run)
{
    hb_context *context = run->anchors->context;
    void *memory;
    HB_TRY(hb_allocate(context, run->anchors->n * run->chunks,
                       (1 + 2 * run->columns) * sizeof(double), &memory));
    run->parts = memory;
    const hb_status status =
        hb_parallel_for(context, "averages", run->anchors->n * run->chunks, average_chunk, run);
    if (status == HB_OK) join_chunks(run);
    hb_release(context, run->parts);
    return status;
}

/* ---- cubature ---- */

/* total += the part of a block of nodes of a rule */
static void add_block(const average_run *run, thread_scratch *scratch, size_t i,
                      hb_ball_nodes_kind kind, const hb_ball_nodes *unit, size_t first,
                      double *total)
{
    const double r = run->anchors->radius[i], *weight = unit->weight + first;
    const double factor =
        kind == HB_BALL_NODES_VALUE ? 1 : 0.25 * run->anchors->constants.C1 * r * r;
    if (run->wish.values && kind != HB_BALL_NODES_SCORE) {
        fill_values(run, scratch, i, kind);
        for (size_t k = 0; k < scratch->nodes.n; k++)
            for (size_t c = 0; c < HB_COLUMNS; c++)
                total[c] += factor * weight[k] * scratch->values[k * HB_COLUMNS + c];
    }
    if (!run->wish.score || kind == HB_BALL_NODES_SOURCE) return;
    for (size_t k = 0; k < scratch->nodes.n; k++) {
        const double *vector = kind == HB_BALL_NODES_VALUE ? scratch->nodes.gradient + k * run->d
                                                           : unit->arm + (first + k) * run->d;
        const double scale =
            kind == HB_BALL_NODES_VALUE ? 1 : r * hb_source_v(&scratch->nodes, (int)run->d, k);
        for (size_t c = 0; c < run->d; c++) total[HB_COLUMNS + c] += weight[k] * scale * vector[c];
    }
}

/* The estimate of one rule in one rotation: total (2, columns), averages of F and source terms. */
static hb_status cubature_total(const average_run *run, thread_scratch *scratch, size_t i,
                                size_t rule, int rotation, double *total)
{
    memset(total, 0, 2 * run->columns * sizeof *total);
    for (int kind = 0; kind < KINDS; kind++) {
        const hb_ball_nodes *unit = &run->units[rule][kind][rotation];
        for (size_t first = 0, n; first < unit->n; first += n) {
            n = unit->n - first < scratch->nodes.capacity ? unit->n - first
                                                          : scratch->nodes.capacity;
            HB_TRY(evaluate_nodes(run, scratch, i, (hb_ball_nodes_kind)kind, unit, first, n));
            add_block(run, scratch, i, (hb_ball_nodes_kind)kind, unit, first,
                      total + (kind == HB_BALL_NODES_VALUE ? 0 : run->columns));
        }
    }
    return HB_OK;
}

/* The change of column c from rule + 1 to rule; means (RULES, 2, columns). */
static double rule_change(const double *means, size_t columns, int rule, size_t c)
{
    const double *fine = means + (size_t)rule * 2 * columns + c, *coarse = fine + 2 * columns;
    return fabs(fine[0] - coarse[0]) + fabs(fine[columns] - coarse[columns]);
}

/* By what factor a step in the degree makes changes smaller: the geometric mean over the columns. */
static double change_ratio(const average_run *run, size_t i, const double *mean)
{
    double sum = 0, used = 0;
    for (size_t c = 0; c < run->columns; c++) {
        const double rounding = rounding_error(run->anchors, i, c, mean[c]);
        const double before = rule_change(mean + run->columns, run->columns, 1, c);
        const double change = rule_change(mean + run->columns, run->columns, 0, c) + rounding;
        if (before > rounding) sum += fmin(0, log(change / before)), used++;
    }
    return run->wish.degree < 4 ? 0 : exp(sum / fmax(used, 1)); // there is no degree below 0
}

/* Mean over the rotations of each rule, and the error. A row is (1 + 2 RULES, columns). */
static hb_status cubature_point(const average_run *run, thread_scratch *scratch, size_t i)
{
    const size_t columns = run->columns, width = (1 + 2 * RULES) * columns;
    double *row = scratch->totals, *parts = row + columns; // (columns), (RULES, 2, columns)
    hb_moments moments = {0, width, row + width, row + 2 * width};
    memset(row, 0, 3 * width * sizeof *row);
    for (int rotation = 0; rotation < run->rotations; rotation++) {
        for (size_t rule = 0; rule < RULES; rule++)
            HB_TRY(cubature_total(run, scratch, i, rule, rotation, parts + rule * 2 * columns));
        for (size_t c = 0; c < columns; c++) row[c] = parts[c] + parts[columns + c];
        hb_moments_add(&moments, 1, row);
    }
    const double ratio = change_ratio(run, i, moments.mean);
    for (size_t c = 0; c < columns; c++) {
        const double spread = run->rotations > 1 ? hb_moments_error(&moments, c) : 0;
        const double change = rule_change(moments.mean + columns, columns, 0, c);
        const double before = rule_change(moments.mean + columns, columns, 1, c);
        run->mean[i * columns + c] = moments.mean[c];
        run->error[i * columns + c] = spread + fmax(change, ratio * before) +
                                      rounding_error(run->anchors, i, c, moments.mean[c]);
    }
    return HB_OK;
}

static hb_status cubature_task(void *user, size_t index, int thread)
{
    const average_run *run = user;
    thread_scratch *scratch = run->scratch + thread;
    return hb_context_adopt(run->anchors->context, &scratch->context,
                            cubature_point(run, scratch, index));
}

static hb_status average_by_rules(average_run *run)
{
    const hb_anchors *anchors = run->anchors;
    hb_ball_nodes_rule rule = {.dim = anchors->equation.dim,
                               .lift = anchors->settings.lift,
                               .seed = anchors->settings.seed};
    hb_status status = HB_OK;
    for (int k = 0; k < RULES * KINDS && status == HB_OK; k++) {
        rule.kind = (hb_ball_nodes_kind)(k % KINDS);
        rule.degree = run->wish.degree - 2 * (k / KINDS);
        if (kind_is_wanted(run, k % KINDS) && rule.degree >= 0)
            status = hb_ball_nodes_cubature(anchors->context, &rule, 0, run->rotations,
                                            run->units[k / KINDS][k % KINDS]);
    }
    if (status == HB_OK)
        status = hb_parallel_for(anchors->context, "averages", anchors->n, cubature_task, run);
    for (int j = 0; j < RULES * KINDS * ROTATIONS; j++)
        hb_ball_nodes_destroy(
            anchors->context,
            &run->units[j / (KINDS * ROTATIONS)][j / ROTATIONS % KINDS][j % ROTATIONS]);
    return status;
}

/* ---- both ---- */

static void plan_blocks(average_run *run)
{
    const size_t samples = run->anchors->settings.samples;
    size_t pairs = BLOCK_DOUBLES / (2 * run->d);
    if (pairs > BLOCK_PAIRS) pairs = BLOCK_PAIRS;
    run->block_pairs = pairs > 0 ? pairs : 1;
    run->chunk_pairs = (samples + CHUNKS - 1) / CHUNKS;
    if (run->chunk_pairs < MIN_CHUNK_PAIRS) run->chunk_pairs = MIN_CHUNK_PAIRS;
    if (run->chunk_pairs > MAX_CHUNK_PAIRS) run->chunk_pairs = MAX_CHUNK_PAIRS;
    run->chunks = (samples + run->chunk_pairs - 1) / run->chunk_pairs;
}

hb_status hb_averages(const hb_anchors *anchors, const hb_average_wish *wish, double *mean,
                      double *error)
{
    average_run run = {.anchors = anchors, .wish = *wish, .mean = mean, .error = error};
    run.d = (size_t)anchors->equation.dim;
    run.columns = HB_COLUMNS + (wish->score ? run.d : 0);
    run.rotations = run.d == 1 ? 1 : ROTATIONS; /* in one dimension a rotation is a sign */
    plan_blocks(&run);
    const size_t tasks = anchors->n * (wish->degree > 0 ? 1 : run.chunks);
    if (tasks == 0) return HB_OK;
    run.n_threads = hb_context_threads(anchors->context);
    if ((size_t)run.n_threads > tasks) run.n_threads = (int)tasks;
    hb_workspace work;
    HB_TRY(average_create_scratch(&run, &work));
    const hb_status status = wish->degree > 0 ? average_by_rules(&run) : average_by_draws(&run);
    hb_workspace_destroy(&work);
    return status;
}
