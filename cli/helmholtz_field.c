/* The field that `heatball helmholtz` splits: an array [ny][nx][2] of a .npy file, or the score
 * of a model at one tau on a lattice of points x points.
 *
 * Without --box the lattice of a model holds N_DRAWS samples of the model at that tau, by the
 * probability-flow ODE, with MARGIN of each side more; so it is where the density is, in the
 * units of the data. An array without --box has the corner 0 and the given spacing, 1 by
 * default.
 *
 * A number to reproduce: the rigid rotation (-y, x) on a square has the rotation mass 0.843465. */
#include "command_helmholtz.h"
#include "points.h"

#include <heatball/file.h>
#include <heatball/generate.h>
#include <heatball/metrics.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_DRAWS = 256, LEAST_SIDE = 8, LONGEST_SIDE = 4096 };
static const double MARGIN = 0.1,
                    LAST_TAU = 0.9; /* LAST_TAU: fraction of tau_max to draw at most */

static size_t count_of(const hb_helmholtz_field *f)
{
    return (size_t)f->lattice.nx * (size_t)f->lattice.ny;
}

static hb_status field_allocate(hb_helmholtz_field *f)
{
    const size_t n = count_of(f);
    f->field = malloc(6 * n * sizeof(double));
    if (!f->field) return HB_ERROR_MEMORY;
    f->gradient = f->field + 2 * n;
    f->rotation = f->gradient + 2 * n;
    return HB_OK;
}

static hb_status field_read_box(hb_session *session, const char *text, hb_lattice *lattice)
{
    double low[2], high[2];
    HB_TRY(hb_points_box(session, text, 2, low, high));
    *lattice = (hb_lattice){lattice->nx, lattice->ny, low[0], high[0], low[1], high[1]};
    return HB_OK;
}

/* ---- of a model ---- */

static hb_status field_check_model(hb_session *session, const hb_helmholtz_values *v,
                                   const hb_model_info *info)
{
    HB_REFUSE_IF(session, info->dim != 2,
                 "%.200s is a model in dimension %d; the split needs dimension 2", v->source,
                 info->dim);
    HB_REFUSE_IF(session, !(v->tau >= info->tau_min && v->tau <= info->tau_max),
                 "--tau is %g; the model was trained for %g to %g", v->tau, info->tau_min,
                 info->tau_max);
    HB_REFUSE_IF(session, v->label >= 0 && info->classes == 0,
                 "--label is %d; the model has no classes", v->label);
    HB_REFUSE_IF(session, v->label >= 0 && v->label >= info->classes,
                 "--label is %d; the model has classes 0 to %d", v->label, info->classes - 1);
    return HB_OK;
}

static void field_stretch(double low, double high, double *out_low, double *out_high)
{
    const double side = fmax(high - low, 1e-6 * (1 + fabs(low)));
    *out_low = low - MARGIN * side;
    *out_high = high + MARGIN * side;
}

static int field_is_inside(const hb_model *model, double x, double y)
{
    double z[2] = {x, y};
    hb_model_standardise(model, 1, z, z);
    return !isnan(z[0]) && !isnan(z[1]);
}

static hb_status field_find_box(hb_context *context, const hb_helmholtz_values *v,
                                const hb_model *model, const hb_model_info *info,
                                hb_lattice *lattice)
{
    double x[N_DRAWS][2], low[2], high[2];
    int labels[N_DRAWS];
    hb_generate_settings settings;
    hb_generate_settings_default(sizeof settings, &settings);
    settings.solver = HB_SOLVER_ODE;
    settings.denoise = HB_DENOISE_NONE;
    settings.tau_min = fmin(v->tau, LAST_TAU * info->tau_max);
    for (int i = 0; i < N_DRAWS; i++) labels[i] = v->label;
    HB_TRY(hb_model_generate(context, model, &settings, 0, N_DRAWS,
                             info->classes > 0 ? labels : NULL, x[0]));
    for (int axis = 0; axis < 2; axis++) {
        low[axis] = INFINITY, high[axis] = -INFINITY;
        for (int i = 0; i < N_DRAWS; i++) {
            low[axis] = fmin(low[axis], x[i][axis]);
            high[axis] = fmax(high[axis], x[i][axis]);
        }
    }
    field_stretch(low[0], high[0], &lattice->x0, &lattice->x1);
    field_stretch(low[1], high[1], &lattice->y0, &lattice->y1);
    /* not beyond the domain of the process, in which the draws are */
    if (!field_is_inside(model, lattice->x0, low[1])) lattice->x0 = low[0];
    if (!field_is_inside(model, lattice->x1, low[1])) lattice->x1 = high[0];
    if (!field_is_inside(model, low[0], lattice->y0)) lattice->y0 = low[1];
    if (!field_is_inside(model, low[0], lattice->y1)) lattice->y1 = high[1];
    return HB_OK;
}

