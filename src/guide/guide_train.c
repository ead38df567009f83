/* The network of a problem: trained from draws of its initial density, to the time that is asked for.
 *
 * The loss is hb with its own recipe, the process the problem's drift, tau from a twentieth of the last one on: below
 * it the start's score is known. No data are needed, and as many rows as wanted can be drawn. */
#include "base/context.h"
#include "guide/guide_walk.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { ROWS = 20000, CENTRES = 1000, BLOCK = 256 };
static const double FIRST_TAU = 0.05; /* of the last */
static const double FAR = 6, REACH = 0.02;

static hb_status check(hb_context *context, const hb_problem *problem, const hb_guide_settings *s)
{
    HB_CHECK(context, hb_problem_is_autonomous(problem), HB_ERROR_ARGUMENT,
             "the drift must be given as text and must not depend on t, nor its noise, for a "
             "network to be trained on it");
    HB_CHECK(context, s->walks >= 64 && s->walks <= 1000000, HB_ERROR_ARGUMENT,
             "walks is %" PRIu64 "; it must be 64 to 1000000", s->walks);
    HB_CHECK(context, s->walk_steps >= 8 && s->walk_steps <= 10000 && s->walk_steps % 2 == 0,
             HB_ERROR_ARGUMENT, "walk_steps is %d; it must be even, 8 to 10000", s->walk_steps);
    HB_CHECK(context, hb_problem_initial_kind(problem) != HB_INITIAL_KIND_POINT, HB_ERROR_ARGUMENT,
             "the start is a point, which guided walks have no density of to end in; the methods "
             "grid, walk and particles answer");
    HB_CHECK(context, s->probes >= 20 && s->probes <= 100000, HB_ERROR_ARGUMENT,
             "probes is %d; it must be 20 to 100000", s->probes);
    return HB_OK;
}

static hb_status create_arrays(hb_guide *g)
{
    const size_t m = g->walks, d = (size_t)g->dim, rows = m * (2 * d + 1);
    return HB_WORKSPACE(g->context, &g->work, HB_ARRAY(g->x, rows * d),
                        HB_ARRAY(g->drift, rows * d), HB_ARRAY(g->next, rows * d),
                        HB_ARRAY(g->score, rows * d), HB_ARRAY(g->start, rows * d),
                        HB_ARRAY(g->times, rows), HB_ARRAY(g->w, rows), HB_ARRAY(g->coarse, rows),
                        HB_ARRAY(g->noise, (size_t)g->steps * m * d), HB_ARRAY(g->a, m),
                        HB_ARRAY(g->b, m * d), HB_ARRAY(g->da, m), HB_ARRAY(g->db, m * d));
}

static hb_status train(hb_guide *g, const hb_guide_settings *s, const double *rows)
{
    hb_train_settings t;
    hb_train_settings_default(sizeof t, &t);
    t.process = HB_PROCESS_DRIFT;
    t.drift = g->problem;
    t.width = s->width;
    t.steps = s->training_steps;
    t.tau_min = g->tau_min;
    t.tau_max = g->tau;
    t.seed = g->seed;
    return hb_train(g->context, &t, g->dim, 0, ROWS, rows, NULL, &g->model);
}

/* Lengths: the mean |F|^2 over the draws, and a part of their deviation for differences. */
static hb_status measure(hb_guide *g, const double *rows, double *drift)
{
    const size_t d = (size_t)g->dim;
    double mean = 0, first = 0, second = 0;
    HB_TRY(hb_problem_drift(g->context, g->problem, CENTRES, rows, 0, drift, NULL, NULL, NULL));
    for (size_t i = 0; i < CENTRES * d; i++) mean += drift[i] * drift[i] / CENTRES;
    for (size_t i = 0; i < CENTRES * d; i++) {
        first += rows[i] / (double)(CENTRES * d);
        second += rows[i] * rows[i] / (double)(CENTRES * d);
    }
    g->far = FAR * fmax(mean, (double)d / (2 * g->tau));
    g->reach = REACH * sqrt(fmax(second - first * first, 0) + 2 * g->tau);
    return HB_OK;
}

hb_status hb_guide_create(hb_context *context, const hb_problem *problem,
                          const hb_guide_settings *s, double tau, hb_guide *out)
{
    double *rows, *drift; // (ROWS, dim), (CENTRES, dim)
    hb_workspace work = {0};
    HB_TRY(check(context, problem, s));
    const size_t d = (size_t)hb_problem_dim(problem);
    *out = (hb_guide){.context = context,
                      .problem = problem,
                      .dim = (int)d,
                      .steps = s->walk_steps,
                      .walks = s->walks < BLOCK ? (size_t)s->walks : BLOCK,
                      .blocks = (s->walks + BLOCK - 1) / BLOCK,
                      .seed = s->seed,
                      .tau = tau,
                      .tau_min = FIRST_TAU * tau};
    HB_TRY(HB_WORKSPACE(context, &work, HB_ARRAY(rows, ROWS * d), HB_ARRAY(drift, CENTRES * d)));
    hb_status status = hb_problem_initial_sample(context, problem, s->seed, 0, ROWS, rows);
    if (status == HB_OK) status = measure(out, rows, drift);
    if (status == HB_OK) status = train(out, s, rows);
    hb_workspace_destroy(&work);
    if (status == HB_OK) status = create_arrays(out);
    if (status != HB_OK) hb_guide_destroy(out);
    return status;
}

void hb_guide_destroy(hb_guide *guide)
{
    hb_model_destroy(guide->model);
    hb_workspace_destroy(&guide->work);
    guide->model = NULL;
}
