/* The study of nonlinear drifts, in a tiny version.
 *
 * Truths: the bistable plane is a product of a well on the line and of an Ornstein-Uhlenbeck process, so
 * the second component of its score has a closed form; wells are compared with a Crank-Nicolson solution of
 * the line, written here, and with themselves along the rotation. Runs: 1 and 2 workers, and resumed, give the
 * same numbers to the last bit. */
#include "drift/drift.h"
#include "study_files.h"

enum { BISTABLE = 0, WELLS4 = 4 };

static hb_drift_size tiny(int problem)
{
    hb_drift_size size = hb_drift_choose_size(&(hb_study_settings){.seed = 2385, .quick = 1});
    size.problems = 1 << problem;
    size.rows = 200;
    size.width = 16;
    size.steps = 12;
    size.judge = 200;
    size.anchors = 4;
    size.pairs = 20;
    size.lattice = 21;
    return size;
}

/* ---- truths ---- */

static void test_the_plane_against_a_closed_form(void **state)
{
    hb_drift_truth truth;
    const hb_drift_size size = tiny(BISTABLE);
    assert_int_equal(hb_drift_find_truth(*state, &size, BISTABLE, &truth), HB_OK);
    for (int k = 0; k < DRIFT_TAUS; k++) {
        const double tau = hb_drift_taus[k], mean = 0.5 * exp(-tau);
        const double variance = 1 + (0.3 - 1) * exp(-2 * tau);
        double worst = 0, sum = 0;
        int low = 0;
        for (size_t i = (size_t)k * truth.n; i < (size_t)(k + 1) * truth.n; i++) {
            const double exact = -(truth.x[2 * i + 1] - mean) / variance;
            worst = fmax(worst, fabs(truth.score[2 * i + 1] - exact));
            sum += truth.x[2 * i + 1] - mean;
            low += truth.low[i];
        }
        assert_true(worst < 2e-4);
        assert_true(truth.claimed[k] < 1e-5 && truth.claimed[k] > 0);
        assert_true(fabs(sum / (double)truth.n) < 5 * sqrt(variance / (double)truth.n));
        assert_int_equal(low, truth.n / 5);
    }
    hb_drift_truth_release(&truth);
}

enum { CELLS = 2400, STEPS = 1000 };
static const double EDGE = 6;

/* du/dtau = u'' - (2 (x - x^3) u)' by central differences and Crank-Nicolson, from N(0.4, 0.25) to tau. */
static void solve_line(double tau, double *u)
{
    static double below[CELLS], at[CELLS], above[CELLS], right[CELLS];
    const double h = 2 * EDGE / CELLS, dt = tau / STEPS;
    for (int i = 0; i < CELLS; i++) {
        const double x = -EDGE + (i + 0.5) * h, left = x - h / 2, next = x + h / 2;
        const double f = 2 * (left - left * left * left), g = 2 * (next - next * next * next);
        u[i] = exp(-(x - 0.4) * (x - 0.4) / 0.5) / sqrt(0.5 * M_PI);
        below[i] = i > 0 ? 1 / (h * h) + f / (2 * h) : 0;
        above[i] = i + 1 < CELLS ? 1 / (h * h) - g / (2 * h) : 0;
        at[i] = (i > 0 ? f / (2 * h) - 1 / (h * h) : 0) -
                (i + 1 < CELLS ? g / (2 * h) + 1 / (h * h) : 0);
    }
    for (int step = 0; step < STEPS; step++) {
        static double c[CELLS];
        for (int i = 0; i < CELLS; i++)
            right[i] = u[i] + dt / 2 *
                                  (at[i] * u[i] + (i > 0 ? below[i] * u[i - 1] : 0) +
                                   (i + 1 < CELLS ? above[i] * u[i + 1] : 0));
        for (int i = 0; i < CELLS; i++) { /* (1 - dt/2 A) u = right */
            const double a = -dt / 2 * below[i], b = 1 - dt / 2 * at[i];
            const double m = b - (i > 0 ? a * c[i - 1] : 0);
            c[i] = -dt / 2 * above[i] / m;
            right[i] = (right[i] - (i > 0 ? a * right[i - 1] : 0)) / m;
        }
        u[CELLS - 1] = right[CELLS - 1];
        for (int i = CELLS - 2; i >= 0; i--) u[i] = right[i] - c[i] * u[i + 1];
    }
}

/* (ln u)' between the centres of cells. */
static double line_score(const double *u, double q)
{
    const double h = 2 * EDGE / CELLS, place = (q + EDGE) / h - 0.5;
    const int i = (int)floor(place);
    const double a = (log(u[i + 1]) - log(u[i - 1])) / (2 * h);
    const double b = (log(u[i + 2]) - log(u[i])) / (2 * h);
    return a + (b - a) * (place - i);
}

