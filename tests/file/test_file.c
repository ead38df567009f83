/* The file room: files are whole or absent, headers are right to the byte, text reads back to the
 * same bits. Oracles: the .npy bytes written out by hand from the format's description, strtod. */
#include "support.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <locale.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct fixture {
    hb_context *context;
    char directory[64];
} fixture;

static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    strcpy(f->directory, "/tmp/hb_test_file_XXXXXX");
    if (!mkdtemp(f->directory)) return -1;
    *state = f;
    return hb_context_create(NULL, &f->context);
}

/* Number of entries of the fixture's directory, which are removed. */
static int empty(const fixture *f)
{
    int n = 0;
    DIR *directory = opendir(f->directory);
    for (struct dirent *e; directory && (e = readdir(directory));) {
        if (e->d_name[0] == '.') continue;
        unlinkat(dirfd(directory), e->d_name, 0);
        n++;
    }
    if (directory) closedir(directory);
    return n;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", f->directory);
    if (system(command) != 0) return -1;
    hb_context_destroy(f->context);
    free(f);
    return 0;
}

static const char *path_of(const fixture *f, const char *name)
{
    static char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", f->directory, name);
    return path;
}

static size_t read_file(const char *path, char *out, size_t size)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t n = fread(out, 1, size, file);
    fclose(file);
    return n;
}

static void put_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void old_file_stays_until_commit(void **state)
{
    fixture *f = *state;
    const char *path = path_of(f, "x.txt");
    char text[64] = {0};
    put_file(path, "before");
    assert_int_equal(chmod(path, 0666), 0);
    hb_writer *writer;
    assert_int_equal(hb_writer_create(f->context, path, &writer), HB_OK);
    assert_int_equal(hb_writer_printf(writer, "%s %d", "after", 2385), HB_OK);
    assert_int_equal(read_file(path, text, sizeof text), 6);
    assert_string_equal(text, "before");
    assert_int_equal(hb_writer_commit(writer), HB_OK);
    assert_int_equal(read_file(path, text, sizeof text), 10);
    assert_string_equal(text, "after 2385");
    struct stat status;
    stat(path, &status);
    assert_int_equal(status.st_mode & 0777, 0666); /* past the umask */
    assert_int_equal(empty(f), 1);
}

static void abort_leaves_nothing(void **state)
{
    fixture *f = *state;
    hb_writer *writer;
    assert_int_equal(hb_writer_create(f->context, path_of(f, "x.txt"), &writer), HB_OK);
    assert_int_equal(hb_writer_write(writer, 3, "abc"), HB_OK);
    hb_writer_abort(writer);
    assert_int_equal(empty(f), 0);
    hb_writer_abort(NULL);
    assert_int_equal(hb_writer_commit(NULL), HB_OK);
    assert_int_equal(hb_writer_create(f->context, path_of(f, "x.txt"), &writer), HB_OK);
    assert_int_equal(hb_writer_close(writer, HB_ERROR_NUMERICAL), HB_ERROR_NUMERICAL);
    assert_int_equal(empty(f), 0);
    assert_int_equal(hb_writer_create(f->context, path_of(f, "x.txt"), &writer), HB_OK);
    assert_int_equal(hb_writer_close(writer, HB_OK), HB_OK);
    assert_int_equal(empty(f), 1);
}

/* Writes of all sizes around the buffer's, in an order that fills and bypasses it. */
static void large_and_small_writes_keep_their_order(void **state)
{
    fixture *f = *state;
    static const size_t sizes[] = {1, 65535, 65536, 7, 65537, 0, 200001, 3, 65530};
    static char data[600000], back[600001];
    for (size_t i = 0; i < sizeof data; i++) data[i] = (char)(i * 2654435761u >> 13);
    hb_writer *writer;
    const char *path = path_of(f, "blocks.bin");
    assert_int_equal(hb_writer_create(f->context, path, &writer), HB_OK);
    size_t total = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        assert_int_equal(hb_writer_write(writer, sizes[i], data + total), HB_OK);
        total += sizes[i];
    }
    assert_int_equal(hb_writer_commit(writer), HB_OK);
    assert_int_equal(read_file(path, back, sizeof back), total);
    assert_memory_equal(back, data, total);
}

