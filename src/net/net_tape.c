/* Tapes: every array that a forward pass keeps for its backward pass, in one block sized once, so
 * that a training step allocates nothing.
 *
 * SiLU's derivatives are kept as far as the backward pass needs them: silu' for values (over z,
 * which is not needed again), silu'' with first derivatives or slopes, silu''' with second
 * derivatives. */
#include "net/net_tape.h"
#include "base/context.h"

#include <string.h>

int hb_net_channels(const hb_net_jets *jets)
{
    return 1 + jets->first + jets->pairs + (jets->laplacian > 0);
}

static hb_status net_tape_check_jets(hb_context *context, const hb_net_jets *jets)
{
    enum { MOST = 65536 };
    HB_CHECK(context, jets->first >= 0 && jets->first <= MOST, HB_ERROR_ARGUMENT,
             "the number of directions is %d; it must be 0 to %d", jets->first, MOST);
    HB_CHECK(context, jets->pairs >= 0 && jets->pairs <= MOST, HB_ERROR_ARGUMENT,
             "the number of pairs of directions is %d; it must be 0 to %d", jets->pairs, MOST);
    HB_CHECK(
        context, jets->laplacian >= 0 && jets->laplacian <= jets->first, HB_ERROR_ARGUMENT,
        "the Laplacian is over %d directions; it must be over 0 to %d, the directions there are",
        jets->laplacian, jets->first);
    for (int p = 0; p < jets->pairs; p++)
        for (int e = 0; e < 2; e++)
            HB_CHECK(context, jets->pair[p][e] >= 0 && jets->pair[p][e] < jets->first,
                     HB_ERROR_ARGUMENT, "pair %d has direction %d; it must be 0 to %d", p,
                     jets->pair[p][e], jets->first - 1);
    return HB_OK;
}

static hb_status net_tape_create_arrays(hb_context *context, hb_net_tape *tape)
{
    const hb_net_shape *shape = &tape->net->shape;
    const size_t depth = (size_t)shape->depth;
    const size_t channels = (size_t)tape->channels;
    const size_t units = depth * tape->unit_stride, layers = depth * tape->layer_stride;
    const int seconds = tape->jets.pairs > 0 || tape->jets.laplacian > 0;
    const int bends = tape->slope || channels > 1;
    return HB_WORKSPACE(
        context, &tape->work, HB_ARRAY(tape->input, channels * tape->capacity * tape->input_pitch),
        HB_ARRAY(tape->z, layers), HB_ARRAY(tape->a, layers),
        HB_ARRAY_IF(bends, tape->second, units), HB_ARRAY_IF(seconds, tape->third, units),
        HB_ARRAY(tape->a_cotangent, tape->layer_stride),
        HB_ARRAY(tape->z_cotangent, tape->layer_stride),
        HB_ARRAY_IF(tape->slope, tape->above, units), HB_ARRAY_IF(tape->slope, tape->below, units),
        HB_ARRAY_IF(tape->slope, tape->bend, units));
}

static hb_status net_tape_copy_pairs(hb_context *context, const hb_net_jets *jets,
                                     hb_net_tape *tape)
{
    tape->jets = *jets;
    tape->jets.pair = NULL;
    if (jets->pairs == 0) return HB_OK;
    void *pairs;
    HB_TRY(hb_allocate(context, (size_t)jets->pairs, sizeof *jets->pair, &pairs));
    tape->jets.pair = memcpy(pairs, jets->pair, (size_t)jets->pairs * sizeof *jets->pair);
    return HB_OK;
}

/* Sizes are counted in size_t, which this keeps far from overflow. */
static hb_status net_tape_check_size(hb_context *context, const hb_net_tape *tape)
{
    const hb_net_shape *shape = &tape->net->shape;
    const double unit = (double)tape->channels * (double)tape->capacity;
    const double numbers = unit * (shape->inputs + 2.0 * shape->width * (shape->depth + 1));
    HB_CHECK(context, numbers < 1e15, HB_ERROR_MEMORY,
             "a tape for %d channels of %zu rows needs %.1e numbers; take fewer rows",
             tape->channels, tape->capacity, numbers);
    return HB_OK;
}

