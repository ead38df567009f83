/* Walks back from a point along a guide v, and their gradients.
 *
 * For dY = B ds + sqrt(2 D) dW back in time, B = 2 D grad v - F, from Y = x at tau,
 *     u(x,tau) = E[e^w],   w = v(x,tau) + int epsilon(Y) ds + ln u0(Y_0) - v(Y_0,0),
 * epsilon as in guide_field.c. It holds for every v whose walks do not run away, and w is constant
 * for v = ln u. The steps are Heun's, the integral is the trapezoid's, so that with steps of half
 * the length the mean is off by a quarter; and it is not left there: level l has 2^l steps for each
 * of level 0, on the same Brownian path, and with P_l = e^w of level l
 *     Z = P_0 + sum_l (P_l - P_(l-1))/r_l
 * over the levels of a walk, of which a part r_l has level l or more. The mean of Z is that of the
 * finest level. Gradients are those of each P_l by x, exactly (the adjoint of Heun's steps).
 * Steps end at the nodes of the guide. B h is limited smoothly to a few standard deviations of u.
 * From a point the last step is the Brownian bridge to it, with epsilon as it is before that step.
 *
 * M. B. Giles, Oper. Res. 56 (2008); C. Rhee, P. W. Glynn, Oper. Res. 63 (2015) (levels). A number
 * to reproduce: F = -x from N(0, 1), every x: w = ln u for all walks, -0.9189385332 at x = 0. */
#include "base/context.h"
#include "base/linear_algebra.h"
#include "guide/guide.h"

#include <heatball/random.h>
#include <string.h>

static const int LEVEL_WALKS[HB_GUIDE_LEVELS] = {HB_GUIDE_BLOCK, 64, 16,
                                                 8}; /* of this level or more */
static const double STEP = 0.15;                     /* of s^2/D, and over the rate of the drift */
static const double TAME = 6;                        /* standard deviations */
static const double LAST = 2e-4;   /* of the time of the first node: the last step, to a point */
static const double LARGEST = 300; /* ln of a value over the scale */

struct hb_guide_walker {
    const hb_guide *g;
    hb_context *context;
    int steps, capacity; /* of level 0, with the multiple of the run under way */
    double *ends;        // (steps + 1) rising: times of level 0
    hb_guide_view view;
    double *y, *p, *F, *G;    // (steps_max + 1, d, n): positions, predictions, drifts, gradients
    double *noise, *B, *next; // (steps_max, d, n), (d, n) twice
    double *w, *epsilon;      // (n)
    double *lambda, *mu, *turned, *pull; // (d, n)
    double *rows, *slopes, *value;       // (n, d), (n, d), (n)
    double *size, *score;                // (LEVELS, BLOCK), (LEVELS, BLOCK, d): w and its gradient
    hb_workspace work, room;
    size_t roomy; /* doubles of a path that there is room for */
};

/* ---- steps ---- */

static double walk_step_at(const hb_guide *g, double tau)
{
    const size_t d = g->d, k = hb_guide_segment(g, tau);
    const double part = (tau - g->node[k]) / (g->node[k + 1] - g->node[k]);
    double h = STEP / fmax(g->rate, STEP / g->tau);
    for (size_t i = 0; i < d; i++)
        if (g->diffusion[i] > 0)
            h = fmin(
                h, STEP *
                       ((1 - part) * g->variance[k * d + i] + part * g->variance[(k + 1) * d + i]) /
                       g->diffusion[i]);
    return h;
}

/* Adds steps from `from` down to `to` in one segment; counts only, where ends is NULL. */
static int walk_cut(const hb_guide *g, double from, double to, int multiple, int n, double *ends)
{
    while (from > to) {
        double h = walk_step_at(g, from) / multiple;
        const double left = ceil((from - to) / h - 1e-9);
        if (left < 3) h = (from - to) / left;
        from = left <= 1 ? to : from - h;
        n++;
        if (ends) ends[n] = from;
    }
    return n;
}

/* The steps of level 0, from tau down: ends[0] = tau. */
static int walk_steps(const hb_guide *g, int multiple, double *ends)
{
    const double stop = g->place ? LAST * g->node[1] : 0;
    int n = 0;
    if (ends) ends[0] = g->tau;
    for (size_t k = g->n_nodes - 1; k > 0; k--)
        n = walk_cut(g, g->node[k], fmax(g->node[k - 1], stop), multiple, n, ends);
    return n;
}