static void test_the_wells_against_another_solver(void **state)
{
    static double u[CELLS];
    double R[16];
    hb_drift_truth truth;
    const hb_drift_size size = tiny(WELLS4);
    assert_int_equal(hb_drift_rotation(*state, 4, R), HB_OK);
    for (int i = 0; i < 16; i++) {
        double dot = 0;
        for (int k = 0; k < 4; k++) dot += R[i / 4 * 4 + k] * R[i % 4 * 4 + k];
        assert_true(fabs(dot - (i / 4 == i % 4)) < 1e-14);
    }
    assert_int_equal(hb_drift_find_truth(*state, &size, WELLS4, &truth), HB_OK);
    for (int k = 0; k < DRIFT_TAUS; k++) {
        solve_line(hb_drift_taus[k], u);
        for (size_t i = (size_t)k * truth.n; i < (size_t)(k + 1) * truth.n; i += 5)
            for (int w = 0; w < 4; w++) {
                double q = 0, slope = 0;
                for (int c = 0; c < 4; c++) {
                    q += R[4 * w + c] * truth.x[4 * i + (size_t)c];
                    slope += R[4 * w + c] * truth.score[4 * i + (size_t)c];
                }
                assert_true(fabs(slope - line_score(u, q)) < 1e-3 * (1 + fabs(slope)));
            }
    }
    hb_drift_truth_release(&truth);
}

/* All wells are in their minima at R' (1, 1, 1, 1). */
static void test_the_drift_of_rotated_wells(void **state)
{
    for (int problem = WELLS4; problem < DRIFT_PROBLEMS; problem++) {
        const size_t d = (size_t)hb_drift_processes[problem].dim;
        double R[DRIFT_MOST_DIM * DRIFT_MOST_DIM], x[DRIFT_MOST_DIM] = {0}, F[DRIFT_MOST_DIM];
        double divergence;
        hb_problem *process;
        assert_int_equal(hb_drift_rotation(*state, (int)d, R), HB_OK);
        assert_int_equal(hb_drift_problem(*state, problem, &process), HB_OK);
        for (size_t i = 0; i < d * d; i++) x[i % d] += R[i];
        assert_int_equal(hb_problem_drift(*state, process, 1, x, 0, F, &divergence, NULL, NULL),
                         HB_OK);
        for (size_t k = 0; k < d; k++) assert_true(fabs(F[k]) < 1e-11);
        assert_true(fabs(divergence + 4.0 * (double)d) < 1e-10);
        hb_problem_destroy(process);
    }
}

/* ---- runs ---- */

static int open_directory(void **state)
{
    return open_context(state) || make_directories(state);
}

static int remove_directory(void **state)
{
    return remove_directories(state) || close_context(state);
}

/* To be released by hb_compare_release. */
static hb_comparison study(int problem, int threads, int resume)
{
    static hb_drift_size size;
    static hb_drift_truth truths[DRIFT_PROBLEMS];
    hb_context *context = make_context(HB_ISA_AUTO, threads);
    size = tiny(problem);
    hb_comparison result = {&hb_drift_compared, &size,      truths,
                            size.seed,          size.seeds, .directory = strdup(ONE)};
    assert_int_equal(hb_compare_plan(context, &result), HB_OK);
    assert_int_equal(result.n, DRIFT_METHODS);
    assert_int_equal(hb_drift_truths(context, &result), HB_OK);
    if (resume) assert_int_equal(hb_compare_read(context, &result), HB_OK);
    assert_int_equal(hb_compare_do(context, &result), HB_OK);
    assert_int_equal(hb_compare_write_table(context, ONE, &result), HB_OK);
    for (int p = 0; p < DRIFT_PROBLEMS; p++) hb_drift_truth_release(&truths[p]);
    hb_context_destroy(context);
    return result;
}

static void same_numbers(const hb_comparison *a, const hb_comparison *b)
{
    for (size_t i = 0; i < a->n; i++)
        for (int k = 0; k < DRIFT_VALUES; k++) {
            const double x = a->trials[i].value[k], y = b->trials[i].value[k];
            assert_true(isnan(x) ? isnan(y) : x == y);
        }
}

static void test_workers_and_resuming_change_no_bit(void **state)
{
    (void)state;
    char path[512];
    hb_comparison one = study(WELLS4, 1, 0), two = study(WELLS4, 2, 0);
    same_numbers(&one, &two);
    snprintf(path, sizeof path, "%s/wells4-hb-2385.json", ONE);
    assert_int_equal(unlink(path), 0);
    hb_comparison resumed = study(WELLS4, 2, 1);
    same_numbers(&one, &resumed);
    for (size_t i = 0; i < resumed.n; i++)
        assert_int_equal(resumed.trials[i].seconds > 0, resumed.trials[i].method == DRIFT_HB);
    for (int m = 0; m < DRIFT_METHODS; m++) { /* one seed: the ratio is that of the two numbers */
        const double ratio = hb_drift_compare(&one, -1, m, DRIFT_DSM, DRIFT_ERROR).mean;
        assert_true(fabs(ratio - one.trials[m].value[DRIFT_ERROR] /
                                     one.trials[0].value[DRIFT_ERROR]) < 1e-12);
        assert_true(one.trials[m].value[DRIFT_ERROR] > 0.01);
    }
    hb_compare_release(&one);
    hb_compare_release(&two);
    hb_compare_release(&resumed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_the_plane_against_a_closed_form),
                                       cmocka_unit_test(test_the_wells_against_another_solver),
                                       cmocka_unit_test(test_the_drift_of_rotated_wells),
                                       cmocka_unit_test(test_workers_and_resuming_change_no_bit)};
    return cmocka_run_group_tests(tests, open_directory, remove_directory);
}
