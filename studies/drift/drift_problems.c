/* Seven processes dx = F(x) dtau + sqrt(2) dW, x in the plane or in 4, 8, 16 dimensions.
 *
 *     bistable    F = (2 (x - x^3), -y): two wells side by side
 *     rotating    F = (x - x^3 - 0.7 y, 0.7 x - y): two wells in a rotation, no potential
 *     mueller     F = -grad V, V = sum of four exponentials of quadratic forms + 0.1 (x^4 + y^4):
 *                 three wells on a bent path and a hill, after K. Mueller, L. Brown (1979); theirs
 *                 grows like e^{x^2} and is 200 deep, this one is 2.5 deep and all of it lies in
 *                 |x|, |y| < 3
 *     vanderpol   F = (y, 0.8 (1 - x^2) y - x): a limit cycle, no potential
 *     wells4, 8, 16   V = sum_i w(R_i.x), w(q) = q^4/2 - q^2: independent wells along the rows of a
 *                     random
 *                 rotation R, so that in the coordinates of the network all are coupled
 *
 * Starts are Gaussians beside the middle. That of the wells is isotropic, so the density is at all
 * times the product over i of a density on the line, at R_i.x. A number to reproduce: R R' = 1 to
 * rounding, and F of wells4 at R' (1,1,1,1) is 0. */
#include "drift.h"

#include <heatball/random.h>

#include <math.h>
#include <stdlib.h>

#define ROTATION_SEED 2385
#define ROTATION_STREAM 31
#define WELL_START "gaussian(mean=0.4,var=0.25)"
static const double START_MEAN = 0.4, START_VARIANCE = 0.25; /* the same */

const hb_drift_process hb_drift_processes[DRIFT_PROBLEMS] = {
    {"bistable",
     "bistable plane",
     2,
     "2*(x - x^3), -y",
     NULL,
     "gaussian(mean=0.2 0.5,var=0.3)",
     {-4, -5},
     {4, 5},
     {-2.4, 0},
     {2.4, 0},
     {1, 1.55, 2.05, 2.2, 1.55, 2.05}},
    {"rotating",
     "rotating double well",
     2,
     "x - x^3 - 0.7*y, 0.7*x - y",
     NULL,
     "gaussian(mean=0.3 -0.4,var=0.5)",
     {-4.5, -5},
     {4.5, 5},
     {-2.6, -1.4},
     {2.6, 1.4},
     {1, 1.55, 2.05, 2.2, 1.55, 2.05}},
    {"mueller",
     "Müller-like potential",
     2,
     NULL,
     "-2.5*exp(-2*(x + 0.9)^2 - 1.5*(x + 0.9)*(y - 0.9) - 2*(y - 0.9)^2) - 1.6*exp(-3*x^2 - 3*(y - "
     "0.2)^2) - 2.2*exp(-1.5*(x - 0.9)^2 + 1.2*(x - 0.9)*(y + 0.6) - 2.5*(y + 0.6)^2) + "
     "exp(-1.5*(x + 0.4)^2 - 1.5*(y + 0.8)^2) + 0.1*(x^4 + y^4)",
     "gaussian(mean=-0.2 0.4,var=0.6)",
     {-5, -5},
     {5, 5},
     {-2.25, 2.025},
     {2.25, -1.35},
     {1, 1.55, 2.05, 2.2, 1.55, 2.05}},
    {"vanderpol",
     "Van der Pol",
     2,
     "y, 0.8*(1 - x^2)*y - x",
     NULL,
     "gaussian(mean=0.8 0,var=0.3)",
     {-6, -7},
     {6, 7},
     {-3, 0},
     {3, 0},
     {1, 1.55, 2.05, 2.2, 1.55, 2.05}},
    {.name = "wells4",
     .title = "4 wells, rotated",
     .dim = 4,
     .cost = {1, 1.23, 1.74, 1.67, 1.23, 1.74}},
    {.name = "wells8",
     .title = "8 wells, rotated",
     .dim = 8,
     .cost = {1, 1.06, 1.37, 1.19, 1.06, 1.37}},
    {.name = "wells16",
     .title = "16 wells, rotated",
     .dim = 16,
     .cost = {1, 1.01, 1.13, 1.05, 1.01, 1.13}}};

