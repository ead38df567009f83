/* The settings of hb_solve: read with their defaults, which of them were given, and what is
 * refused.
 *
 * A setting counts as given where it differs from its default; hb_method_check (choose.c) refuses
 * those that the method does not read. The defaults give no bit; grid.points[0] = 64 gives
 * HB_SOLVE_SETTING_POINTS. */
#include "base/context.h"
#include "base/sized.h"
#include "solve/solve_parts.h"

#include <math.h>
#include <stddef.h>

/* The last time of paths may differ from the requested one by rounding. */
static const double TIME_SLACK = 1e-9;

void hb_sampling_settings_default(size_t size, hb_sampling_settings *settings)
{
    const hb_sampling_settings defaults = {.lift = -1, .seed = 1};
    hb_sized_default(sizeof defaults, &defaults, size, settings);
}

void hb_solve_settings_default(size_t size, hb_solve_settings *settings)
{
    const hb_solve_settings defaults = {.method = HB_METHOD_AUTO, .time = NAN};
    hb_sized_default(sizeof defaults, &defaults, size, settings);
}

/* ---- what was given ---- */

const char *hb_solve_setting_name(unsigned setting)
{
    static const char *const names[] = {"cells",    "box",    "degree", "samples",
                                        "lift",     "radius", "stderr", "stderr-score",
                                        "max-time", "state",  "paths"};
    for (unsigned k = 0; k < sizeof names / sizeof *names; k++)
        if (setting == 1U << k) return names[k];
    return "";
}

static unsigned plan_settings_of_grid(const hb_grid_settings *g)
{
    unsigned given = 0;
    for (int a = 0; a < 3; a++) {
        if (g->points[a]) given |= HB_SOLVE_SETTING_POINTS;
        if (!isnan(g->low[a]) || !isnan(g->high[a])) given |= HB_SOLVE_SETTING_BOX;
    }
    return given | (g->max_time > 0 ? HB_SOLVE_SETTING_MAX_TIME : 0);
}

static unsigned plan_settings_given(const hb_solve_plan *p)
{
    const hb_sampling_settings *s = &p->sampling;
    hb_mean_settings mean;
    hb_mean_settings_default(sizeof mean, &mean);
    const struct {
        unsigned setting;
        int given;
    } rows[] = {{HB_SOLVE_SETTING_DEGREE, p->mean.degree != mean.degree},
                {HB_SOLVE_SETTING_SAMPLES, s->samples > 0 || p->mean.samples != mean.samples},
                {HB_SOLVE_SETTING_LIFT, s->lift >= 0 || p->mean.lift != mean.lift},
                {HB_SOLVE_SETTING_RADIUS, s->radius > 0 || p->mean.radius > 0},
                {HB_SOLVE_SETTING_STDERR, s->density_error > 0},
                {HB_SOLVE_SETTING_STDERR_SCORE, s->score_error > 0},
                {HB_SOLVE_SETTING_MAX_TIME, s->max_time > 0},
                {HB_SOLVE_SETTING_STATE, s->state != NULL},
                {HB_SOLVE_SETTING_PATHS, s->paths != NULL}};
    unsigned given = plan_settings_of_grid(&p->grid);
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        if (rows[k].given) given |= rows[k].setting;
    return given;
}

hb_status hb_solve_plan_read(hb_context *context, const hb_problem *problem,
                             const hb_solve_settings *settings, hb_solve_plan *out)
{
    hb_solve_settings s;
    HB_SIZED_READ(context, hb_solve_settings, settings, &s);
    HB_SIZED_READ(context, hb_mean_settings, s.mean, &out->mean);
    HB_SIZED_READ(context, hb_grid_settings, s.grid, &out->grid);
    HB_SIZED_READ(context, hb_sampling_settings, s.sampling, &out->sampling);
    const double *own;
    const size_t n_own = hb_problem_times(problem, &own);
    out->method = s.method;
    out->n_points = 0;
    out->ignore_unread = s.ignore_unread;
    out->given = plan_settings_given(out);
    const hb_method_description *method = hb_method_of(s.method);
    if (s.ignore_unread && method && !(method->reads & HB_SOLVE_SETTING_PATHS))
        out->sampling.paths = NULL;
    out->time = s.time;
    out->n_times = s.times ? s.n_times : 0;
    out->times = s.times;
    HB_CHECK(context, out->n_times == 0 || isnan(s.time), HB_ERROR_ARGUMENT,
             "time and times are both given; give one of them");
    HB_CHECK(context, out->n_times <= HB_MOST_TIMES, HB_ERROR_ARGUMENT,
             "%zu times are requested; at most %d are solved at once", out->n_times, HB_MOST_TIMES);
    if (out->n_times == 0 && isnan(s.time)) {
        out->n_times = n_own;
        out->times = own;
    }
    if (out->n_times > 0) out->time = out->times[out->n_times - 1];
    if (out->n_times == 1 && out->time == INFINITY) out->n_times = 0;
    return HB_OK;
}

