/* A cell list: particles counted into the cells of a lattice over the first one to three
 * coordinates and stored cell by cell (R. W. Hockney, J. W. Eastwood, Computer Simulation Using
 * Particles, 1981).
 *
 * The lattice spans the 2nd to the 98th percentile of a part of the particles, widened by half of
 * that, so that single far ones do not stretch it; what is outside is in the outermost cells. The
 * map from a coordinate to its cell never falls, so the cells of low and high hold everything
 * between. There are about four particles per cell. The last axis runs fastest: a row of cells is
 * one run of particles. */
#include "particle/cell_list.h"
#include "base/linear_algebra.h"

#include <math.h>
#include <string.h>

enum { SAMPLE = 512, PER_CELL = 4 };

static size_t cells_at_most(size_t n)
{
    return n / PER_CELL + 1;
}

/* low and scale of one axis from up to SAMPLE finite coordinates. */
static void span_axis(size_t n, size_t dim, const double *x, size_t cells, double *low,
                      double *scale)
{
    double sample[SAMPLE];
    size_t count = 0;
    const size_t stride = n / SAMPLE + 1;
    for (size_t i = 0; i < n && count < SAMPLE; i += stride)
        if (isfinite(x[i * dim])) sample[count++] = x[i * dim];
    hb_sort(count, sample);
    const double from = count ? sample[count / 50] : 0;
    const double to = count ? sample[count - 1 - count / 50] : 0;
    *low = from - 0.25 * (to - from);
    *scale = to > from ? (double)cells / (1.5 * (to - from)) : 0;
    if (!isfinite(*low) || !isfinite(*scale)) *low = *scale = 0; // all in one cell
}

static size_t cell_on_axis(const hb_cell_list *list, size_t axis, double x)
{
    const double place = (x - list->low[axis]) * list->scale[axis];
    const double last = (double)(list->cells[axis] - 1);
    return place > 0 ? (size_t)(place < last ? place : last) : 0; // NaN, from 0 inf, is cell 0
}

static size_t cells_index(const hb_cell_list *list, const double *x)
{
    size_t cell = 0;
    for (size_t k = 0; k < list->axes; k++)
        cell = cell * list->cells[k] + cell_on_axis(list, k, x[k]);
    return cell;
}

/* A particle is kept when it and its drift are finite. */
static int is_kept(size_t dim, const double *x, const double *F, size_t i)
{
    return hb_all_finite(dim, x + i * dim) && (!F || hb_all_finite(dim, F + i * dim));
}

static size_t choose_cells(size_t n, size_t dim, const double *x, hb_cell_list *out)
{
    out->axes = dim < HB_CELL_AXES ? dim : HB_CELL_AXES;
    const double each = pow((double)cells_at_most(n), 1.0 / (double)out->axes);
    size_t total = 1;
    for (size_t k = 0; k < out->axes; k++) {
        out->cells[k] = each > 1 ? (size_t)(each + 1e-9) : 1;
        total *= out->cells[k];
        span_axis(n, dim, x + k, out->cells[k], out->low + k, out->scale + k);
    }
    return total;
}

size_t hb_cell_list_starts(size_t n)
{
    return cells_at_most(n) + 2;
}

void hb_cell_list_build(size_t n, size_t dim, const double *x, const double *F, size_t batch_size,
                        uint32_t *scratch, hb_cell_list *out)
{
    out->dim = dim;
    const size_t total = choose_cells(n, dim, x, out);
    uint32_t *start = out->start;
    memset(start, 0, (total + 2) * sizeof *start);
    for (size_t i = 0; i < n; i++) { // start[c+2] counts cell c
        if (!is_kept(dim, x, F, i)) continue;
        scratch[i] = (uint32_t)cells_index(out, x + i * dim);
        start[scratch[i] + 2]++;
    }
    for (size_t c = 2; c < total + 2; c++) start[c] += start[c - 1];
    for (size_t i = 0; i < n; i++) { // start[c+1] moves from the first to the end of cell c
        if (!is_kept(dim, x, F, i)) continue;
        const size_t to = start[scratch[i] + 1]++;
        memcpy(out->x + to * dim, x + i * dim, dim * sizeof *x);
        if (F) memcpy(out->F + to * dim, F + i * dim, dim * sizeof *F);
        out->owner[to] = (uint32_t)(i / batch_size);
    }
    out->n = start[total];
}

void hb_cell_list_visit(const hb_cell_list *list, const double *centre, const double *half,
                        hb_cell_visit visit, void *user)
{
    size_t low[HB_CELL_AXES] = {0}, high[HB_CELL_AXES] = {0}, at[HB_CELL_AXES] = {0};
    const size_t last = list->axes - 1;
    for (size_t k = 0; k < list->axes; k++) {
        low[k] = at[k] = cell_on_axis(list, k, centre[k] - half[k]);
        high[k] = cell_on_axis(list, k, centre[k] + half[k]);
    }
    for (;;) {
        size_t row = 0;
        for (size_t k = 0; k < last; k++) row = (row + at[k]) * list->cells[k + 1];
        const hb_cell_run run = {list->start[row + low[last]], list->start[row + high[last] + 1]};
        if (run.last > run.first) visit(user, run);
        size_t axis = last; // the next row
        while (axis > 0 && at[axis - 1] == high[axis - 1]) {
            axis--;
            at[axis] = low[axis];
        }
        if (axis == 0) return;
        at[axis - 1]++;
    }
}
