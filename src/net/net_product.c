/* The matrix products of the network, through oneDNN's sgemm (row-major).
 *
 * A row is alone: what a product gives for a row depends on that row and on the matrix, not on the
 * rows beside it, nor on their number or its place among them. oneDNN does not promise that. Its
 * kernels take 4, 6 or 8 rows at a time (SSE4.1 and AVX, AVX2, AVX-512) and may sum what is left
 * over in another order; one row, on AVX-512 less than 16, goes another way altogether, as do many
 * rows (from 101 or 384 on) of a large matrix. So rows go in blocks of 64 and, at the end, of 16,
 * the last one filled up with zeros. Both are whole tiles of 4 and of 8, or tiles of 6 and one of
 * 4, whose sums have the order of those of 6; and neither is few or many. Measured on oneDNN 2.6.3
 * with ONEDNN_MAX_CPU_ISA = SSE41, AVX and AVX2; tests/net/test_net_rows.c says
 * whether it holds on the processor at hand.
 *
 * A product with 2 to 15 columns costs as much as one with 16, and ten times as much as one with 1,
 * which is a sum of products: 33, 33 and 3.4 us for 256 rows of 256 numbers (AMD Zen 4, AVX-512;
 * 17, 17 and 3.3 us with AVX2). So up to four outputs are taken one by one.
 *
 * A sum over rows (the gradient of a weight) is cut at every 384 rows and added up in that order.
 *
 * A matrix whose rows are a multiple of 4096 bytes apart is read at half speed by the AVX2 kernels
 * for few rows, since its columns meet in a few lines of the cache. A layer's weights have copies
 * for that (net_copies.c). Where there are none, to_inputs copies such a matrix, 256
 * columns at a time, to rows that are 272 numbers apart: for 1024 x 1024 and 64, 128 rows 0.70 and
 * 0.59 of the time (AMD Zen 3).
 *
 * oneDNN's OpenMP build takes as many threads as omp_get_max_threads() says unless it is inside an
 * active parallel region, and cuts sums differently for each number. A product here belongs to one
 * task on one thread, so the calling thread's own number is 1 for the time of the call. With that a
 * product is a function of its numbers on a given processor, whatever OMP_NUM_THREADS is.
 *
 * oneDNN's kernels (2.6.3) put the stack pointer into a buffer of the heap while they run, and a
 * signal that is handled there has its frame written over the heap: dnnl_sgemm 'T', 'N' of 64 x 64
 * x 128 under an interval timer of 100 us dies within a second, also alone in a small program. So
 * signals wait until the product is done: two system calls (tests/train/test_train.c).
 *
 * Weights are (out, in), the order of PyTorch's Linear. */
#include "base/context.h"
#include "net/net_tape.h"

#include <dnnl.h>
#include <omp.h>
#include <signal.h>
#include <string.h>

enum {
    BLOCK_ROWS = 64,   /* rows of a product with a matrix */
    TAIL_ROWS = 16,    /* and of the last ones */
    SUM_ROWS = 384,    /* rows of a sum over rows */
    FEW_OUTPUTS = 4,   /* that are taken one by one */
    BAD_STRIDE = 1024, /* floats: rows of a matrix a multiple of this apart */
    PANEL = 256,       /* columns of such a matrix that are copied at a time, */
    PANEL_STRIDE = 272
};

/* ---- oneDNN, on this thread alone and without signals ---- */

typedef struct quiet {
    int threads;
    sigset_t signals;
} quiet;

static quiet quiet_begin(void)
{
    quiet before = {.threads = omp_get_max_threads()};
    sigset_t all;
    if (before.threads != 1) omp_set_num_threads(1);
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before.signals);
    return before;
}

static void quiet_end(const quiet *before)
{
    pthread_sigmask(SIG_SETMASK, &before->signals, NULL);
    if (before->threads != 1) omp_set_num_threads(before->threads);
}

static hb_status product_check(hb_context *context, dnnl_status_t status, size_t m, size_t k,
                               size_t n)
{
    HB_CHECK(context, status == dnnl_success,
             status == dnnl_out_of_memory ? HB_ERROR_MEMORY : HB_ERROR_UNAVAILABLE,
             "oneDNN's product of %zu x %zu and %zu x %zu numbers failed with its status %d", m, k,
             k, n, (int)status);
    return HB_OK;
}