static hb_status field_check_inside(hb_session *session, const hb_model *model, const hb_lattice *l)
{
    if (field_is_inside(model, l->x0, l->y0) && field_is_inside(model, l->x1, l->y1)) return HB_OK;
    return hb_session_refuse(session,
                             "--box reaches out of the domain of the model's process, where its "
                             "noise vanishes and there is no score; give a box inside");
}

static hb_status field_evaluate(hb_context *context, const hb_helmholtz_values *v,
                                const hb_model *model, hb_helmholtz_field *out)
{
    const hb_lattice *l = &out->lattice;
    const size_t n = count_of(out);
    double *tau = out->rotation,
           *x = out->gradient; // (n), (n, 2): scratch that the split fills later
    int *labels = NULL;
    if (v->label >= 0) {
        labels = malloc(n * sizeof *labels);
        if (!labels) return HB_ERROR_MEMORY;
    }
    for (size_t k = 0; k < n; k++) {
        x[2 * k] = l->x0 + (l->x1 - l->x0) * (double)(k % (size_t)l->nx) / (l->nx - 1);
        x[2 * k + 1] = l->y0 + (l->y1 - l->y0) * (double)(k / (size_t)l->nx) / (l->ny - 1);
        tau[k] = v->tau;
        if (labels) labels[k] = v->label;
    }
    const hb_status status = hb_model_score(context, model, n, x, tau, labels, out->field);
    free(labels);
    return status;
}

static hb_status field_from_model(hb_session *session, const hb_helmholtz_values *v,
                                  hb_helmholtz_field *out)
{
    hb_context *context = hb_session_context(session);
    hb_model *model;
    hb_model_info info;
    HB_REFUSE_IF(session, isnan(v->tau), "--tau is missing; a model needs it");
    HB_REFUSE_IF(session, v->spacing.n > 0,
                 "--spacing is for a FIELD.npy; a model takes --box and --points");
    HB_TRY(hb_model_load(context, v->source, &model));
    hb_model_info_get(model, sizeof info, &info);
    out->has_model = 1;
    out->head = info.head;
    out->lattice.nx = out->lattice.ny = v->points > 0 ? v->points : HB_HELMHOLTZ_POINTS;
    hb_status status = field_check_model(session, v, &info);
    if (status == HB_OK)
        status = v->box ? field_read_box(session, v->box, &out->lattice)
                        : field_find_box(context, v, model, &info, &out->lattice);
    if (status == HB_OK) status = field_check_inside(session, model, &out->lattice);
    if (status == HB_OK) status = field_allocate(out);
    if (status == HB_OK) status = field_evaluate(context, v, model, out);
    hb_model_destroy(model);
    return status;
}

/* ---- of a file ---- */

static hb_status field_check_shape(hb_session *session, const char *path, int n_axes,
                                   const uint64_t *shape)
{
    HB_REFUSE_IF(session, n_axes != 3 || shape[2] != 2,
                 "%.200s has %d axes, the last of length %llu; a field is an array [ny][nx][2]",
                 path, n_axes, (unsigned long long)shape[n_axes - 1]);
    for (int axis = 0; axis < 2; axis++)
        HB_REFUSE_IF(session, shape[axis] < LEAST_SIDE || shape[axis] > LONGEST_SIDE,
                     "%.200s has %llu x %llu points; each side must be %d to %d", path,
                     (unsigned long long)shape[0], (unsigned long long)shape[1], LEAST_SIDE,
                     LONGEST_SIDE);
    return HB_OK;
}

