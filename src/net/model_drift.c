/* A model of a user's drift: dz = F(z) dtau + sqrt(2) dW.
 *
 * No closed form carries a Gaussian along F, so the reference is the Gaussian with the moments of
 * simulated paths: the mean m(tau) and the variances V_r(tau) along the axes of the data's
 * covariance, which stay (correlations between them are left to the network). Both are known at
 * knots evenly spaced in l = ln tau with their derivatives, and go between them by Hermite's cubic,
 *     f = h_00 f_k + h_10 s f'_k + h_01 f_{k+1} + h_11 s f'_{k+1},     s: the spacing,
 *     h_00 = (1+2t)(1-t)^2,  h_10 = t(1-t)^2,  h_01 = t^2(3-2t),  h_11 = t^2(t-1),
 * so v_ref has a continuous derivative by tau. Variances go as logarithms, which keeps them
 * positive. The reference solves no equation: residuals carry it fully (train/drift_terms.c). The
 * distribution at tau_max is no Gaussian either; up to 4096 draws of it are kept as a start for
 * generation. At every knot it is also kept how far the paths went in each coordinate: beyond,
 * nothing has been learnt.
 * A number to reproduce: the cubic through (0, 0) and (1, 1) with slopes 0 has 1/2 at t = 1/2. */
#include "net/model_drift.h"
#include "base/context.h"
#include "net/model_parts.h"
#include "problem/noise.h"
#include "problem/problem_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_KNOTS = 1000 };
static const double REACH = 5, MARGIN = 0.1; /* of the range of paths */

void hb_model_flow_level(const hb_model_flow *flow, double tau, hb_noise_level *out)
{
    const double last = (double)(flow->knots - 1), place = (log(tau) - flow->first) / flow->step;
    const double inside = place < 0 ? 0 : place > last ? last : place;
    const double floor_of = fmin(floor(inside), last - 1), t = inside - floor_of, u = 1 - t;
    const double s = flow->step, r = inside == place ? 1 / s : 0;
    out->knot = flow->table + (size_t)floor_of * 2 * flow->columns;
    const double value[4] = {(1 + 2 * t) * u * u, s * t * u * u, t * t * (3 - 2 * t),
                             -s * t * t * u};
    const double rate[4] = {-6 * t * u * r, s * u * (1 - 3 * t) * r, 6 * t * u * r,
                            s * t * (3 * t - 2) * r};
    memcpy(out->value, value, sizeof value);
    memcpy(out->rate, rate, sizeof rate);
}

/* What is left of a noise that has no coordinates in which it is one number. */
static hb_status flow_check_noise(hb_context *context, const hb_problem *drift, int as_typed)
{
    const hb_noise_kind kind = hb_problem_noise_kind(drift);
    const hb_transform *frame = hb_problem_transform_of(drift);
    HB_CHECK(
        context, kind != HB_NOISE_FIELD, HB_ERROR_ARGUMENT,
        "the noise depends on x in a way that no change of coordinates removes, and a network "
        "cannot be trained under it; row i of the noise may depend on x_i alone, by one factor "
        "for all its entries, as 0.2*x[i], sqrt(1 + x[i]^2) or one that lies between two positive "
        "numbers (docs/reference/which-sdes.md); heatball solve --method grid takes it for dim 1 "
        "to 3");
    HB_CHECK(context, kind != HB_NOISE_MATRIX, HB_ERROR_ARGUMENT,
             "the noise does not reach every direction, or reaches them so unevenly that the drift "
             "becomes 100 times as steep where it is even, and a network cannot be trained under "
             "it; give every axis noise of its own, or take heatball solve --method particles");
    HB_CHECK(context, as_typed || !frame, HB_ERROR_ARGUMENT,
             "the noise is not one number for all axes; as_typed must be 1 for it");
    return HB_OK;
}

hb_status hb_model_check_drift(hb_context *context, const hb_problem *drift, int as_typed, int dim)
{
    HB_CHECK(context, hb_problem_dim(drift) == dim, HB_ERROR_ARGUMENT,
             "the drift has %d components, but the data have %d columns", hb_problem_dim(drift),
             dim);
    HB_TRY(flow_check_noise(context, drift, as_typed));
    HB_CHECK(context, hb_problem_text(drift) && hb_problem_is_autonomous(drift), HB_ERROR_ARGUMENT,
             "the drift must be given as text and must not depend on t, nor its noise");
    return HB_OK;
}

