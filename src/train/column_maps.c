/* Maps of the columns of a table, chosen from the data: heavy tails and bounds cost a network much.
 *
 * A map g is taken where a Gaussian fits g(x) better than x, with the Jacobian, as Box and Cox (J. R.
 * Stat. Soc. B 26 (1964) 211) choose their power:
 *     gain = mean ln g'(x) - ln sd(g(x)) + ln sd(x) > GAIN + GAIN_OF_FEW/n nats
 * of arsinh((x - median)/w) at six widths, of ln x where all x are above 0, and of the logit where
 * both ends of the range look like bounds: there are many rows in its last 2 %, where a tail has
 * few. A bound is a round number just outside of the data, else a little more than their last value.
 * python/heatball/_column_maps.py makes the same choice. A number to reproduce: exp of a standard
 * normal gains 1/2 + ln(e - 1)/2 = 0.771 nats by the logarithm. */
#include "base/linear_algebra.h"
#include "train/trainer.h"

#include <math.h>

static const double GAIN = 0.02, GAIN_OF_FEW = 3, MARGIN = 0.01; /* of the range */
static const double EDGE = 0.02, EDGE_FRACTION = 0.004, EDGE_ROWS = 5;
static const double WIDTHS[] = {0.25, 0.5, 1, 2, 4, 8}; /* over the sd that the quartiles tell */

static double column_spread(size_t n, const double *x)
{
    double mean = 0, sum = 0;
    for (size_t i = 0; i < n; i++) mean += x[i] / (double)n;
    for (size_t i = 0; i < n; i++) sum += (x[i] - mean) * (x[i] - mean);
    return sqrt(sum / (double)n);
}

/* y: scratch (n). */
static double column_gain(size_t n, const double *x, const hb_axis_map *map, double *y)
{
    double slopes = 0;
    for (size_t i = 0; i < n; i++) {
        y[i] = hb_axis_to_y(map, x[i]);
        slopes -= hb_axis_log_noise(map, y[i]) / (double)n;
    }
    return slopes - log(column_spread(n, y)) + log(column_spread(n, x));
}

static double column_quantile(size_t n, const double *sorted, double q)
{
    const double at = q * (double)(n - 1);
    const size_t k = (size_t)at < n - 1 ? (size_t)at : n - 2;
    return sorted[k] + (at - (double)k) * (sorted[k + 1] - sorted[k]);
}

/* side: -1 the low end, 1 the high one. */
static int column_is_edge(size_t n, const double *sorted, int side)
{
    const double low = sorted[0], high = sorted[n - 1], margin = EDGE * (high - low);
    double near = 0;
    for (size_t i = 0; i < n; i++)
        near += side > 0 ? sorted[i] > high - margin : sorted[i] < low + margin;
    return near >= fmax(EDGE_FRACTION * (double)n, EDGE_ROWS);
}

static double column_bound(double low, double high, int side)
{
    const double end = side > 0 ? high : low;
    const double step = pow(10, ceil(log10(high - low))), parts[] = {1, 2, 4, 10};
    for (int k = 0; k < 4; k++) {
        const double unit = step / parts[k];
        const double at = unit * (side > 0 ? ceil(end / unit) : floor(end / unit));
        if (at != end && fabs(at - end) <= EDGE * (high - low)) return at;
    }
    return end + side * MARGIN * (high - low);
}

/* The map of largest gain of a column x (n), sorted; y: scratch (n). */
static hb_axis_map column_choose(size_t n, const double *x, double *y)
{
    hb_axis_map best = {.kind = HB_AXIS_SAME, .low = -INFINITY, .high = INFINITY};
    hb_axis_map maps[sizeof WIDTHS / sizeof *WIDTHS + 2];
    const double low = x[0], high = x[n - 1], spread = column_spread(n, x);
    double most = GAIN + GAIN_OF_FEW / (double)n;
    size_t count = 0;
    if (!(high > low) || !isfinite(spread)) return best;
    const double quartiles = (column_quantile(n, x, 0.75) - column_quantile(n, x, 0.25)) / 1.349;
    for (; count < sizeof WIDTHS / sizeof *WIDTHS; count++)
        maps[count] = (hb_axis_map){.kind = HB_AXIS_SINH,
                                    .center = column_quantile(n, x, 0.5),
                                    .width = WIDTHS[count] * (quartiles > 0 ? quartiles : spread),
                                    .low = -INFINITY,
                                    .high = INFINITY};
    if (low > 0) maps[count++] = (hb_axis_map){.kind = HB_AXIS_RISE, .width = 1, .high = INFINITY};
    if (column_is_edge(n, x, -1) && column_is_edge(n, x, 1)) {
        const double a = column_bound(low, high, -1), b = column_bound(low, high, 1);
        maps[count++] = (hb_axis_map){
            .kind = HB_AXIS_TANH, .center = (a + b) / 2, .width = (b - a) / 2, .low = a, .high = b};
    }
    for (size_t k = 0; k < count; k++) {
        const double gain = column_gain(n, x, &maps[k], y);
        if (!(gain > most) || !isfinite(gain)) continue;
        most = gain;
        best = maps[k];
    }
    return best;
}

hb_status hb_column_maps(hb_trainer *t, int dim, const double *data, hb_axis_map *axes, double *y)
{
    const size_t d = (size_t)dim, n = t->n;
    hb_workspace work;
    double *column, *scratch;
    HB_TRY(HB_WORKSPACE(t->context, &work, HB_ARRAY(column, n), HB_ARRAY(scratch, n)));
    for (size_t j = 0; j < d; j++) {
        int finite = n > 1;
        for (size_t i = 0; i < n; i++) {
            column[i] = data[i * d + j];
            finite &= isfinite(column[i]);
        }
        axes[j] = (hb_axis_map){.kind = HB_AXIS_SAME, .low = -INFINITY, .high = INFINITY};
        if (finite) {
            hb_sort(n, column);
            axes[j] = column_choose(n, column, scratch);
        }
        for (size_t i = 0; i < n; i++)
            y[i * d + j] = finite ? hb_axis_to_y(&axes[j], data[i * d + j]) : data[i * d + j];
    }
    hb_workspace_destroy(&work);
    return HB_OK;
}
