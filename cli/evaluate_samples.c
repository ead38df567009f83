/* A model's samples beside real ones, and its likelihood of rows that it has not seen.
 *
 *     mmd     generated rows against real ones; floor: as many other real rows against the same
 *     kolmogorov  distance of generated and real rows in each column, in which units do not matter
 *     nll     -(1/dim) E ln p(x), p the density that the probability-flow ODE gives at tau_min;
 *             nll_exact: the same of the set's own density at tau_min
 *     direct  the same from one pass of an energy network, with the check of its normalisation
 * Real rows are fresh draws of a named set; of a file the held-out rows, and for the floor rows
 * of the training; where those are fewer than half of the held-out ones, these in two halves. A
 * model that is exact has mmd = floor up to chance and nll = nll_exact. */
#include "command_evaluate.h"

#include <heatball/generate.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_ROWS = 4, EXACT_DIM = 32, PROBES = 16 };
static const uint64_t FRESH = UINT64_C(1) << 41;

/* The rows of a comparison, all (.., dim), in the units of the data. */
typedef struct comparison {
    size_t generated, real;
    double *x, *y, *other; // (generated, dim), (real, dim), (generated, dim)
    size_t n;              /* rows for the likelihood */
    const double *rows;    // (n, dim): y, of a file all that are held out
} comparison;

static hb_status find_rows(hb_evaluate_frame *f, const char **reason, comparison *c)
{
    const hb_train_data *data = f->plan->data;
    const size_t d = (size_t)f->info.dim, wanted = f->plan->samples;
    const size_t half = data->n < data->held / 2 ? data->held / 2 : 0;
    const size_t real = data->held - half, others = half ? half : data->n;
    c->real = data->set ? wanted : real < wanted ? real : wanted;
    c->generated = data->set ? wanted : others < wanted ? others : wanted;
    *reason = wanted == 0 ? "--samples is 0" : f->no_samples;
    if (wanted > 0 && (c->real < LEAST_ROWS || c->generated < LEAST_ROWS))
        *reason = "there are fewer than 4 rows to compare";
    if (*reason) return HB_OK;
    c->x = malloc((2 * c->generated + c->real) * d * sizeof *c->x);
    if (!c->x) return HB_ERROR_MEMORY;
    c->other = c->x + c->generated * d;
    c->y = c->other + c->generated * d;
    c->n = data->set || data->held > wanted ? wanted : data->held;
    c->rows = data->set ? c->y : data->x + data->n * d;
    if (!data->set) {
        memcpy(c->other, data->x + (half ? data->n * d : 0), c->generated * d * sizeof *c->x);
        memcpy(c->y, data->x + (data->n + half) * d, c->real * d * sizeof *c->x);
        return HB_OK;
    }
    return hb_mixture_sample(f->context, data->set, f->plan->seed, FRESH, c->generated + c->real,
                             c->other, NULL);
}

static hb_status compare(hb_evaluate_frame *f, const comparison *c, hb_evaluation *out)
{
    hb_generate_settings settings;
    hb_generate_settings_default(sizeof settings, &settings);
    settings.seed = f->plan->seed;
    HB_TRY(hb_evaluate_frame_generate(f, &settings, 0, c->generated, c->x));
    HB_TRY(hb_judge_mmd(f->context, f->info.dim, 0, c->generated, c->real, c->x, c->y,
                        sizeof out->mmd, &out->mmd));
    HB_TRY(hb_judge_mmd(f->context, f->info.dim, 0, c->generated, c->real, c->other, c->y,
                        sizeof out->floor, &out->floor));
    out->generated = c->generated;
    out->real = c->real;
    out->kolmogorov = malloc((size_t)f->info.dim * sizeof *out->kolmogorov);
    if (!out->kolmogorov) return HB_ERROR_MEMORY;
    return hb_judge_kolmogorov(f->context, f->info.dim, c->generated, c->real, c->x, c->y,
                               out->kolmogorov, &out->kolmogorov_floor);
}

static hb_status count_modes(hb_evaluate_frame *f, const comparison *c, hb_evaluation *out)
{
    const hb_mixture *set = f->plan->data->set;
    if (!set) out->no_modes = "rows of a file have no known modes";
    if (!c->x) out->no_modes = out->no_mmd;
    if (out->no_modes) return HB_OK;
    const int modes = hb_mixture_modes(set, NULL);
    out->counts = calloc((size_t)modes, sizeof *out->counts);
    if (!out->counts) return HB_ERROR_MEMORY;
    out->modes = modes;
    return hb_judge_modes(f->context, set, c->generated, c->x, out->counts, &out->outliers,
                          &out->found);
}

