/* Which noise is it? The graph decides.
 *
 *     G = diag(b_i(x_i)) M(t), L L' = M M'     one noise g(t) in y (transform_find.c)
 *     the same without such an L               a matrix in z: HB_NOISE_MATRIX
 *     else                                     a field of matrices in x: HB_NOISE_FIELD
 * and the problem gets its drift, its noise and its transform in those coordinates. A drift that is
 * a callback has them where L is a matrix of numbers. A problem with `unit` gets coordinates in
 * which its noise is sqrt(2), so that tau = t: 2 L L' = M M', also for one number.
 * A number to reproduce: the noise "0.5, 0.5" needs no transform. */
#include "base/context.h"
#include "base/memory.h"
#include "problem/line_balance.h"
#include "problem/transform/transform_parts.h"

#include <math.h>
#include <stdio.h>

/* ---- what the problem gets ---- */

hb_status hb_problem_set_noise(hb_context *context, const hb_graph *graph, hb_node g,
                               hb_problem *problem)
{
    hb_node *x; // (dim): g has none
    hb_node own;
    HB_TRY(hb_graph_create(context, 1, &problem->noise_graph));
    HB_TRY(HB_NEW(context, x, (size_t)graph->dim));
    for (int i = 0; i < graph->dim; i++) x[i] = hb_build_variable(problem->noise_graph, 1);
    const hb_status status = hb_graph_substitute(
        graph, 1, &g, x, hb_build_variable(problem->noise_graph, 0), problem->noise_graph, &own);
    hb_release(context, x);
    HB_TRY(status);
    return hb_problem_compile_noise(context, own, problem);
}

static hb_status transform_take_noise(hb_transform_building *b, double g)
{
    hb_node node;
    HB_TRY(hb_graph_constant(b->typed.graph, g, &node));
    return hb_problem_set_noise(b->context, b->typed.graph, node, b->problem);
}

/* Compiles the drift from nodes of a graph, which it takes. */
static hb_status transform_take_drift(hb_transform_building *b, hb_graph **graph, const hb_node *f)
{
    hb_drift *drift = &b->problem->drift;
    drift->dim = b->d;
    drift->graph = *graph;
    *graph = NULL;
    return hb_drift_compile(b->context, f, drift);
}

/* G of the problem: a program in the problem's coordinates; with its divergence for a field. */
static hb_status transform_take_matrix(hb_transform_building *b, hb_graph *graph, const hb_node *G,
                                       hb_noise_kind kind)
{
    hb_matrix_noise *noise = &b->problem->noise_matrix;
    noise->kind = kind;
    noise->columns = b->m;
    noise->constant = 1;
    for (int k = 0; k < b->d * b->m; k++) noise->constant &= !hb_graph_depends(graph, G[k], 0);
    HB_TRY(hb_time_cuts_add(b->context, graph, b->d * b->m, G, hb_problem_span(b->problem),
                            &b->problem->cuts));
    HB_TRY(hb_program_compile(graph, b->d * b->m, G, &noise->factor));
    HB_TRY(hb_range_tape_create(b->context, graph, b->d * b->m, G, &noise->ranges));
    return kind == HB_NOISE_FIELD
               ? hb_noise_compile_divergence(b->context, graph, b->d, b->m, G, noise)
               : HB_OK;
}

/* The transform's own L, in numbers or as a program, and what it is called. */
static hb_status finish_transform(hb_transform_building *b)
{
    hb_transform *transform = b->transform;
    const int d = b->d;
    for (int i = 0; i < d; i++)
        for (int j = 0; j <= i; j++) {
            double number = NAN;
            const hb_node entry = b->L[i * d + j];
            const int constant = hb_graph_is_constant(b->to, entry, &number);
            transform->turns |= i != j && !(constant && number == 0);
            transform->scales |= !(constant && number == (i == j));
        }
    if (!transform->scales) return HB_OK;
    if (transform->moves) return hb_program_compile(b->to, d * d, b->L, &transform->moving);
    HB_TRY(HB_NEW(b->context, transform->L, (size_t)d * (size_t)d));
    for (int k = 0; k < d * d; k++) hb_graph_is_constant(b->to, b->L[k], &transform->L[k]);
    return HB_OK;
}