static hb_status field_check_finite(hb_session *session, const hb_helmholtz_values *v,
                                    const hb_helmholtz_field *f)
{
    for (size_t k = 0; k < 2 * count_of(f); k++)
        HB_REFUSE_IF(session, !isfinite(f->field[k]),
                     "%.200s has %g at [%zu][%zu][%zu]; it must be finite numbers", v->source,
                     f->field[k], k / 2 / (size_t)f->lattice.nx, k / 2 % (size_t)f->lattice.nx,
                     k % 2);
    return HB_OK;
}

/* The corner 0 and the spacing of the line, one number for both axes or two. */
static hb_status field_place(hb_session *session, const hb_helmholtz_values *v, hb_lattice *l)
{
    HB_REFUSE_IF(session, v->box && v->spacing.n > 0,
                 "--box and --spacing are both given; give one of them");
    if (v->box) return field_read_box(session, v->box, l);
    HB_REFUSE_IF(session, v->spacing.n > 2,
                 "--spacing has %zu numbers; it must be one, or one for each axis", v->spacing.n);
    const double hx = v->spacing.n > 0 ? v->spacing.values[0] : 1;
    const double hy = v->spacing.n > 1 ? v->spacing.values[1] : hx;
    *l = (hb_lattice){l->nx, l->ny, 0, hx * (l->nx - 1), 0, hy * (l->ny - 1)};
    return HB_OK;
}

static hb_status field_take_array(hb_session *session, const hb_helmholtz_values *v, int n_axes,
                                  const uint64_t *shape, const double *values,
                                  hb_helmholtz_field *out)
{
    HB_TRY(field_check_shape(session, v->source, n_axes, shape));
    out->lattice.ny = (int)shape[0];
    out->lattice.nx = (int)shape[1];
    hb_status status = field_place(session, v, &out->lattice);
    if (status == HB_OK) status = field_allocate(out);
    if (status != HB_OK) return status;
    memcpy(out->field, values, 2 * count_of(out) * sizeof *values);
    return field_check_finite(session, v, out);
}

static hb_status field_from_file(hb_session *session, const hb_helmholtz_values *v,
                                 hb_helmholtz_field *out)
{
    hb_context *context = hb_session_context(session);
    int n_axes;
    uint64_t shape[4];
    double *values;
    HB_REFUSE_IF(session, !isnan(v->tau) || v->points > 0 || v->label >= 0,
                 "--tau, --points and --label are for a model; an array takes --box or --spacing");
    HB_TRY(hb_table_read(context, v->source, &n_axes, shape, &values));
    hb_status status = field_take_array(session, v, n_axes, shape, values, out);
    hb_context_release(context, values);
    return status;
}

/* ---- the split ---- */

static double mean_square(size_t n, const double *values)
{
    double sum = 0;
    for (size_t k = 0; k < 2 * n; k++) sum += values[k] * values[k];
    return sum / (double)n;
}

static hb_status field_split(hb_context *context, hb_helmholtz_field *f)
{
    const hb_lattice *l = &f->lattice;
    const size_t n = count_of(f);
    HB_TRY(hb_judge_helmholtz(context, l->nx, l->ny, (l->x1 - l->x0) / (l->nx - 1),
                              (l->y1 - l->y0) / (l->ny - 1), f->field, f->gradient, f->rotation,
                              &f->gradient_mass, &f->rotation_mass));
    double squares = 0;
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < 2; i++) f->mean[i] += f->field[2 * k + i] / (double)n;
    for (size_t k = 0; k < 2 * n; k++) squares += pow(f->field[k] - f->mean[k % 2], 2) / (double)n;
    f->rms = sqrt(squares);
    f->gradient_rms = sqrt(mean_square(n, f->gradient));
    f->rotation_rms = sqrt(mean_square(n, f->rotation));
    return HB_OK;
}

hb_status hb_helmholtz_field_create(hb_session *session, const hb_helmholtz_values *v,
                                    hb_helmholtz_field *out)
{
    *out = (hb_helmholtz_field){0};
    const hb_status status = hb_points_has_extension(v->source, ".npy")
                                 ? field_from_file(session, v, out)
                                 : field_from_model(session, v, out);
    return status == HB_OK ? field_split(hb_session_context(session), out) : status;
}

void hb_helmholtz_field_destroy(hb_helmholtz_field *field)
{
    free(field->field);
    *field = (hb_helmholtz_field){0};
}
