/* Mean squared errors by region, as in the paper's table.
 *
 * The mean is over the points of an even grid on [-3, 3] (601 of them, both ends included), not
 * over a density: the paper's regions are core |x| < 1 and tail |x| >= 1. A method with random
 * numbers is run several times; the error is the mean over the runs and its standard error the
 * spread of that mean.
 *
 * Deviation: on such a grid the overall error is (199 core + 402 tail)/601. The paper's three
 * numbers of a line do not satisfy this (5.20 against 5.83 from its own core and tail). */
#include "bistable.h"

#include <math.h>
#include <stdlib.h>

void hb_bistable_add(hb_bistable_tally *tally, double value)
{
    const double step = value - tally->mean;
    tally->n++;
    tally->mean += step / tally->n;
    tally->squares += step * (value - tally->mean);
}

double hb_bistable_standard_error(const hb_bistable_tally *tally)
{
    return tally->n > 1 ? sqrt(tally->squares / (tally->n - 1.0) / tally->n) : NAN;
}

double hb_bistable_mean_square(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += x[i] * x[i];
    return sum / n;
}

static int is_inside(hb_bistable_region region, double x)
{
    return region == BISTABLE_OVERALL || (fabs(x) < 1) == (region == BISTABLE_CORE);
}

double hb_bistable_mse(hb_bistable_region region, int n, const double *x, const double *a,
                       const double *b)
{
    double sum = 0;
    int count = 0;
    for (int i = 0; i < n; i++) {
        if (!is_inside(region, x[i])) continue;
        sum += (a[i] - b[i]) * (a[i] - b[i]);
        count++;
    }
    return sum / count;
}

hb_status hb_bistable_allocate_curves(hb_context *context, hb_bistable_case *c,
                                      hb_bistable_method method, int runs, int claims)
{
    hb_bistable_curves *curves = &c->curves[method];
    const size_t rows = (size_t)runs + (claims != 0);
    HB_TRY(HB_STUDY_NEW(context, curves->score, rows * BISTABLE_POINTS));
    curves->runs = runs;
    curves->claimed = claims ? curves->score + (size_t)runs * BISTABLE_POINTS : NULL;
    return HB_OK;
}

void hb_bistable_release_curves(hb_bistable_result *result)
{
    for (int start = 0; start < BISTABLE_STARTS; start++)
        for (int method = 0; method < BISTABLE_METHODS; method++)
            free(result->cases[start].curves[method].score);
}

/* The error of one method against one reference, over its runs. */
static void measure(const hb_bistable_result *result, const hb_bistable_curves *curves,
                    const double *reference, hb_bistable_error *out)
{
    for (int region = 0; region < BISTABLE_REGIONS; region++) {
        hb_bistable_tally tally = {0};
        for (int run = 0; run < curves->runs; run++)
            hb_bistable_add(&tally, hb_bistable_mse(region, BISTABLE_POINTS, result->x,
                                                    curves->score + (size_t)run * BISTABLE_POINTS,
                                                    reference));
        out->mse[region] = tally.mean;
        out->se[region] = hb_bistable_standard_error(&tally);
    }
}

static void set_paper(hb_bistable_row *row)
{
    static const double dsm[BISTABLE_REGIONS] = {5.2025, 1.15, 8.15};
    static const double ball[BISTABLE_REGIONS] = {0.5415, 0, 0.95};
    const double *paper = row->reference != BISTABLE_TO_STATIONARY ? NULL
                          : row->method == BISTABLE_DSM            ? dsm
                          : row->method == BISTABLE_BALL           ? ball
                                                                   : NULL;
    for (int region = 0; region < BISTABLE_REGIONS; region++)
        row->paper[region] = paper ? paper[region] : NAN;
}

static int row_index(int method, int start, int reference)
{
    return (start * BISTABLE_REFERENCES + reference) * BISTABLE_METHODS + method;
}

void hb_bistable_rows(hb_bistable_result *result)
{
    for (int start = 0; start < BISTABLE_STARTS; start++)
        for (int reference = 0; reference < BISTABLE_REFERENCES; reference++)
            for (int method = 0; method < BISTABLE_METHODS; method++) {
                const hb_bistable_case *c = &result->cases[start];
                const hb_bistable_curves *curves = &c->curves[method];
                hb_bistable_row *row = &result->rows[row_index(method, start, reference)];
                row->method = method;
                row->start = start;
                row->reference = reference;
                row->runs = curves->runs;
                row->claimed = curves->claimed
                                   ? hb_bistable_mean_square(curves->claimed, BISTABLE_POINTS)
                                   : NAN;
                measure(result, curves,
                        reference == BISTABLE_TO_EXACT ? c->exact : result->stationary,
                        &row->error);
                set_paper(row);
            }
}

const hb_bistable_row *hb_bistable_find(const hb_bistable_result *result, hb_bistable_method method,
                                        hb_bistable_start start, hb_bistable_reference reference)
{
    return &result->rows[row_index((int)method, (int)start, (int)reference)];
}
