/* Four families of Gaussian mixtures in any dimension. Every seed draws another mixture; densities
 * and scores are exact at every tau, since a component stays Gaussian under the OU process.
 *
 *     near    4 components of equal weight; axes random, eigenvalues log-uniform in 0.05 .. 0.5;
 *             means normal with deviation 1.2 sqrt(2/d) per coordinate, so that their distances do
 *             not grow with d
 *     apart   the same with deviation 1.2 per coordinate: distances grow as sqrt(d)
 *     curve   16 components along a closed curve in a random position,
 *                 c(t) = sum over h <= min(d/2, 3) of (1.5/h) (cos(h t + phase_h), sin(h t +
 *                 phase_h)),
 *             a plane for each h: half the spacing as deviation along the curve, 0.15 across
 *     scales  a wide component, weight 0.8, eigenvalues 0.5 .. 2, and a narrow one, weight 0.2,
 *             eigenvalues 0.02 .. 0.08, its mean as in near
 *
 * Random axes are Gram and Schmidt's of a matrix of normals. Numbers of a mixture: normals of
 * stream (1 << 32) + 256 family + d, uniforms of stream (2 << 32) + 256 family + d, from index 0 on
 * in the order in which the code takes them. In the plane c is a circle of radius 1.5. */
#include "dimension.h"

#include <heatball/random.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PARTS = 16, PARTS = 4, HARMONICS = 3 };
#define PI 3.14159265358979323846
#define SPREAD 1.2
#define RADIUS 1.5
#define ACROSS 0.15

const char *const hb_dimension_families[DIMENSION_FAMILIES] = {"near", "apart", "curve", "scales"};

const char *hb_dimension_describe(int family)
{
    static const char *const texts[DIMENSION_FAMILIES] = {
        "four Gaussians of equal weight, random axes, eigenvalues log-uniform in 0.05 to 0.5, "
        "means normal with deviation 1.2 √(2/d) per coordinate: their distances do not grow with d",
        "the same with deviation 1.2 per coordinate: the distances of the means grow as √d",
        "16 narrow Gaussians along a closed curve in a random position (a circle of radius 1.5, "
        "from d = 4 on with overtones in further planes), deviation 0.15 across the curve",
        "a wide Gaussian of weight 0.8 (eigenvalues 0.5 to 2) and a narrow one of weight 0.2 "
        "(0.02 to 0.08)"};
    return texts[family];
}

typedef struct maker {
    hb_context *context;
    uint64_t seed, stream;
    uint64_t normals, uniforms; /* taken so far */
    int family, dim;
    size_t count;
    double *weight, *mean, *covariance; // (count), (count, dim), (count, dim, dim)
    double *axes, *scratch;             // (dim, dim), (dim)
} maker;

static hb_status take_normals(maker *m, size_t n, double *out)
{
    const uint64_t first = m->normals;
    m->normals += n;
    return hb_random_normal(m->context, m->seed, (UINT64_C(1) << 32) + m->stream, first, n, out);
}

static hb_status take_uniforms(maker *m, size_t n, double *out)
{
    const uint64_t first = m->uniforms;
    m->uniforms += n;
    return hb_random_uniform(m->context, m->seed, (UINT64_C(2) << 32) + m->stream, first, n, out);
}

static double dot(int n, const double *a, const double *b)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* Row i of the axes less its parts along the rows before, twice for the sake of rounding. */
static hb_status draw_axes(maker *m)
{
    const size_t d = (size_t)m->dim;
    HB_TRY(take_normals(m, d * d, m->axes));
    for (size_t i = 0; i < d; i++) {
        double *row = m->axes + d * i;
        for (size_t k = 0; k < 2 * i; k++) {
            const double *before = m->axes + d * (k % i);
            const double part = dot(m->dim, row, before);
            for (size_t j = 0; j < d; j++) row[j] -= part * before[j];
        }
        const double length = sqrt(dot(m->dim, row, row));
        for (size_t j = 0; j < d; j++) row[j] /= length;
    }
    return HB_OK;
}

