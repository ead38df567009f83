/* Models: the reference against a closed form, derivatives against differences, files, refusals. */
#include "base/checksum.h"
#include "file/safetensors.h"
#include "net/model_parts.h"
#include "support.h"

#include <unistd.h>
#include <zlib.h>

static const char PATH[] = "test_model.safetensors";

/* Rows of data with mean (0.4, -1.1, ...) and a full covariance. */
static void fill_rows(hb_context *context, int dim, size_t n, double *x)
{
    assert_ok(context, hb_random_normal(context, 3, 1, 0, n * (size_t)dim, x));
    for (size_t i = 0; i < n; i++)
        for (int j = dim - 1; j >= 0; j--) {
            double *v = &x[i * (size_t)dim + (size_t)j];
            *v = 0.4 - 1.5 * j + (0.6 + 0.3 * j) * *v + (j ? 0.5 * v[-1] : 0);
        }
}

static hb_model *make_model(hb_context *context, int dim, int head, int process, int classes,
                            int standardise, double last_scale)
{
    const hb_model_info info = {.dim = dim,
                                .classes = classes,
                                .head = head,
                                .process = process,
                                .width = 20,
                                .depth = 2,
                                .time_features = 5,
                                .tau_min = 0.01,
                                .tau_max = 3,
                                .loss = "dsm",
                                .seed = 12345678901234567890u,
                                .steps = 77};
    double *x = malloc(300 * (size_t)dim * sizeof *x);
    hb_model *model;
    fill_rows(context, dim, 300, x);
    assert_ok(context, hb_model_create(context, &info, &model));
    assert_ok(context, hb_model_set_reference(context, model, standardise, 300, x));
    assert_ok(context, hb_net_initialise(context, model->net, 8, last_scale, model->parameters));
    free(x);
    return model;
}

/* With a network of 0 the model is the Gaussian of the data: hb_mixture has it in closed form. */
static void the_reference_is_the_datas_gaussian(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    enum { N = 300, D = 3 };
    double x[N * D], mean[D] = {0}, covariance[D][D] = {{0}}, one = 1, exact[N * D], v[N];
    double score[N * D], log_density[N], divergence[N], tau[N];
    fill_rows(context, D, N, x);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < D; j++) mean[j] += x[i * D + j] / N;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < D; j++)
            for (int k = 0; k < D; k++)
                covariance[j][k] += (x[i * D + j] - mean[j]) * (x[i * D + k] - mean[k]) / N;
    hb_mixture *gaussian;
    assert_ok(context, hb_mixture_create(context, D, 1, &one, mean, &covariance[0][0], &gaussian));
    for (int process = HB_PROCESS_OU; process <= HB_PROCESS_VE; process++) {
        hb_model *model = make_model(context, D, HB_HEAD_ENERGY, process, 0, 0, 0);
        for (int i = 0; i < N; i++) tau[i] = 0.385;
        assert_ok(context,
                  hb_mixture_score(context, gaussian, (hb_process)process, N, x, tau[0], v, exact));
        assert_ok(context,
                  hb_model_log_density(context, model, N, x, tau, NULL, log_density, score));
        assert_ok(context,
                  hb_model_divergence(context, model, 0, 1, N, x, tau, NULL, NULL, divergence));
        for (int i = 0; i < N; i++) {
            assert_near(log_density[i], v[i], 2e-6 * (1 + fabs(v[i])));
            assert_near(divergence[i], divergence[0], 1e-12); /* linear score */
        }
        for (int i = 0; i < N * D; i++) assert_near(score[i], exact[i], 4e-6);
        double step[D], moved[D], trace = 0;
        for (int k = 0; k < D; k++) {
            memcpy(step, x, sizeof step);
            step[k] += 1;
            assert_ok(context, hb_mixture_score(context, gaussian, (hb_process)process, 1, step,
                                                tau[0], NULL, moved));
            trace += moved[k] - exact[k];
        }
        assert_relative(divergence[0], trace, 1e-6);
        hb_model_destroy(model);
    }
    hb_mixture_destroy(gaussian);
    hb_context_destroy(context);
}