/* ---- what oneDNN uses ---- */

static int product_has(dnnl_cpu_isa_t isa)
{
    return ((int)dnnl_get_effective_cpu_isa() & (int)isa) == (int)isa;
}

static int product_has_avx512(void)
{
    return product_has(dnnl_cpu_isa_avx512_core);
}

hb_net_wishes hb_net_product_wishes(void)
{
    return (hb_net_wishes){.turned = product_has(dnnl_cpu_isa_avx2),
                           .spaced = product_has(dnnl_cpu_isa_avx2) && !product_has_avx512()};
}

/* ---- rows times a matrix ---- */

/* C (n, width) = A (n, depth) op(B) + beta C. */
typedef struct factor {
    char transpose; /* op(B): 'N' or 'T' */
    size_t depth, width, lda, ldb, ldc;
    const float *b;
    float beta;
} factor;

static size_t product_block_rows(size_t left)
{
    return left > BLOCK_ROWS - TAIL_ROWS ? BLOCK_ROWS : TAIL_ROWS;
}

/* m is BLOCK_ROWS or TAIL_ROWS. */
static dnnl_status_t product_whole_block(const factor *f, size_t m, const float *a, float *c)
{
    return dnnl_sgemm('N', f->transpose, (dnnl_dim_t)m, (dnnl_dim_t)f->width, (dnnl_dim_t)f->depth,
                      1.0f, a, (dnnl_dim_t)f->lda, f->b, (dnnl_dim_t)f->ldb, f->beta, c,
                      (dnnl_dim_t)f->ldc);
}

/* Fewer rows than m, in the scratch's (m, lda) and (m, ldc). */
static dnnl_status_t product_short_block(const factor *f, size_t rows, size_t m, const float *a,
                                         float *c, float *scratch)
{
    float *c_scratch = scratch + m * f->lda;
    for (size_t i = 0; i < rows; i++)
        memcpy(scratch + i * f->lda, a + i * f->lda, f->depth * sizeof *a);
    memset(scratch + rows * f->lda, 0, (m - rows) * f->lda * sizeof *a);
    memset(c_scratch, 0, m * f->ldc * sizeof *c);
    for (size_t i = 0; f->beta != 0 && i < rows; i++)
        memcpy(c_scratch + i * f->ldc, c + i * f->ldc, f->width * sizeof *c);
    const dnnl_status_t status = product_whole_block(f, m, scratch, c_scratch);
    for (size_t i = 0; i < rows; i++)
        memcpy(c + i * f->ldc, c_scratch + i * f->ldc, f->width * sizeof *c);
    return status;
}

static dnnl_status_t product_all_rows(const factor *f, size_t n, const float *a, float *c,
                                      float *scratch)
{
    dnnl_status_t status = dnnl_success;
    for (size_t first = 0, m; first < n && status == dnnl_success; first += m) {
        const float *a_block = a + first * f->lda;
        float *c_block = c + first * f->ldc;
        m = product_block_rows(n - first);
        status = n - first >= m ? product_whole_block(f, m, a_block, c_block)
                                : product_short_block(f, n - first, m, a_block, c_block, scratch);
    }
    return status;
}

static int product_bad_stride(const factor *f)
{
    return f->transpose == 'N' && f->ldb % BAD_STRIDE == 0 && !product_has_avx512();
}

/* The same with B copied into `panel` (depth, PANEL_STRIDE), some of its columns at a time. */
static dnnl_status_t product_by_panels(const factor *f, size_t n, const float *a, float *c,
                                       float *panel, float *scratch)
{
    dnnl_status_t status = dnnl_success;
    factor part = *f;
    part.b = panel;
    part.ldb = PANEL_STRIDE;
    part.width = PANEL;
    for (size_t j = 0; j < f->width && status == dnnl_success; j += PANEL) {
        for (size_t k = 0; k < f->depth; k++)
            memcpy(panel + k * PANEL_STRIDE, f->b + k * f->ldb + j, PANEL * sizeof *panel);
        status = product_all_rows(&part, n, a, c + j, scratch);
    }
    return status;
}