static void name_transform(const hb_transform_building *b, int with_matrix)
{
    hb_transform *transform = b->transform;
    char axis[100], name[24];
    size_t used = 0;
    transform->text[0] = '\0';
    if (!transform->bends) {
        snprintf(transform->text, sizeof transform->text,
                 "coordinates y = L%s x with %sL L' = G G'%s", transform->moves ? "(t)^-1" : "^-1",
                 b->problem->unit ? "2 " : "", transform->turns ? "" : ", axis by axis");
        return;
    }
    used += (size_t)snprintf(transform->text, sizeof transform->text, "Lamperti coordinates y = ");
    for (int i = 0; i < b->d && used < 100; i++) {
        snprintf(name, sizeof name, "x%d", i + 1);
        hb_axis_text(&transform->axes[i], b->d == 1 ? "x" : name, sizeof axis, axis);
        const int left = i > 1 && b->d > 3;
        used += (size_t)snprintf(transform->text + used, sizeof transform->text - used, "%s%.50s",
                                 i > 0 ? ", " : "", left ? "..." : axis);
        if (left) break;
    }
    if (with_matrix && transform->scales && used < sizeof transform->text)
        snprintf(transform->text + used, sizeof transform->text - used, ", then L%s y",
                 transform->moves ? "(t)^-1" : "^-1");
}

static void give_transform(hb_transform_building *b)
{
    b->problem->transform = b->transform;
    b->transform = NULL;
}

/* L = c I without bent axes needs no transform: the noise is c g. */
static hb_status drop_transform(hb_transform_building *b)
{
    double c, number;
    if (b->transform->bends || !hb_graph_is_constant(b->to, b->L[0], &c)) return HB_OK;
    if (b->problem->unit && fabs(c) != 1) return HB_OK; /* the noise of y must stay sqrt(2) */
    for (int k = 1; k < b->d * b->d; k++)
        if (!hb_graph_is_constant(b->to, b->L[k], &number) ||
            number != (k % (b->d + 1) == 0 ? c : 0))
            return HB_OK;
    const hb_node g = hb_build_scaled(b->to, fabs(c), b->g);
    HB_TRY(hb_graph_finish(b->to, g, &b->g));
    for (int i = 0; i < b->d; i++) HB_TRY(hb_graph_constant(b->to, 1, &b->L[i * (b->d + 1)]));
    b->transform->same = 1;
    return HB_OK;
}

/* Isotropic in y. */
static hb_status build_scalar(hb_transform_building *b, hb_node *x, hb_node *f)
{
    HB_TRY(drop_transform(b));
    HB_TRY(hb_transform_drift_of_z(b, 1, x, f));
    HB_TRY(hb_transform_drift_of_y(b, f));
    HB_TRY(hb_transform_normalise(b, x, f));
    HB_TRY(finish_transform(b));
    name_transform(b, 1);
    HB_TRY(hb_problem_set_noise(b->context, b->to, b->g, b->problem));
    if (!b->transform->same) give_transform(b);
    return transform_take_drift(b, &b->to, f);
}

/* A matrix in z. */
static hb_status build_matrix(hb_transform_building *b, hb_node *x, hb_node *f)
{
    HB_TRY(hb_transform_drift_of_z(b, 0, x, f));
    HB_TRY(hb_transform_normalise(b, x, f));
    HB_TRY(transform_take_matrix(b, b->to, b->M, HB_NOISE_MATRIX));
    HB_TRY(transform_take_noise(b, M_SQRT2));
    if (b->transform->bends) {
        b->transform->moves = 0;
        name_transform(b, 0);
        give_transform(b);
    }
    return transform_take_drift(b, &b->to, f);
}

/* On a line without t the stationary density is known. */
static hb_status take_balance(hb_transform_building *b)
{
    hb_matrix_noise *noise = &b->problem->noise_matrix;
    hb_graph *graph = b->typed.graph;
    if (b->d != 1 || !b->f || !noise->constant || hb_graph_depends(graph, b->f[0], 0)) return HB_OK;
    return hb_line_balance_create(b->context, graph, b->f[0], b->m, b->noise.G, &noise->balance);
}

static hb_status build_field(hb_transform_building *b)
{
    HB_TRY(transform_take_matrix(b, b->typed.graph, b->noise.G, HB_NOISE_FIELD));
    HB_TRY(transform_take_noise(b, M_SQRT2));
    HB_TRY(take_balance(b));
    if (!b->f) return hb_drift_from_callback(b->context, b->s, b->d, &b->problem->drift);
    return transform_take_drift(b, &b->typed.graph, b->f);
}

