/* A drift typed as mathematics: components, or f = -grad V from a potential.
 *
 * Everything is compiled once, at creation, so that threads can share it:
 *     f;   f and div f = sum df_i/dx_i;   f, div f and its gradient;   the Jacobian,
 * the last as the list of its entries that are not identically 0, which keeps a chain of 1000 sites
 * at 3000 derivatives instead of a million. drift_facts.c reads off the formulas what kind of drift
 * it is.
 * A number to reproduce: f = (y, 2.5 (1 - x^2) y - x) at (1.2, 0.7) has div f = 2.5 (1 - 1.44) =
 * -1.1. */
#include "base/context.h"
#include "base/memory.h"
#include "formula/graph.h"
#include "problem/problem_parts.h"

#include <stdio.h>
#include <string.h>

typedef struct building {
    hb_context *context;
    hb_drift *drift;
    hb_node *f;        // (d)
    hb_node *gradient; // (2d+1): f, div f, grad div f
    hb_node *entries;  // (capacity): the Jacobian's
    int capacity, place_capacity;
} building;

/* ---- parsing -------------------------------------------------------------------------------- */

hb_status hb_drift_parameters(hb_context *context, const hb_problem_settings *s, hb_graph *graph)
{
    HB_CHECK(context, s->n_parameters == 0 || (s->parameter_names && s->parameter_values),
             HB_ERROR_ARGUMENT, "there are %d parameters but no names or values", s->n_parameters);
    return hb_graph_parameters(graph, s->n_parameters, s->parameter_names, s->parameter_values);
}

static hb_status parse_components(building *b, const char *text)
{
    const int dim = b->drift->dim;
    int count;
    char *pieces;
    HB_TRY(hb_graph_split(b->context, text, &count, &pieces));
    hb_status status = HB_OK;
    if (count != dim && count != 1)
        status =
            hb_fail(b->context, HB_ERROR_ARGUMENT,
                    "the drift has %d components and dim is %d; give %d, or one with the index i",
                    count, dim, dim);
    const char *piece = pieces;
    for (int i = 0; i < dim && status == HB_OK; i++) {
        char what[48];
        snprintf(what, sizeof what, "drift component %d", i + 1);
        status = hb_graph_parse(b->drift->graph, piece, what, i + 1, b->f + i);
        if (count > 1) piece += strlen(piece) + 1;
    }
    hb_release(b->context, pieces);
    return status;
}

static hb_status parse_potential(building *b, const char *text)
{
    hb_graph *graph = b->drift->graph;
    hb_node V, slope;
    HB_TRY(hb_graph_parse(graph, text, "potential", 0, &V));
    HB_TRY(hb_program_compile(graph, 1, &V, &b->drift->potential));
    for (int i = 0; i < b->drift->dim; i++) {
        HB_TRY(hb_graph_derivative(graph, V, i + 1, &slope));
        HB_TRY(hb_graph_finish(graph, hb_build_scaled(graph, -1, slope), b->f + i));
    }
    return HB_OK;
}

/* ---- derivatives ---------------------------------------------------------------------------- */

static hb_status compile_gradient(building *b)
{
    hb_drift *drift = b->drift;
    hb_graph *graph = drift->graph;
    const int d = drift->dim;
    hb_node divergence, term;
    HB_TRY(hb_graph_constant(graph, 0, &divergence));
    for (int i = 0; i < d; i++) {
        b->gradient[i] = b->f[i];
        HB_TRY(hb_graph_derivative(graph, b->f[i], i + 1, &term));
        HB_TRY(hb_graph_add(graph, divergence, term, &divergence));
    }
    b->gradient[d] = divergence;
    for (int i = 0; i < d; i++)
        HB_TRY(hb_graph_derivative(graph, divergence, i + 1, &b->gradient[d + 1 + i]));
    HB_TRY(hb_program_compile(graph, d, b->gradient, &drift->value));
    HB_TRY(hb_program_compile(graph, d + 1, b->gradient, &drift->with_divergence));
    return hb_program_compile(graph, 2 * d + 1, b->gradient, &drift->with_gradient);
}

