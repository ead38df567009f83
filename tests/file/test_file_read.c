/* Tables read from .npy and .csv: every type, every refusal with its reason. The .npy bytes are those
 * that NumPy 1.24 writes; what hb_writer_csv_rows writes comes back bit for bit. */
#include "support.h"

#include <sys/stat.h>
#include <unistd.h>

static char directory[] = "/tmp/heatball-read-XXXXXX";

static const char *write_file(const char *name, const void *bytes, size_t size)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
    return path;
}

static const char *write_text(const char *name, const char *text)
{
    return write_file(name, text, strlen(text));
}

/* A .npy file as NumPy lays it out: the header filled with blanks to 128 bytes, then the data. */
static const char *write_npy(const char *name, int version, const char *dictionary,
                             const void *data, size_t size)
{
    char bytes[4096];
    const size_t prefix = version == 1 ? 10 : 12;
    memset(bytes, ' ', 128);
    memcpy(bytes, "\x93NUMPY", 6);
    bytes[6] = (char)version;
    bytes[7] = 0;
    memset(bytes + 8, 0, prefix - 8);
    bytes[8] = (char)(128 - prefix);
    memcpy(bytes + prefix, dictionary, strlen(dictionary));
    bytes[127] = '\n';
    memcpy(bytes + 128, data, size);
    return write_file(name, bytes, 128 + size);
}

static void expect(const char *path, int axes, const uint64_t *shape, const double *expected)
{
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    int n_axes;
    uint64_t found[4], count = 1;
    double *values;
    assert_ok(context, hb_table_read(context, path, &n_axes, found, &values));
    assert_int_equal(n_axes, axes);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(found[i], i < axes ? shape[i] : 1);
        count *= found[i];
    }
    for (uint64_t i = 0; i < count; i++) assert_true(values[i] == expected[i]);
    hb_context_release(context, values);
    hb_context_destroy(context);
}

static void refuse(const char *path, hb_status status, const char *text)
{
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    int n_axes;
    uint64_t shape[4];
    double *values = (double *)shape;
    assert_fails(context, hb_table_read(context, path, &n_axes, shape, &values), status, text);
    assert_null(values);
    hb_context_destroy(context);
}

static void npy_types_become_double(void **state)
{
    (void)state;
    const double expected[] = {0, 1, 2, 253, 4, 5};
    double f8[6];
    float f4[6];
    int64_t i8[6];
    int32_t i4[6];
    unsigned char u1[6];
    for (int i = 0; i < 6; i++) {
        f8[i] = expected[i];
        f4[i] = (float)expected[i];
        i8[i] = (int64_t)expected[i];
        i4[i] = (int32_t)expected[i];
        u1[i] = (unsigned char)expected[i];
    }
    const struct {
        const char *descr;
        const void *data;
        size_t size;
    } cases[] = {{"<f8", f8, sizeof f8},
                 {"<f4", f4, sizeof f4},
                 {"<i8", i8, sizeof i8},
                 {"<i4", i4, sizeof i4},
                 {"|u1", u1, sizeof u1}};
    for (size_t k = 0; k < 5; k++) {
        char text[128];
        snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': (2, 3), }",
                 cases[k].descr);
        expect(write_npy("t.npy", 1, text, cases[k].data, cases[k].size), 2,
               (const uint64_t[]){2, 3}, expected);
        expect(write_npy("t.npy", 2, text, cases[k].data, cases[k].size), 2,
               (const uint64_t[]){2, 3}, expected);
    }
    expect(write_npy("t.NPY", 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (6,), }", f8,
                     sizeof f8),
           1, (const uint64_t[]){6}, expected);
    expect(write_npy("t.npy", 1,
                     "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 2, 1, 3), }", f8,
                     sizeof f8),
           4, (const uint64_t[]){1, 2, 1, 3}, expected);
    const double negative[] = {-2.385, -7};
    expect(write_npy("t.npy", 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }",
                     negative, sizeof negative),
           1, (const uint64_t[]){2}, negative);
}

static void npy_refusals_say_why(void **state)
{
    (void)state;
    const double data[6] = {1, 2, 3, 4, 5, 6};
    const struct {
        const char *dictionary, *reason;
    } cases[] = {
        {"{'descr': '>f8', 'fortran_order': False, 'shape': (2, 3), }", "type >f8"},
        {"{'descr': '<c16', 'fortran_order': False, 'shape': (2, 3), }", "type <c16"},
        {"{'descr': '|S8', 'fortran_order': False, 'shape': (2, 3), }", "must be <f8, <f4"},
        {"{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (6,), }", "records"},
        {"{'descr': '<f8', 'fortran_order': True, 'shape': (2, 3), }", "Fortran order"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (), }", "0 axes"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1, 1, 1, 6), }", "more than 4"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (2, 4), }",
         "promises 8 values, it has 6"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (4000000000, 4000000000), }", "2^63"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (100000000, 100000000), }",
         "cut short: its header promises 10000000000000000 values"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (2, -3), }", "cannot be read"},
        {"{'descr': '<f8', 'shape': (2, 3), }", "no fortran_order"},
        {"{'descr': '<f8', 'fortran_order': False, }", "no shape"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        refuse(write_npy("t.npy", 1, cases[k].dictionary, data, sizeof data), HB_ERROR_FORMAT,
               cases[k].reason);
    refuse(write_text("t.npy", "\x93NUMPY\x01"), HB_ERROR_FORMAT, "not a .npy file");
    refuse(write_file("t.npy", "\x93NUMPY\x01\0\x76\0{'descr'", 18), HB_ERROR_FORMAT,
           "cut short in its header");
    refuse(write_file("t.npy", "\x93NUMPY\x09\0\x76\0", 10), HB_ERROR_FORMAT, "version 9");
}

