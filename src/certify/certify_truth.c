/* The score beside the true one at HB_CERTIFY_POINTS noised rows, where that is known.
 *
 * The distribution of the rows is a Gaussian mixture and the process Gaussian: the score at tau is
 * that of the mixture with the components N(E m + n, E C E' + L L'), exact. Nothing is random but
 * the points, so there is no p-value: the line fails where the root mean square of s - s*, over
 * that of s*, is above the tolerance, which is 1e-4 at least. A drift with an initial density is
 * solved (hb_solve) at the same points, with errors: the sum of ((s - s*)/error)^2 over the values
 * whose errors are known is held against chi squared. A number to reproduce: 1.05 s* has the value
 * 0.05. */
#include "base/context.h"
#include "base/linear_algebra.h"
#include "certify/certify_run.h"

#include <heatball/solve.h>
#include <math.h>

/* ---- closed forms ---- */

/* The mixture at tau, as one of its own. */
static hb_status truth_carry_mixture(const hb_certify_run *run, const hb_certify_level *level,
                                     hb_mixture **out)
{
    const hb_mixture *truth = run->settings.truth;
    const size_t d = run->dim, count = hb_mixture_count(truth);
    hb_workspace work;
    double *weights, *means, *covariances, *m, *C, *half, *turned;
    HB_TRY(HB_WORKSPACE(run->context, &work, HB_ARRAY(weights, count), HB_ARRAY(means, count * d),
                        HB_ARRAY(covariances, count * d * d), HB_ARRAY(m, d), HB_ARRAY(C, d * d),
                        HB_ARRAY(half, d * d), HB_ARRAY(turned, d * d)));
    hb_status status = HB_OK;
    hb_matrix_transpose(d, level->E, turned);
    for (size_t k = 0; k < count && status == HB_OK; k++) {
        double *to = covariances + k * d * d;
        status = hb_mixture_component(run->context, truth, k, weights + k, m, C);
        if (status != HB_OK) break;
        hb_certify_centre(level, d, m, means + k * d);
        hb_matrix_multiply(d, 1, level->E, C, half);
        hb_matrix_multiply(d, 1, half, turned, to);
        for (size_t i = 0; i < d; i++)
            for (size_t j = 0; j <= i; j++) {
                to[i * d + j] = 0.5 * (to[i * d + j] + to[j * d + i]) +
                                hb_dot(j + 1, level->L + i * d, level->L + j * d);
                to[j * d + i] = to[i * d + j];
            }
    }
    if (status == HB_OK)
        status = hb_mixture_create(run->context, (int)d, count, weights, means, covariances, out);
    hb_workspace_destroy(&work);
    return status;
}

static void truth_keep_points(const hb_certify_run *run, const hb_certify_rows *rows, size_t n,
                              const double *truth, const double *error)
{
    hb_certificate *c = run->out;
    const size_t d = run->dim;
    for (size_t i = 0; i < n; i++) {
        double *row = c->truth + 4 * c->n_truth++;
        row[0] = rows->level->tau;
        row[1] = hb_norm(d, truth + i * d);
        row[2] = sqrt(hb_distance2(d, rows->score[0] + i * d, truth + i * d));
        row[3] = error ? hb_norm(d, error + i * d) : 0;
    }
}

static void truth_write_closed(const hb_certify_run *run, const hb_certify_rows *rows, size_t n,
                               const double *truth)
{
    const size_t d = run->dim;
    double away[HB_CERTIFY_POINTS], sum = 0, size = 0;
    char where[120];
    for (size_t i = 0; i < n; i++) {
        sum += away[i] = hb_distance2(d, rows->score[0] + i * d, truth + i * d);
        size += hb_dot(d, truth + i * d, truth + i * d);
    }
    hb_certify_where_most(run, rows, n, away, sizeof where, where);
    const double value = sqrt(sum / size);
    hb_line *line = hb_certificate_add(run->out, "truth", rows->level->tau, value, 0, NAN);
    line->verdict = value > run->settings.tolerance ? HB_VERDICT_FAILS : HB_VERDICT_HOLDS;
    hb_line_say(line->good,
                "the score equals the exact one to %.2g %% at %zu points (root mean square)",
                100 * value, n);
    hb_line_say(line->bad,
                "the score differs from the exact one by %.3g %% at %zu points (root mean square), "
                "most %s",
                100 * value, n, where);
}

