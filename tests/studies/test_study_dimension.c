/* The study of losses by dimension, in a tiny version: 20 steps of networks of width 16.
 *
 * Compared: the files of 1 and of 2 workers, and of a study that lost some of its cells and was resumed with
 * fewer seeds, byte for byte; the families' covariances with LAPACK's eigenvalues and closed forms; geometric
 * means, errors and the map with numbers that the test makes up. */
#include "dimension/dimension.h"
#include "study_files.h"

#include <lapacke.h>
#include <math.h>

enum { CELLS = 2 * (2 * 4 * 4 + 4 * 2) }; /* seeds (rows families methods + families 2) */

static hb_dimension_size tiny(int seeds)
{
    const hb_study_settings settings = {.seed = 2385, .quick = 1, .seeds = seeds};
    hb_dimension_size size = hb_dimension_choose_size(&settings);
    size.n_dims = 1;
    size.dim[0] = 4;
    size.rows[0] = 60;
    size.rows[1] = 150;
    size.steps = 20;
    size.width = 16;
    size.judge = 60;
    size.test = 8;
    return size;
}

static hb_comparison plan(hb_context *context, const hb_dimension_size *size)
{
    hb_comparison result = {
        .of = &hb_dimension_compared, .size = size, .first_seed = size->seed, .seeds = size->seeds};
    assert_int_equal(hb_compare_plan(context, &result), HB_OK);
    return result;
}

static void study(int threads, int seeds, int resume, const char *directory)
{
    hb_context *context = make_context(HB_ISA_AUTO, threads);
    const hb_dimension_size size = tiny(seeds);
    hb_comparison result = plan(context, &size);
    result.directory = strdup(directory);
    if (resume) assert_int_equal(hb_compare_read(context, &result), HB_OK);
    if (hb_compare_do(context, &result) != HB_OK) fail_msg("%s", hb_context_message(context));
    assert_int_equal(hb_compare_write_table(context, directory, &result), HB_OK);
    hb_compare_release(&result);
    hb_context_destroy(context);
}

static void test_workers_and_resuming_change_no_byte(void **state)
{
    (void)state;
    static char before[MAX_FILE], after[MAX_FILE];
    study(1, 2, 0, ONE);
    study(2, 1, 0, TWO); /* one seed, then the other */
    study(2, 2, 1, TWO);
    assert_int_equal(same_files(ONE, TWO), CELLS + 1);
    remove_file(TWO, "d4-150-curve-hb-2386.json");
    remove_file(TWO, "d4-60-near-fp-2385.json");
    remove_file(TWO, "dimension.csv");
    study(1, 2, 1, TWO);
    assert_int_equal(same_files(ONE, TWO), CELLS + 1);
    /* The finished seeds alone: the table has no other rows, and no cell is done again. */
    const size_t n = read_whole(ONE, "dimension.csv", before);
    study(1, 1, 1, TWO);
    const size_t m = read_whole(TWO, "dimension.csv", after);
    assert_true(m > 0 && 1.9 * (double)m < (double)n);
    after[m] = '\0';
    assert_null(strstr(after, ",2386,"));
}

/* The first cells are those of the first seed and the largest rows; steps by the costs. */
static void test_the_order_and_the_steps(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    const hb_dimension_size full = hb_dimension_choose_size(&(hb_study_settings){0}), *size = &full;
    hb_comparison result = plan(context, size);
    assert_int_equal(result.n, 6 * 4 * (5 * (4 + 2) + 2 * 2 * 4));
    for (size_t i = 0; i < result.n; i++) {
        const hb_trial *cell = &result.trials[i];
        if (i > 0) assert_true(cell->seed_index >= result.trials[i - 1].seed_index);
        if (i < 6 * 4 * 6 || cell->seed_index >= 2)
            assert_int_equal(size->rows[hb_dimension_r(cell->set)], 8000);
        if (cell->method <= DIMENSION_HB) assert_int_equal(cell->steps, size->steps);
        if (cell->method != DIMENSION_DSM_TIME) continue;
        const int dim = size->dim[hb_dimension_d(cell->set)];
        const double more = hb_dimension_step_cost(dim, DIMENSION_HB) /
                            hb_dimension_step_cost(dim, DIMENSION_DSM_TARGETS);
        assert_true(more > 1 && fabs((double)cell->steps - more * size->steps) <= 0.5);
        assert_true(hb_compare_at(&result, cell->set, cell->method, cell->seed_index) == cell);
    }
    hb_compare_release(&result);
    hb_context_destroy(context);
}

/* ---- families ---- */

/* Mean and, from small to large, the eigenvalues of component k. */
static double component(hb_context *context, const hb_mixture *mixture, size_t k, double *mean,
                        double *values)
{
    static double covariance[64 * 64];
    const int d = hb_mixture_dim(mixture);
    double weight;
    assert_int_equal(hb_mixture_component(context, mixture, k, &weight, mean, covariance), HB_OK);
    assert_int_equal(LAPACKE_dsyev(LAPACK_ROW_MAJOR, 'N', 'U', d, covariance, d, values), 0);
    return weight;
}

