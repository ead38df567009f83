/* The network of a problem: trained from draws of its initial density, to the time that is asked
 * for.
 *
 * The loss is hb with its own recipe, the process the problem's drift, tau from a twentieth of the
 * last one on: below it the start's score is known. No data are needed, and as many rows as wanted
 * can be drawn. */
#include "base/context.h"
#include "guide/guide.h"

#include <math.h>

enum { ROWS = 20000, CENTRES = 1000 };
static const double FIRST_TAU = 0.05; /* of the last */
static const double REACH = 0.02;

static hb_status guide_check(hb_context *context, const hb_network_settings *s)
{
    HB_CHECK(context, s->walk_steps >= 8 && s->walk_steps <= 10000 && s->walk_steps % 2 == 0,
             HB_ERROR_ARGUMENT, "walk_steps is %d; it must be even, 8 to 10000", s->walk_steps);
    HB_CHECK(context, s->probes >= 20 && s->probes <= 100000, HB_ERROR_ARGUMENT,
             "probes is %d; it must be 20 to 100000", s->probes);
    return HB_OK;
}

static hb_status guide_create_arrays(hb_guide *g)
{
    const size_t m = g->walks, d = (size_t)g->dim, rows = m * (2 * d + 1);
    return HB_WORKSPACE(g->context, &g->work, HB_ARRAY(g->x, rows * d),
                        HB_ARRAY(g->drift, rows * d), HB_ARRAY(g->next, rows * d),
                        HB_ARRAY(g->score, rows * d), HB_ARRAY(g->start, rows * d),
                        HB_ARRAY(g->times, rows), HB_ARRAY(g->w, rows), HB_ARRAY(g->coarse, rows),
                        HB_ARRAY(g->noise, (size_t)g->steps * m * d), HB_ARRAY(g->a, m),
                        HB_ARRAY(g->b, m * d), HB_ARRAY(g->da, m), HB_ARRAY(g->db, m * d));
}

/* The length of differences: a part of the deviation of the draws after diffusion. */
static void guide_measure(hb_guide *g, const double *rows)
{
    const size_t n = CENTRES * (size_t)g->dim;
    double first = 0, second = 0;
    for (size_t i = 0; i < n; i++) {
        first += rows[i] / (double)n;
        second += rows[i] * rows[i] / (double)n;
    }
    g->reach = REACH * sqrt(fmax(second - first * first, 0) + 2 * g->tau);
}

hb_status hb_guide_train(hb_context *context, const hb_problem *problem,
                         const hb_network_settings *s, uint64_t seed, double tau, hb_model **out)
{
    const int dim = hb_problem_dim(problem);
    hb_train_settings t;
    void *rows; // (ROWS, dim)
    *out = NULL;
    HB_TRY(guide_check(context, s));
    hb_train_settings_default(sizeof t, &t);
    t.process = HB_PROCESS_DRIFT;
    t.drift = problem;
    t.width = s->width;
    t.steps = s->training_steps;
    t.tau_min = FIRST_TAU * tau;
    t.tau_max = tau;
    t.seed = seed;
    HB_TRY(hb_allocate(context, ROWS * (size_t)dim, sizeof(double), &rows));
    hb_status status = hb_problem_initial_sample(context, problem, seed, 0, ROWS, rows);
    if (status == HB_OK) status = hb_train(context, &t, dim, 0, ROWS, rows, NULL, out);
    hb_release(context, rows);
    return status;
}

hb_status hb_guide_create(hb_context *context, const hb_problem *problem, const hb_model *model,
                          int walk_steps, size_t walks, uint64_t seed, double tau, hb_guide *out)
{
    void *rows; // (CENTRES, dim)
    const size_t d = (size_t)hb_problem_dim(problem);
    *out = (hb_guide){.context = context,
                      .problem = problem,
                      .model = model,
                      .dim = (int)d,
                      .steps = walk_steps,
                      .walks = walks,
                      .seed = seed,
                      .tau = tau,
                      .tau_min = FIRST_TAU * tau};
    HB_TRY(hb_allocate(context, CENTRES * d, sizeof(double), &rows));
    hb_status status = hb_problem_initial_sample(context, problem, seed, 0, CENTRES, rows);
    if (status == HB_OK) guide_measure(out, rows);
    hb_release(context, rows);
    if (status == HB_OK) status = guide_create_arrays(out);
    if (status != HB_OK) hb_workspace_destroy(&out->work);
    return status;
}