static hb_status walker_set_steps(hb_guide_walker *w, int multiple)
{
    const int steps = walk_steps(w->g, multiple, NULL);
    if (steps + 1 > w->capacity) {
        hb_release(w->context, w->ends);
        w->ends = NULL, w->capacity = 0;
        HB_TRY(HB_NEW(w->context, w->ends, (size_t)steps + 1));
        w->capacity = steps + 1;
    }
    w->steps = walk_steps(w->g, multiple, w->ends);
    return HB_OK;
}

static double walk_time(const hb_guide_walker *w, int level, int k)
{
    const int parts = 1 << level, whole = k / parts, rest = k % parts;
    if (rest == 0) return w->ends[whole];
    return w->ends[whole] + (w->ends[whole + 1] - w->ends[whole]) * rest / parts;
}

/* Room for the paths of so many steps and columns. */
static hb_status walker_make_room(hb_guide_walker *w, size_t steps, size_t n)
{
    const size_t all = (steps + 1) * w->g->d * n;
    if (all <= w->roomy) return HB_OK;
    hb_workspace_destroy(&w->room);
    w->roomy = 0;
    HB_TRY(HB_WORKSPACE(w->context, &w->room, HB_ARRAY(w->y, all), HB_ARRAY(w->p, all),
                        HB_ARRAY(w->F, all), HB_ARRAY(w->G, all), HB_ARRAY(w->noise, all)));
    w->roomy = all;
    return HB_OK;
}

/* ---- one level, forward ---- */

/* B h, limited; and, where wanted, the derivative of the limited one by B h. */
static double walk_tame(double move, double sd, double *derivative)
{
    const double part = move / (TAME * sd), e = 1 / (1 + part * part);
    if (derivative) *derivative = e * sqrt(e);
    return move * sqrt(e);
}

/* move (d, n) = limited B h of the view, whose F is known. */
static void walk_move(const hb_guide *g, const hb_guide_view *v, double h, double *move)
{
    for (size_t i = 0; i < g->d; i++) {
        const double sd = sqrt(v->s2[i]), D = g->diffusion[i];
        for (size_t j = i * v->n; j < (i + 1) * v->n; j++)
            move[j] = walk_tame(h * (2 * D * v->gradient[j] - v->F[j]), sd, NULL);
    }
}

/* w += factor (epsilon - dv/dtau in the segment). */
static void walk_weigh(const hb_guide *g, hb_guide_view *v, const double *epsilon, size_t segment,
                       double factor, double *w)
{
    for (size_t k = 0; k < v->n; k++) w[k] += factor * epsilon[k];
    hb_guide_add_change(g, v, segment, -factor, w);
}

/* The view at step k with F, divergence and epsilon; F and grad v are kept. */
static hb_status walk_look(hb_guide_walker *w, int level, int k)
{
    const size_t all = w->g->d * w->view.n, at = (size_t)k * all;
    HB_TRY(hb_guide_look(w->g, &w->view, walk_time(w, level, k), w->y + at));
    HB_TRY(hb_guide_drift(w->g, w->context, &w->view, w->y + at, 1));
    hb_guide_residual(w->g, &w->view, w->epsilon);
    memcpy(w->F + at, w->view.F, all * sizeof(double));
    memcpy(w->G + at, w->view.gradient, all * sizeof(double));
    return HB_OK;
}

/* Noise of a step: the sum of the finest normals in it, (d, n); finest is the level of `noise`. */
static void walk_noise(const hb_guide_walker *w, int finest, int level, int k, double *out)
{
    const size_t n = w->view.n, d = w->g->d;
    const int parts = 1 << (finest - level);
    memset(out, 0, d * n * sizeof *out);
    for (int q = 0; q < parts; q++) {
        const int step = k * parts + q;
        const double h = walk_time(w, finest, step) - walk_time(w, finest, step + 1);
        for (size_t i = 0; i < d; i++) {
            const double root = sqrt(2 * w->g->diffusion[i] * h);
            const double *from = w->noise + ((size_t)step * d + i) * n;
            for (size_t j = 0; j < n; j++) out[i * n + j] += root * from[j];
        }
    }
}