static hb_status compile_jacobian(building *b)
{
    hb_drift *drift = b->drift;
    const int d = drift->dim;
    for (int i = 0; i < d; i++)
        for (int j = 0; j < d; j++) {
            double number;
            hb_node entry;
            if (!hb_graph_depends(drift->graph, b->f[i], j + 1)) continue;
            HB_TRY(hb_graph_derivative(drift->graph, b->f[i], j + 1, &entry));
            if (hb_graph_is_constant(drift->graph, entry, &number) && number == 0) continue;
            drift->jacobian_depends_on_t |= hb_graph_depends(drift->graph, entry, 0);
            HB_TRY(HB_GROW(b->context, b->entries, drift->n_entries, b->capacity));
            HB_TRY(HB_GROW(b->context, drift->entries, drift->n_entries, b->place_capacity));
            drift->entries[drift->n_entries] = (size_t)i * (size_t)d + (size_t)j;
            b->entries[drift->n_entries++] = entry;
        }
    if (drift->n_entries == 0) return HB_OK;
    return hb_program_compile(drift->graph, drift->n_entries, b->entries, &drift->jacobian);
}

/* ---- creation ------------------------------------------------------------------------------- */

hb_status hb_drift_parse(hb_context *context, const hb_problem_settings *s, int dim,
                         hb_drift *drift, hb_node *f)
{
    drift->dim = dim;
    building b = {.context = context, .drift = drift, .f = f};
    HB_TRY(hb_graph_create(context, dim, &drift->graph));
    HB_TRY(hb_drift_parameters(context, s, drift->graph));
    return s->drift ? parse_components(&b, s->drift) : parse_potential(&b, s->potential);
}

hb_status hb_drift_compile(hb_context *context, const hb_node *f, hb_drift *drift)
{
    building b = {.context = context, .drift = drift};
    const size_t d = (size_t)drift->dim;
    HB_TRY(HB_NEW(context, drift->components, d));
    b.f = memcpy(drift->components, f, d * sizeof *f);
    HB_TRY(HB_NEW(context, b.gradient, 2 * d + 1));
    hb_status status = compile_gradient(&b);
    if (status == HB_OK) status = compile_jacobian(&b);
    if (status == HB_OK)
        status = hb_drift_find_facts(context, drift, b.f, b.entries, drift->potential != NULL);
    hb_release(context, b.entries);
    hb_release(context, b.gradient);
    return status;
}

hb_status hb_drift_from_text(hb_context *context, const hb_problem_settings *settings, int dim,
                             hb_drift *drift)
{
    hb_node *f; // (dim)
    HB_TRY(HB_NEW(context, f, (size_t)dim));
    hb_status status = hb_drift_parse(context, settings, dim, drift, f);
    if (status == HB_OK) status = hb_drift_compile(context, f, drift);
    hb_release(context, f);
    return status;
}

void hb_drift_destroy(hb_context *context, hb_drift *drift)
{
    hb_program_destroy(drift->value);
    hb_program_destroy(drift->with_divergence);
    hb_program_destroy(drift->with_gradient);
    hb_program_destroy(drift->jacobian);
    hb_program_destroy(drift->potential);
    hb_program_destroy(drift->arguments);
    hb_range_tape_destroy(context, drift->ranges);
    hb_release(context, drift->facts.breaks);
    hb_release(context, drift->entries);
    hb_release(context, drift->components);
    hb_graph_destroy(drift->graph);
    if (drift->lock) omp_destroy_lock(drift->lock);
    hb_release(context, drift->lock);
    hb_release(context, drift->values);
    memset(drift, 0, sizeof *drift);
}

/* ---- evaluation ----------------------------------------------------------------------------- */

/* Takes apart rows (n, width) of f, div f, grad div f, for the points from `first` on. */
static void drift_scatter(size_t n, size_t d, size_t width, const double *rows, size_t first,
                          const hb_drift_values *out)
{
    for (size_t k = 0; out->f && k < d; k++) /* column by column: rows are short */
        for (size_t i = 0; i < n; i++) out->f[(first + i) * d + k] = rows[i * width + k];
    for (size_t i = 0; out->divergence && i < n; i++)
        out->divergence[first + i] = rows[i * width + d];
    for (size_t k = 0; out->grad_divergence && k < d; k++)
        for (size_t i = 0; i < n; i++)
            out->grad_divergence[(first + i) * d + k] = rows[i * width + d + 1 + k];
}