/* ---- wells in a rotated frame ---- */

/* Rows of a Gaussian matrix, made orthonormal one after the other, twice against rounding. */
hb_status hb_drift_rotation(hb_context *context, int dim, double *R)
{
    const size_t d = (size_t)dim;
    HB_TRY(hb_random_normal(context, ROTATION_SEED, ROTATION_STREAM, 0, d * d, R));
    for (size_t i = 0; i < d; i++) {
        double *row = R + i * d, square = 0;
        for (size_t j = 0; j < 2 * i; j++) {
            const double *other = R + j % i * d;
            double along = 0;
            for (size_t k = 0; k < d; k++) along += row[k] * other[k];
            for (size_t k = 0; k < d; k++) row[k] -= along * other[k];
        }
        for (size_t k = 0; k < d; k++) square += row[k] * row[k];
        for (size_t k = 0; k < d; k++) row[k] /= sqrt(square);
    }
    return HB_OK;
}

hb_status hb_drift_well(hb_context *context, hb_problem **out)
{
    return hb_problem_parse(context, "2*(x - x^3)", "sqrt(2)", WELL_START, out);
}

/* sum_i (q_i^4/2 - q_i^2), q_i = R_i.x, and the start's mean R' (0.4, .., 0.4), as text. */
static void write_wells(size_t d, const double *R, FILE *potential, FILE *start)
{
    for (size_t i = 0; i < d; i++)
        for (int power = 4; power >= 2; power -= 2) {
            fprintf(potential, "%s(", power == 2 ? " - " : i ? " + 0.5*" : "0.5*");
            for (size_t k = 0; k < d; k++)
                fprintf(potential, "%s%.17g*x%zu", k ? " + " : "", R[i * d + k], k + 1);
            fprintf(potential, ")^%d", power);
        }
    fprintf(start, "gaussian(mean=");
    for (size_t k = 0; k < d; k++) {
        double sum = 0;
        for (size_t i = 0; i < d; i++) sum += START_MEAN * R[i * d + k];
        fprintf(start, "%s%.17g", k ? " " : "", sum);
    }
    fprintf(start, ",var=%g)", START_VARIANCE);
}

static hb_status wells_text(hb_context *context, int dim, char **potential, char **start)
{
    double R[DRIFT_MOST_DIM * DRIFT_MOST_DIM];
    size_t size[2];
    HB_TRY(hb_drift_rotation(context, dim, R));
    *potential = *start = NULL;
    FILE *file[2] = {open_memstream(potential, &size[0]), open_memstream(start, &size[1])};
    if (file[0] && file[1]) write_wells((size_t)dim, R, file[0], file[1]);
    int failed = !file[0] || !file[1];
    for (int i = 0; i < 2; i++) failed |= file[i] && fclose(file[i]) != 0;
    if (!failed) return HB_OK;
    free(*potential);
    free(*start);
    *potential = *start = NULL;
    return hb_study_fail(context, HB_ERROR_MEMORY, "no memory for the text of a drift");
}

/* ---- problems ---- */

hb_status hb_drift_problem(hb_context *context, int problem, hb_problem **out)
{
    const hb_drift_process *process = &hb_drift_processes[problem];
    char *potential = NULL, *start = NULL;
    hb_problem_settings settings;
    hb_problem_settings_default(sizeof settings, &settings);
    if (!process->initial) HB_TRY(wells_text(context, process->dim, &potential, &start));
    settings.dim = process->dim;
    settings.drift = process->drift;
    settings.potential = process->potential ? process->potential : potential;
    settings.initial = process->initial ? process->initial : start;
    settings.noise = "sqrt(2)";
    const hb_status status = hb_problem_create(context, &settings, out);
    free(potential);
    free(start);
    return status;
}
