/* What the grid refuses and says, what it claims as error, and that threads change no bit. */
#include "grid_support.h"

/* ---- claims ----------------------------------------------------------------------------------- */

enum { CLAIM_POINTS = 120 };

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Claimed : real errors of v and of the first slope at points up to `reach` deviations, sorted. */
static void claim_ratios(hb_context *context, const hb_grid *grid, const linear *l, double t,
                         double reach, double v_ratio[CLAIM_POINTS], double S_ratio[CLAIM_POINTS])
{
    double y[12], L[3][3], v, v_error, S[3], S_error[3], exact_S[3];
    const int d = l->dim;
    moments(l, t, y);
    for (int k = 0; k < CLAIM_POINTS; k++) {
        double x[3];
        gaussian(d, y, y, exact_S, L);
        for (int a = 0; a < d; a++) {
            x[a] = y[a];
            for (int b = 0; b <= a; b++)
                x[a] += L[a][b] * jitter(5 * k + b + 1) * reach / sqrt((double)d);
        }
        const double exact = gaussian(d, y, x, exact_S, L);
        assert_ok(context,
                  hb_grid_evaluate(context, grid, 1, x, end_of(grid), &v, &v_error, S, S_error));
        v_ratio[k] = v_error / fmax(fabs(v - exact), 1e-14);
        S_ratio[k] = S_error[0] / fmax(fabs(S[0] - exact_S[0]), 1e-14);
    }
    qsort(v_ratio, CLAIM_POINTS, sizeof(double), by_size);
    qsort(S_ratio, CLAIM_POINTS, sizeof(double), by_size);
}

/* Nearly all claims are above the error, none is far below, and in the middle they are not more than
 * 100 times above: on fine meshes, where time counts, and on coarse ones. */
static void assert_claims(hb_context *context, const hb_problem *problem, const linear *l, double t,
                          int points, double tolerance, double reach)
{
    double ratio[2][CLAIM_POINTS];
    hb_grid *grid = solve(context, problem, t, points, tolerance, NAN);
    claim_ratios(context, grid, l, t, reach, ratio[0], ratio[1]);
    for (int k = 0; k < 2; k++) {
        const double least = ratio[k][0], low = ratio[k][CLAIM_POINTS / 20];
        const double middle = ratio[k][CLAIM_POINTS / 2];
        if (!(least >= 0.33 && low >= 1 && middle <= 100))
            fail_msg("%s, %d points, %s: claimed : real is at least %.2g, 5 %% below %.2g, half "
                     "below %.2g",
                     l->dim == 1 ? "line" : "plane", points, k ? "slope" : "v", least, low, middle);
    }
    hb_grid_destroy(grid);
}

static void claims_are_honest_and_not_loose(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_problem *line = problem_1(context), *plane = problem_2(context);
    assert_claims(context, line, &ou_1, 1.2, 128, 1e-9, 4);
    assert_claims(context, line, &ou_1, 1.2, 1024, 1e-7, 4);
    assert_claims(context, plane, &rotating, 0.9, 96, 1e-6, 3);
    assert_claims(context, plane, &rotating, 0.9, 144, 1e-6, 3);
    hb_problem_destroy(line);
    hb_problem_destroy(plane);
    hb_context_destroy(context);
}

/* Far tails that fall by more than e^20 from node to node do not matter; a bulk that is narrower than the
 * coarsest mesh does, and the message says how many points are enough. */
static void coarse_grids_in_the_plane(void **state)
{
    (void)state;
    static const linear narrow = {
        .dim = 2, .A = {{-0.6, -2}, {2, -0.6}}, .g0 = 1, .m0 = {1, 0.5}, .c0 = 0.2};
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_problem *problem =
        make_problem(context, "-0.6*x - 2*y, 2*x - 0.6*y", "1", "gaussian(mean=1 0.5,var=0.2)");
    hb_grid_settings settings;
    hb_grid_settings_default(sizeof settings, &settings);
    for (int a = 0; a < 2; a++) {
        settings.points[a] = 96;
        settings.tolerance = 1e-5;
        settings.low[a] = -8;
        settings.high[a] = 8;
    }
    hb_grid *grid;
    assert_ok(context, hb_grid_solve(context, problem, &settings, 0, NULL, 1, &grid));
    assert_card(compare(context, grid, &narrow, 1, end_of(grid), 60, 2), 1e-2, 2e-2);
    hb_grid_destroy(grid);
    settings.points[0] = settings.points[1] = 64;
    /* The coarsest spacing is 1: the flow needs tau = 8, and 64 sqrt(8/0.5) = 256. */
    assert_fails(
        context, hb_grid_solve(context, problem, &settings, 0, NULL, 1, &grid), HB_ERROR_NUMERICAL,
        "a grid of 64 cells per axis cannot resolve the initial density before tau = 8 and "
        "tau = 0.5 is requested; give 256 cells or a smaller box");
    hb_problem_destroy(problem);
    hb_context_destroy(context);
}