static void test_families_have_their_eigenvalues(void **state)
{
    (void)state;
    static const int dims[] = {2, 8, 64};
    static const double least[] = {0.05, 0.05, 0, 0.5}, most[] = {0.5, 0.5, 0, 2};
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    double mean[64], values[64], spread[2] = {0};
    for (int i = 0; i < 3; i++)
        for (int family = 0; family < 4; family++) {
            const int d = dims[i];
            hb_mixture *mixture;
            assert_int_equal(hb_dimension_mixture(context, family, d, 23850, &mixture), HB_OK);
            const size_t count = hb_mixture_count(mixture);
            assert_int_equal(count, family == 2 ? 16 : family == 3 ? 2 : 4);
            for (size_t k = 0; k < count && family != 2; k++) {
                const double weight = component(context, mixture, k, mean, values);
                const int narrow = family == 3 && k == 1;
                assert_near(weight, family < 3 ? 0.25 : narrow ? 0.2 : 0.8, 1e-15);
                assert_true(values[0] > (narrow ? 0.02 : least[family]) * (1 - 1e-9));
                assert_true(values[d - 1] < (narrow ? 0.08 : most[family]) * (1 + 1e-9));
                if (d == 64) assert_true(values[d - 1] > 2 * values[0]);
                for (int j = 0; j < d && family < 2 && d == 64; j++)
                    spread[family] += mean[j] * mean[j] / (4 * 64);
            }
            hb_mixture_destroy(mixture);
        }
    /* 256 normals: their mean square is within 5 sqrt(2/256) of 1. */
    assert_true(fabs(spread[0] / (1.44 * 2 / 64) - 1) < 5 * sqrt(2.0 / 256));
    assert_true(fabs(spread[1] / 1.44 - 1) < 5 * sqrt(2.0 / 256));
    hb_context_destroy(context);
}

static void test_the_curve_is_closed_and_narrow(void **state)
{
    (void)state;
    static const int dims[] = {2, 4, 64};
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    double mean[64], values[64], sum[64];
    for (int i = 0; i < 3; i++) {
        const int d = dims[i], planes = d / 2 < 3 ? d / 2 : 3;
        const double speed2 = 2.25 * planes; /* |c'|^2 = sum of (1.5/h)^2 h^2 */
        double radius2 = 0;
        for (int h = 1; h <= planes; h++) radius2 += 2.25 / (h * h);
        hb_mixture *mixture;
        assert_int_equal(hb_dimension_mixture(context, 2, d, 2385, &mixture), HB_OK);
        memset(sum, 0, sizeof sum);
        for (size_t k = 0; k < 16; k++) {
            component(context, mixture, k, mean, values);
            double r2 = 0;
            for (int j = 0; j < d; j++) {
                r2 += mean[j] * mean[j];
                sum[j] += mean[j];
            }
            assert_relative(r2, radius2, 1e-12);
            assert_relative(values[0], 0.0225, 1e-10);
            assert_relative(values[d - 1], pow(acos(-1) / 16, 2) * speed2, 1e-10);
            if (d > 2) assert_relative(values[d - 2], 0.0225, 1e-10);
        }
        for (int j = 0; j < d; j++) assert_near(sum[j], 0, 1e-12);
        hb_mixture_destroy(mixture);
    }
    hb_context_destroy(context);
}

/* ---- means ---- */

/* ln(hb/dsm-targets) = -0.1, -0.2, -0.3, -0.4 over the families: mean -0.25, sd 0.129, se 0.0645. */
static void test_ratios_and_the_map(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    const hb_dimension_size size = tiny(1);
    hb_comparison result = plan(context, &size);
    for (size_t i = 0; i < result.n; i++) {
        const hb_trial *cell = &result.trials[i];
        const int family = cell->set % DIMENSION_FAMILIES;
        const double level = 0.01 * pow(7, family) * (1 + hb_dimension_r(cell->set));
        for (int v = 0; v < DIMENSION_LIKELIHOOD; v++)
            cell->value[v] = level * (cell->method == DIMENSION_HB    ? exp(-0.1 * (family + 1))
                                      : cell->method == DIMENSION_DSM ? 2
                                                                      : 1);
        cell->value[DIMENSION_LIKELIHOOD_EXACT] = -3;
        cell->value[DIMENSION_LIKELIHOOD] = -3.5 - 0.25 * cell->method;
    }
    const hb_mean ratio =
        hb_dimension_compare(&result, 0, 1, DIMENSION_HB, DIMENSION_DSM_TARGETS, 3);
    assert_int_equal(ratio.n, 4);
    assert_near(ratio.mean, -0.25, 1e-14);
    assert_near(ratio.se, sqrt(0.05 / 3 / 4), 1e-14);
    const hb_mean excess = hb_dimension_compare(&result, 0, 1, DIMENSION_HB, -1, DIMENSION_EXCESS);
    assert_near(excess.mean, 1.25, 1e-14);
    assert_near(excess.se, 0, 1e-14);
    json_t *root = json_object();
    const hb_numbers numbers = {context, "dimension", &result, hb_compare_find};
    assert_int_equal(hb_study_results(&numbers, root, 0), HB_OK);
    const json_t *table = json_array_get(json_object_get(root, "tables"), 0);
    const json_t *row = json_array_get(json_object_get(table, "rows"), 1);
    assert_string_equal(json_string_value(json_array_get(row, 4)), "hb ×0.78");
    assert_string_equal(json_string_value(json_array_get(row, 6)), "dsm −0.25 nats");
    json_decref(root);
    hb_compare_release(&result);
    hb_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_workers_and_resuming_change_no_byte),
        cmocka_unit_test(test_the_order_and_the_steps),
        cmocka_unit_test(test_families_have_their_eigenvalues),
        cmocka_unit_test(test_the_curve_is_closed_and_narrow),
        cmocka_unit_test(test_ratios_and_the_map),
    };
    return cmocka_run_group_tests(tests, make_directories, remove_directories);
}