/* score = grad of log_density, divergence = trace of the score's Jacobian, by differences. */
static void derivatives_are_those_of_differences(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    const double h = 4e-3;
    for (int head = HB_HEAD_SCORE; head <= HB_HEAD_HELMHOLTZ; head++)
        for (int standardise = HB_STANDARDISE_NO; standardise <= HB_STANDARDISE_AXIS;
             standardise++) {
            hb_model *model = make_model(context, 2, head, HB_PROCESS_OU, 3, standardise, 1.3);
            /* (x, y) and its four neighbours */
            const double x = 0.83, y = -0.47;
            const double at[10] = {x, y, x + h, y, x - h, y, x, y + h, x, y - h};
            const double tau[5] = {0.17, 0.17, 0.17, 0.17, 0.17};
            const int labels[5] = {2, 2, 2, 2, 2};
            double score[10], v[5], divergence[5], again[10];
            assert_ok(context, hb_model_divergence(context, model, 0, 1, 5, at, tau, labels, score,
                                                   divergence));
            const double trace = (score[2] - score[4] + score[7] - score[9]) / (2 * h);
            assert_near(divergence[0], trace, 2e-3 * (1 + fabs(trace)));
            if (head == HB_HEAD_ENERGY) {
                assert_ok(context,
                          hb_model_log_density(context, model, 5, at, tau, labels, v, again));
                assert_memory_equal(score, again, sizeof score);
                assert_near(score[0], (v[1] - v[2]) / (2 * h), 2e-3);
                assert_near(score[1], (v[3] - v[4]) / (2 * h), 2e-3);
            }
            /* the label matters, and none is another input */
            assert_ok(context, hb_model_score(context, model, 5, at, tau, NULL, again));
            assert_true(fabs(again[0] - score[0]) > 1e-3);
            hb_model_destroy(model);
        }
    hb_context_destroy(context);
}

/* The divergence at x (d <= 5) by differences of the score. */
static void assert_divergence(hb_context *context, const hb_model *model, int d, const double *x,
                              double tau)
{
    const double h = 4e-3;
    double divergence, trace = 0;
    for (int j = 0; j < d; j++) {
        double at[2 * 5], moved[2 * 5];
        const double times[2] = {tau, tau};
        for (int i = 0; i < 2 * d; i++) at[i] = x[i % d];
        at[j] += h;
        at[d + j] -= h;
        assert_ok(context, hb_model_score(context, model, 2, at, times, NULL, moved));
        trace += (moved[j] - moved[d + j]) / (2 * h);
    }
    assert_ok(context,
              hb_model_divergence(context, model, 0, 1, 1, x, &tau, NULL, NULL, &divergence));
    assert_near(divergence, trace, 2e-3 * (1 + fabs(trace)));
}

/* Above 3 dimensions the score head works in the data's axes: its score from the formulas of
 * docs/reference/models.md in double around one pass of the network, and its divergence by differences. */
