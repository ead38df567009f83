/* Helmholtz split of a planar field on a box: f - mean = grad phi + (d chi/dy, -d chi/dx).
 *
 * The gradient is the one nearest to f in the mean square over the box, so that a field that is a
 * gradient has no rotation, whatever it does at the walls; the rotation has no divergence and no
 * flow through the walls. What is both (no divergence, no curl: it comes from outside the box)
 * counts as gradient.
 *
 * With phi a cosine series, grad phi has f_x odd in x and even in y, f_y even in x and odd in y,
 * about the walls. So f is continued in that way to a box of twice the sides, where it is periodic,
 * and split by Fourier: with Z = FFT of f_x + i f_y and kappa = k_x + i k_y, the part of Z along k
 * is
 *     G(k) = ( Z(k) + kappa^2/|kappa|^2 conj Z(-k) )/2.
 * The jump of the continued f at the walls leaves an error of order h^2 in the masses. It shrinks
 * when the largest part of it, the symmetric part S x of the best affine fit, which is a gradient
 * by itself, is taken out before and added to the gradient after.
 * Transforms are in single precision, which is how Debian builds kissfft; values are divided by
 * their largest before.
 * A number to reproduce: the rigid rotation (-y, x) on a square has the rotation mass 0.843465: six
 * times Saint-Venant's torsion constant 0.140577 of a square (the gradient is that of the
 * warping). */
#include "base/context.h"
#include "base/linear_algebra.h"
#include "base/memory.h"

#include <heatball/metrics.h>
#include <kiss_fftnd.h>
#include <math.h>
#include <string.h>

enum { LEAST_SIDE = 8, LONGEST_SIDE = 4096 };

typedef struct split {
    hb_context *context;
    hb_workspace work;
    size_t nx, ny;
    double hx, hy;
    const double *field;              // (ny, nx, 2)
    double *gradient, *rotation;      // (ny, nx, 2)
    kiss_fft_cpx *values, *transform; // (2 ny, 2 nx)
    double mean[2], S[2][2];          /* of the affine part, x from the middle of the grid */
} split;

/* Coordinates of point p, from the middle. */
static void split_place(const split *s, size_t p, double *x)
{
    x[0] = s->hx * ((double)(p % s->nx) - 0.5 * (double)(s->nx - 1));
    x[1] = s->hy * ((double)(p / s->nx) - 0.5 * (double)(s->ny - 1));
}

/* Mean and symmetric slope; 1, x and y are orthogonal on the grid. */
static void split_fit_affine(split *s)
{
    double squares[2] = {0, 0}, M[2][2] = {{0, 0}, {0, 0}};
    const double n = (double)(s->nx * s->ny);
    for (size_t p = 0; p < s->nx * s->ny; p++) {
        double x[2];
        split_place(s, p, x);
        for (int i = 0; i < 2; i++) {
            const double f = s->field[2 * p + (size_t)i];
            s->mean[i] += f / n;
            squares[i] += x[i] * x[i];
            for (int j = 0; j < 2; j++) M[i][j] += f * x[j];
        }
    }
    s->S[0][0] = M[0][0] / squares[0];
    s->S[1][1] = M[1][1] / squares[1];
    s->S[0][1] = s->S[1][0] = 0.5 * (M[0][1] / squares[1] + M[1][0] / squares[0]);
}

static double split_slope_part(const split *s, size_t p, int i)
{
    double x[2];
    split_place(s, p, x);
    return s->S[i][0] * x[0] + s->S[i][1] * x[1];
}

/* What is left of f, continued to the double box; its largest size, by which it is divided. */
static double split_fill_values(const split *s)
{
    const size_t nx = s->nx, ny = s->ny;
    double largest = 0;
    for (size_t p = 0; p < nx * ny; p++)
        for (int i = 0; i < 2; i++) {
            const size_t at = 2 * p + (size_t)i;
            s->gradient[at] = s->field[at] - s->mean[i] - split_slope_part(s, p, i);
            largest = fmax(largest, fabs(s->gradient[at]));
        }
    const double scale = largest > 0 ? largest : 1;
    for (size_t j = 0; j < 2 * ny; j++)
        for (size_t i = 0; i < 2 * nx; i++) {
            const int right = i >= nx, above = j >= ny;
            const size_t from = (above ? 2 * ny - 1 - j : j) * nx + (right ? 2 * nx - 1 - i : i);
            kiss_fft_cpx *to = &s->values[j * 2 * nx + i];
            to->r = (float)(s->gradient[2 * from] / (right ? -scale : scale));
            to->i = (float)(s->gradient[2 * from + 1] / (above ? -scale : scale));
        }
    return scale;
}

static hb_status split_transform(const split *s, int inverse, const kiss_fft_cpx *from,
                                 kiss_fft_cpx *to)
{
    const int sides[2] = {2 * (int)s->ny, 2 * (int)s->nx};
    size_t bytes = 0;
    void *memory;
    kiss_fftnd_alloc(sides, 2, inverse, NULL, &bytes);
    HB_TRY(hb_allocate(s->context, bytes, 1, &memory));
    kiss_fftnd_cfg plan = kiss_fftnd_alloc(sides, 2, inverse, memory, &bytes);
    if (plan) kiss_fftnd(plan, from, to);
    hb_release(s->context, memory);
    HB_CHECK(s->context, plan, HB_ERROR_MEMORY, "a transform of %d x %d could not be planned",
             sides[1], sides[0]);
    return HB_OK;
}

