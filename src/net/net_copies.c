/* Copies of the weights, in the order and at the pitch that products are fastest with.
 *
 * oneDNN's kernels for few rows read the matrix B of C = AB row by row where it lies. They are fast
 * when B is not transposed and its rows are no multiple of 512 bytes apart, which would meet in a
 * few lines of the cache. A layer's W (out, in) is transposed for y = x W^T, and plain for x = y W,
 * with rows of 1024 or 4096 bytes in the usual networks. So W^T is kept beside W (turned), and on
 * AVX2 also W with its rows 16 floats further apart (spaced); AVX-512 kernels do not mind the pitch
 * of W. GFLOP/s of 64 rows, one thread, AMD Zen 4:
 *                      256 x 256                     1024 x 1024
 *     x W^T   AVX2     as it is 108, turned 115      93, 110
 *     x W^T   AVX-512           100,        113      73, 113
 *     y W     AVX2              108, spaced 115      50, 110
 *
 * Whoever changes the parameters calls hb_net_prepare once for all passes with them: a training
 * step has tens of rows for every weight, and a copy costs as much as half a row. Copies are of the
 * same numbers: only the order of sums inside a product may differ. */
#include "base/context.h"
#include "base/parallel.h"
#include "net/net_tape.h"

#include <string.h>

enum {
    BAD_PITCH = 128, /* floats: rows that are a multiple of this apart */
    GAP = 16,        /* floats between such rows */
    THIN = 16,       /* outputs of a layer that is not worth turning */
    PIECE = 64,      /* rows of W that are copied at a time */
    FEW_PIECES = 32  /* for which it is not worth waking threads */
};

size_t hb_net_pitch(size_t n)
{
    return n % BAD_PITCH ? n : n + GAP;
}

/* ---- their places ---- */

static size_t copies_turned_floats(const hb_net_layer *layer)
{
    return layer->out < THIN ? 0 : layer->in * hb_net_pitch(layer->out);
}

static size_t copies_spaced_floats(const hb_net_layer *layer)
{
    const int bad = layer->in % BAD_PITCH == 0;
    return bad && hb_net_product_wishes().spaced ? layer->out * hb_net_pitch(layer->in) : 0;
}

static size_t copies_floats(const hb_net *net, int l)
{
    const hb_net_layer layer = hb_net_layer_of(net, l);
    return copies_turned_floats(&layer) + copies_spaced_floats(&layer);
}

/* Layers 1 .. depth-1 are alike. */
static size_t copies_place(const hb_net *net, int l)
{
    const int depth = net->shape.depth, alike = l > depth ? depth - 1 : l - 1;
    if (l == 0) return 0;
    return copies_floats(net, 0) + (size_t)alike * (depth > 1 ? copies_floats(net, 1) : 0) +
           (l > depth ? copies_floats(net, depth) : 0);
}

static void copies_set(float *copies, hb_net_layer *layer)
{
    const size_t turned = copies_turned_floats(layer);
    if (turned) layer->turned = copies;
    if (copies_spaced_floats(layer)) layer->spaced = copies + turned;
    layer->turned_pitch = hb_net_pitch(layer->out);
    layer->spaced_pitch = hb_net_pitch(layer->in);
}

void hb_net_copies_of(const hb_net *net, int l, const float *parameters, hb_net_layer *layer)
{
    if (!net->prepared || net->prepared != parameters) return;
    copies_set(net->copies + copies_place(net, l), layer);
}

/* ---- making them ---- */

typedef struct copying {
    const hb_net *net;
    const float *parameters;
} copying;

static size_t copies_pieces(const hb_net *net, int l)
{
    return (hb_net_layer_of(net, l).out + PIECE - 1) / PIECE;
}

static void copies_make_rows(const copying *job, int l, size_t first)
{
    const hb_net *net = job->net;
    hb_net_layer layer = hb_net_layer_of(net, l);
    float *copies = net->copies + copies_place(net, l),
          *spaced = copies + copies_turned_floats(&layer);
    copies_set(copies, &layer);
    const size_t left = layer.out - first, rows = left < PIECE ? left : PIECE;
    const float *w = job->parameters + layer.weight + first * layer.in;
    if (layer.turned)
        net->kernels->turn(rows, layer.in, w, layer.in, copies + first, layer.turned_pitch);
    for (size_t i = 0; layer.spaced && i < rows; i++)
        memcpy(spaced + (first + i) * layer.spaced_pitch, w + i * layer.in, layer.in * sizeof *w);
}

static hb_status copies_make_piece(void *user, size_t index, int thread)
{
    const copying *job = user;
    int l = 0;
    (void)thread;
    for (; index >= copies_pieces(job->net, l); l++) index -= copies_pieces(job->net, l);
    copies_make_rows(job, l, index * PIECE);
    return HB_OK;
}

hb_status hb_net_prepare(hb_context *context, hb_net *net, const float *parameters)
{
    const int layers = net->shape.depth + 1;
    const size_t floats = copies_place(net, layers);
    net->prepared = NULL;
    if (!parameters || floats == 0 || !hb_net_product_wishes().turned) return HB_OK;
    void *memory = net->copies;
    if (!memory) HB_TRY(hb_allocate(net->context, floats, sizeof(float), &memory));
    net->copies = memory;
    size_t pieces = 0;
    for (int l = 0; l < layers; l++) pieces += copies_pieces(net, l);
    copying job = {net, parameters};
    if (pieces > FEW_PIECES)
        HB_TRY(hb_parallel_for(context, NULL, pieces, copies_make_piece, &job));
    else
        for (size_t k = 0; k < pieces; k++) HB_TRY(copies_make_piece(&job, k, 0));
    net->prepared = parameters;
    return HB_OK;
}