static void the_score_head_works_in_the_axes(void **state)
{
    (void)state;
    enum { D = 5, IN = D + 5 };
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    const double x[D] = {0.83, -1.47, -2.1, -4.3, -5.9}, tau = 0.17, b = -expm1(-2 * tau);
    hb_model *model = make_model(context, D, HB_HEAD_SCORE, HB_PROCESS_OU, 0, 0, 1.3);
    const hb_net_jets values = {0, 0, NULL, 0};
    hb_noise_level level;
    hb_net_tape *tape;
    float input[IN], output[D];
    double p[D], V[D], g[D], share = 0, score[D], expected[D];
    hb_model_level(model, tau, &level);
    const hb_points points = {1, x, &level, NULL};
    hb_model_inputs(model, &points, input); /* for the features of tau */
    for (int r = 0; r < D; r++) {
        p[r] = 0;
        for (int j = 0; j < D; j++)
            p[r] += (double)model->axes[r * D + j] * (x[j] - exp(-tau) * model->mean[j]);
        V[r] = exp(-2 * tau) * model->variance[r] + b;
        g[r] = 1 - b / V[r];
        share += g[r] / D;
    }
    for (int r = 0; r < D; r++) input[r] = (float)(p[r] * sqrt(g[r] / (share * V[r])));
    assert_near(hb_model_data_share(model, &level), share, 1e-12);
    assert_ok(context, hb_net_tape_create(context, model->net, &values, 1, &tape));
    assert_ok(context, hb_net_forward(tape, model->parameters, 1, input, output));
    for (int j = 0; j < D; j++) {
        expected[j] = 0;
        for (int r = 0; r < D; r++)
            expected[j] +=
                (double)model->axes[r * D + j] * (sqrt(g[r] / b) * (double)output[r] - p[r] / V[r]);
    }
    assert_ok(context, hb_model_score(context, model, 1, x, &tau, NULL, score));
    for (int j = 0; j < D; j++) assert_near(score[j], expected[j], 1e-5);

    assert_divergence(context, model, D, x, tau);
    hb_net_tape_destroy(tape);
    hb_model_destroy(model);
    hb_context_destroy(context);
}

/* The same divergence where every column has its scale. */
static void the_divergence_is_that_of_x(void **state)
{
    (void)state;
    enum { D = 5 };
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    const double x[D] = {0.83, -1.47, -2.1, -4.3, -5.9}, tau = 0.17;
    for (int head = HB_HEAD_SCORE; head <= HB_HEAD_ENERGY; head++) {
        hb_model *model = make_model(context, D, head, HB_PROCESS_OU, 0, HB_STANDARDISE_AXIS, 1.3);
        assert_true(model->scale[4] > 1.5 * model->scale[0]);
        assert_divergence(context, model, D, x, tau);
        hb_model_destroy(model);
    }
    hb_context_destroy(context);
}

/* exp(ln u) over the plane, in the units of x, is what it is in those of z: 1 for the reference. */
static void a_density_of_unequal_scales_has_mass_one(void **state)
{
    (void)state;
    enum { M = 161, N = M * M };
    static double x[2 * N], tau[N], v[N], data[600];
    hb_context *context = make_context(HB_ISA_AUTO, 2);
    const hb_model_info info = {.dim = 2,
                                .head = HB_HEAD_ENERGY,
                                .width = 20,
                                .depth = 2,
                                .time_features = 5,
                                .tau_min = 0.01,
                                .tau_max = 3,
                                .loss = "dsm"};
    hb_model *model;
    fill_rows(context, 2, 300, data);
    for (int i = 0; i < 300; i++) data[2 * i + 1] = 2385 + 1e4 * data[2 * i + 1];
    assert_ok(context, hb_model_create(context, &info, &model));
    assert_ok(context, hb_model_set_reference(context, model, HB_STANDARDISE_AXIS, 300, data));
    assert_ok(context, hb_net_initialise(context, model->net, 8, 0, model->parameters));
    for (int i = 0; i < N; i++) {
        x[2 * i] = model->shift[0] + 0.1 * (i % M - M / 2) * model->scale[0];
        x[2 * i + 1] = model->shift[1] + 0.1 * (i / M - M / 2) * model->scale[1];
        tau[i] = 0.07;
    }
    assert_ok(context, hb_model_log_density(context, model, N, x, tau, NULL, v, NULL));
    double mass = 0;
    for (int i = 0; i < N; i++) mass += exp(v[i]) * 0.01 * model->scale[0] * model->scale[1];
    assert_near(mass, 1, 1e-5);
    hb_model_destroy(model);
    hb_context_destroy(context);
}

