/* A classifier of rows: softmax over a multilayer perceptron.
 *
 *     p_c = exp(l_c)/sum exp(l),   l = N((x - shift)/scale),
 * shift the mean of the training rows, scale their root mean square deviation over all columns, so
 * that pixels that never change do no harm. Rows are asked in blocks of BLOCK; a row is alone in
 * the products (net/net_product.c), so its result does not depend on the others.
 *
 * Files: layer0.weight, layer0.bias, ... (F32, PyTorch's order), shift and scale (F64); the text
 * format is "heatball classifier 2". All sizes are those of the arrays.
 * A number to reproduce: equal logits of 10 classes give 0.1 each. */
#include "train/classifier.h"
#include "base/parallel.h"
#include "base/sized.h"
#include "metrics/neighbours.h"
#include "net/model_file.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char FORMAT[] = "heatball classifier 2";
enum { BLOCK = 256, MAX_DEPTH = 1000, MAX_SIZE = 65536 };

/* ---- made and destroyed ---- */

static hb_status classifier_create_arrays(hb_classifier *c)
{
    const size_t dim = (size_t)hb_net_shape_of(c->net)->inputs;
    const size_t parameters = hb_net_parameters(c->net);
    HB_TRY(HB_WORKSPACE(c->context, &c->work, HB_ARRAY(c->shift, dim),
                        HB_ARRAY(c->parameters, parameters)));
    memset(c->shift, 0, dim * sizeof *c->shift);
    c->scale = 1;
    return HB_OK;
}

hb_status hb_classifier_create(hb_context *context, const hb_net_shape *shape, hb_classifier **out)
{
    *out = NULL;
    hb_classifier *c;
    HB_TRY(HB_NEW(context, c, 1));
    *c = (hb_classifier){.context = context};
    hb_status status = hb_net_create(context, shape, &c->net);
    if (status == HB_OK) status = classifier_create_arrays(c);
    if (status != HB_OK) hb_classifier_destroy(c);
    *out = status == HB_OK ? c : NULL;
    return status;
}

void hb_classifier_destroy(hb_classifier *classifier)
{
    if (!classifier) return;
    hb_workspace_destroy(&classifier->work);
    hb_net_destroy(classifier->net);
    hb_release(classifier->context, classifier);
}

hb_status hb_classifier_info_get(const hb_classifier *classifier, size_t size,
                                 hb_classifier_info *out)
{
    if (!classifier) return HB_ERROR_ARGUMENT;
    HB_SIZED_CHECK(classifier->context, hb_classifier_info, size, out);
    const hb_net_shape *shape = hb_net_shape_of(classifier->net);
    const hb_classifier_info info = {shape->inputs, shape->outputs, shape->width, shape->depth,
                                     hb_net_parameters(classifier->net)};
    HB_SIZED_WRITE(info, size, out);
    return HB_OK;
}

/* ---- probabilities ---- */

void hb_classifier_standardise(const hb_classifier *classifier, size_t n, const double *x,
                               float *input)
{
    const size_t dim = (size_t)hb_net_shape_of(classifier->net)->inputs;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < dim; j++)
            input[i * dim + j] =
                (float)((x[i * dim + j] - classifier->shift[j]) / classifier->scale);
}

double hb_softmax(size_t classes, const float *logits, double *p)
{
    double most = (double)logits[0], sum = 0;
    for (size_t c = 1; c < classes; c++) most = fmax(most, (double)logits[c]);
    for (size_t c = 0; c < classes; c++) sum += p[c] = exp((double)logits[c] - most);
    for (size_t c = 0; c < classes; c++) p[c] /= sum;
    return most + log(sum);
}

typedef struct prediction {
    const hb_classifier *classifier;
    size_t n, dim, classes;
    const double *x;       // (n, dim)
    double *probabilities; // (n, classes)
    hb_net_tape **tapes;   // (threads)
    float *input, *logits; // (threads, BLOCK, dim), (threads, BLOCK, classes)
} prediction;

static hb_status classifier_predict_block(void *user, size_t index, int thread)
{
    const prediction *p = user;
    float *input = p->input + (size_t)thread * BLOCK * p->dim;
    float *logits = p->logits + (size_t)thread * BLOCK * p->classes;
    const size_t first = index * BLOCK, n = p->n - first < BLOCK ? p->n - first : BLOCK;
    hb_classifier_standardise(p->classifier, n, p->x + first * p->dim, input);
    HB_TRY(hb_net_forward(p->tapes[thread], p->classifier->parameters, n, input, logits));
    for (size_t i = 0; i < n; i++)
        hb_softmax(p->classes, logits + i * p->classes,
                   p->probabilities + (first + i) * p->classes);
    return HB_OK;
}

static hb_status classifier_create_scratch(hb_context *context, prediction *p, size_t threads,
                                           hb_workspace *work)
{
    const hb_net_jets jets = {0};
    HB_TRY(HB_WORKSPACE(context, work, HB_ARRAY(p->tapes, threads),
                        HB_ARRAY(p->input, threads * BLOCK * p->dim),
                        HB_ARRAY(p->logits, threads * BLOCK * p->classes)));
    for (size_t t = 0; t < threads; t++) p->tapes[t] = NULL;
    for (size_t t = 0; t < threads; t++)
        HB_TRY(hb_net_tape_create(context, p->classifier->net, &jets, BLOCK, &p->tapes[t]));
    return HB_OK;
}