static void csv_takes_headers_and_separators(void **state)
{
    (void)state;
    const double expected[] = {1, -2.385, 3e-5, 4, 5, 6};
    const uint64_t shape[] = {2, 3};
    expect(write_text("t.csv", "1,-2.385,3e-5\n4,5,6\n"), 2, shape, expected);
    expect(write_text("t.csv", "a,b,c\n1,-2.385,3e-5\n4,5,6"), 2, shape, expected);
    expect(write_text("t.csv", "# x y z\n\n 1  -2.385\t3e-5 \n4 5 6\n\n"), 2, shape, expected);
    expect(write_text("t.csv", "\xef\xbb\xbf"
                               "1; -2.385 ;3e-5\r\n4;5;6\r\n"),
           2, shape, expected);
}

static void csv_refusals_name_the_line(void **state)
{
    (void)state;
    refuse(write_text("t.csv", "x,y\n1,2\n3\n"), HB_ERROR_FORMAT,
           "line 3: 1 numbers; the lines before have 2");
    refuse(write_text("t.csv", "1,2\n\n3,abc\n"), HB_ERROR_FORMAT,
           "line 3, column 2: 'abc' is no number; encode this column or leave it out");
    refuse(write_text("t.csv", "1,2\n3,,4\n"), HB_ERROR_FORMAT,
           "line 2, column 2: the field is empty");
    refuse(write_text("t.csv", "1,2\n3,4,\n"), HB_ERROR_FORMAT,
           "line 2, column 3: nothing stands after the last separator");
    refuse(write_text("t.csv", "1,NA\n3,4\n"), HB_ERROR_FORMAT,
           "line 1, column 2: 'NA' is no number");
    refuse(write_text("t.csv", "NA,NA\n3,4\n"), HB_ERROR_FORMAT, "line 1, column 1: 'NA'");
    refuse(write_text("t.csv", "year,2020\n3,4\n"), HB_ERROR_FORMAT, "line 1, column 1: 'year'");
    refuse(write_text("t.csv", "a,b\n\"3\",4\n"), HB_ERROR_FORMAT,
           "line 2, column 1: '\"3\"' stands in quotes");
    refuse(write_text("t.csv", "1 2\n3 4x\n"), HB_ERROR_FORMAT, "line 2, column 2: '4x'");
    refuse(write_text("t.csv", ""), HB_ERROR_FORMAT, "holds no numbers");
    refuse(write_text("t.csv", "x,y\n"), HB_ERROR_FORMAT, "holds no numbers");
    refuse(write_text("t.txt", "1\n"), HB_ERROR_FORMAT, "neither .npy nor .csv");
    refuse("/nonexistent/t.npy", HB_ERROR_PATH, "cannot open /nonexistent/t.npy");
    refuse("", HB_ERROR_ARGUMENT, "empty");
    char folder[256];
    snprintf(folder, sizeof folder, "%s/d.npy", directory);
    assert_int_equal(mkdir(folder, 0700), 0);
    refuse(folder, HB_ERROR_PATH, "it is a directory");
}

static void what_was_written_comes_back(void **state)
{
    (void)state;
    enum { N = 3000 };
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    double x[N];
    assert_ok(context, hb_random_normal(context, 7, 3, 0, N, x));
    x[5] = 1e-310; // subnormal
    for (int csv = 0; csv < 2; csv++) {
        char path[256];
        snprintf(path, sizeof path, "%s/back.%s", directory, csv ? "csv" : "npy");
        hb_writer *writer;
        const uint64_t shape[] = {N / 3, 3};
        assert_ok(context, hb_writer_create(context, path, &writer));
        if (csv)
            assert_ok(context, hb_writer_csv_rows(writer, HB_DTYPE_F64, N / 3, 3, x));
        else {
            assert_ok(context, hb_writer_npy_begin(writer, HB_DTYPE_F64, 2, shape));
            assert_ok(context, hb_writer_write(writer, sizeof x, x));
        }
        assert_ok(context, hb_writer_commit(writer));
        expect(path, 2, shape, x);
    }
    hb_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(npy_types_become_double),
        cmocka_unit_test(npy_refusals_say_why),
        cmocka_unit_test(csv_takes_headers_and_separators),
        cmocka_unit_test(csv_refusals_name_the_line),
        cmocka_unit_test(what_was_written_comes_back),
    };
    if (!mkdtemp(directory)) return 1;
    const int failures = cmocka_run_group_tests_name("file_read", tests, NULL, NULL);
    char command[300];
    snprintf(command, sizeof command, "rm -r %s", directory);
    return system(command) ? 1 : failures;
}