static void columns_without_a_scale_are_refused(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    const hb_model_info info = {.dim = 2,
                                .head = HB_HEAD_SCORE,
                                .width = 4,
                                .depth = 1,
                                .time_features = 1,
                                .tau_min = 0.01,
                                .tau_max = 3,
                                .loss = "dsm"};
    double x[6] = {1, 0.1, 2, 0.1, 4, 0.1};
    hb_model *model;
    assert_ok(context, hb_model_create(context, &info, &model));
    assert_fails(context, hb_model_set_reference(context, model, HB_STANDARDISE_AXIS, 3, x),
                 HB_ERROR_ARGUMENT, "column 2 of the data is 0.1 in every row");
    assert_ok(context, hb_model_set_reference(context, model, HB_STANDARDISE_COMMON, 3, x));
    for (int i = 0; i < 3; i++) x[2 * i + 1] = 1e-200 * i;
    assert_ok(context, hb_model_set_reference(context, model, HB_STANDARDISE_AXIS, 3, x));
    assert_relative(model->scale[1], 1e-200 * sqrt(2.0 / 3), 1e-14);
    for (int i = 0; i < 3; i++) x[2 * i + 1] = 1e307 * i;
    assert_ok(context, hb_model_set_reference(context, model, HB_STANDARDISE_AXIS, 3, x));
    assert_relative(model->variance[0] + model->variance[1], 2, 1e-12);
    for (int i = 0; i < 3; i++) x[2 * i + 1] = 1e-320 * i;
    assert_fails(context, hb_model_set_reference(context, model, HB_STANDARDISE_AXIS, 3, x),
                 HB_ERROR_ARGUMENT, "column 2 of the data has standard deviation");
    hb_model_destroy(model);
    hb_context_destroy(context);
}

static void probes_average_to_the_divergence(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 2);
    enum { N = 4000, D = 4 };
    static double x[N * D], tau[N], probed[N], exact[N];
    for (int k = 0; k < 4; k++) {
        const int head = k % 2 ? HB_HEAD_ENERGY : HB_HEAD_SCORE;
        hb_model *model = make_model(context, D, head, HB_PROCESS_VE, 0,
                                     k / 2 ? HB_STANDARDISE_AXIS : HB_STANDARDISE_NO, 2);
        for (int i = 0; i < N; i++) {
            for (int j = 0; j < D; j++) x[i * D + j] = 0.3 * j - 0.7;
            tau[i] = 0.4;
        }
        assert_ok(context, hb_model_divergence(context, model, 0, 5, N, x, tau, NULL, NULL, exact));
        assert_ok(context,
                  hb_model_divergence(context, model, 3, 5, N, x, tau, NULL, NULL, probed));
        double mean = 0, square = 0;
        for (int i = 0; i < N; i++) {
            mean += probed[i] / N;
            square += probed[i] * probed[i] / N;
        }
        const double error = sqrt((square - mean * mean) / N);
        assert_true(error > 0);
        assert_near(mean, exact[0], 5 * error);
        hb_model_destroy(model);
    }
    hb_context_destroy(context);
}

static void threads_change_no_bit(void **state)
{
    (void)state;
    enum { N = 1500 };
    static double x[N * 2], tau[N], score[2][N * 2], divergence[2][N];
    for (int k = 0; k < 2; k++) {
        hb_context *context = make_context(HB_ISA_AUTO, k ? 3 : 1);
        hb_model *model = make_model(context, 2, HB_HEAD_ENERGY, HB_PROCESS_OU, 0, 0, 1);
        fill_rows(context, 2, N, x);
        for (int i = 0; i < N; i++) tau[i] = 0.01 + 1e-3 * i;
        assert_ok(context, hb_model_divergence(context, model, 2, 5, N, x, tau, NULL, score[k],
                                               divergence[k]));
        hb_model_destroy(model);
        hb_context_destroy(context);
    }
    assert_memory_equal(score[0], score[1], sizeof score[0]);
    assert_memory_equal(divergence[0], divergence[1], sizeof divergence[0]);
}