static hb_status drift_run_with_divergence(hb_context *context, const hb_drift *drift,
                                           const double *t, size_t t_step, size_t n,
                                           const double *x, const hb_drift_values *out)
{
    const int gradient = out->grad_divergence != NULL;
    const size_t d = (size_t)drift->dim, width = gradient ? 2 * d + 1 : d + 1;
    const hb_program *program = gradient ? drift->with_gradient : drift->with_divergence;
    const size_t block = hb_drift_rows(n, width);
    void *rows;
    HB_TRY(hb_allocate(context, block * width, sizeof(double), &rows));
    hb_status status = HB_OK;
    for (size_t i = 0; i < n && status == HB_OK; i += block) {
        const size_t count = n - i < block ? n - i : block;
        status =
            hb_program_run_times(context, program, count, x + i * d, t + i * t_step, t_step, rows);
        if (status == HB_OK) drift_scatter(count, d, width, rows, i, out);
    }
    hb_release(context, rows);
    return status;
}

static hb_status drift_run_jacobian(hb_context *context, const hb_drift *drift, const double *t,
                                    size_t t_step, size_t n, const double *x, double *jacobian)
{
    const size_t d = (size_t)drift->dim, width = (size_t)drift->n_entries;
    memset(jacobian, 0, n * d * d * sizeof *jacobian);
    if (width == 0) return HB_OK;
    const size_t block = hb_drift_rows(n, width);
    double *rows;
    HB_TRY(HB_NEW(context, rows, block * width));
    hb_status status = HB_OK;
    for (size_t i = 0; i < n && status == HB_OK; i += block) {
        const size_t count = n - i < block ? n - i : block;
        status = hb_program_run_times(context, drift->jacobian, count, x + i * d, t + i * t_step,
                                      t_step, rows);
        for (size_t row = 0; row < count && status == HB_OK; row++)
            for (size_t k = 0; k < width; k++)
                jacobian[(i + row) * d * d + drift->entries[k]] = rows[row * width + k];
    }
    hb_release(context, rows);
    return status;
}

/* out[n][d] = J' b[n][d] */
static void drift_turn_rows(const hb_drift *drift, size_t n, const double *rows, const double *b,
                            double *out)
{
    const size_t d = (size_t)drift->dim, width = (size_t)drift->n_entries;
    memset(out, 0, n * d * sizeof *out);
    for (size_t row = 0; row < n; row++)
        for (size_t k = 0; k < width; k++)
            out[row * d + drift->entries[k] % d] +=
                rows[row * width + k] * b[row * d + drift->entries[k] / d];
}

hb_status hb_drift_text_turned(hb_context *context, const hb_drift *drift, const double *t,
                               size_t t_step, size_t n, const double *x, const double *b,
                               double *out)
{
    const size_t d = (size_t)drift->dim, width = (size_t)drift->n_entries;
    const size_t block = hb_drift_rows(n, width + (width == 0));
    double *rows;
    HB_TRY(HB_NEW(context, rows, block * width + 1));
    hb_status status = HB_OK;
    for (size_t i = 0; i < n && status == HB_OK; i += block) {
        const size_t count = n - i < block ? n - i : block;
        if (width > 0)
            status = hb_program_run_times(context, drift->jacobian, count, x + i * d,
                                          t + i * t_step, t_step, rows);
        if (status == HB_OK) drift_turn_rows(drift, count, rows, b + i * d, out + i * d);
    }
    hb_release(context, rows);
    return status;
}

hb_status hb_drift_text_evaluate(hb_context *context, const hb_drift *drift, const double *t,
                                 size_t t_step, size_t n, const double *x,
                                 const hb_drift_values *out)
{
    if (n == 0) return HB_OK;
    if (out->divergence || out->grad_divergence)
        HB_TRY(drift_run_with_divergence(context, drift, t, t_step, n, x, out));
    else if (out->f)
        HB_TRY(hb_program_run_times(context, drift->value, n, x, t, t_step, out->f));
    return out->jacobian ? drift_run_jacobian(context, drift, t, t_step, n, x, out->jacobian)
                         : HB_OK;
}
