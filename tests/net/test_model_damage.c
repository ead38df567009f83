/* Files of models, checkpoints and classifiers, damaged: whatever bit is flipped, wherever it is, the file
 * is refused in a sentence; and whichever allocation fails while one is written, the call says so or
 * the file is whole. */
#include "support.h"

#include <fcntl.h>
#include <jansson.h>
#include <unistd.h>

enum { ROWS = 40, DIM = 2, CLASSES = 3, MOST_BYTES = 60000 };

static const char MODEL[] = "test_damage.safetensors", CHECKPOINT[] = "test_damage.ckpt",
                  CLASSIFIER[] = "test_damage_classes.safetensors";
static double data[ROWS * DIM];
static int labels[ROWS];
static unsigned char bytes[MOST_BYTES];
static size_t length;

static hb_train_settings tiny_settings(void)
{
    hb_train_settings s;
    hb_train_settings_default(sizeof s, &s);
    s.loss = HB_LOSS_DSM;
    s.width = 4;
    s.depth = 2;
    s.batch = 8;
    s.steps = 3;
    s.checkpoint = CHECKPOINT;
    return s;
}

static hb_status train(hb_context *context, int resume, hb_model **out)
{
    hb_train_settings s = tiny_settings();
    s.resume = resume;
    assert_ok(context, hb_random_normal(context, 2385, 1, 0, ROWS * DIM, data));
    return hb_train(context, &s, DIM, 0, ROWS, data, NULL, out);
}

static void read_bytes(const char *path)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    length = fread(bytes, 1, sizeof bytes, file);
    assert_true(length > 8 && length < sizeof bytes);
    fclose(file);
}

/* In place: a file that is cut and written anew goes to the disk each time. */
static void write_byte(const char *path, size_t at)
{
    const int file = open(path, O_WRONLY);
    assert_true(file >= 0);
    assert_int_equal(pwrite(file, bytes + at, 1, (off_t)at), 1);
    close(file);
}

/* ---- three kinds of files: how one is made, and how it is read ---- */

static void make_model(hb_context *context)
{
    hb_model *model;
    assert_ok(context, train(context, 0, &model));
    assert_ok(context, hb_model_save(context, model, MODEL));
    hb_model_destroy(model);
}

static hb_status load_model(hb_context *context)
{
    hb_model *model;
    const hb_status status = hb_model_load(context, MODEL, &model);
    hb_model_destroy(model);
    return status;
}

static hb_status load_checkpoint(hb_context *context)
{
    hb_model *model = NULL;
    const hb_status status = train(context, 1, &model);
    hb_model_destroy(model);
    return status;
}

static void make_classifier(hb_context *context)
{
    hb_classifier *classifier;
    hb_classifier_settings s;
    hb_classifier_settings_default(sizeof s, &s);
    s.width = 4;
    s.depth = 1;
    s.epochs = 1;
    assert_ok(context, hb_random_normal(context, 2385, 1, 0, ROWS * DIM, data));
    for (int i = 0; i < ROWS; i++) labels[i] = i % CLASSES;
    assert_ok(context,
              hb_classifier_train(context, &s, DIM, CLASSES, ROWS, data, labels, &classifier));
    assert_ok(context, hb_classifier_save(context, classifier, CLASSIFIER));
    hb_classifier_destroy(classifier);
}

static hb_status load_classifier(hb_context *context)
{
    hb_classifier *classifier;
    const hb_status status = hb_classifier_load(context, CLASSIFIER, &classifier);
    hb_classifier_destroy(classifier);
    return status;
}

static const struct kind {
    const char *path;
    void (*make)(hb_context *context);
    hb_status (*load)(hb_context *context);
} kinds[] = {{MODEL, make_model, load_model},
             {CHECKPOINT, make_model, load_checkpoint},
             {CLASSIFIER, make_classifier, load_classifier}};

/* ---- flipped bits ---- */

static void refuse_changed(hb_context *context, const struct kind *kind, size_t at, int mask)
{
    bytes[at] ^= (unsigned char)mask;
    write_byte(kind->path, at);
    const hb_status status = kind->load(context);
    if (status != HB_ERROR_FORMAT)
        fail_msg("%s with byte %zu of %zu changed by %02x: %s (%s)", kind->path, at, length, mask,
                 hb_status_name(status), hb_context_message(context));
    assert_true(strlen(hb_context_message(context)) > 20);
    bytes[at] ^= (unsigned char)mask;
    write_byte(kind->path, at);
}