/* ---- files ------------------------------------------------------------------------------------
 */

static void a_model_survives_its_file(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    for (int head = HB_HEAD_SCORE; head <= HB_HEAD_HELMHOLTZ; head++) {
        hb_model *model = make_model(context, 2, head, HB_PROCESS_VE, 4, head, 1), *read;
        const double x[2] = {0.3, -0.2}, tau = 0.05;
        const int label = 1;
        double score[2][2];
        hb_model_info info[2];
        assert_ok(context, hb_model_save(context, model, PATH));
        assert_ok(context, hb_model_load(context, PATH, &read));
        hb_model_info_get(model, sizeof info[0], &info[0]);
        hb_model_info_get(read, sizeof info[1], &info[1]);
        assert_memory_equal(&info[0], &info[1], sizeof info[0]);
        assert_ok(context, hb_model_score(context, model, 1, x, &tau, &label, score[0]));
        assert_ok(context, hb_model_score(context, read, 1, x, &tau, &label, score[1]));
        assert_memory_equal(score[0], score[1], sizeof score[0]);
        hb_model_destroy(model);
        hb_model_destroy(read);
    }
    unlink(PATH);
    hb_context_destroy(context);
}

/* The file's bytes; then changed and written back. */
static char bytes[100000];
static size_t length;

static void save_bytes(hb_context *context)
{
    hb_model *model = make_model(context, 2, HB_HEAD_ENERGY, HB_PROCESS_OU, 0, 0, 1);
    assert_ok(context, hb_model_save(context, model, PATH));
    hb_model_destroy(model);
    FILE *file = fopen(PATH, "rb");
    length = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
}

static void write_back(void)
{
    FILE *file = fopen(PATH, "wb");
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    fclose(file);
}

/* Replaces the first `old` in the header by `new`, of the same length. */
static void edit(const char *old, const char *new)
{
    char *at = memmem(bytes, length, old, strlen(old));
    assert_non_null(at);
    assert_int_equal(strlen(old), strlen(new));
    memcpy(at, new, strlen(new));
}

/* The check sum of the bytes as they are now: damage that it does not see. */
static void seal(void)
{
    static const char key[] = "\"checksum\":\"", zeros[] = "0000000000000000";
    char digits[17];
    char *at = memmem(bytes, length, key, strlen(key));
    if (!at) return;
    memcpy(at + strlen(key), zeros, 16);
    snprintf(digits, sizeof digits, "%016llx",
             (unsigned long long)hb_checksum(HB_CHECKSUM_START, bytes, length));
    memcpy(at + strlen(key), digits, 16);
}

/* Of the second column: the array of scales follows the shift. */
static char *scale_bytes(void)
{
    uint64_t header;
    memcpy(&header, bytes, sizeof header);
    return bytes + 8 + header + (2 + 1) * sizeof(double);
}

#define REFUSED(change, says)                                                                      \
    do {                                                                                           \
        hb_model *model;                                                                           \
        save_bytes(context);                                                                       \
        change;                                                                                    \
        seal();                                                                                    \
        write_back();                                                                              \
        assert_fails(context, hb_model_load(context, PATH, &model), HB_ERROR_FORMAT, says);        \
        assert_null(model);                                                                        \
    } while (0)