static hb_status walk_forward(hb_guide_walker *w, int finest, int level)
{
    const hb_guide *g = w->g;
    hb_guide_view *v = &w->view;
    const size_t all = g->d * v->n;
    const int steps = w->steps << level;
    HB_TRY(walk_look(w, level, 0));
    hb_guide_log(g, v, w->w);
    for (int k = 0; k < steps; k++) {
        const double from = walk_time(w, level, k), to = walk_time(w, level, k + 1), h = from - to;
        const size_t segment = hb_guide_segment(g, 0.5 * (from + to)), at = (size_t)k * all;
        double *y = w->y + at, *p = w->p + at, *end = y + all;
        walk_weigh(g, v, w->epsilon, segment, 0.5 * h, w->w);
        walk_move(g, v, h, w->B);
        walk_noise(w, finest, level, k, w->next);
        for (size_t j = 0; j < all; j++) p[j] = y[j] + w->B[j] + w->next[j];
        HB_TRY(hb_guide_look(g, v, to, p));
        HB_TRY(hb_guide_drift(g, w->context, v, p, 0));
        walk_move(g, v, h, end);
        for (size_t j = 0; j < all; j++) end[j] = y[j] + 0.5 * (w->B[j] + end[j]) + w->next[j];
        HB_TRY(walk_look(w, level, k + 1));
        walk_weigh(g, v, w->epsilon, segment, 0.5 * h, w->w);
    }
    return HB_OK;
}

/* ---- the end of walks, and back ---- */

/* ln u0 - v at the ends, and its gradient, into w and lambda; to a point the last step. */
static hb_status walk_end(hb_guide_walker *w, int level)
{
    const hb_guide *g = w->g;
    hb_guide_view *v = &w->view;
    const size_t n = v->n, d = g->d, all = d * n;
    const double *y = w->y + (size_t)(w->steps << level) * all;
    if (g->place) { /* lambda is that of epsilon, which walk_back adds */
        walk_weigh(g, v, w->epsilon, 0, v->tau, w->w);
        for (size_t j = 0; j < n; j++) w->w[j] -= 0.5 * (double)d * log(2 * M_PI);
        memset(w->lambda, 0, all * sizeof *w->lambda);
        return HB_OK;
    }
    hb_guide_to_rows(g, n, y, w->rows);
    HB_TRY(hb_problem_initial(w->context, g->problem, n, w->rows, w->value, w->slopes));
    hb_guide_log(g, v, w->epsilon);
    hb_guide_to_columns(g, n, w->slopes, w->lambda);
    for (size_t j = 0; j < n; j++) w->w[j] += w->value[j] - w->epsilon[j];
    for (size_t j = 0; j < all; j++) w->lambda[j] -= v->gradient[j];
    return HB_OK;
}

/* The weights of grad epsilon at node k: half of both steps, and all of the last one to a point. */
static hb_guide_weights walk_weights(const hb_guide_walker *w, int level, int k)
{
    const int steps = w->steps << level;
    hb_guide_weights out = {0};
    for (int side = 0; side < 2; side++) {
        const int step = k - 1 + side;
        double h = w->g->place ? 2 * walk_time(w, level, steps) : 0, middle = 0;
        if (step < 0 || (step == steps && !w->g->place)) continue;
        if (step < steps) {
            h = walk_time(w, level, step) - walk_time(w, level, step + 1);
            middle = walk_time(w, level, step) - 0.5 * h;
        }
        out.segment[side] = hb_guide_segment(w->g, middle);
        out.part[side] = 0.5 * h;
        out.whole += 0.5 * h;
    }
    return out;
}

