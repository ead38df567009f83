/* heatball/problem.h: an SDE typed as mathematics, its time change and its initial density.
 * First tier: for users.
 *
 *     dx = f(x,t) dt + G(x,t) dW,    x in R^d,    Ito (default) or Stratonovich
 * The noise G is one number g(t), one for each axis, or a matrix, which may depend on x, may have
 * any number of columns, and may leave axes out (docs/reference/which-sdes.md says what each method takes).
 * Where a change of coordinates makes it one g(t), the library makes it ("coordinate transforms"
 * below). Then, in the cumulative variance
 *     tau(t) = int_0^t g^2/2,          F(x,tau) = f/(g^2/2)            (the normalised drift)
 * the density u(x,tau) = p(x,t(tau)) solves du/dtau = Lap u - div(F u), and most methods work in
 * (x, tau). For other G the equation is du/dt = sum_ij d_i d_j (D_ij u) - div(f u), D = G G'/2.
 * Drift, noise and initial density are expressions: heatball/formula.h. */
#ifndef HEATBALL_PROBLEM_H
#define HEATBALL_PROBLEM_H

#include <heatball/formula.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hb_problem hb_problem;

/* f[n][d] at x[n][d] and the times t[n]; jacobian[n][d][d] = df_i/dx_j, NULL when it is not wanted.
 * A non-zero return is an error. It is called from any thread, by one at a time. */
typedef int (*hb_drift_callback)(void *user, size_t n, const double *x, const double *t, double *f,
                                 double *jacobian);
/* log_density[n] (need not be normalised) and gradient[n][d] of it, NULL when it is not wanted. */
typedef int (*hb_density_callback)(void *user, size_t n, const double *x, double *log_density,
                                   double *gradient);

/* The noise G[n][d][m] at x[n][d] and the times t[n]; m is noise_columns of the settings. */
typedef int (*hb_noise_callback)(void *user, size_t n, const double *x, const double *t, double *G);

/* What the stochastic integral means where the noise depends on x. */
typedef enum hb_convention {
    HB_CONVENTION_UNSET, /* what the problem file says, else Ito */
    HB_CONVENTION_ITO,
    HB_CONVENTION_STRATONOVICH
} hb_convention;

/* What the author of a drift callback knows about it; of a text all of it is read off the
 * formula. */
typedef enum hb_drift_fact {
    HB_DRIFT_FACT_AUTONOMOUS = 1, /* f does not depend on t */
    HB_DRIFT_FACT_LINEAR = 2,     /* f = A(t) x + c(t) */
    HB_DRIFT_FACT_GRADIENT = 4,   /* f = -grad V, in more than one dimension */
    /* the callback may run on several threads at once; else one after the other */
    HB_DRIFT_FACT_REENTRANT = 8
} hb_drift_fact;

typedef struct hb_problem_settings {
    size_t size; /* set by hb_problem_settings_default */
    /* 0 (default): the number of drift components; needed for callbacks, potentials, and to repeat
     * one component with index i d times */
    int dim;
    const char *drift;                /* components by commas: "y, mu*(1 - x^2)*y - x" */
    const char *potential;            /* instead of drift: f = -grad V */
    hb_drift_callback drift_callback; /* instead of drift */
    int drift_has_jacobian; /* the callback fills jacobian; else it is made by differences */
    void *drift_user;
    /* of a callback: a sum of hb_drift_fact, 0 (default): nothing is known, and the general way is
     * taken. One that values at a few points contradict is refused */
    int drift_facts;
    /* "g" one for all axes; "g1, g2" one for each; "a, b; c, d" a matrix G, d rows by semicolons,
     * any number of columns. Expressions in t and x; NULL (default): "1" */
    const char *noise;
    const char *initial; /* see hb_initial_kind; NULL: initial_callback, or none */
    hb_density_callback initial_callback;
    void *initial_user;
    int n_parameters;
    const char *const *parameter_names;
    const double *parameter_values;
    /* end of the time span in which g is checked and narrow pulses in t are found; NaN (default):
     * 1 */
    double time;
    const char *directory;            /* where relative file names of `initial` start; NULL: here */
    int convention;                   /* hb_convention; default HB_CONVENTION_UNSET */
    hb_noise_callback noise_callback; /* instead of noise */
    int noise_columns;                /* of the callback's G; 0 (default): d */
    int noise_autonomous; /* 1: the callback's G does not depend on t; 0 (default): it may */
    void *noise_user;
} hb_problem_settings;