static void damaged_files_are_refused(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    const float nan = NAN;
    REFUSED(length = 5, "it is too short");
    REFUSED(length = 60, "is cut short in its header");
    REFUSED(length -= 1, "the file was cut short");
    REFUSED(length += 4, "4 bytes follow its last array");
    REFUSED(memset(bytes, 'x', 8), "its first 8 bytes are no length of a header");
    REFUSED(bytes[8] = '[', "its header is not JSON");
    REFUSED(edit("\"head\":\"energy\"", "\"head\":\"enermy\""), "metadata head is 'enermy'");
    REFUSED(edit("\"width\":\"20\"", "\"width\":\"2x\""),
            "metadata width is '2x', which is no number");
    REFUSED(edit("\"width\":\"20\"", "\"width\":\"21\""),
            "layer0.weight has 140 values; it must have");
    REFUSED(edit("\"depth\":\"2\"", "\"dapth\":\"2\""), "has no metadata depth");
    REFUSED(edit("\"format\":\"heatball", "\"format\":\"heatbill"), "is not a model of heatball");
    REFUSED(edit("\"scale\":\"1\"", "\"scale\":\"0\""), "its scale is 0");
    REFUSED(memset(scale_bytes(), 0, 8), "the scale of column 2 is 0; it must be positive");
    REFUSED(edit("\"layer1.bias\"", "\"layer1.bios\""), "has no array layer1.bias");
    REFUSED(edit("\"layer0.bias\":{\"dtype\":\"F32\"", "\"layer0.bias\":{\"dtype\":\"I32\""),
            "layer0.bias holds values of type I32");
    REFUSED(edit("\"shape\":[20]", "\"shape\":[21]"), "but its shape needs 84");
    REFUSED(edit("\"reference.mean\":{\"dtype\":\"F64\",\"shape\":[2],\"data_offsets\":[32,48]}",
                 "\"reference.mean\":{\"dtype\":\"F64\",\"shape\":[2],\"data_offsets\":[24,40]}"),
            "but the array before it ends at 32");
    REFUSED(edit("\"layer0.bias\"", "\"layer1.bias\""), "is not JSON (duplicate object key");
    REFUSED(memcpy(bytes + length - 4, &nan, 4), "layer2.bias is nan; the file is damaged");
    REFUSED(edit("\"checksum\"", "\"checksun\""), "has a check sum, and it has none");
    REFUSED(edit("\"tau_min\":\"0.01", "\"tau_min\":\"9.01"), "tau_min is 9.01");
    hb_model *model;
    unlink(PATH);
    assert_fails(context, hb_model_load(context, PATH, &model), HB_ERROR_PATH, "cannot open");
    hb_context_destroy(context);
}

/* A file of version 0.1: another format, and a CRC-32 of the arrays alone. */
static void make_old(void)
{
    uint64_t header;
    char text[30];
    memcpy(&header, bytes, sizeof header);
    const uLong crc = crc32_z(0, (const Bytef *)bytes + 8 + header, length - 8 - header);
    snprintf(text, sizeof text, "\"crc32\":\"%08lx\"           ", crc);
    edit("heatball model 2", "heatball model 1");
    memcpy(memmem(bytes, length, "\"checksum\"", 10), text, 29);
}

static void old_files_are_read(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_model *old;
    save_bytes(context);
    make_old();
    write_back();
    assert_ok(context, hb_model_load(context, PATH, &old));
    hb_model_destroy(old);
    REFUSED((make_old(), bytes[length - 2] ^= 1), "is damaged: the CRC-32 of its arrays is");
    unlink(PATH);
    hb_context_destroy(context);
}

static void wrong_questions_are_refused(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_model *score = make_model(context, 2, HB_HEAD_SCORE, HB_PROCESS_OU, 3, 0, 1);
    const double x[2] = {0.1, 0.2}, tau = 0.2, zero = 0;
    const int label = 3;
    double out[2];
    hb_field field;
    assert_fails(context, hb_model_score(context, score, 1, x, &zero, NULL, out), HB_ERROR_ARGUMENT,
                 "tau of point 1 is 0");
    assert_fails(context, hb_model_score(context, score, 1, x, &tau, &label, out),
                 HB_ERROR_ARGUMENT, "the label of point 1 is 3; it must be -1 to 2");
    assert_fails(context, hb_model_log_density(context, score, 1, x, &tau, NULL, out, NULL),
                 HB_ERROR_ARGUMENT, "only a model with the energy head");
    assert_fails(context, hb_model_field(context, score, &field), HB_ERROR_ARGUMENT,
                 "only a model with the energy head is a field");
    assert_fails(context, hb_model_divergence(context, score, -1, 1, 1, x, &tau, NULL, NULL, out),
                 HB_ERROR_ARGUMENT, "probes is -1");
    hb_model_destroy(score);
    hb_model_destroy(NULL);
    hb_context_destroy(context);
}