static hb_status net_tape_allocate(hb_context *context, const hb_net_jets *jets, hb_net_tape *tape)
{
    tape->channels = hb_net_channels(jets);
    HB_TRY(net_tape_check_size(context, tape));
    HB_TRY(net_tape_copy_pairs(context, jets, tape));
    tape->pitch = hb_net_pitch((size_t)tape->net->shape.width);
    tape->input_pitch = hb_net_pitch((size_t)tape->net->shape.inputs);
    tape->unit_stride = tape->capacity * tape->pitch;
    tape->layer_stride = (size_t)tape->channels * tape->unit_stride;
    return net_tape_create_arrays(context, tape);
}

static hb_status net_tape_new(hb_context *context, const hb_net *net, const hb_net_jets *jets,
                              size_t rows, int slope, hb_net_tape **out)
{
    enum { MOST_ROWS = 1 << 24 };
    *out = NULL;
    HB_TRY(net_tape_check_jets(context, jets));
    HB_CHECK(context, rows >= 1 && rows <= MOST_ROWS, HB_ERROR_ARGUMENT,
             "a tape for %zu rows is requested; it must be for 1 to %d", rows, MOST_ROWS);
    hb_net_tape *tape;
    HB_TRY(HB_NEW_CLEARED(context, tape, 1));
    tape->context = context;
    tape->net = net;
    tape->slope = slope;
    tape->capacity = rows;
    const hb_status status = net_tape_allocate(context, jets, tape);
    if (status != HB_OK) hb_net_tape_destroy(tape);
    *out = status == HB_OK ? tape : NULL;
    return status;
}

hb_status hb_net_tape_create(hb_context *context, const hb_net *net, const hb_net_jets *jets,
                             size_t rows, hb_net_tape **out)
{
    return net_tape_new(context, net, jets, rows, 0, out);
}

hb_status hb_net_slope_tape_create(hb_context *context, const hb_net *net, size_t rows,
                                   hb_net_tape **out)
{
    *out = NULL;
    HB_CHECK(context, net->shape.outputs == 1, HB_ERROR_ARGUMENT,
             "a slope is asked of a network with %d outputs; it must have 1", net->shape.outputs);
    const hb_net_jets values = {0, 0, NULL, 0};
    return net_tape_new(context, net, &values, rows, 1, out);
}

void hb_net_tape_destroy(hb_net_tape *tape)
{
    if (!tape) return;
    hb_context *context = tape->context;
    hb_workspace_destroy(&tape->work);
    hb_release(context, (void *)tape->jets.pair);
    hb_release(context, tape);
}

hb_status hb_net_tape_start(hb_net_tape *tape, int slope, size_t rows)
{
    hb_context *context = tape->context;
    HB_CHECK(context, tape->slope == slope, HB_ERROR_ARGUMENT,
             slope ? "a slope is asked of a tape for jets; make it with hb_net_slope_tape_create"
                   : "jets are asked of a tape for slopes; make it with hb_net_tape_create");
    HB_CHECK(context, rows >= 1 && rows <= tape->capacity, HB_ERROR_ARGUMENT,
             "%zu rows are given to a tape; it holds 1 to %zu", rows, tape->capacity);
    tape->rows = rows;
    return HB_OK;
}

hb_net_layer hb_net_tape_layer(const hb_net_tape *tape, int l, const float *parameters)
{
    const hb_net *net = tape->net;
    hb_net_layer layer = hb_net_layer_of(net, l);
    layer.x_pitch = l == 0 ? tape->input_pitch : tape->pitch;
    layer.y_pitch = l == net->shape.depth ? 0 : tape->pitch;
    hb_net_copies_of(net, l, parameters, &layer);
    return layer;
}

void hb_net_tape_read(hb_net_tape *tape, size_t n, const float *input)
{
    const size_t inputs = (size_t)tape->net->shape.inputs, pitch = tape->input_pitch;
    for (size_t r = 0; r < n; r++)
        memcpy(tape->input + r * pitch, input + r * inputs, inputs * sizeof *input);
}

hb_status hb_net_tape_finished(const hb_net_tape *tape, int slope)
{
    HB_CHECK(tape->context, tape->rows > 0 && tape->slope == slope, HB_ERROR_ARGUMENT,
             "a backward pass is asked of a tape without a forward pass of its kind");
    return HB_OK;
}
