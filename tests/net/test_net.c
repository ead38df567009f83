/* Every channel of the network against plain double loops, which are themselves checked against
 * differences; every parameter gradient against differences of those loops; slopes. */
#include "net_bench.h"

/* Every combination of channels that the losses use, and all at once. */
static const hb_net_jets jet_list[] = {
    {0, 0, NULL, 0},      {1, 0, NULL, 0},      {2, 0, NULL, 0},      {3, 0, NULL, 2},
    {3, 3, pair_list, 0}, {3, 0, NULL, 3},      {3, 5, pair_list, 0}, {3, 5, pair_list, 3},
    {2, 2, pair_list, 1}, {1, 1, pair_list, 1},
};
enum { JETS = sizeof jet_list / sizeof *jet_list };

/* inputs, outputs, width, depth, residual: widths with and without a rest of a vector. */
static const hb_net_shape shape_list[] = {
    {1, 1, 1, 1, 0}, {3, 2, 5, 1, 0}, {2, 1, 17, 2, 0}, {3, 2, 6, 2, 1},
    {2, 3, 7, 3, 0}, {3, 1, 5, 3, 1}, {3, 2, 5, 4, 0},  {2, 2, 16, 4, 1},
};
enum { SHAPES = sizeof shape_list / sizeof *shape_list };

/* The value of output o of row r when the input is row r of the channels at the offsets: x + e u +
 * f v + w q with u, v, w the rows of channels i, j and c. */
static double moved_value(bench *b, int r, int o, int i, double e, int j, double f, int c, double q)
{
    const hb_net_jets values = {0, 0, NULL, 0};
    const int in = b->shape.inputs;
    double x[REFERENCE_UNITS], y[REFERENCE_UNITS];
    for (int k = 0; k < in; k++) {
        x[k] = b->dx[r * in + k] + e * b->dx[(i * b->rows + r) * in + k];
        x[k] += f * b->dx[(j * b->rows + r) * in + k] + q * b->dx[(c * b->rows + r) * in + k];
    }
    reference_forward(&b->shape, &values, b->dp, 1, x, y);
    return y[o];
}

/* d^2/de df of the value along channels i and j, with channel c as the input's own second
 * derivative; i = j: d^2/de^2. c = 0 leaves it out. */
static double second_difference(bench *b, int r, int o, int i, int j, int c)
{
    const double h = 2e-4;
    const double on = c > 0 ? h * h : 0;
    if (i == j)
        return (moved_value(b, r, o, i, h, j, 0, c, on / 2) -
                2 * moved_value(b, r, o, i, 0, j, 0, c, 0) +
                moved_value(b, r, o, i, -h, j, 0, c, on / 2)) /
               (h * h);
    return (moved_value(b, r, o, i, h, j, h, c, on) - moved_value(b, r, o, i, h, j, -h, c, -on) -
            moved_value(b, r, o, i, -h, j, h, c, -on) + moved_value(b, r, o, i, -h, j, -h, c, on)) /
           (4 * h * h);
}

static double expected_channel(bench *b, int r, int o, int c)
{
    const double h = 1e-5;
    const hb_net_jets *jets = &b->jets;
    if (c == 0) return moved_value(b, r, o, 0, 0, 0, 0, 0, 0);
    if (c <= jets->first)
        return (moved_value(b, r, o, c, h, 0, 0, 0, 0) - moved_value(b, r, o, c, -h, 0, 0, 0, 0)) /
               (2 * h);
    const int p = c - 1 - jets->first;
    if (p < jets->pairs)
        return second_difference(b, r, o, 1 + jets->pair[p][0], 1 + jets->pair[p][1], c);
    double sum = 0;
    for (int k = 1; k <= jets->laplacian; k++)
        sum += second_difference(b, r, o, k, k, k == 1 ? c : 0);
    return sum;
}

static void reference_follows_differences(void **state)
{
    (void)state;
    for (int s = 0; s < SHAPES; s++)
        for (int k = 0; k < JETS; k++) {
            bench b = open_bench(HB_ISA_SCALAR, shape_list + s, jet_list + k, 3);
            reference_forward(&b.shape, &b.jets, b.dp, b.rows, b.dx, b.dy);
            for (int c = 0; c < hb_net_channels(&b.jets); c++)
                for (int r = 0; r < b.rows; r++)
                    for (int o = 0; o < b.shape.outputs; o++)
                        assert_near(b.dy[(c * b.rows + r) * b.shape.outputs + o],
                                    expected_channel(&b, r, o, c), 2e-6);
            close_bench(&b);
        }
}

static void channels_follow_reference(void **state)
{
    (void)state;
    for (int isa = 0; isa < ISAS; isa++)
        for (int s = 0; s < SHAPES; s++)
            for (int k = 0; k < JETS; k++) {
                bench b = open_bench(isas[isa], shape_list + s, jet_list + k, 5);
                if (!b.context) continue;
                run_float(&b, 0);
                reference_forward(&b.shape, &b.jets, b.dp, b.rows, b.dx, b.dy);
                const size_t count = (size_t)(b.rows * b.shape.outputs);
                for (size_t c = 0; c < b.outputs / count; c++)
                    assert_close(count, b.y + c * count, b.dy + c * count, 5e-6, "channel");
                close_bench(&b);
            }
}

/* Central difference of the loss by one number of the parameters or of the input. */
static double loss_difference(bench *b, double *number)
{
    const double h = 1e-4, kept = *number;
    double loss[2];
    for (int side = 0; side < 2; side++) {
        *number = kept + (side ? h : -h);
        loss[side] = reference_loss(&b->shape, &b->jets, b->dp, b->rows, b->dx, b->dy_bar);
    }
    *number = kept;
    return (loss[1] - loss[0]) / (2 * h);
}