/* Wave number i of n (even), in turns per length n h; 0 for the one that has no sign. */
static double split_wave_number(size_t i, size_t n, double h)
{
    if (2 * i == n) return 0;
    return (2 * i < n ? (double)i : -(double)(n - i)) / ((double)n * h);
}

/* s->values = the part of s->transform along k. */
static void split_project(const split *s)
{
    const size_t nx = 2 * s->nx, ny = 2 * s->ny;
    for (size_t j = 0; j < ny; j++)
        for (size_t i = 0; i < nx; i++) {
            const kiss_fft_cpx Z = s->transform[j * nx + i];
            const kiss_fft_cpx back = s->transform[(ny - j) % ny * nx + (nx - i) % nx];
            const double kx = split_wave_number(i, nx, s->hx), ky = split_wave_number(j, ny, s->hy);
            const double size = kx * kx + ky * ky;
            const double c = size > 0 ? (kx * kx - ky * ky) / size : 0; // kappa^2/|kappa|^2
            const double d = size > 0 ? 2 * kx * ky / size : 0;
            s->values[j * nx + i].r = (float)(0.5 * (Z.r + c * back.r + d * back.i));
            s->values[j * nx + i].i = (float)(0.5 * (Z.i + d * back.r - c * back.i));
        }
}

/* The gradient from its transform and S x; the rotation is the rest. */
static void split_collect(const split *s, double scale)
{
    const double factor = scale / (double)(4 * s->nx * s->ny);
    for (size_t p = 0; p < s->nx * s->ny; p++) {
        const kiss_fft_cpx part = s->transform[p / s->nx * 2 * s->nx + p % s->nx];
        s->gradient[2 * p] = factor * part.r + split_slope_part(s, p, 0);
        s->gradient[2 * p + 1] = factor * part.i + split_slope_part(s, p, 1);
        for (size_t i = 0; i < 2; i++)
            s->rotation[2 * p + i] = s->field[2 * p + i] - s->mean[i] - s->gradient[2 * p + i];
    }
}

static hb_status split_run(split *s)
{
    split_fit_affine(s);
    const double scale = split_fill_values(s);
    HB_TRY(split_transform(s, 0, s->values, s->transform));
    split_project(s);
    HB_TRY(split_transform(s, 1, s->values, s->transform));
    split_collect(s, scale);
    return HB_OK;
}

static void split_hand_over(const split *s, double *gradient, double *rotation,
                            double *gradient_mass, double *rotation_mass)
{
    const size_t n = 2 * s->nx * s->ny;
    const double g = hb_dot(n, s->gradient, s->gradient), r = hb_dot(n, s->rotation, s->rotation);
    const double total = g + r > 0 ? g + r : 1;
    if (gradient) memcpy(gradient, s->gradient, n * sizeof *gradient);
    if (rotation) memcpy(rotation, s->rotation, n * sizeof *rotation);
    if (gradient_mass) *gradient_mass = g / total;
    if (rotation_mass) *rotation_mass = r / total;
}

hb_status hb_judge_helmholtz(hb_context *context, int nx, int ny, double hx, double hy,
                             const double *field, double *gradient, double *rotation,
                             double *gradient_mass, double *rotation_mass)
{
    HB_CHECK(context,
             nx >= LEAST_SIDE && nx <= LONGEST_SIDE && ny >= LEAST_SIDE && ny <= LONGEST_SIDE,
             HB_ERROR_ARGUMENT, "the field has %d x %d points; each side must have %d to %d", nx,
             ny, LEAST_SIDE, LONGEST_SIDE);
    HB_CHECK(context, hx > 0 && hy > 0 && isfinite(hx) && isfinite(hy), HB_ERROR_ARGUMENT,
             "the spacing is %g by %g; both must be above 0", hx, hy);
    HB_CHECK(context, field, HB_ERROR_ARGUMENT, "field is NULL");
    split s = {
        .context = context, .nx = (size_t)nx, .ny = (size_t)ny, .hx = hx, .hy = hy, .field = field};
    for (size_t i = 0; i < 2 * s.nx * s.ny; i++)
        HB_CHECK(context, isfinite(field[i]), HB_ERROR_ARGUMENT,
                 "the field is %g at column %zu of row %zu; it must be finite", field[i],
                 i / 2 % s.nx + 1, i / 2 / s.nx + 1);
    const size_t n = s.nx * s.ny;
    HB_TRY(HB_WORKSPACE(context, &s.work, HB_ARRAY(s.gradient, 2 * n), HB_ARRAY(s.rotation, 2 * n),
                        HB_ARRAY(s.values, 4 * n), HB_ARRAY(s.transform, 4 * n)));
    const hb_status status = split_run(&s);
    if (status == HB_OK) split_hand_over(&s, gradient, rotation, gradient_mass, rotation_mass);
    hb_workspace_destroy(&s.work);
    return status;
}