/* Every handle and array that a function needs, left out in turn: a sentence, no crash. */
static void null_is_refused(void **state)
{
    (void)state;
    hb_context *c = make_context(HB_ISA_AUTO, 1);
    hb_model *m = make_model(c, 2, HB_HEAD_ENERGY, HB_PROCESS_OU, 0, 0, 1), *none;
    const double x[2] = {0.1, 0.2}, tau = 0.2;
    double out[2] = {5, 5};
    hb_field field;
    hb_model_info info;
    const struct {
        hb_status status;
        const char *text;
    } calls[] = {
        {hb_model_load(c, NULL, &none), "hb_model_load, path"},
        {hb_model_load(c, PATH, NULL), "hb_model_load, out"},
        {hb_model_save(c, NULL, PATH), "hb_model_save, model"},
        {hb_model_save(c, m, NULL), "hb_model_save, path"},
        {hb_model_score(c, NULL, 1, x, &tau, NULL, out), "hb_model_score, model"},
        {hb_model_score(c, m, 1, NULL, &tau, NULL, out), "hb_model_score, x"},
        {hb_model_score(c, m, 1, x, NULL, NULL, out), "hb_model_score, tau"},
        {hb_model_score(c, m, 1, x, &tau, NULL, NULL), "hb_model_score, score"},
        {hb_model_log_density(c, NULL, 1, x, &tau, NULL, out, NULL), "log_density, model"},
        {hb_model_log_density(c, m, 1, x, &tau, NULL, NULL, NULL), "log_density, out"},
        {hb_model_divergence(c, NULL, 0, 1, 1, x, &tau, NULL, NULL, out), "divergence, model"},
        {hb_model_divergence(c, m, 2, 1, 1, NULL, &tau, NULL, NULL, out), "divergence, x"},
        {hb_model_divergence(c, m, 0, 1, 1, x, &tau, NULL, NULL, NULL), "divergence, out"},
        {hb_model_field(c, NULL, &field), "hb_model_field, model"},
        {hb_model_field(c, m, NULL), "hb_model_field, out"},
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (calls[i].status != HB_ERROR_ARGUMENT) fail_msg("%s", calls[i].text);
    assert_fails(c, hb_model_field(c, m, NULL), HB_ERROR_ARGUMENT,
                 "the model or the output is NULL");
    hb_model_info_get(m, 0, NULL);
    hb_model_info_get(NULL, sizeof info, &info);
    assert_int_equal(info.dim, 0);
    hb_model_scales(NULL, out, out);
    hb_model_standardise(NULL, 1, x, out);
    assert_true(out[0] == 5 && out[1] == 5);
    assert_null(hb_model_column_name(NULL, 0));
    hb_model_destroy(m);
    hb_context_destroy(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_reference_is_the_datas_gaussian),
        cmocka_unit_test(derivatives_are_those_of_differences),
        cmocka_unit_test(the_score_head_works_in_the_axes),
        cmocka_unit_test(the_divergence_is_that_of_x),
        cmocka_unit_test(a_density_of_unequal_scales_has_mass_one),
        cmocka_unit_test(columns_without_a_scale_are_refused),
        cmocka_unit_test(probes_average_to_the_divergence),
        cmocka_unit_test(threads_change_no_bit),
        cmocka_unit_test(a_model_survives_its_file),
        cmocka_unit_test(damaged_files_are_refused),
        cmocka_unit_test(old_files_are_read),
        cmocka_unit_test(wrong_questions_are_refused),
        cmocka_unit_test(null_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