static void gradients_follow_differences(void **state)
{
    (void)state;
    for (int s = 0; s < SHAPES; s++)
        for (int k = 0; k < JETS; k++) {
            bench b = open_bench(HB_ISA_AUTO, shape_list + s, jet_list + k, 3);
            double *exact = array(b.parameters + b.inputs, sizeof *exact);
            run_float(&b, 0.375f);
            for (size_t i = 0; i < b.parameters; i++)
                exact[i] = 0.375 + loss_difference(&b, b.dp + i);
            assert_close(b.parameters, b.gradient, exact, 4e-6, "gradient by the parameters");
            for (size_t i = 0; i < b.inputs; i++) exact[i] = loss_difference(&b, b.dx + i);
            assert_close(b.inputs, b.x_bar, exact, 4e-6, "gradient by the input");
            free(exact);
            close_bench(&b);
        }
}

/* Wide nets: the gradient along random directions. */
static void wide_gradients_follow_differences(void **state)
{
    (void)state;
    const hb_net_shape wide = {9, 3, 96, 3, 1};
    for (int k = 0; k < JETS; k++) {
        bench b = open_bench(HB_ISA_AUTO, &wide, jet_list + k, 11);
        run_float(&b, 0);
        float *direction = array(b.parameters, sizeof *direction);
        double *along = array(b.parameters, sizeof *along), slope = 0, size = 0, loss[2];
        draw(b.context, 4, b.parameters, 1, direction, along);
        for (size_t i = 0; i < b.parameters; i++) {
            slope += along[i] * (double)b.gradient[i];
            size += pow(along[i] * (double)b.gradient[i], 2);
        }
        for (int side = 0; side < 2; side++) {
            for (size_t i = 0; i < b.parameters; i++)
                b.dp[i] = (double)b.p[i] + (side ? 1e-5 : -1e-5) * along[i];
            loss[side] = reference_loss(&b.shape, &b.jets, b.dp, b.rows, b.dx, b.dy_bar);
        }
        assert_near(slope, (loss[1] - loss[0]) / 2e-5, 1e-5 * sqrt(size));
        free(direction), free(along);
        close_bench(&b);
    }
}

/* ---- slopes: jets along the unit vectors are their reference ---- */

/* The bench's rows as an input with one direction for each input. */
static bench open_slope_bench(hb_isa isa, const hb_net_shape *shape, int rows)
{
    const hb_net_jets along_axes = {shape->inputs, 0, NULL, 0};
    bench b = open_bench(isa, shape, &along_axes, rows);
    if (!b.context) return b;
    const size_t row = (size_t)shape->inputs, block = row * (size_t)rows;
    for (size_t i = block; i < b.inputs; i++) {
        b.dx[i] = i % row == i / block - 1;
        b.x[i] = (float)b.dx[i];
    }
    return b;
}

/* (directions, rows) to (rows, directions), behind the values. */
static void slopes_to_channels(const bench *b, const float *slope, float *channels)
{
    for (int r = 0; r < b->rows; r++)
        for (int i = 0; i < b->shape.inputs; i++)
            channels[i * b->rows + r] = slope[r * b->shape.inputs + i];
}

/* value, slope and the gradient of <y_bar, (value, slope)>, all in float. */
static void run_slope(bench *b, int with_value)
{
    const size_t rows = (size_t)b->rows, in = (size_t)b->shape.inputs;
    float *slope = array(rows * in, sizeof *slope), *slope_bar = array(rows * in, sizeof *slope);
    for (size_t r = 0; r < rows; r++)
        for (size_t i = 0; i < in; i++) slope_bar[r * in + i] = b->y_bar[(1 + i) * rows + r];
    hb_net_tape *tape;
    assert_ok(b->context, hb_net_slope_tape_create(b->context, b->net, rows + 1, &tape));
    assert_ok(b->context, hb_net_slope(tape, b->p, rows, b->x, b->y, slope));
    assert_ok(b->context, hb_net_slope_backward(tape, b->p, with_value ? b->y_bar : NULL, slope_bar,
                                                b->gradient));
    slopes_to_channels(b, slope, b->y + rows);
    hb_net_tape_destroy(tape);
    free(slope), free(slope_bar);
}

static void slopes_follow_reference(void **state)
{
    (void)state;
    for (int s = 0; s < SHAPES; s++)
        for (int with_value = 0; with_value < 2; with_value++) {
            hb_net_shape shape = shape_list[s];
            shape.outputs = 1;
            bench b = open_slope_bench(HB_ISA_AUTO, &shape, 5);
            run_slope(&b, with_value);
            reference_forward(&b.shape, &b.jets, b.dp, b.rows, b.dx, b.dy);
            const size_t rows = (size_t)b.rows;
            assert_close(rows, b.y, b.dy, 2e-6, "value");
            assert_close(b.outputs - rows, b.y + rows, b.dy + rows, 2e-6, "slope");
            for (size_t r = 0; r < rows && !with_value; r++) b.dy_bar[r] = 0;
            double *exact = array(b.parameters, sizeof *exact);
            for (size_t i = 0; i < b.parameters; i++) exact[i] = loss_difference(&b, b.dp + i);
            assert_close(b.parameters, b.gradient, exact, 4e-6, "gradient of a slope");
            free(exact);
            close_bench(&b);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reference_follows_differences),
        cmocka_unit_test(channels_follow_reference),
        cmocka_unit_test(gradients_follow_differences),
        cmocka_unit_test(wide_gradients_follow_differences),
        cmocka_unit_test(slopes_follow_reference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