static void a_long_line_is_printed_whole(void **state)
{
    fixture *f = *state;
    static char back[8192];
    hb_writer *writer;
    const char *path = path_of(f, "long.txt");
    assert_int_equal(hb_writer_create(f->context, path, &writer), HB_OK);
    assert_int_equal(hb_writer_printf(writer, "%05000d", 17), HB_OK);
    assert_int_equal(hb_writer_commit(writer), HB_OK);
    assert_int_equal(read_file(path, back, sizeof back), 5000);
    assert_string_equal(back + 4997, "017");
}

static void two_writers_of_one_path(void **state)
{
    fixture *f = *state;
    const char *path = path_of(f, "x.txt");
    hb_writer *one, *two;
    char text[8] = {0};
    assert_int_equal(hb_writer_create(f->context, path, &one), HB_OK);
    assert_int_equal(hb_writer_create(f->context, path, &two), HB_OK);
    hb_writer_write(one, 3, "one");
    hb_writer_write(two, 3, "two");
    assert_int_equal(hb_writer_commit(two), HB_OK);
    assert_int_equal(hb_writer_commit(one), HB_OK);
    read_file(path, text, sizeof text);
    assert_string_equal(text, "one");
    assert_int_equal(empty(f), 1);
}

static void expect_path_error(const fixture *f, const char *path, const char *reason)
{
    hb_writer *writer;
    assert_int_equal(hb_writer_create(f->context, path, &writer), HB_ERROR_PATH);
    assert_null(writer);
    assert_non_null(strstr(hb_context_message(f->context), reason));
    assert_non_null(strstr(hb_context_message(f->context), path));
}

static void bad_paths_are_refused(void **state)
{
    fixture *f = *state;
    expect_path_error(f, f->directory, "it is a directory");
    expect_path_error(f, "", "empty");
    expect_path_error(f, "/nonexistent/x.npy", "No such file");
    if (geteuid() != 0) { /* root may write everywhere */
        const char *path = path_of(f, "readonly.txt");
        put_file(path, "keep");
        chmod(path, 0444);
        expect_path_error(f, path, "Permission denied");
    }
}

static void a_link_keeps_its_place(void **state)
{
    fixture *f = *state;
    char target[PATH_MAX], text[8] = {0};
    strcpy(target, path_of(f, "target.txt"));
    put_file(target, "before");
    const char *path = path_of(f, "link.txt");
    assert_int_equal(symlink("target.txt", path), 0);
    hb_writer *writer;
    assert_int_equal(hb_writer_create(f->context, path, &writer), HB_OK);
    hb_writer_write(writer, 5, "after");
    assert_int_equal(hb_writer_commit(writer), HB_OK);
    struct stat link;
    lstat(path, &link);
    assert_true(S_ISLNK(link.st_mode));
    assert_int_equal(read_file(target, text, sizeof text), 5);
    assert_string_equal(text, "after");
}

static void a_device_is_written_in_place(void **state)
{
    fixture *f = *state;
    hb_writer *writer;
    struct stat device;
    assert_int_equal(hb_writer_create(f->context, "/dev/null", &writer), HB_OK);
    assert_int_equal(hb_writer_write(writer, 3, "abc"), HB_OK);
    assert_int_equal(hb_writer_commit(writer), HB_OK);
    stat("/dev/null", &device);
    assert_true(S_ISCHR(device.st_mode));
    assert_int_equal(hb_writer_create(f->context, "/dev/full", &writer), HB_OK);
    assert_int_equal(hb_writer_write(writer, 3, "abc"), HB_OK); /* waits in the buffer */
    assert_int_equal(hb_writer_commit(writer), HB_ERROR_FILE);
    assert_non_null(strstr(hb_context_message(f->context), "No space left on device"));
}