static hb_status truth_closed(const hb_certify_run *run, const hb_certify_rows *rows, size_t n)
{
    hb_mixture *mixture = NULL;
    double *truth; // (n, dim)
    HB_TRY(HB_NEW(run->context, truth, n * run->dim));
    hb_status status = truth_carry_mixture(run, rows->level, &mixture);
    if (status == HB_OK)
        status =
            hb_mixture_score(run->context, mixture, HB_PROCESS_VE, n, rows->x[0], 0, NULL, truth);
    if (status == HB_OK) truth_write_closed(run, rows, n, truth);
    if (status == HB_OK) truth_keep_points(run, rows, n, truth, NULL);
    hb_mixture_destroy(mixture);
    hb_release(run->context, truth);
    return status;
}

/* ---- by solving ---- */

static void truth_write_solved(const hb_certify_run *run, const hb_certify_rows *rows, size_t n,
                               const hb_solution *solution)
{
    const size_t d = run->dim;
    const double *truth = hb_solution_values(solution, HB_COLUMN_SCORE);
    const double *error = hb_solution_values(solution, HB_COLUMN_SCORE_ERROR);
    double chi2 = 0, away = 0, size = 0, errors = 0;
    size_t known = 0;
    for (size_t i = 0; i < n * d; i++) {
        if (!isfinite(error[i]) || !(error[i] > 0) || !isfinite(truth[i])) continue;
        const double off = fabs(rows->score[0][i] - truth[i]);
        const double beyond = fmax(0, off - run->settings.tolerance * fabs(truth[i]));
        chi2 += beyond * beyond / (error[i] * error[i]);
        away += off * off;
        size += truth[i] * truth[i];
        errors += error[i] * error[i];
        known++;
    }
    if (known == 0) {
        hb_certificate_skip(run->out, "truth", rows->level->tau,
                            "the solution has no errors at these points that can be trusted");
        return;
    }
    hb_line *line = hb_certificate_add(run->out, "truth", rows->level->tau, sqrt(away / size),
                                       sqrt(errors / size), hb_chi2_tail((double)known, chi2));
    hb_line_say(line->good, "the score equals the problem's (%s) at %zu points to (%.2g ± %.2g) %%",
                hb_solution_method(solution), n, 100 * line->value, 100 * line->error);
    hb_line_say(
        line->bad,
        "the score differs from the problem's (%s) by (%.3g ± %.2g) %% at %zu points: %.3g errors "
        "(root mean square)",
        hb_solution_method(solution), 100 * line->value, 100 * line->error, n,
        sqrt(chi2 / (double)known));
    truth_keep_points(run, rows, n, truth, error);
}

static hb_status truth_solved(const hb_certify_run *run, const hb_certify_rows *rows, size_t n)
{
    hb_solve_settings settings;
    hb_sampling_settings sampling; /* its limit is the grid's too */
    hb_solution *solution = NULL;
    hb_solve_settings_default(sizeof settings, &settings);
    hb_sampling_settings_default(sizeof sampling, &sampling);
    settings.sampling = &sampling;
    if (run->settings.max_time > 0) sampling.max_time = fmax(run->deadline - hb_seconds(), 1e-3);
    HB_TRY(
        hb_problem_t_of_tau(run->context, run->settings.drift, rows->level->tau, &settings.time));
    hb_status status =
        hb_solve(run->context, run->settings.drift, &settings, n, rows->x[0], &solution);
    if (status == HB_OK) truth_write_solved(run, rows, n, solution);
    if (status == HB_ERROR_NUMERICAL || status == HB_ERROR_ARGUMENT) {
        hb_certificate_skip(run->out, "truth", rows->level->tau,
                            "the problem was not solved: %.300s", hb_context_message(run->context));
        status = HB_OK;
    }
    hb_solution_destroy(solution);
    return status;
}

hb_status hb_certify_truth(const hb_certify_run *run, const hb_certify_rows *rows)
{
    const hb_certify_settings *s = &run->settings;
    const size_t n = rows->n < HB_CERTIFY_POINTS ? rows->n : HB_CERTIFY_POINTS;
    if (s->truth && rows->level->gaussian) return truth_closed(run, rows, n);
    if (s->process == HB_PROCESS_DRIFT && hb_problem_initial_kind(s->drift) != HB_INITIAL_KIND_NONE)
        return truth_solved(run, rows, n);
    return HB_OK; /* said once, without a tau */
}