hb_status hb_classifier_predict(hb_context *context, const hb_classifier *classifier, size_t n,
                                const double *x, double *probabilities)
{
    HB_CHECK(context, classifier && (n == 0 || (x && probabilities)), HB_ERROR_ARGUMENT,
             "the classifier, x or probabilities is NULL");
    const hb_net_shape *shape = hb_net_shape_of(classifier->net);
    const size_t threads = (size_t)context->threads, dim = (size_t)shape->inputs;
    prediction p = {.classifier = classifier,
                    .n = n,
                    .dim = dim,
                    .classes = (size_t)shape->outputs,
                    .x = x,
                    .probabilities = probabilities};
    hb_workspace work = {0};
    if (n == 0) return HB_OK;
    HB_TRY(hb_judge_check_rows(context, "x", 1, n, shape->inputs, x));
    hb_status status = classifier_create_scratch(context, &p, threads, &work);
    if (status == HB_OK)
        status = hb_parallel_for(context, "classifier", (n + BLOCK - 1) / BLOCK,
                                 classifier_predict_block, &p);
    for (size_t t = 0; p.tapes && t < threads; t++) hb_net_tape_destroy(p.tapes[t]);
    hb_workspace_destroy(&work);
    return status;
}

/* ---- files ---- */

hb_status hb_classifier_save(hb_context *context, const hb_classifier *classifier, const char *path)
{
    HB_CHECK(context, classifier && path, HB_ERROR_ARGUMENT, "the classifier or the path is NULL");
    const hb_metadata format = {"format", FORMAT};
    const size_t layers = (size_t)hb_net_tensors(classifier->net);
    hb_workspace work;
    hb_tensor *tensors;
    hb_net_tensor *named;
    HB_TRY(HB_WORKSPACE(context, &work, HB_ARRAY(tensors, layers + 2), HB_ARRAY(named, layers)));
    tensors[0] = (hb_tensor){"shift",
                             HB_DTYPE_F64,
                             1,
                             {(uint64_t)hb_net_shape_of(classifier->net)->inputs},
                             classifier->shift,
                             0};
    tensors[1] = (hb_tensor){"scale", HB_DTYPE_F64, 1, {1}, &classifier->scale, 0};
    hb_net_list(classifier->net, classifier->parameters, 0, named, tensors + 2);
    const hb_status status = hb_safetensors_write(context, path, 1, &format, layers + 2, tensors);
    hb_workspace_destroy(&work);
    return status;
}

/* The network's shape by the lengths of its arrays. */
static hb_status classifier_read_shape(hb_context *context, const hb_safetensors *file,
                                       hb_net_shape *shape)
{
    const char *path = hb_safetensors_path(file);
    HB_TRY(hb_safetensors_format(context, file, "classifier"));
    char name[32];
    uint64_t outputs = 0;
    int layers = 0;
    for (; layers <= MAX_DEPTH; layers++) {
        snprintf(name, sizeof name, "layer%d.bias", layers);
        const uint64_t count = hb_safetensors_count(file, name);
        if (count == 0) break;
        outputs = count;
    }
    const uint64_t dim = hb_safetensors_count(file, "shift");
    const uint64_t width = hb_safetensors_count(file, "layer0.bias");
    /* the file must be as large as these numbers promise, before memory is asked for */
    HB_CHECK(
        context,
        layers >= 2 && dim >= 1 && dim <= MAX_SIZE && width <= MAX_SIZE && outputs <= MAX_SIZE &&
            hb_safetensors_count(file, "layer0.weight") == dim * width &&
            (layers == 2 || hb_safetensors_count(file, "layer1.weight") == width * width),
        HB_ERROR_FORMAT,
        "%s: its %d layers of width %llu do not fit to %llu numbers and %llu classes", path, layers,
        (unsigned long long)width, (unsigned long long)dim, (unsigned long long)outputs);
    *shape = (hb_net_shape){(int)dim, (int)outputs, (int)width, layers - 1, 0};
    return HB_OK;
}

static hb_status classifier_read_arrays(hb_context *context, const hb_safetensors *file,
                                        hb_classifier *c)
{
    const uint64_t dim = (uint64_t)hb_net_shape_of(c->net)->inputs;
    HB_TRY(hb_safetensors_copy(context, file, "shift", HB_DTYPE_F64, dim, c->shift));
    HB_TRY(hb_safetensors_copy(context, file, "scale", HB_DTYPE_F64, 1, &c->scale));
    HB_CHECK(context, c->scale > 0, HB_ERROR_FORMAT, "%s: its scale is %g; it must be positive",
             hb_safetensors_path(file), c->scale);
    HB_TRY(hb_net_read(context, file, c->net, c->parameters));
    return hb_net_prepare(context, c->net, c->parameters);
}

hb_status hb_classifier_load(hb_context *context, const char *path, hb_classifier **out)
{
    hb_safetensors *file = NULL;
    hb_classifier *c = NULL;
    hb_net_shape shape;
    HB_CHECK(context, path && out, HB_ERROR_ARGUMENT, "the path or the output is NULL");
    *out = NULL;
    hb_status status = hb_safetensors_read(context, path, &file);
    if (status == HB_OK) status = classifier_read_shape(context, file, &shape);
    if (status == HB_OK) status = hb_classifier_create(context, &shape, &c);
    if (status == HB_OK) status = classifier_read_arrays(context, file, c);
    hb_safetensors_destroy(file);
    if (status != HB_OK) hb_classifier_destroy(c);
    *out = status == HB_OK ? c : NULL;
    return status;
}