/* A limit on the file size stands for a full disk: the kernel then fails write() with EFBIG. */
static void a_full_disk_leaves_the_old_file(void **state)
{
    fixture *f = *state;
    const char *path = path_of(f, "x.bin");
    static char block[1 << 17];
    char text[16] = {0};
    put_file(path, "before");
    struct rlimit old, small;
    getrlimit(RLIMIT_FSIZE, &old);
    small = old;
    small.rlim_cur = 150000;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    hb_writer *writer;
    assert_int_equal(hb_writer_create(f->context, path, &writer), HB_OK);
    setrlimit(RLIMIT_FSIZE, &small);
    hb_status first = hb_writer_write(writer, sizeof block, block);
    hb_status second = hb_writer_write(writer, sizeof block, block);
    char message[256];
    snprintf(message, sizeof message, "%s", hb_context_message(f->context));
    hb_status third = hb_writer_write(writer, 1, "a");
    hb_status commit = hb_writer_commit(writer);
    setrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, handler);
    assert_int_equal(first, HB_OK);
    assert_int_equal(second, HB_ERROR_FILE);
    assert_non_null(strstr(message, "File too large"));
    assert_non_null(strstr(message, path));
    assert_int_equal(third, HB_ERROR_FILE);
    assert_int_equal(commit, HB_ERROR_FILE);
    assert_int_equal(read_file(path, text, sizeof text), 6);
    assert_string_equal(text, "before");
    assert_int_equal(empty(f), 1);
}

static void a_removed_directory_fails_at_commit(void **state)
{
    fixture *f = *state;
    char directory[PATH_MAX], path[PATH_MAX + 8];
    strcpy(directory, path_of(f, "inner"));
    snprintf(path, sizeof path, "%s/x", directory);
    mkdir(directory, 0777);
    hb_writer *writer;
    assert_int_equal(hb_writer_create(f->context, path, &writer), HB_OK);
    char command[2 * PATH_MAX];
    snprintf(command, sizeof command, "rm -r '%s'", directory);
    assert_int_equal(system(command), 0);
    assert_int_equal(hb_writer_commit(writer), HB_ERROR_FILE);
    assert_non_null(strstr(hb_context_message(f->context), "No such file"));
}