/* The drift is a callback: y where L is a matrix of numbers, else x with the noise as it is. */
static hb_status build_callback(hb_transform_building *b, hb_noise_kind kind)
{
    hb_problem *problem = b->problem;
    if (kind != HB_NOISE_SCALAR || b->transform->moves) {
        HB_TRY(transform_take_matrix(b, b->to, b->M, HB_NOISE_MATRIX));
        HB_TRY(transform_take_noise(b, M_SQRT2));
        return hb_drift_from_callback(b->context, b->s, b->d, &problem->drift);
    }
    HB_TRY(drop_transform(b));
    HB_TRY(finish_transform(b));
    name_transform(b, 1);
    HB_TRY(hb_problem_set_noise(b->context, b->to, b->g, problem));
    if (b->transform->same) return hb_drift_from_callback(b->context, b->s, b->d, &problem->drift);
    give_transform(b);
    return hb_transform_callback(b->context, b->s, problem);
}

static hb_status build_by_kind(hb_transform_building *b)
{
    hb_noise_kind kind;
    hb_workspace work;
    hb_node *x, *f;
    HB_TRY(hb_transform_read_matrix(b));
    HB_TRY(hb_transform_find_coordinates(b, &kind));
    if (!b->f) return build_callback(b, kind);
    HB_TRY(HB_WORKSPACE(b->context, &work, HB_ARRAY(x, (size_t)b->d), HB_ARRAY(f, (size_t)b->d)));
    const hb_status status =
        kind == HB_NOISE_SCALAR ? build_scalar(b, x, f) : build_matrix(b, x, f);
    hb_workspace_destroy(&work);
    return status;
}

static hb_status transform_build(hb_transform_building *b, hb_node *f)
{
    const hb_problem_settings *s = b->s;
    int field;
    if (s->drift_callback) {
        b->typed.dim = b->d;
        HB_TRY(hb_graph_create(b->context, b->d, &b->typed.graph));
        HB_TRY(hb_drift_parameters(b->context, s, b->typed.graph));
    } else {
        b->f = f;
        HB_TRY(hb_drift_parse(b->context, s, b->d, &b->typed, f));
    }
    HB_TRY(hb_noise_text_parse(b->context, s->noise ? s->noise : "1", b->d, b->typed.graph,
                               &b->noise));
    b->m = b->noise.columns;
    if (s->convention == HB_CONVENTION_STRATONOVICH) {
        HB_CHECK(b->context, b->f, HB_ERROR_ARGUMENT,
                 "the convention is stratonovich and the drift is a callback; give the drift as "
                 "text, or Ito's drift");
        HB_TRY(hb_noise_convert(b->typed.graph, &b->noise, f));
    }
    HB_TRY(hb_transform_read_axes(b, &field));
    if (!b->f && b->transform->bends) field = 1;
    if (field) return build_field(b);
    hb_workspace work;
    const size_t d = (size_t)b->d;
    HB_TRY(hb_graph_create(b->context, b->d, &b->to));
    HB_TRY(
        HB_WORKSPACE(b->context, &work, HB_ARRAY(b->M, d * (size_t)b->m), HB_ARRAY(b->L, d * d)));
    const hb_status status = build_by_kind(b);
    hb_workspace_destroy(&work);
    return status;
}

hb_status hb_problem_build_transformed(hb_context *context, const hb_problem_settings *settings,
                                       hb_problem *problem)
{
    hb_transform_building b = {
        .context = context, .s = settings, .problem = problem, .d = problem->dim};
    hb_node *f = NULL;
    HB_TRY(HB_NEW_CLEARED(context, b.transform, 1));
    b.transform->dim = problem->dim;
    hb_status status = HB_NEW_CLEARED(context, b.transform->axes, (size_t)b.d);
    if (status == HB_OK) status = HB_NEW(context, f, (size_t)b.d);
    if (status == HB_OK) status = transform_build(&b, f);
    hb_release(context, f);
    hb_release(context, b.noise.G);
    hb_drift_destroy(context, &b.typed);
    hb_graph_destroy(b.to);
    hb_transform_destroy(context, b.transform);
    return status;
}