void hb_model_flow_destroy(hb_model *model)
{
    hb_problem_destroy(model->flow.drift);
    hb_release(model->context, model->flow.table);
    hb_release(model->context, model->flow.ends);
    hb_release(model->context, model->flow.range);
    model->flow = (hb_model_flow){0};
}

hb_status hb_model_set_flow(hb_context *context, hb_model *model, const char *drift,
                            const double numbers[3], size_t knots, const double *table,
                            size_t n_ends, const float *ends)
{
    const size_t d = (size_t)model->info.dim, columns = 2 * d + 1;
    void *memory;
    hb_model_flow_destroy(model);
    hb_model_flow *flow = &model->flow;
    HB_TRY(hb_problem_of_text(model->context, drift, model->info.dim, &flow->drift));
    HB_TRY(hb_model_check_drift(context, flow->drift, hb_problem_has_unit(flow->drift),
                                model->info.dim));
    HB_TRY(hb_allocate(model->context, knots * 2 * columns, sizeof(double), &memory));
    flow->table = memcpy(memory, table, knots * 2 * columns * sizeof(double));
    flow->knots = knots;
    flow->columns = columns;
    flow->first = numbers[0];
    flow->step = numbers[1];
    flow->detail = numbers[2];
    if (n_ends == 0) return HB_OK;
    HB_TRY(hb_allocate(model->context, n_ends * d, sizeof(float), &memory));
    flow->ends = memcpy(memory, ends, n_ends * d * sizeof(float));
    flow->n_ends = n_ends;
    return HB_OK;
}

/* ---- the range of paths ---- */

hb_status hb_model_set_range(hb_context *context, hb_model *model, const double *range)
{
    hb_model_flow *flow = &model->flow;
    const size_t d = (size_t)model->info.dim, values = flow->knots * 2 * d;
    void *memory;
    for (size_t i = 0; i < values; i++)
        HB_CHECK(context, isfinite(range[i]) && (i / d % 2 == 0 || range[i - d] <= range[i]),
                 HB_ERROR_ARGUMENT, "the range of paths has %g at knot %zu", range[i],
                 i / (2 * d) + 1);
    HB_TRY(hb_allocate(model->context, values, sizeof *range, &memory));
    hb_release(model->context, flow->range);
    flow->range = memcpy(memory, range, values * sizeof *range);
    return HB_OK;
}

/* By the moments. */
static void flow_guess_range(const hb_model *model, double tau, double *low, double *high)
{
    const size_t d = (size_t)model->info.dim;
    hb_noise_level level;
    hb_model_level(model, tau, &level);
    for (size_t j = 0; j < d; j++) {
        double variance = 0;
        for (size_t r = 0; r < d; r++) {
            const double axis = (double)model->axes[r * d + j];
            variance += axis * axis * hb_model_variance(model, &level, r);
        }
        low[j] = hb_model_mean(model, &level, j) - REACH * sqrt(variance);
        high[j] = hb_model_mean(model, &level, j) + REACH * sqrt(variance);
    }
}

void hb_model_range(const hb_model *model, double tau, double *low, double *high)
{
    const hb_model_flow *flow = &model->flow;
    const size_t d = (size_t)model->info.dim;
    if (!flow->range) {
        flow_guess_range(model, tau, low, high);
        return;
    }
    const double last = (double)(flow->knots - 1), place = (log(tau) - flow->first) / flow->step;
    const double knot = floor(fmin(fmax(place, 0), last - 1));
    const double *at = flow->range + (size_t)knot * 2 * d, *next = at + 2 * d;
    for (size_t j = 0; j < d; j++) {
        const double least = fmin(at[j], next[j]), most = fmax(at[d + j], next[d + j]);
        low[j] = least - MARGIN * (most - least);
        high[j] = most + MARGIN * (most - least);
    }
}

/* ---- in files ---- */