/* ---- what does not depend on threads, and what is refused -------------------------------------- */

static void same_bits_on_two_threads(void **state)
{
    (void)state;
    double v[2], S[2][2], errors[2];
    for (int k = 0; k < 2; k++) {
        hb_context *context = make_context(HB_ISA_AUTO, k + 1);
        hb_problem *problem = problem_2(context);
        hb_grid *grid = solve(context, problem, 0.9, 72, 1e-5, NAN);
        const double x[2] = {0.31, -0.77};
        assert_ok(context, hb_grid_evaluate(context, grid, 1, x, end_of(grid), &v[k], &errors[k],
                                            S[k], NULL));
        hb_grid_destroy(grid);
        hb_problem_destroy(problem);
        hb_context_destroy(context);
    }
    assert_true(v[0] == v[1] && errors[0] == errors[1]);
    assert_memory_equal(S[0], S[1], sizeof S[0]);
}

static hb_status try_settings(hb_context *context, const hb_problem *problem, double time,
                              void (*change)(hb_grid_settings *), size_t n_at, const double *at)
{
    hb_grid_settings settings;
    hb_grid_settings_default(sizeof settings, &settings);
    settings.points[0] = 64;
    if (change) change(&settings);
    hb_grid *grid;
    hb_status status = hb_grid_solve(context, problem, &settings, n_at, at, time, &grid);
    if (status != HB_OK) assert_null(grid);
    hb_grid_destroy(grid);
    return status;
}

static void few_points(hb_grid_settings *s)
{
    s->points[0] = 31;
}

static void late_keep(hb_grid_settings *s)
{
    s->keep_from = 7;
}

static void bad_tolerance(hb_grid_settings *s)
{
    s->tolerance = -1;
}

static void reversed_box(hb_grid_settings *s)
{
    s->low[0] = 2;
    s->high[0] = -2;
}

static void narrow_box(hb_grid_settings *s)
{
    s->low[0] = -0.5;
    s->high[0] = 1.5;
}

static void huge_box(hb_grid_settings *s)
{
    s->low[0] = -3000;
    s->high[0] = 3000;
}

static void wrong_requests_are_refused(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_problem *problem = problem_1(context);
    const double inside = 0.3, outside = 2.5, broken = NAN;
    assert_fails(context, try_settings(context, problem, 0, NULL, 0, NULL), HB_ERROR_ARGUMENT,
                 "time is 0");
    assert_fails(context, try_settings(context, problem, 1, few_points, 0, NULL), HB_ERROR_ARGUMENT,
                 "points of axis 1 is 31; it must be 32 to");
    assert_fails(context, try_settings(context, problem, 1, late_keep, 0, NULL), HB_ERROR_ARGUMENT,
                 "keep_from is tau = 7");
    assert_fails(context, try_settings(context, problem, 1, bad_tolerance, 0, NULL),
                 HB_ERROR_ARGUMENT, "tolerance is -1");
    assert_fails(context, try_settings(context, problem, 1, reversed_box, 0, NULL),
                 HB_ERROR_ARGUMENT, "low below high");
    assert_fails(context, try_settings(context, problem, 1, NULL, 1, &broken), HB_ERROR_ARGUMENT,
                 "coordinate 1 of point 1 is nan");
    assert_fails(context, try_settings(context, problem, 1, narrow_box, 1, &outside),
                 HB_ERROR_ARGUMENT, "point 1 has coordinate 1 = 2.5 outside the box [-0.5, 1.5]");
    assert_fails(context, try_settings(context, problem, 1, narrow_box, 1, &inside),
                 HB_ERROR_ARGUMENT, "of the initial mass");
    assert_fails(context, try_settings(context, problem, 1, huge_box, 0, NULL), HB_ERROR_NUMERICAL,
                 "cannot resolve the initial density");
    hb_problem_destroy(problem);
    hb_problem *four = make_problem(context, "-x1, -x2, -x3, -x4", "1", "gaussian(mean=0,var=1)");
    assert_fails(context, try_settings(context, four, 1, NULL, 0, NULL), HB_ERROR_ARGUMENT,
                 "4 dimensions; a grid takes 1 to 3");
    hb_problem_destroy(four);
    hb_problem *bare = make_problem(context, "-x1", "1", NULL);
    assert_fails(context, try_settings(context, bare, 1, NULL, 0, NULL), HB_ERROR_ARGUMENT,
                 "no initial density");
    hb_problem_destroy(bare);
    hb_context_destroy(context);
}

