/* The drift linearised at one position, and the Gaussian that it moves.
 *
 * At x with b = F(x), A its Jacobian, the drift b + A y, y = x' - x, over a lag s, flow = 1
 * backward and -1 forward, with B = flow A:
 *     x' = x + m + L g,   m = -flow K b,   K = int_0^s e^{-Bv} dv,
 *     C = L L' = 2 int_0^s e^{-Bv} e^{-B'v} dv,   dx'/dx = E = e^{-Bs}.
 * A and E are matrices or, with shared->full_frame 0, diagonals.
 * A number to reproduce: F = -x from x = 0.7 over s = 0.5 has, backward, m = 0.7 (e^0.5 - 1) and
 * C = e - 1; forward, m = -0.7 (1 - e^-0.5) and C = 1 - e^-1. */
#include "bridge/walk_ops.h"
#include "problem/initial/initial_average.h"

/* E, m and C as diagonals: with t = as, K = s (1 - e^-t)/t and C = 2s (1 - e^-2t)/(2t), where
 * 1 - e^-2t = (1 - e^-t)(1 + e^-t). */
static void diagonal_frame(size_t d, const double *b, const double *jacobian, double flow, double s,
                           double *E, double *m, double *C)
{
    for (size_t i = 0; i < d; i++) {
        const double t = flow * jacobian[i * d + i] * s, fall = -expm1(-t);
        const double K = s * (fabs(t) < 1e-9 ? 1 - 0.5 * t : fall / t);
        E[i] = 1 - fall;
        m[i] = -flow * K * b[i];
        C[i] = K * (2 - fall);
    }
}

/* E, m and C as matrices; work: (6, d, d). */
static void full_frame(size_t d, const double *b, const double *jacobian, double flow, double s,
                       double *E, double *m, double *C, double *work)
{
    double *K = work + HB_LINEAR_WORK(d), *A = K + d * d;
    for (size_t k = 0; k < d * d; k++) A[k] = flow * jacobian[k];
    hb_linear_functions(d, A, s, E, K, C, work);
    for (size_t i = 0; i < d; i++) {
        m[i] = 0;
        for (size_t j = 0; j < d; j++) m[i] -= flow * K[i * d + j] * b[j];
    }
}

void hb_walk_frame(const hb_walk_problem *shared, const hb_walk_view *view, double flow, double s,
                   double *E, double *m, double *C, double *work)
{
    if (shared->full_frame)
        full_frame(shared->d, view->F, view->jacobian, flow, s, E, m, C, work);
    else
        diagonal_frame(shared->d, view->F, view->jacobian, flow, s, E, m, C);
}

hb_status hb_walk_initial(hb_context *context, const hb_problem *problem, size_t n, const double *x,
                          double *log_value, double *slope)
{
    hb_status status;
    if (!hb_problem_initial_facts(problem)->serial)
        return hb_problem_initial(context, problem, n, x, log_value, slope);
#pragma omp critical(hb_walk_initial)
    status = hb_problem_initial(context, problem, n, x, log_value, slope);
    return status;
}
