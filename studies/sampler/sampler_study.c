/* The paper's validation of Algorithm 1 (section "Variance analysis", "Empirical validation of the
 * sampler"), with every measured number beside its exact value.
 *
 * For d = 4, 8, .., 1024: M = 80 runs of N = 2000 draws estimate the mean of f = |y|^2/(2s), once
 * from kappa directly and once by uniform importance sampling on the bounding cylinder. Measured
 * over the runs: mean, variance, effective sample size (sum w)^2/(sum w^2). Exact: mean d+2,
 * variance 2(d+2)/N and the closed form of sampler_laws.c, ESS N/(1+chi^2). The kappa draws also
 * give the laws of d(1-t) and sqrt(d)(sigma - sigma_star), compared with their limits and with the
 * exact laws.
 *
 * Deviation from the paper: f is NOT caloric (the paper calls it so). Under kappa it follows
 * chi^2(d+2), so its mean d+2 and variance 2(d+2) are exact all the same.
 *
 * Must reproduce: exact ESS 215.09 at d = 128. */
#include "sampler.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLER_NAME(name) "," #name
static const char *const COLUMNS = &(SAMPLER_COLUMNS(SAMPLER_NAME))[1];
#undef SAMPLER_NAME

static hb_status write_row(hb_writer *writer, const void *user, size_t i)
{
    const hb_sampler_row *row = (const hb_sampler_row *)user + i;
#define SAMPLER_VALUE(name) row->name,
    const double values[] = {SAMPLER_COLUMNS(SAMPLER_VALUE)};
#undef SAMPLER_VALUE
    return hb_study_write_numbers(writer, sizeof values / sizeof *values, values);
}

static json_t *row_json(const hb_sampler_row *row)
{
    json_t *object = json_object();
#define SAMPLER_SET(name) json_object_set_new(object, #name, hb_study_number(row->name));
    SAMPLER_COLUMNS(SAMPLER_SET)
#undef SAMPLER_SET
    return object;
}

static json_t *histogram_json(const hb_sampler_row *row, int which)
{
    const hb_sampler_law *law = &hb_sampler_laws[which];
    json_t *counts = json_array();
    for (int i = 0; i < SAMPLER_BINS; i++)
        json_array_append_new(counts, json_integer((json_int_t)row->counts[which][i]));
    return json_pack("{s:i,s:s,s:f,s:f,s:o}", "dim", (int)row->dim, "law", law->name, "low",
                     law->low, "high", law->high, "counts", counts);
}

/* ---- numbers for the page ---- */

/* Slope of ln(distance) against ln(d), least squares, over the dimensions whose distance is at
 * least `floor`; exact: of the exact law's distance, without noise. */
