/* Balls behind anchors under OU and VE, in the frame without drift.
 *
 * OU and VE are the heat equation in y = x/a, s = b/(2 a^2), for p~ = a^d p: a node (y, sigma) of
 * the unit ball stands at y_0 + r y, s_0 - r^2 sigma with r^2 = 4 pi f s_0, which is x = a y at the
 * tau of that s. p~ is its own mean under kappa, and S = grad_y ln p~ = a grad ln p is
 *     S_0 = E_kappa[S] + r E[arm |S|^2]                                  (docs/explanation/mean-value.md).
 * So shift_j = d ln(a_j/a_0), factor = a. A number to reproduce: OU at tau_0 = 0.5: s_0 = (e - 1)/2
 * = 0.8591409. */
#include "base/linear_algebra.h"
#include "mean/ball_rule.h"

#include <math.h>
#include <string.h>

void hb_ball_level(int process, double tau, double *a, double *b)
{
    const int ou = process == HB_PROCESS_OU;
    *a = ou ? exp(-tau) : 1;
    *b = ou ? -expm1(-2 * tau) : 2 * tau;
}

double hb_ball_frame_time(double a, double b)
{
    return b / (2 * a * a);
}

double hb_ball_tau(int process, double s)
{
    return process == HB_PROCESS_OU ? 0.5 * log1p(2 * s) : s;
}

double hb_ball_radius(double share, double s0)
{
    return sqrt(4 * M_PI * share * s0);
}

/* The anchor's frame. */
typedef struct linear_frame {
    int process;
    double a0, s0, r;
} linear_frame;

/* Nodes of a rule, from node `row` on; the nodes of one shell have one time. */
static void place_nodes(const linear_frame *f, const hb_ball_nodes *unit, size_t d,
                        const double *x0, size_t row, hb_balls_values *out)
{
    double a = f->a0, tau = 0, shift = 0;
    for (size_t j = 0; j < unit->n; j++, row++) {
        double b;
        if (j == 0 || unit->s[j] != unit->s[j - 1]) {
            tau = hb_ball_tau(f->process, f->s0 - f->r * f->r * unit->s[j]);
            hb_ball_level(f->process, tau, &a, &b);
            shift = (double)d * log(a / f->a0);
        }
        for (size_t k = 0; k < d; k++)
            out->x[row * d + k] = a * (x0[k] / f->a0 + f->r * unit->y[j * d + k]);
        out->tau[row] = tau;
        out->shift[row] = shift;
        if (out->factor) out->factor[row] = a;
    }
}

/* Weights of kappa's nodes, and arms: theirs, or those of the nodes behind them. */
static void place_arms(const hb_balls *balls, double r, const hb_ball_nodes *value,
                       const hb_ball_nodes *arm, hb_balls_values *out)
{
    const size_t d = balls->dim, n = value->n;
    for (size_t j = 0; j < balls->nodes; j++) {
        const int armed = !arm || j >= n;
        const double weight = j < n ? value->weight[j] : arm->weight[j - n];
        if (out->arm_weight) out->arm_weight[j] = armed ? weight : 0;
        if (!out->arm) continue;
        for (size_t k = 0; k < d; k++)
            out->arm[j * d + k] = !armed ? 0
                                  : arm  ? r * arm->arm[(j - n) * d + k]
                                         : r / 2 * value->y[j * d + k];
    }
}

hb_status hb_ball_place_linear(const hb_balls *balls, const hb_ball_anchor *anchor,
                               hb_ball_scratch *scratch)
{
    const hb_balls_settings *s = &balls->settings;
    const size_t d = balls->dim, m = balls->nodes;
    hb_balls_values out = anchor->out;
    double b0;
    linear_frame f = {.process = s->process};
    const hb_ball_nodes *value, *arm;
    hb_ball_level(s->process, anchor->tau0, &f.a0, &b0);
    f.s0 = hb_ball_frame_time(f.a0, b0);
    f.r = hb_ball_radius(s->time_fraction, f.s0);
    HB_TRY(hb_ball_rule_nodes(balls, anchor->number, scratch, &value, &arm));
    place_nodes(&f, value, d, anchor->x0, 0, &out);
    if (arm) place_nodes(&f, arm, d, anchor->x0, value->n, &out);
    for (size_t j = 0; j < m; j++) out.weight[j] = j < value->n ? value->weight[j] : 0;
    if (s->kind == HB_BALLS_KIND_SCORE) place_arms(balls, f.r, value, arm, &out);
    if (out.drift) memset(out.drift, 0, m * d * sizeof(double));
    if (out.rate) memset(out.rate, 0, m * sizeof(double));
    if (out.factor0) *out.factor0 = f.a0;
    if (out.radius) *out.radius = f.r;
    if (out.noise) *out.noise = b0;
    if (out.scale) /* sqrt(2 s_0) = sqrt(b)/a */
        *out.scale =
            s->kind == HB_BALLS_KIND_SCORE ? balls->to_scaled * sqrt(b0) / f.a0 : balls->to_scaled;
    return HB_OK;
}