void hb_evaluate_mean(size_t n, const double *value, double *mean, double *error)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++) sum += value[i];
    *mean = sum / (double)n;
    for (size_t i = 0; i < n; i++) squares += (value[i] - *mean) * (value[i] - *mean);
    *error = sqrt(squares / ((double)n * ((double)n - 1)));
}

/* -ln u(x, tau_min) of the set, in the units of x. */
static hb_status exact_nll(hb_evaluate_frame *f, size_t n, const double *x, double *log_density,
                           double *out)
{
    const size_t d = (size_t)f->info.dim;
    double *z = malloc(n * d * sizeof *z), error; // (n, d)
    if (!z) return HB_ERROR_MEMORY;
    hb_model_standardise(f->plan->model, n, x, z);
    const hb_status status = hb_mixture_score(f->context, f->truth, (hb_process)f->info.process, n,
                                              z, f->info.tau_min, log_density, NULL);
    hb_evaluate_mean(n, log_density, out, &error);
    *out = -*out / (double)d + log(f->info.scale);
    free(z);
    return status;
}

/* From one pass of the network. A check that fails is a reason, no failure. */
static hb_status measure_direct(hb_evaluate_frame *f, const comparison *c, double *value,
                                hb_evaluation *out)
{
    hb_generate_settings settings;
    const double d = f->info.dim;
    if (f->info.head != HB_HEAD_ENERGY) return HB_OK;
    hb_generate_settings_default(sizeof settings, &settings);
    settings.seed = f->plan->seed;
    hb_status status = hb_model_density_check(f->context, f->plan->model, &settings, 0, -1,
                                              sizeof out->check, &out->check, NULL, NULL);
    if (status == HB_ERROR_NUMERICAL) {
        out->check.rows = 0;
        snprintf(out->no_direct, sizeof out->no_direct, "%s", hb_context_message(f->context));
        return HB_OK;
    }
    if (status == HB_OK)
        status = hb_model_direct_likelihood(f->context, f->plan->model, c->n, &out->check, NULL,
                                            NULL, c->rows, NULL, value, NULL);
    if (status != HB_OK) return status;
    const double bias = fabs(out->check.mean) + out->check.spread / sqrt((double)out->check.rows);
    hb_evaluate_mean(c->n, value, &out->direct, &out->direct_se);
    out->direct /= -d;
    out->direct_se = hypot(out->direct_se, bias) / d;
    return HB_OK;
}

static hb_status measure_likelihood(hb_evaluate_frame *f, const comparison *c, hb_evaluation *out)
{
    const int probes = f->info.dim <= EXACT_DIM ? 0 : PROBES;
    hb_generate_settings settings;
    hb_generate_settings_default(sizeof settings, &settings);
    settings.seed = f->plan->seed;
    double constant, of_constant = 0, *value = malloc(c->n * sizeof *value); // (real)
    if (!value) return HB_ERROR_MEMORY;
    hb_status status = hb_model_likelihood(f->context, f->plan->model, &settings, probes, c->n,
                                           c->rows, NULL, value, NULL);
    if (status == HB_OK && f->info.process == HB_PROCESS_DRIFT) /* its error is that of all rows */
        status = hb_model_log_normaliser(f->context, f->plan->model, settings.seed, &constant,
                                         &of_constant);
    if (status == HB_OK) {
        hb_evaluate_mean(c->n, value, &out->nll, &out->nll_se);
        out->nll /= -f->info.dim;
        out->nll_se = hypot(out->nll_se, of_constant) / f->info.dim;
        out->nll_rows = c->n;
    }
    if (status == HB_OK) status = measure_direct(f, c, value, out);
    if (status == HB_OK && f->truth) status = exact_nll(f, c->n, c->rows, value, &out->nll_exact);
    free(value);
    return status;
}

hb_status hb_evaluate_samples(hb_evaluate_frame *frame, hb_evaluation *out)
{
    comparison c = {0};
    out->nll = out->nll_se = out->nll_exact = NAN;
    hb_status status = find_rows(frame, &out->no_mmd, &c);
    out->no_nll = out->no_mmd;
    if (frame->info.process == HB_PROCESS_DRIFT && frame->info.head != HB_HEAD_ENERGY)
        out->no_nll = "only the energy head knows the density at the largest tau of a drift";
    if (status == HB_OK && c.x) status = compare(frame, &c, out);
    if (status == HB_OK) status = count_modes(frame, &c, out);
    if (status == HB_OK && c.x && !out->no_nll) status = measure_likelihood(frame, &c, out);
    free(c.x);
    return status;
}