/* ---- what is refused ---- */

hb_status hb_solve_check_points(hb_context *context, int dim, size_t n, const double *points)
{
    HB_CHECK(context, n >= 1 && points, HB_ERROR_ARGUMENT, "there is no point; give at least one");
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < dim; k++)
            HB_CHECK(context, isfinite(points[i * (size_t)dim + (size_t)k]), HB_ERROR_ARGUMENT,
                     "coordinate %d of point %zu is %g; it must be finite", k + 1, i + 1,
                     points[i * (size_t)dim + (size_t)k]);
    return HB_OK;
}

static hb_status plan_check_path_times(hb_context *context, const hb_sampling_settings *s,
                                       double time)
{
    const double *t = s->path_times, last = t[s->n_times - 1];
    for (size_t k = 0; k < s->n_times; k++)
        HB_CHECK(context, t[k] >= 0 && isfinite(t[k]) && (k == 0 || t[k] > t[k - 1]),
                 HB_ERROR_ARGUMENT,
                 "time %zu of the paths is %g; the times must rise, from 0 or later", k + 1, t[k]);
    HB_CHECK(context, fabs(last - time) <= TIME_SLACK * time, HB_ERROR_ARGUMENT,
             "the last time of the paths is %g; it must be the requested time, %g", last, time);
    return HB_OK;
}

static hb_status plan_check_paths(hb_context *context, const hb_sampling_settings *s, double time,
                                  int dim)
{
    if (!s->paths) return HB_OK;
    HB_CHECK(context, s->n_paths >= 1 && s->n_times >= 1 && s->path_times, HB_ERROR_ARGUMENT,
             "paths have %zu trajectories and %zu times; there must be at least one of each, and "
             "the times",
             s->n_paths, s->n_times);
    HB_CHECK(context, isfinite(time), HB_ERROR_ARGUMENT,
             "paths are given and time is inf; trajectories end at a finite time");
    HB_TRY(plan_check_path_times(context, s, time));
    const size_t row = s->n_times * (size_t)dim;
    for (size_t i = 0; i < s->n_paths * row; i++)
        HB_CHECK(context, isfinite(s->paths[i]), HB_ERROR_ARGUMENT,
                 "path %zu is %g at its time %zu; it must be finite", i / row + 1, s->paths[i],
                 i % row / (size_t)dim + 1);
    return HB_OK;
}

hb_status hb_solve_plan_check(hb_context *context, const hb_solve_plan *plan, int dim)
{
    const hb_sampling_settings *s = &plan->sampling;
    const struct {
        const char *name;
        double value;
    } parts[] = {{"density_error", s->density_error},
                 {"score_error", s->score_error},
                 {"max_time", s->max_time},
                 {"save_every", s->save_every},
                 {"radius", s->radius}};
    for (int k = 0; k < 5; k++)
        HB_CHECK(context, parts[k].value >= 0 && isfinite(parts[k].value), HB_ERROR_ARGUMENT,
                 "%s is %g; it must be a number of at least 0", parts[k].name, parts[k].value);
    HB_CHECK(context, s->lift >= -1, HB_ERROR_ARGUMENT, "lift is %d; it must be at least -1",
             s->lift);
    HB_CHECK(context, !s->resume || s->state, HB_ERROR_ARGUMENT,
             "resume is set without a state file; give state");
    return plan_check_paths(context, s, plan->time, dim);
}
