/* The matrix products of the network, through oneDNN's sgemm (row-major).
 *
 * oneDNN's OpenMP build takes as many threads as omp_get_max_threads() says unless it is inside an
 * active parallel region, and cuts sums differently for each number. A product here belongs to one
 * task on one thread, so the calling thread's own number is 1 for the time of the call. With that a
 * product is a function of its numbers on a given processor, whatever OMP_NUM_THREADS is.
 *
 * oneDNN's kernels (2.6.3) put the stack pointer into a buffer of the heap while they run, and a signal
 * that is handled there has its frame written over the heap: dnnl_sgemm 'T', 'N' of 64 x 64 x 128 under
 * an interval timer of 100 us dies within a second, also alone in a small program. So signals wait until
 * the product is done: two system calls (tests/test_train.c).
 *
 * Weights are (out, in), the order of PyTorch's Linear. The other order would make the forward
 * product faster and the backward one slower by the same 10 %. */
#include "base/context.h"
#include "net/net_tape.h"

#include <dnnl.h>
#include <omp.h>
#include <signal.h>

/* C (m, n) = op(A) op(B) + beta C; op(A) is (m, k), op(B) (k, n); lda, ldb as stored. */
static hb_status product(hb_context *context, char transpose_a, char transpose_b, size_t m,
                         size_t n, size_t k, const float *a, size_t lda, const float *b, size_t ldb,
                         float beta, float *c)
{
    const int threads = omp_get_max_threads();
    sigset_t all, before;
    if (threads != 1) omp_set_num_threads(1);
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    const dnnl_status_t status =
        dnnl_sgemm(transpose_a, transpose_b, (dnnl_dim_t)m, (dnnl_dim_t)n, (dnnl_dim_t)k, 1.0f, a,
                   (dnnl_dim_t)lda, b, (dnnl_dim_t)ldb, beta, c, (dnnl_dim_t)n);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (threads != 1) omp_set_num_threads(threads);
    HB_CHECK(context, status == dnnl_success,
             status == dnnl_out_of_memory ? HB_ERROR_MEMORY : HB_ERROR_UNAVAILABLE,
             "oneDNN's product of %zu x %zu and %zu x %zu numbers failed with its status %d", m, k,
             k, n, (int)status);
    return HB_OK;
}

hb_status hb_net_to_outputs(hb_context *context, const hb_net_layer *layer, size_t n,
                            const float *weight, const float *x, float *y)
{
    return product(context, 'N', 'T', n, layer->out, layer->in, x, layer->in, weight, layer->in, 0,
                   y);
}

hb_status hb_net_to_inputs(hb_context *context, const hb_net_layer *layer, size_t n,
                           const float *weight, const float *y, int add, float *x)
{
    return product(context, 'N', 'N', n, layer->in, layer->out, y, layer->out, weight, layer->in,
                   add ? 1.0f : 0.0f, x);
}

hb_status hb_net_to_weights(hb_context *context, const hb_net_layer *layer, size_t n,
                            const float *y, const float *x, int add, float *weight)
{
    return product(context, 'T', 'N', layer->out, layer->in, n, y, layer->out, x, layer->in,
                   add ? 1.0f : 0.0f, weight);
}