size_t hb_model_flow_tensors(const hb_model *model, double *numbers, hb_tensor *out)
{
    const hb_model_flow *flow = &model->flow;
    if (flow->knots == 0) return 0;
    numbers[0] = flow->first;
    numbers[1] = flow->step;
    numbers[2] = flow->detail;
    out[0] = (hb_tensor){"drift.numbers", HB_DTYPE_F64, 1, {3}, numbers, 0};
    out[1] = (hb_tensor){
        "drift.moments", HB_DTYPE_F64, 2, {2 * flow->knots, flow->columns}, flow->table, 0};
    size_t count = 2;
    const uint64_t d = (uint64_t)model->info.dim;
    if (flow->n_ends > 0)
        out[count++] = (hb_tensor){"drift.ends", HB_DTYPE_F32, 2, {flow->n_ends, d}, flow->ends, 0};
    if (flow->range)
        out[count++] =
            (hb_tensor){"drift.range", HB_DTYPE_F64, 2, {2 * flow->knots, d}, flow->range, 0};
    return count;
}

static hb_status flow_read_arrays(hb_context *context, const hb_safetensors *file, hb_model *model,
                                  const char *drift, double *table, float *ends)
{
    const uint64_t d = (uint64_t)model->info.dim,
                   values = hb_safetensors_count(file, "drift.moments");
    const uint64_t n_ends = hb_safetensors_count(file, "drift.ends") / d;
    double numbers[3];
    HB_TRY(hb_safetensors_copy(context, file, "drift.numbers", HB_DTYPE_F64, 3, numbers));
    HB_CHECK(context, numbers[1] > 0 && numbers[2] > 0, HB_ERROR_FORMAT,
             "%s: its drift.numbers are %g, %g, %g; the last two must be positive",
             hb_safetensors_path(file), numbers[0], numbers[1], numbers[2]);
    HB_TRY(hb_safetensors_copy(context, file, "drift.moments", HB_DTYPE_F64, values, table));
    if (n_ends > 0)
        HB_TRY(hb_safetensors_copy(context, file, "drift.ends", HB_DTYPE_F32, n_ends * d, ends));
    HB_TRY(hb_model_set_flow(context, model, drift, numbers, (size_t)(values / (2 * (2 * d + 1))),
                             table, (size_t)n_ends, ends));
    const uint64_t range = hb_safetensors_count(file, "drift.range");
    if (range == 0) return HB_OK; /* a file from before it was kept */
    HB_TRY(hb_safetensors_copy(context, file, "drift.range", HB_DTYPE_F64,
                               2 * d * (uint64_t)model->flow.knots, table));
    return hb_model_set_range(context, model, table);
}

hb_status hb_model_flow_read(hb_context *context, const hb_safetensors *file, hb_model *model)
{
    const char *path = hb_safetensors_path(file), *drift = hb_safetensors_text(file, "drift");
    const uint64_t d = (uint64_t)model->info.dim, knot = 2 * (2 * d + 1);
    const uint64_t values = hb_safetensors_count(file, "drift.moments");
    const uint64_t ends = hb_safetensors_count(file, "drift.ends");
    HB_CHECK(context, drift, HB_ERROR_FORMAT, "%s has no metadata drift", path);
    for (size_t j = 0; j < (size_t)d; j++)
        HB_CHECK(context, model->scale[j] == 1 && model->shift[j] == 0, HB_ERROR_FORMAT,
                 "%s: column %zu has shift %g and scale %g; of a model of a drift they are 0 and 1",
                 path, j + 1, model->shift[j], model->scale[j]);
    HB_CHECK(context, values % knot == 0 && values / knot >= 2 && values / knot <= MOST_KNOTS,
             HB_ERROR_FORMAT,
             "%s: its drift.moments has %llu values; it must be %llu for each knot", path,
             (unsigned long long)values, (unsigned long long)knot);
    HB_CHECK(context, ends % d == 0 && ends / d <= HB_MOST_ENDS, HB_ERROR_FORMAT,
             "%s: its drift.ends has %llu values; it must be at most %d rows of %llu", path,
             (unsigned long long)ends, HB_MOST_ENDS, (unsigned long long)d);
    hb_workspace work;
    double *table;
    float *points;
    HB_TRY(HB_WORKSPACE(context, &work, HB_ARRAY(table, (size_t)values),
                        HB_ARRAY(points, (size_t)ends + 1)));
    const hb_status status = flow_read_arrays(context, file, model, drift, table, points);
    hb_workspace_destroy(&work);
    if (status != HB_ERROR_ARGUMENT) return status;
    char reason[400];
    snprintf(reason, sizeof reason, "%s", hb_context_message(context));
    return hb_fail(context, HB_ERROR_FORMAT, "%s: its drift: %s", path, reason);
}