static void wrong_evaluations_are_refused(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_problem *problem = problem_1(context);
    hb_grid *grid = solve(context, problem, 0.6, 64, 1e-5, NAN);
    const double far = 1e3, x = 0.1;
    double v;
    assert_fails(context,
                 hb_grid_evaluate(context, grid, 1, &far, end_of(grid), &v, NULL, NULL, NULL),
                 HB_ERROR_ARGUMENT, "outside the grid's box");
    assert_fails(context, hb_grid_evaluate(context, grid, 1, &x, 0.01, &v, NULL, NULL, NULL),
                 HB_ERROR_ARGUMENT, "the grid is kept on");
    hb_grid_destroy(grid);
    hb_grid_destroy(NULL);
    hb_problem_destroy(problem);
    hb_context_destroy(context);
}

static void memory_is_estimated_first(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_problem *problem = make_problem(context, "-x, -y, -z", "1", "gaussian(mean=0 0 0,var=1)");
    hb_grid_settings settings;
    hb_grid_settings_default(sizeof settings, &settings);
    for (int a = 0; a < 3; a++) settings.points[a] = 4000;
    hb_grid *grid;
    assert_fails(context, hb_grid_solve(context, problem, &settings, 0, NULL, 1, &grid),
                 HB_ERROR_MEMORY, "give fewer points");
    hb_problem_destroy(problem);
    hb_context_destroy(context);
}

typedef struct allowance {
    long left, live;
} allowance;

static void *counted_allocate(void *user, size_t bytes)
{
    allowance *a = user;
    if (a->left-- <= 0) return NULL;
    a->live++;
    return malloc(bytes);
}

static void counted_release(void *user, void *memory)
{
    ((allowance *)user)->live--;
    free(memory);
}

/* Whatever allocation fails, the solver says so, and nothing stays allocated. */
static void memory_failures_are_clean(void **state)
{
    (void)state;
    allowance a = {.left = 1000000};
    hb_context_settings settings;
    hb_context_settings_default(sizeof settings, &settings);
    settings.threads = 1;
    settings.allocate = counted_allocate;
    settings.release = counted_release;
    settings.allocator_user = &a;
    hb_context *context;
    assert_int_equal(hb_context_create(&settings, &context), HB_OK);
    hb_problem *problem = problem_1(context);
    hb_grid_settings coarse;
    hb_grid_settings_default(sizeof coarse, &coarse);
    coarse.points[0] = 64;
    coarse.tolerance = 1e-3;
    const long before = a.live;
    a.left = 1000000;
    hb_grid *grid;
    assert_ok(context, hb_grid_solve(context, problem, &coarse, 0, NULL, 0.4, &grid));
    const long needed = 1000000 - a.left;
    hb_grid_destroy(grid);
    assert_int_equal(a.live, before);
    /* Early allocations one by one, later ones (of the time steps) with growing strides. */
    for (long k = 0; k < needed; k += 1 + k / 20) {
        a.left = k;
        assert_int_equal(hb_grid_solve(context, problem, &coarse, 0, NULL, 0.4, &grid),
                         HB_ERROR_MEMORY);
        assert_null(grid);
        assert_int_equal(a.live, before);
    }
    a.left = 1000000;
    hb_problem_destroy(problem);
    hb_context_destroy(context);
}

typedef struct watch {
    int calls, stop_at;
    double last;
} watch;

static int watch_progress(void *user, const char *what, double done, double total)
{
    watch *w = user;
    if (strcmp(what, "Fokker-Planck grid") != 0) return 0;
    assert_true(done >= 0 && done <= total);
    w->calls++;
    w->last = done / total;
    return w->calls == w->stop_at;
}

static void progress_can_stop_it(void **state)
{
    (void)state;
    watch w = {.stop_at = 4};
    hb_context_settings settings;
    hb_context_settings_default(sizeof settings, &settings);
    settings.threads = 1;
    settings.progress = watch_progress;
    settings.progress_user = &w;
    hb_context *context;
    assert_int_equal(hb_context_create(&settings, &context), HB_OK);
    hb_problem *problem = problem_1(context);
    assert_int_equal(try_settings(context, problem, 1, NULL, 0, NULL), HB_ERROR_INTERRUPTED);
    assert_int_equal(w.calls, 4);
    w.stop_at = 0;
    assert_int_equal(try_settings(context, problem, 1, NULL, 0, NULL), HB_OK);
    assert_true(w.calls > 8 && w.last > 0.5);
    hb_problem_destroy(problem);
    hb_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(claims_are_honest_and_not_loose),
        cmocka_unit_test(coarse_grids_in_the_plane),
        cmocka_unit_test(same_bits_on_two_threads),
        cmocka_unit_test(wrong_requests_are_refused),
        cmocka_unit_test(wrong_evaluations_are_refused),
        cmocka_unit_test(memory_is_estimated_first),
        cmocka_unit_test(memory_failures_are_clean),
        cmocka_unit_test(progress_can_stop_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