/* The same for few columns of C, which are rows of B, one by one. */
static dnnl_status_t product_by_columns(const factor *f, size_t n, const float *a, float *c,
                                        float *scratch)
{
    dnnl_status_t status = dnnl_success;
    factor part = *f;
    part.width = 1;
    for (size_t j = 0; j < f->width && status == dnnl_success; j++) {
        part.b = f->b + j * f->ldb;
        status = product_all_rows(&part, n, a, c + j, scratch);
    }
    return status;
}

/* Floats of the scratch for a block that is not whole: 0 when all are. */
static size_t product_scratch(const factor *f, size_t n)
{
    const size_t left = n % BLOCK_ROWS, m = product_block_rows(left);
    return left % m ? m * (f->lda + f->ldc) : 0;
}

static hb_status product_rows(hb_context *context, const factor *f, size_t n, const float *a,
                              float *c)
{
    void *memory = NULL;
    const size_t panel = product_bad_stride(f) ? f->depth * PANEL_STRIDE : 0;
    const size_t scratch = product_scratch(f, n);
    if (panel + scratch) HB_TRY(hb_allocate(context, panel + scratch, sizeof(float), &memory));
    float *copies = memory;
    const quiet before = quiet_begin();
    const int few = f->transpose == 'T' && f->width <= FEW_OUTPUTS;
    const dnnl_status_t status = panel ? product_by_panels(f, n, a, c, copies, copies + panel)
                                 : few ? product_by_columns(f, n, a, c, copies)
                                       : product_all_rows(f, n, a, c, copies);
    quiet_end(&before);
    hb_release(context, memory);
    return product_check(context, status, n, f->depth, f->width);
}

static size_t product_x_pitch(const hb_net_layer *layer)
{
    return layer->x_pitch ? layer->x_pitch : layer->in;
}

static size_t product_y_pitch(const hb_net_layer *layer)
{
    return layer->y_pitch ? layer->y_pitch : layer->out;
}

hb_status hb_net_to_outputs(hb_context *context, const hb_net_layer *layer, size_t n,
                            const float *weight, const float *x, float *y)
{
    factor f = {
        'T',    layer->in, layer->out, product_x_pitch(layer), layer->in, product_y_pitch(layer),
        weight, 0};
    if (layer->turned) f.transpose = 'N', f.b = layer->turned, f.ldb = layer->turned_pitch;
    return product_rows(context, &f, n, x, y);
}

hb_status hb_net_to_inputs(hb_context *context, const hb_net_layer *layer, size_t n,
                           const float *weight, const float *y, int add, float *x)
{
    factor f = {'N',       layer->out,
                layer->in, product_y_pitch(layer),
                layer->in, product_x_pitch(layer),
                weight,    add ? 1.0f : 0.0f};
    if (layer->spaced) f.b = layer->spaced, f.ldb = layer->spaced_pitch;
    return product_rows(context, &f, n, y, x);
}

/* ---- sums over rows ---- */

hb_status hb_net_to_weights(hb_context *context, const hb_net_layer *layer, size_t n,
                            const float *y, const float *x, int add, float *weight)
{
    const size_t in = layer->in, out = layer->out, ldx = product_x_pitch(layer),
                 ldy = product_y_pitch(layer);
    dnnl_status_t status = dnnl_success;
    const quiet before = quiet_begin();
    for (size_t first = 0; first < n && status == dnnl_success; first += SUM_ROWS) {
        const size_t rows = n - first < SUM_ROWS ? n - first : SUM_ROWS;
        status = dnnl_sgemm('T', 'N', (dnnl_dim_t)out, (dnnl_dim_t)in, (dnnl_dim_t)rows, 1.0f,
                            y + first * ldy, (dnnl_dim_t)ldy, x + first * ldx, (dnnl_dim_t)ldx,
                            add || first ? 1.0f : 0.0f, weight, (dnnl_dim_t)in);
    }
    quiet_end(&before);
    return product_check(context, status, out, n, in);
}