static void npy_headers_are_exact(void **state)
{
    fixture *f = *state;
    static const struct {
        hb_dtype dtype;
        int n_axes;
        uint64_t shape[3];
        size_t total;
        const char *text;
    } cases[] = {
        {HB_DTYPE_F64,
         2,
         {200000, 8},
         128,
         "{'descr': '<f8', 'fortran_order': False, 'shape': (200000, 8), }"},
        {HB_DTYPE_F32, 1, {5}, 128, "{'descr': '<f4', 'fortran_order': False, 'shape': (5,), }"},
        {HB_DTYPE_F64, 0, {0}, 128, "{'descr': '<f8', 'fortran_order': False, 'shape': (), }"},
        {HB_DTYPE_F32,
         3,
         {2, 0, 7},
         128,
         "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 0, 7), }"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hb_writer *writer;
        const char *path = path_of(f, "a.npy");
        char bytes[256] = {0}, expected[256];
        uint64_t count = cases[i].dtype == HB_DTYPE_F64 ? 8 : 4;
        for (int k = 0; k < cases[i].n_axes; k++) count *= cases[i].shape[k];
        char *zeros = calloc(count + 1, 1);
        assert_int_equal(hb_writer_create(f->context, path, &writer), HB_OK);
        assert_int_equal(
            hb_writer_npy_begin(writer, cases[i].dtype, cases[i].n_axes, cases[i].shape), 0);
        assert_int_equal(hb_writer_write(writer, count, zeros), HB_OK);
        assert_int_equal(hb_writer_commit(writer), HB_OK);
        free(zeros);
        read_file(path, bytes, cases[i].total);
        memset(expected, ' ', sizeof expected);
        memcpy(expected, "\x93NUMPY\x01\x00\x76\x00", 10); /* 118 = 128 - 10 */
        memcpy(expected + 10, cases[i].text, strlen(cases[i].text));
        expected[127] = '\n';
        assert_memory_equal(bytes, expected, 128);
    }
}

/* A shape that takes the header to the next multiple of 64, and one that takes it exactly there. */
static void npy_header_pads_to_64(void **state)
{
    fixture *f = *state;
    for (int n_axes = 1; n_axes <= 32; n_axes++) {
        uint64_t shape[32];
        for (int i = 0; i < n_axes; i++) shape[i] = i == 0 ? 0 : 1000003u;
        hb_writer *writer;
        const char *path = path_of(f, "a.npy");
        char bytes[1024] = {0};
        assert_int_equal(hb_writer_create(f->context, path, &writer), HB_OK);
        assert_int_equal(hb_writer_npy_begin(writer, HB_DTYPE_F64, n_axes, shape), HB_OK);
        assert_int_equal(hb_writer_commit(writer), HB_OK);
        size_t size = read_file(path, bytes, sizeof bytes);
        assert_int_equal(size % 64, 0);
        assert_int_equal((unsigned char)bytes[8] + 256 * (unsigned char)bytes[9], size - 10);
        assert_int_equal(bytes[size - 1], '\n');
    }
}

static void npy_of_the_wrong_length_is_refused(void **state)
{
    fixture *f = *state;
    const uint64_t shape[] = {3, 2}, huge[] = {(uint64_t)1 << 40, (uint64_t)1 << 40};
    const double values[6] = {2.385};
    hb_writer *writer;
    assert_int_equal(hb_writer_create(f->context, path_of(f, "a.npy"), &writer), HB_OK);
    assert_int_equal(hb_writer_npy_begin(writer, HB_DTYPE_F64, 2, huge), HB_ERROR_ARGUMENT);
    assert_int_equal(hb_writer_npy_begin(writer, HB_DTYPE_F64, 33, huge), HB_ERROR_ARGUMENT);
    assert_int_equal(hb_writer_npy_begin(writer, (hb_dtype)7, 2, shape), HB_ERROR_ARGUMENT);
    assert_int_equal(hb_writer_npy_begin(writer, HB_DTYPE_F64, 2, shape), HB_OK);
    assert_int_equal(hb_writer_write(writer, 5 * sizeof *values, values), HB_OK);
    assert_int_equal(hb_writer_commit(writer), HB_ERROR_ARGUMENT);
    assert_non_null(strstr(hb_context_message(f->context), "its header promises"));
    assert_int_equal(empty(f), 0);
}

static void csv_text_is_exact(void **state)
{
    fixture *f = *state;
    static const char *const names[] = {"z_1", "a,b", "say \"x\""};
    const double rows[2][3] = {{2.385, -1e-300, 1.0 / 3}, {5e-324, 0, 1e17}};
    const float floats[1][3] = {{2.385f, 1.0f / 3, -7e-5f}};
    char text[512] = {0};
    hb_writer *writer;
    const char *path = path_of(f, "a.csv");
    assert_int_equal(hb_writer_create(f->context, path, &writer), HB_OK);
    assert_int_equal(hb_writer_csv_header(writer, 3, names), HB_OK);
    assert_int_equal(hb_writer_csv_header(writer, 3, NULL), HB_OK);
    assert_int_equal(hb_writer_csv_rows(writer, HB_DTYPE_F64, 2, 3, rows), HB_OK);
    assert_int_equal(hb_writer_csv_rows(writer, HB_DTYPE_F32, 1, 3, floats), HB_OK);
    assert_int_equal(hb_writer_csv_rows(writer, HB_DTYPE_F64, 0, 3, NULL), HB_OK);
    assert_int_equal(hb_writer_csv_rows(writer, HB_DTYPE_F64, 1, 0, rows), HB_ERROR_ARGUMENT);
    assert_int_equal(hb_writer_csv_rows(writer, (hb_dtype)9, 1, 3, rows), HB_ERROR_ARGUMENT);
    assert_int_equal(hb_writer_commit(writer), HB_OK);
    read_file(path, text, sizeof text);
    assert_string_equal(text, "z_1,\"a,b\",\"say \"\"x\"\"\"\n"
                              "2.3849999999999998,-1e-300,0.33333333333333331\n"
                              "4.9406564584124654e-324,0,1e+17\n"
                              "2.38499999,0.333333343,-7.00000019e-05\n");
}

/* Random bit patterns, all of them, must survive the way through the text. */
static void csv_reads_back_to_the_same_bits(void **state)
{
    fixture *f = *state;
    enum { N = 3001, COLUMNS = 7 };
    static double rows[N * COLUMNS];
    uint64_t bits = 88172645463325252u; /* xorshift64 of Marsaglia (2003) */
    for (int i = 0; i < N * COLUMNS; i++) {
        do {
            bits ^= bits << 13, bits ^= bits >> 7, bits ^= bits << 17;
            memcpy(rows + i, &bits, sizeof bits);
        } while (!isfinite(rows[i]));
    }
    hb_writer *writer;
    const char *path = path_of(f, "a.csv");
    assert_int_equal(hb_writer_create(f->context, path, &writer), HB_OK);
    assert_int_equal(hb_writer_csv_rows(writer, HB_DTYPE_F64, N, COLUMNS, rows), HB_OK);
    assert_int_equal(hb_writer_commit(writer), HB_OK);
    static char text[N * COLUMNS * 26];
    read_file(path, text, sizeof text);
    char *at = text;
    for (int i = 0; i < N * COLUMNS; i++) {
        double value = strtod(at, &at);
        assert_memory_equal(&value, rows + i, sizeof value);
        assert_int_equal(*at++, (i + 1) % COLUMNS ? ',' : '\n');
    }
    assert_int_equal(*at, '\0');
}

/* A host program with a decimal comma must not change our files. The locale is compiled here with
 * glibc's localedef; skipped where that has no sources. */
static void the_locale_does_not_matter(void **state)
{
    fixture *f = *state;
    char command[PATH_MAX];
    snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 2>/dev/null",
             f->directory);
    const int compiled = system(command) == 0;
    setenv("LOCPATH", f->directory, 1);
    const char *locale = compiled ? setlocale(LC_NUMERIC, "de_DE.UTF-8") : NULL;
    unsetenv("LOCPATH");
    if (!locale) skip();
    assert_string_equal(localeconv()->decimal_point, ",");
    const double row[2] = {2.5, -0.25};
    char text[64] = {0};
    hb_writer *writer;
    const char *path = path_of(f, "a.csv");
    assert_int_equal(hb_writer_create(f->context, path, &writer), HB_OK);
    assert_int_equal(hb_writer_csv_rows(writer, HB_DTYPE_F64, 1, 2, row), HB_OK);
    assert_int_equal(hb_writer_printf(writer, "%g\n", 7.5), HB_OK);
    assert_int_equal(hb_writer_commit(writer), HB_OK);
    setlocale(LC_NUMERIC, "C");
    read_file(path, text, sizeof text);
    assert_string_equal(text, "2.5,-0.25\n7.5\n");
}

