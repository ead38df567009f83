/* What the tests of walks share: accumulators of forced plans and of the estimator, and answers
 * compared. */
#ifndef HB_TESTS_WALK_SUPPORT_H
#define HB_TESTS_WALK_SUPPORT_H

#include "problem/initial/initial_average.h"
#include "shared_context.h"
#include "walk/walk_block.h"
#include "walk/walk_estimator.h"

enum { WALK_DIM = 16 };

typedef struct walk_answer {
    hb_answer at;
    double score[WALK_DIM], score_se[WALK_DIM];
    double steps; /* per walk */
} walk_answer;

static inline hb_problem *walk_problem_of(int dim, const char *drift, const char *noise,
                                          const char *initial)
{
    hb_problem_settings settings;
    hb_problem_settings_default(sizeof settings, &settings);
    settings.dim = dim;
    settings.drift = drift;
    settings.noise = noise;
    settings.initial = initial;
    hb_problem *problem;
    assert_ok(CTX, hb_problem_create(CTX, &settings, &problem));
    return problem;
}

/* Walks first .. first+n-1 (n a multiple of a block) by a plan that the test chooses. */
static inline walk_answer forced_walks(const hb_walk_problem *shared, const hb_walk_plan *plan,
                                       const double *x0, uint64_t seed, size_t n)
{
    const int dim = (int)shared->d;
    static double sums[512], a[HB_WALK_BLOCK], b[HB_WALK_BLOCK * WALK_DIM];
    walk_answer out = {.steps = 0};
    hb_walk_block *block;
    assert_true(hb_accumulator_size(dim) <= 512);
    hb_accumulator_clear(dim, sums);
    assert_ok(CTX, hb_walk_block_create(CTX, shared, &block));
    for (size_t first = 0; first < n; first += HB_WALK_BLOCK) {
        double steps, lost = 0;
        assert_ok(CTX, hb_walk_block_run(block, plan, x0, seed, first, HB_WALK_BLOCK, &steps));
        out.steps += steps / (double)n;
        for (size_t i = 0; i < HB_WALK_BLOCK; i++) {
            const hb_walk_result r = hb_walk_block_result(block, i);
            a[i] = r.sign * exp(r.size);
            for (int k = 0; k < dim; k++)
                b[i * shared->d + (size_t)k] = a[i] == 0 ? 0 : a[i] * r.slope[k];
            lost += r.lost;
        }
        hb_accumulator_add(dim, sums, HB_WALK_BLOCK, a, b);
        hb_accumulator_lose(sums, lost);
    }
    hb_walk_block_destroy(block);
    hb_accumulator_answer(dim, sums, 0, &out.at, out.score, out.score_se);
    return out;
}

/* Rounds of the estimator at n points. */
static inline void estimate_walks(hb_context *context, const hb_problem *problem, double tau,
                                  uint64_t seed, int rounds, size_t n, const double *points,
                                  walk_answer *out, char *note)
{
    const int dim = hb_problem_dim(problem);
    const size_t size = hb_accumulator_size(dim);
    const hb_sampling_settings settings = {.seed = seed};
    hb_estimator estimator;
    unsigned char wanted[64];
    double *accumulators = calloc(n * size, sizeof(double));
    memset(wanted, 1, sizeof wanted);
    assert_ok(context, hb_walk_estimator(context, problem, tau, &settings, n, points, &estimator));
    for (size_t i = 0; i < n; i++) hb_accumulator_clear(dim, accumulators + i * size);
    for (int k = 0; k < rounds; k++)
        assert_ok(context, estimator.round(estimator.self, (uint64_t)k, wanted, accumulators));
    for (size_t i = 0; i < n; i++)
        hb_accumulator_answer(dim, accumulators + i * size, estimator.log_scale[i], &out[i].at,
                              out[i].score, out[i].score_se);
    if (note) memcpy(note, estimator.note, sizeof estimator.note);
    estimator.destroy(estimator.self);
    free(accumulators);
}

/* Density and score within `bars` of their errors, plus what the exact ones are known to. */
static inline void assert_covers(const walk_answer *w, int dim, double v, const double *gradient,
                                 double bars, double known)
{
    assert_int_equal(w->at.flag, HB_FLAG_NONE);
    assert_near(w->at.log_density, v, bars * w->at.log_density_se + known);
    for (int k = 0; k < dim; k++)
        assert_near(w->score[k], gradient[k], bars * w->score_se[k] + known);
}

/* ln u and its gradient from the grid at tau(time). */
static inline void grid_answer(const hb_problem *problem, double time, size_t n, const double *x,
                               double *v, double *gradient, double *tau)
{
    hb_grid_settings settings;
    hb_grid *grid;
    hb_grid_settings_default(sizeof settings, &settings);
    assert_ok(CTX, hb_problem_tau_of_t(CTX, problem, time, tau));
    assert_ok(CTX, hb_grid_solve(CTX, problem, &settings, n, x, time, &grid));
    assert_ok(CTX, hb_grid_evaluate(CTX, grid, n, x, *tau, v, NULL, gradient, NULL));
    hb_grid_destroy(grid);
}

static inline void compare_with_grid(const hb_problem *problem, double time, int rounds, size_t n,
                                     const double *x, double most_relative, double known)
{
    const int dim = hb_problem_dim(problem);
    double v[8], gradient[16], tau;
    walk_answer answer[8];
    grid_answer(problem, time, n, x, v, gradient, &tau);
    estimate_walks(CTX, problem, tau, 3, rounds, n, x, answer, NULL);
    for (size_t i = 0; i < n; i++) {
        assert_true(answer[i].at.relative < most_relative);
        assert_covers(answer + i, dim, v[i], gradient + i * (size_t)dim, 4, known);
    }
}

#endif