static double sampler_rate(const hb_sampler_row *rows, int law, double floor, int exact)
{
    double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
    for (int i = 0; i < SAMPLER_DIMS; i++) {
        const hb_sampler_row *r = &rows[i];
        const double measured = law == SAMPLER_RADIAL ? r->radial_ks_limit : r->temporal_ks_limit;
        const double noiseless =
            law == SAMPLER_RADIAL ? r->radial_limit_distance : r->temporal_limit_distance;
        if (noiseless < floor) continue;
        const double x = log(r->dim), y = log(exact ? noiseless : measured);
        n++, sx += x, sy += y, sxx += x * x, sxy += x * y;
    }
    return (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

/* Of a law: places and heights of its histogram and of its densities, at 400 points. */
static int sampler_find_law(const hb_sampler_row *rows, const char *name, const int *k, int last,
                            hb_value *out)
{
    const hb_sampler_law *law = &hb_sampler_laws[k[0]];
    const double width = (law->high - law->low) / SAMPLER_BINS,
                 at = law->low + (law->high - law->low) * last / 399;
    out->number = strcmp(name, "bin_at") == 0     ? law->low + (last + 0.5) * width
                  : strcmp(name, "curve_at") == 0 ? at
                  : strcmp(name, "bin_density") == 0
                      ? rows[k[1]].counts[k[0]][last] / (SAMPLER_DRAWS * width)
                  : strcmp(name, "exact_density") == 0 ? law->exact_density((int)rows[k[1]].dim, at)
                                                       : law->limit_density(at);
    return 1;
}

static int sampler_find(const void *of, const char *name, int n, const hb_value *v, hb_value *out)
{
#define SAMPLER_FIELD_OF(name) HB_FIELD_OF(hb_sampler_row, name),
    static const hb_field_of fields[] = {SAMPLER_COLUMNS(SAMPLER_FIELD_OF)};
#undef SAMPLER_FIELD_OF
    const hb_sampler_row *rows = of;
    const int k[] = {n > 0 ? (int)v[0].number : 0, n > 1 ? (int)v[1].number : 0};
    if (n == 1) return hb_study_field(HB_COUNT(fields), fields, &rows[k[0]], name, 0, out);
    if (n < 2) return 0;
    if (strcmp(name, "rate") != 0)
        return sampler_find_law(rows, name, k, (int)v[n - 1].number, out);
    return hb_value_set(out, sampler_rate(rows, k[0], v[1].number, (int)v[2].number));
}

/* ---- files ---- */

static json_t *results_json(const hb_study_settings *settings, const hb_sampler_row *rows)
{
    static const int shown[] = {0, 5, 8}; /* d = 4, 128, 1024 */
    json_t *root = hb_study_begin(&hb_sampler_study, settings);
    json_t *list = json_array(), *histograms = json_array();
    for (int i = 0; i < SAMPLER_DIMS; i++) json_array_append_new(list, row_json(&rows[i]));
    for (int i = 0; i < 3; i++)
        for (int law = 0; law < SAMPLER_LAWS; law++)
            json_array_append_new(histograms, histogram_json(&rows[shown[i]], law));
    json_object_set_new(root, "settings",
                        json_pack("{s:i,s:i,s:s}", "N", SAMPLER_N, "M", SAMPLER_M, "integrand",
                                  "|y|^2/(2s), which is not caloric; mean d+2, variance 2(d+2)"));
    json_object_set_new(root, "rows", list);
    json_object_set_new(root, "histograms", histograms);
    return root;
}

/* A z-score, or a dash where there is none. */
static void print_z(FILE *table, double z)
{
    if (isnan(z))
        hb_study_print(table, " %5s", "-");
    else
        hb_study_print(table, " %5.1f", z);
}

static void print_rows(FILE *table, const hb_study_settings *settings, const hb_sampler_row *rows)
{
    hb_study_print(table,
                   "sampler: estimates of the mean of |y|^2/(2s) under kappa; N = %d, M = %d, seed "
                   "%llu\n"
                   "z = (measured - exact)/(standard error); - : the fourth moment of the weights "
                   "is too large\n\n"
                   "%5s | %9s %5s %10s %10s %5s | %10s %10s %5s | %7s %7s %5s | %8s %8s\n",
                   SAMPLER_N, SAMPLER_M, (unsigned long long)settings->seed, "d", "mean", "z",
                   "var direct", "exact", "z", "var unif.", "exact", "z", "ESS un.", "exact", "z",
                   "KS rad.", "KS temp.");
    for (int i = 0; i < SAMPLER_DIMS; i++) {
        const hb_sampler_row *r = &rows[i];
        hb_study_print(table, "%5.0f | %9.3f", r->dim, r->direct_mean);
        print_z(table, r->direct_mean_z);
        hb_study_print(table, " %10.4g %10.4g", r->direct_variance, r->direct_variance_exact);
        print_z(table, r->direct_variance_z);
        hb_study_print(table, " | %10.4g %10.4g", r->uniform_variance, r->uniform_variance_exact);
        print_z(table, r->uniform_variance_z);
        hb_study_print(table, " | %7.1f %7.1f", r->uniform_ess, r->uniform_ess_exact);
        print_z(table, r->uniform_ess_z);
        hb_study_print(table, " | %8.5f %8.5f\n", r->radial_ks_limit, r->temporal_ks_limit);
    }
    hb_study_print(table, "KS: Kolmogorov distance of 160000 draws to the limit law; to the exact "
                          "laws see sampler.csv\n");
}

static hb_status run_sampler(hb_context *context, const hb_study_settings *settings, FILE *table)
{
    HB_TRY(hb_study_make_directory(context, settings->directory));
    hb_sampler_row *rows;
    HB_TRY(HB_STUDY_NEW(context, rows, SAMPLER_DIMS));
    hb_status status = HB_OK;
    for (int i = 0; i < SAMPLER_DIMS && status == HB_OK; i++) {
        const double done = (4 << i) - 4, all = (4 << SAMPLER_DIMS) - 4; /* the work grows with d */
        status = hb_context_progress(context, "sampler", done / all, 1);
        if (status == HB_OK) status = hb_sampler_measure(context, 4 << i, settings->seed, &rows[i]);
    }
    if (status == HB_OK) print_rows(table, settings, rows);
    if (status == HB_OK)
        status = hb_study_write_csv(context, settings->directory, "sampler.csv", COLUMNS,
                                    SAMPLER_DIMS, write_row, rows);
    const hb_numbers numbers = {context, "sampler", rows, sampler_find};
    if (status == HB_OK)
        status = hb_study_finish(&numbers, settings, table, results_json(settings, rows));
    free(rows);
    return status;
}

const hb_study hb_sampler_study = {"sampler", "The exact sampler of the Watson measure",
                                   run_sampler};