static void npz_names_are_plain_and_given_once(void **state)
{
    static const char *const bad[] = {"../../evil", "/evil", "a/b", ".a", "", "a b", "density"};
    const uint64_t shape[] = {2};
    const double values[] = {1, 2};
    fixture *f = *state;
    hb_npz *npz;
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        assert_int_equal(hb_npz_create(f->context, path_of(f, "a.npz"), &npz), HB_OK);
        assert_int_equal(hb_npz_add(npz, 1, "density", shape, values), HB_OK);
        assert_int_equal(hb_npz_add(npz, 1, bad[k], shape, values), HB_ERROR_ARGUMENT);
        assert_int_equal(hb_npz_add(npz, 1, "density_se", shape, values), HB_OK);
        assert_int_equal(hb_npz_commit(npz), HB_ERROR_ARGUMENT); /* an array is missing */
        assert_int_equal(empty(f), 0);
    }
    assert_int_equal(hb_npz_create(f->context, path_of(f, "a.npz"), &npz), HB_OK);
    assert_int_equal(hb_npz_add(npz, 1, "density_se", shape, values), HB_OK);
    assert_int_equal(hb_npz_add(npz, 1, "density", shape, values), HB_OK);
    assert_int_equal(hb_npz_commit(npz), HB_OK);
    assert_int_equal(empty(f), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(old_file_stays_until_commit),
        TEST(abort_leaves_nothing),
        TEST(large_and_small_writes_keep_their_order),
        TEST(a_long_line_is_printed_whole),
        TEST(two_writers_of_one_path),
        TEST(bad_paths_are_refused),
        TEST(a_link_keeps_its_place),
        TEST(a_device_is_written_in_place),
        TEST(a_full_disk_leaves_the_old_file),
        TEST(a_removed_directory_fails_at_commit),
        TEST(npy_headers_are_exact),
        TEST(npy_header_pads_to_64),
        TEST(npy_of_the_wrong_length_is_refused),
        TEST(csv_text_is_exact),
        TEST(csv_reads_back_to_the_same_bits),
        TEST(the_locale_does_not_matter),
        TEST(npz_names_are_plain_and_given_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