/* lambda, of the end of step k, becomes that of its beginning. */
static hb_status walk_back_step(hb_guide_walker *w, int level, int k)
{
    const hb_guide *g = w->g;
    hb_guide_view *v = &w->view;
    const size_t n = v->n, d = g->d, all = d * n, at = (size_t)k * all;
    const double from = walk_time(w, level, k), to = walk_time(w, level, k + 1), h = from - to;
    HB_TRY(hb_guide_look(g, v, to, w->p + at)); /* the prediction */
    HB_TRY(hb_guide_drift(g, w->context, v, w->p + at, 0));
    for (size_t i = 0; i < d; i++)
        for (size_t j = i * n; j < (i + 1) * n; j++) {
            double tame;
            walk_tame(h * (2 * g->diffusion[i] * v->gradient[j] - v->F[j]), sqrt(v->s2[i]), &tame);
            w->mu[j] = 0.5 * h * tame * w->lambda[j];
        }
    HB_TRY(hb_guide_turn(g, w->context, v, w->p + at, w->mu, NULL, w->pull));
    HB_TRY(hb_guide_look(g, v, from, w->y + at));
    memcpy(v->F, w->F + at, all * sizeof *v->F);
    for (size_t i = 0; i < d; i++)
        for (size_t j = i * n; j < (i + 1) * n; j++) {
            double tame;
            walk_tame(h * (2 * g->diffusion[i] * v->gradient[j] - v->F[j]), sqrt(v->s2[i]), &tame);
            w->mu[j] = tame * h * (w->pull[j] + 0.5 * w->lambda[j]);
        }
    const hb_guide_weights weights = walk_weights(w, level, k);
    HB_TRY(hb_guide_turn(g, w->context, v, w->y + at, w->mu, &weights, w->turned));
    for (size_t j = 0; j < all; j++) w->lambda[j] += w->pull[j] + w->turned[j];
    return HB_OK;
}

/* lambda becomes dw/dx. The view is at the ends of the walks. */
static hb_status walk_back(hb_guide_walker *w, int level)
{
    const hb_guide *g = w->g;
    hb_guide_view *v = &w->view;
    const size_t all = g->d * v->n;
    const int steps = w->steps << level;
    const hb_guide_weights weights = walk_weights(w, level, steps);
    memset(w->mu, 0, all * sizeof *w->mu);
    HB_TRY(hb_guide_turn(g, w->context, v, w->y + (size_t)steps * all, w->mu, &weights, w->turned));
    for (size_t j = 0; j < all; j++) w->lambda[j] += w->turned[j];
    for (int k = steps - 1; k >= 0; k--) HB_TRY(walk_back_step(w, level, k));
    for (size_t j = 0; j < all; j++) w->lambda[j] += w->G[j];
    return HB_OK;
}

/* ---- a block ---- */

/* Walks first .. first+count-1 of the block, with levels 0 .. finest. */
static hb_status walk_columns(hb_guide_walker *w, const hb_guide_run *run, size_t first,
                              size_t count, int finest)
{
    const size_t n = w->view.n, d = w->g->d, all = d * n;
    const size_t steps = (size_t)w->steps << finest;
    HB_TRY(walker_make_room(w, steps, n));
    /* Numbers of a block: its walks have 2^34, in the order of the columns below. */
    const uint64_t at = (run->number << 34) + (uint64_t)first * d * ((uint64_t)w->steps << 3);
    HB_TRY(hb_random_normal(w->context, run->seed, run->stream, at, steps * all, w->noise));
    for (int level = 0; level <= finest; level++) {
        for (size_t k = 0; k < n; k++) memcpy(w->rows + k * d, run->x, d * sizeof *w->rows);
        hb_guide_to_columns(w->g, n, w->rows, w->y);
        HB_TRY(walk_forward(w, finest, level));
        HB_TRY(walk_end(w, level));
        HB_TRY(walk_back(w, level));
        hb_guide_to_rows(w->g, n, w->lambda, w->rows);
        for (size_t k = 0; k < count; k++) {
            w->size[(size_t)level * HB_GUIDE_BLOCK + first + k] = w->w[k];
            memcpy(w->score + ((size_t)level * HB_GUIDE_BLOCK + first + k) * d, w->rows + k * d,
                   d * sizeof *w->score);
        }
    }
    return HB_OK;
}

/* Whether a walk ended where it counts: -1 lost, 0 at density 0, 1. */
static int walk_counts(const hb_guide_walker *w, int level, size_t i)
{
    const size_t d = w->g->d, at = (size_t)level * HB_GUIDE_BLOCK + i;
    if (w->size[at] == -INFINITY) return 0;
    return isfinite(w->size[at]) && hb_all_finite(d, w->score + at * d) ? 1 : -1;
}