/* Initial densities as text:
 *     gaussian(mean=1 -0.5, var=0.4)  vectors by blanks; one number stands for all; var: one
 *                                     number, d numbers, or d*d numbers (symmetric, row by row)
 *     mixture(FILE.csv)               columns weight, mean_1 .. mean_d, var_1 .. var_d (or var)
 *     stationary                      exp(-V/(g^2/2))/Z; needs a gradient drift, constant g
 *     samples(FILE.npy)               an array [n][d]; where a density is needed, a Gaussian kernel
 *                                     of Scott's width is put on each and the result says so
 *     uniform(low_1 high_1, ...)      a box; one pair stands for all axes
 *     product(EXPR_1, ..., EXPR_d)    independent axes, each with a density in x, normalised
 *                                     numerically; one EXPR stands for all axes; heavy tails,
 *                                     kinks, jumps and poles are fine
 *     density(EXPR)                   a density in x1 .. xd; d <= 3 unless it is a product of such
 *     point(1 -0.5)                   all mass in one point: the result is the transition density.
 *                                     There is no density at time 0 */
typedef enum hb_initial_kind {
    HB_INITIAL_KIND_NONE,
    HB_INITIAL_KIND_GAUSSIAN,
    HB_INITIAL_KIND_MIXTURE,
    HB_INITIAL_KIND_STATIONARY,
    HB_INITIAL_KIND_SAMPLES,
    HB_INITIAL_KIND_UNIFORM,
    HB_INITIAL_KIND_CALLBACK,
    HB_INITIAL_KIND_OTHER,   /* a text that is none of these */
    HB_INITIAL_KIND_DENSITY, /* product(...), density(...) */
    HB_INITIAL_KIND_POINT
} hb_initial_kind;

HB_API void hb_problem_settings_default(size_t size, hb_problem_settings *settings);
/* Checks everything it can: expressions, g > 0 on [0, time], a finite drift near the initial mass,
 * an initial density that normalises. All texts are copied; callbacks and their user data must live
 * as long as the problem. Destroy the problem before its context. */
HB_API hb_status hb_problem_create(hb_context *context, const hb_problem_settings *settings,
                                   hb_problem **out);
/* The short form: hb_problem_parse(ctx, "x1 - x1^3", "1", "gaussian(mean=0,var=1)", &p). */
HB_API hb_status hb_problem_parse(hb_context *context, const char *drift, const char *noise,
                                  const char *initial, hb_problem **out);
/* A problem file (.ini), section [problem] with the keys dim, drift or potential, noise, initial,
 * time and section [parameters]; docs/reference/problem-files.md. overrides (may be NULL): fields that are
 * set there win over the file, parameters by name. */
HB_API hb_status hb_problem_load(hb_context *context, const hb_problem_settings *overrides,
                                 const char *path, hb_problem **out);
HB_API void hb_problem_destroy(hb_problem *problem);

HB_API int hb_problem_dim(const hb_problem *problem);
/* `time` of settings or file, or 1; of several times of a file the largest that is finite */
HB_API double hb_problem_time(const hb_problem *problem);
/* The times of the file, as it lists them, INFINITY for inf; without such a list the one time.
 * Returns how many; *times (may be NULL) lives as long as the problem. */
HB_API size_t hb_problem_times(const hb_problem *problem, const double **times);
/* Times as text: numbers of at least 0 or inf, separated by commas, and ranges first:last:step, as
 * "0.1, 0.5:2:0.25"; at most HB_MOST_TIMES. times[n] is to be released with hb_context_release.
 * HB_ERROR_ARGUMENT for another text. */
#define HB_MOST_TIMES 1000
HB_API hb_status hb_problem_times_read(hb_context *context, const char *text, size_t *n,
                                       double **times);
HB_API hb_initial_kind hb_problem_initial_kind(const hb_problem *problem);
/* 1 when f = -grad V is known: given as a potential, d = 1, a formula whose Jacobian is symmetric
 * as a formula and that has no jump or pole which would hide a part of it, or declared for a
 * callback. */