/* Every bit of a model's length and header; of other headers one bit of every byte, and of the arrays
 * one of every 7th. */
static void every_flipped_bit_is_seen(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        kinds[k].make(context);
        read_bytes(kinds[k].path);
        const size_t header = 8 + bytes[0] + 256u * bytes[1];
        assert_true(bytes[2] == 0 && header < length);
        for (size_t at = 0; at < header; at++)
            for (int bit = 0; bit < 8; bit++)
                if (k == 0 || bit == (int)(at % 8))
                    refuse_changed(context, &kinds[k], at, 1 << bit);
        for (size_t at = header; at < length; at += 7)
            refuse_changed(context, &kinds[k], at, 1 << at % 8);
        refuse_changed(context, &kinds[k], length - 1, 0xff);
        assert_ok(context, kinds[k].load(context));
        unlink(kinds[k].path);
    }
    unlink(CHECKPOINT);
    hb_context_destroy(context);
}

/* A digit for another: what a reader of numbers cannot see. */
static void one_digit_is_seen(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    static const char *const texts[] = {"\"tau_min\":\"0.00", "\"scale\":\"", "\"steps\":\"",
                                        "\"seed\":\"", "\"format\":\"heatball model "};
    make_model(context);
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        read_bytes(MODEL);
        unsigned char *at = memmem(bytes, length, texts[k], strlen(texts[k]));
        assert_non_null(at);
        at += strlen(texts[k]);
        assert_in_range(*at, '0', '9');
        for (int digit = '0'; digit <= '9'; digit++)
            if (digit != *at) refuse_changed(context, &kinds[0], (size_t)(at - bytes), digit ^ *at);
    }
    unlink(MODEL);
    unlink(CHECKPOINT);
    hb_context_destroy(context);
}

/* ---- no memory while a file is written ---- */

/* Allocations of jansson before the one that fails; those after it succeed. */
static int json_allowance;

static void *limited_malloc(size_t size)
{
    return json_allowance-- == 0 ? NULL : malloc(size);
}

/* Saves over an old file; a failure leaves that as it was, a success is a file that can be read. */
static hb_status save_and_look(hb_context *context, const hb_model *model)
{
    static unsigned char old[MOST_BYTES];
    read_bytes(MODEL);
    const size_t old_length = length;
    memcpy(old, bytes, length);
    json_set_alloc_funcs(limited_malloc, free);
    const hb_status status = hb_model_save(context, model, MODEL);
    json_set_alloc_funcs(malloc, free);
    read_bytes(MODEL);
    if (status == HB_OK) return status;
    assert_int_equal(status, HB_ERROR_MEMORY);
    assert_non_null(strstr(hb_context_message(context), "memory"));
    assert_int_equal(length, old_length);
    assert_memory_equal(bytes, old, length);
    return status;
}

/* The k-th allocation fails, of jansson or of the context's, for every k. */
static void a_file_written_without_memory_is_whole_or_refused(void **state)
{
    (void)state;
    for (int of_json = 0; of_json < 2; of_json++) {
        memory_count c = {0, 1000000};
        hb_context *context = counting_context(&c);
        hb_model *model;
        hb_status status = HB_ERROR_MEMORY;
        make_model(context);
        assert_ok(context, hb_model_load(context, MODEL, &model));
        const int live = c.live;
        json_allowance = 0;
        for (int k = 0; status != HB_OK || json_allowance < 0; k++) {
            assert_true(k < 2000);
            json_allowance = of_json ? k : 1000000;
            if (!of_json) atomic_store(&c.allowance, k);
            status = save_and_look(context, model);
            assert_int_equal(c.live, live);
            if (status == HB_OK) {
                atomic_store(&c.allowance, 1000000);
                assert_ok(context, load_model(context));
            }
        }
        atomic_store(&c.allowance, 1000000);
        hb_model_destroy(model);
        hb_context_destroy(context);
        assert_int_equal(c.live, 0);
    }
    unlink(MODEL);
    unlink(CHECKPOINT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_flipped_bit_is_seen),
        cmocka_unit_test(one_digit_is_seen),
        cmocka_unit_test(a_file_written_without_memory_is_whole_or_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