static void walk_combine(const hb_guide_walker *w, hb_guide_run *run)
{
    const size_t d = w->g->d;
    run->lost = 0;
    memset(run->a, 0, HB_GUIDE_BLOCK * sizeof *run->a);
    memset(run->b, 0, HB_GUIDE_BLOCK * d * sizeof *run->b);
    for (size_t i = 0; i < HB_GUIDE_BLOCK; i++) {
        double before = 0;
        int lost = 0;
        for (int level = 0; level < HB_GUIDE_LEVELS && i < (size_t)LEVEL_WALKS[level]; level++) {
            const size_t at = (size_t)level * HB_GUIDE_BLOCK + i;
            const double part = (double)HB_GUIDE_BLOCK / LEVEL_WALKS[level];
            const int counts = walk_counts(w, level, i);
            const double P = counts > 0 ? exp(fmin(w->size[at] - run->log_scale, LARGEST)) : 0;
            /* beyond the largest value all walks would seem alike */
            lost |= counts < 0 || (counts > 0 && w->size[at] - run->log_scale > LARGEST);
            run->a[i] += part * (P - before);
            for (size_t k = 0; k < d; k++) {
                if (P > 0) run->b[i * d + k] += part * P * w->score[at * d + k];
                if (before > 0)
                    run->b[i * d + k] -= part * before * w->score[(at - HB_GUIDE_BLOCK) * d + k];
            }
            before = P;
        }
        run->lost += lost;
    }
}

/* ln of the mean of level 0. */
static double walk_scale(const hb_guide_walker *w)
{
    double top = -INFINITY, sum = 0;
    for (size_t i = 0; i < HB_GUIDE_BLOCK; i++)
        if (walk_counts(w, 0, i) > 0) top = fmax(top, w->size[i]);
    if (!isfinite(top)) return 0;
    for (size_t i = 0; i < HB_GUIDE_BLOCK; i++)
        if (walk_counts(w, 0, i) > 0) sum += exp(w->size[i] - top);
    return top + log(sum / HB_GUIDE_BLOCK);
}

hb_status hb_guide_walk(hb_guide_walker *w, hb_guide_run *run)
{
    HB_TRY(walker_set_steps(w, run->multiple));
    for (int level = HB_GUIDE_LEVELS - 1; level >= 0; level--) {
        const size_t first = level + 1 < HB_GUIDE_LEVELS ? (size_t)LEVEL_WALKS[level + 1] : 0,
                     last = (size_t)LEVEL_WALKS[level];
        for (size_t i = first; i < last; i += HB_GUIDE_COLUMNS) {
            const size_t count = last - i < HB_GUIDE_COLUMNS ? last - i : HB_GUIDE_COLUMNS;
            w->view.n = (count + HB_GUIDE_LANES - 1) / HB_GUIDE_LANES * HB_GUIDE_LANES;
            HB_TRY(walk_columns(w, run, i, count, level));
            if (hb_is_late(w->context)) return hb_fail_late(w->context);
        }
    }
    if (isnan(run->log_scale)) run->log_scale = walk_scale(w);
    walk_combine(w, run);
    return HB_OK;
}

/* ---- creation ---- */

hb_status hb_guide_walker_create(const hb_guide *g, hb_context *context, hb_guide_walker **out)
{
    hb_guide_walker *w;
    const size_t n = HB_GUIDE_COLUMNS, d = g->d, all = d * n;
    HB_TRY(HB_NEW_CLEARED(context, w, 1));
    *out = w;
    w->g = g, w->context = context;
    hb_status status = hb_guide_view_create(g, context, n, &w->view);
    if (status == HB_OK)
        status =
            HB_WORKSPACE(context, &w->work, HB_ARRAY(w->B, all), HB_ARRAY(w->next, all),
                         HB_ARRAY(w->w, n), HB_ARRAY(w->epsilon, n), HB_ARRAY(w->lambda, all),
                         HB_ARRAY(w->mu, all), HB_ARRAY(w->turned, all), HB_ARRAY(w->pull, all),
                         HB_ARRAY(w->rows, all), HB_ARRAY(w->slopes, all), HB_ARRAY(w->value, n),
                         HB_ARRAY(w->size, HB_GUIDE_LEVELS * HB_GUIDE_BLOCK),
                         HB_ARRAY(w->score, HB_GUIDE_LEVELS * HB_GUIDE_BLOCK * d));
    if (status == HB_OK) return HB_OK;
    hb_guide_walker_destroy(w);
    *out = NULL;
    return status;
}

void hb_guide_walker_destroy(hb_guide_walker *w)
{
    if (!w) return;
    hb_context *context = w->context;
    hb_workspace_destroy(&w->view.work);
    hb_workspace_destroy(&w->work);
    hb_workspace_destroy(&w->room);
    hb_release(context, w->ends);
    hb_release(context, w);
}