HB_API int hb_problem_is_gradient(const hb_problem *problem);
/* 1 when F is known not to depend on tau: f given as text without t, or declared so, and constant
 * g. Then one call of hb_problem_drift serves points at different tau. */
HB_API int hb_problem_is_autonomous(const hb_problem *problem);
/* 1 when F is known to be A(tau) x + c(tau): from the formula, or declared for a callback. */
HB_API int hb_problem_is_linear(const hb_problem *problem);

/* Drift, noise and parameters as lines of NAME=VALUE, as typed: dim, drift or potential, noise,
 * convention where it is stratonovich, and one for each parameter; docs/reference/models.md has the other
 * lines of a problem of hb_model_problem. NULL: drift or noise is a callback. Lives as long as the
 * problem; initial density and time span are no part of it. */
HB_API const char *hb_problem_text(const hb_problem *problem);
/* The initial density as typed; NULL: there is none, or it is a callback. */
HB_API const char *hb_problem_initial_text(const hb_problem *problem);

/* ---- coordinate transforms ---- */

/* Most diffusion matrices reduce to one g(t) in other coordinates y: matrices in y = L(t)^-1 x,
 * noise b_i(x_i) on axis i in y_i = int dx_i/b_i (docs/reference/which-sdes.md). Such a problem has a
 * coordinate transform: it is given in x, hb_solve answers in x, and all that asks the problem
 * itself, the functions below and hb_grid, is in y. What the coordinates are, as in "Lamperti
 * coordinates y = ln x"; NULL: x and y are the same. */
HB_API const char *hb_problem_frame(const hb_problem *problem);
/* y[n][d] of x[n][d] at time t, NaN where the process cannot be, and back. x and y may be the same
 * array. */
HB_API hb_status hb_problem_to_frame(hb_context *context, const hb_problem *problem, size_t n,
                                     const double *x, double t, double *y);
HB_API hb_status hb_problem_from_frame(hb_context *context, const hb_problem *problem, size_t n,
                                       const double *y, double t, double *x);

/* tau(t), t in [0, ...), and its inverse, to 1e-12 relative. HB_ERROR_ARGUMENT where g <= 0. */
HB_API hb_status hb_problem_tau_of_t(hb_context *context, const hb_problem *problem, double t,
                                     double *tau);
HB_API hb_status hb_problem_t_of_tau(hb_context *context, const hb_problem *problem, double tau,
                                     double *t);

/* The normalised drift at n points and one tau; any output may be NULL:
 * F[n][d], divergence[n], grad_divergence[n][d], jacobian[n][d][d] (dF_i/dx_j).
 * HB_ERROR_DOMAIN, with the point, when a value is not finite. Safe to call from several threads;
 * a callback then serves one after the other. */
HB_API hb_status hb_problem_drift(hb_context *context, const hb_problem *problem, size_t n,
                                  const double *x, double tau, double *F, double *divergence,
                                  double *grad_divergence, double *jacobian);

/* The same at n points that have a tau each, tau[n]. A value that is not finite is handed out as it
 * is: a walk that has left the domain of the drift is left to the caller. HB_ERROR_ARGUMENT for a
 * tau that has no time. Threads as above. */
HB_API hb_status hb_problem_drift_each(hb_context *context, const hb_problem *problem, size_t n,
                                       const double *x, const double *tau, double *F,
                                       double *divergence, double *grad_divergence,
                                       double *jacobian);

/* ln u(x,0)[n] (normalised; -inf outside a uniform box) and its gradient[n][d] (may be NULL). */
HB_API hb_status hb_problem_initial(hb_context *context, const hb_problem *problem, size_t n,
                                    const double *x, double *log_density, double *gradient);
/* A box [low, high] that holds all but about 1e-12 of the initial mass. */
HB_API hb_status hb_problem_initial_box(hb_context *context, const hb_problem *problem, double *low,
                                        double *high);
/* Draws first .. first+n-1 of the initial density: x[n][d]. Not for callbacks with d > 3. */
HB_API hb_status hb_problem_initial_sample(hb_context *context, const hb_problem *problem,
                                           uint64_t seed, uint64_t first, size_t n, double *x);

#ifdef __cplusplus
}
#endif
#endif