/* Component k: mean normal times spread, axes random, eigenvalues log-uniform. */
static hb_status draw_component(maker *m, size_t k, double weight, double spread, double least,
                                double most)
{
    const size_t d = (size_t)m->dim;
    double *mean = m->mean + d * k, *covariance = m->covariance + d * d * k, *values = m->scratch;
    m->weight[k] = weight;
    HB_TRY(take_normals(m, d, mean));
    for (size_t i = 0; i < d; i++) mean[i] *= spread;
    HB_TRY(draw_axes(m));
    HB_TRY(take_uniforms(m, d, values));
    for (size_t a = 0; a < d; a++) {
        const double *axis = m->axes + d * a, value = least * pow(most / least, values[a]);
        for (size_t i = 0; i < d; i++)
            for (size_t j = 0; j < d; j++) covariance[d * i + j] += value * axis[i] * axis[j];
    }
    return HB_OK;
}

/* The point of the curve and its derivative, in the coordinates of the axes. */
static void curve_point(int planes, const double *phase, double t, double *point, double *tangent)
{
    for (int h = 1; h <= planes; h++) {
        const double angle = h * t + 2 * PI * phase[h - 1], radius = RADIUS / h;
        point[2 * h - 2] = radius * cos(angle);
        point[2 * h - 1] = radius * sin(angle);
        tangent[2 * h - 2] = -radius * h * sin(angle);
        tangent[2 * h - 1] = radius * h * cos(angle);
    }
}

static hb_status draw_curve(maker *m)
{
    const size_t d = (size_t)m->dim;
    const int planes = m->dim / 2 < HARMONICS ? m->dim / 2 : HARMONICS;
    double phase[HARMONICS], point[2 * HARMONICS] = {0}, tangent[2 * HARMONICS] = {0};
    HB_TRY(draw_axes(m));
    HB_TRY(take_uniforms(m, (size_t)planes, phase));
    for (size_t k = 0; k < m->count; k++) {
        double *mean = m->mean + d * k, *covariance = m->covariance + d * d * k,
               *along = m->scratch;
        curve_point(planes, phase, 2 * PI * (double)k / (double)m->count, point, tangent);
        memset(along, 0, d * sizeof *along);
        for (size_t a = 0; a < 2 * (size_t)planes; a++)
            for (size_t i = 0; i < d; i++) {
                mean[i] += point[a] * m->axes[d * a + i];
                along[i] += tangent[a] * m->axes[d * a + i];
            }
        const double half = PI / (double)m->count; /* times |c'|: half the spacing */
        const double extra = half * half - ACROSS * ACROSS / dot(2 * planes, tangent, tangent);
        for (size_t i = 0; i < d; i++) {
            for (size_t j = 0; j < d; j++) covariance[d * i + j] = extra * along[i] * along[j];
            covariance[d * i + i] += ACROSS * ACROSS;
        }
        m->weight[k] = 1;
    }
    return HB_OK;
}

static hb_status draw_mixture(maker *m)
{
    const double close = SPREAD * sqrt(2.0 / m->dim);
    if (m->family == 2) return draw_curve(m);
    if (m->family == 3) {
        HB_TRY(draw_component(m, 0, 0.8, 0, 0.5, 2));
        return draw_component(m, 1, 0.2, close, 0.02, 0.08);
    }
    for (size_t k = 0; k < m->count; k++)
        HB_TRY(draw_component(m, k, 1, m->family == 0 ? close : SPREAD, 0.05, 0.5));
    return HB_OK;
}

hb_status hb_dimension_mixture(hb_context *context, int family, int dim, uint64_t seed,
                               hb_mixture **out)
{
    static const size_t counts[DIMENSION_FAMILIES] = {PARTS, PARTS, MOST_PARTS, 2};
    const size_t d = (size_t)dim, count = counts[family];
    void *memory;
    HB_TRY(
        hb_study_allocate(context, count * (1 + d + d * d) + d * d + d, sizeof(double), &memory));
    maker m = {.context = context,
               .seed = seed,
               .stream = 256 * (uint64_t)family + d,
               .family = family,
               .dim = dim,
               .count = count};
    m.weight = memory;
    m.mean = m.weight + count;
    m.covariance = m.mean + count * d;
    m.axes = m.covariance + count * d * d;
    m.scratch = m.axes + d * d;
    hb_status status = draw_mixture(&m);
    if (status == HB_OK)
        status = hb_mixture_create(context, dim, count, m.weight, m.mean, m.covariance, out);
    free(memory);
    return status;
}
