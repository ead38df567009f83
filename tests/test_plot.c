/* The plot room: the numbers reach the .csv unchanged, the pictures are pictures, and without
 * gnuplot the .csv and .gp stay. Oracles: values typed in here; the magic bytes of PNG, SVG, PDF.
 */
#include "support.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct fixture {
    hb_context *context;
    hb_figure *figure;
    char directory[64];
} fixture;

static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    strcpy(f->directory, "/tmp/hb test plot'_XXXXXX"); /* a blank and a quote, on purpose */
    if (!mkdtemp(f->directory)) return -1;
    *state = f;
    hb_status status = hb_context_create(&f->context, NULL);
    return status == HB_OK ? (int)hb_figure_create(f->context, 1, 2, 0, 0, &f->figure) : -1;
}

static int count_files(const fixture *f, int remove)
{
    int n = 0;
    DIR *directory = opendir(f->directory);
    for (struct dirent *e; directory && (e = readdir(directory));) {
        if (e->d_name[0] == '.') continue;
        if (remove) unlinkat(dirfd(directory), e->d_name, 0);
        n++;
    }
    closedir(directory);
    return n;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    count_files(f, 1);
    rmdir(f->directory);
    hb_figure_destroy(f->figure);
    hb_figure_destroy(NULL);
    hb_context_destroy(f->context);
    free(f);
    return 0;
}

static size_t read_text(const fixture *f, const char *name, char *out, size_t size)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", f->directory, name);
    FILE *file = fopen(path, "rb");
    if (!file) return 0;
    size_t n = fread(out, 1, size - 1, file);
    out[n] = '\0';
    fclose(file);
    return n;
}

static int has_gnuplot(void)
{
    return system("gnuplot --version >/dev/null 2>&1") == 0;
}

/* Every style once, in two panels. */
static void draw(fixture *f)
{
    hb_panel panel;
    hb_panel_default(&panel);
    panel.title = "it's a_1^{2}";
    panel.x_label = "a {/:Italic d} b";
    panel.log_x = 2;
    panel.log_y = 10;
    panel.key = "top left";
    const double x[] = {4, 8, 16}, y[] = {2.385, 0.1, 70}, low[] = {1.5, 0.05, 60};
    const double high[] = {3, NAN, 80};
    assert_ok(f->context, hb_figure_panel(f->figure, &panel));
    assert_ok(f->context, hb_figure_series(f->figure, "measured, \"M\"", HB_STYLE_POINTS, 0, 3, x,
                                           y, low, high));
    assert_ok(f->context, hb_figure_series(f->figure, "exact", HB_STYLE_LINE, 1, 3, x, y, 0, 0));
    hb_panel_default(&panel);
    panel.y_max = 100.5;
    assert_ok(f->context, hb_figure_panel(f->figure, &panel));
    assert_ok(f->context, hb_figure_series(f->figure, NULL, HB_STYLE_BAND, 9, 3, x, NULL, low, y));
    assert_ok(f->context, hb_figure_series(f->figure, "h", HB_STYLE_HISTOGRAM, 2, 3, x, y, 0, 0));
    assert_ok(f->context, hb_figure_series(f->figure, "l", HB_STYLE_DASHED, 3, 3, x, y, 0, 0));
}

static hb_status write_figure(fixture *f, int formats)
{
    char stem[128];
    snprintf(stem, sizeof stem, "%s/it's", f->directory);
    return hb_figure_write(f->figure, stem, formats);
}

static void numbers_reach_the_csv(void **state)
{
    fixture *f = *state;
    static char text[8192];
    draw(f);
    assert_ok(f->context, write_figure(f, 0));
    read_text(f, "it's.csv", text, sizeof text);
    static const char begin[] = "panel,series,label,x,y,low,high\n"
                                "1,1,\"measured, \"\"M\"\"\",4,2.3849999999999998,1.5,3\n"
                                "1,1,\"measured, \"\"M\"\"\",8,0.10000000000000001,"
                                "0.050000000000000003,\n"
                                "1,1,\"measured, \"\"M\"\"\",16,70,60,80\n"
                                "1,2,exact,4,2.3849999999999998,,\n";
    assert_memory_equal(text, begin, strlen(begin));
    assert_non_null(strstr(text, "\n2,1,,16,,60,70\n"));
    assert_non_null(strstr(text, "\n2,3,l,16,70,,\n"));
    assert_true(read_text(f, "it's.gp", text, sizeof text) > 0);
    assert_non_null(strstr(text, "data = 'it''s.csv'"));
    assert_non_null(strstr(text, "set title 'it''s a_1^{2}'"));
    assert_non_null(strstr(text, "set xlabel 'a {/:Italic d} b'"));
    assert_non_null(strstr(text, "set logscale x 2"));
    assert_non_null(strstr(text, "set xtics 4,2\n"));
    assert_non_null(strstr(text, "set ytics 0.01,10\n"));
    assert_non_null(strstr(text, "10^{%T}"));
    assert_non_null(strstr(text, "set yrange [:100.5]"));
    assert_int_equal(count_files(f, 0), 2);
}

static void pictures_are_pictures(void **state)
{
    fixture *f = *state;
    if (!has_gnuplot()) skip();
    static char text[1 << 20], again[1 << 20];
    draw(f);
    assert_ok(f->context, write_figure(f, HB_PLOT_SVG | HB_PLOT_PNG | HB_PLOT_PDF));
    assert_int_equal(count_files(f, 0), 5);
    size_t n = read_text(f, "it's.svg", text, sizeof text);
    assert_non_null(strstr(text, "<svg"));
    assert_non_null(strstr(text + n - 20, "</svg>"));
    assert_non_null(strstr(text, "<svg xml:space=\"preserve\"")); /* blanks between fonts, */
    assert_non_null(strstr(text, "exact"));                       /* the legend, */
    int markers = 0; /* in the first colour, #0072B2 = (0, 114, 178) */
    for (const char *at = text; (at = strstr(at, "<use xlink:href='#gpPt6'")); at++) {
        const char *color = strstr(at, "114, 178");
        markers += color && color < strchr(at, '>');
    }
    assert_int_equal(markers, 4); /* three points, one without a bound, and the legend's */
    assert_true(read_text(f, "it's.pdf", text, sizeof text) > 1000);
    assert_memory_equal(text, "%PDF-1.", 7);
    n = read_text(f, "it's.png", text, sizeof text);
    assert_true(n > 5000);
    static const unsigned char head[] = {0x89, 'P', 'N',  'G',  0x0d, 0x0a, 0x1a, 0x0a,
                                         0,    0,   0,    13,   'I',  'H',  'D',  'R',
                                         0,    0,   0x08, 0xc0, 0,    0,    3,    0x48};
    assert_memory_equal(text, head, sizeof head); /* 2240 x 840: twice 2 * 560 x 420 */
    assert_ok(f->context, write_figure(f, HB_PLOT_PNG));
    assert_int_equal(read_text(f, "it's.png", again, sizeof again), n);
    assert_memory_equal(text, again, n);
}

static void without_gnuplot_the_numbers_stay(void **state)
{
    fixture *f = *state;
    draw(f);
    char *path = strdup(getenv("PATH"));
    setenv("PATH", "/nonexistent", 1);
    hb_status status = write_figure(f, HB_PLOT_SVG | HB_PLOT_PNG);
    setenv("PATH", path, 1);
    free(path);
    assert_int_equal(status, HB_ERROR_UNAVAILABLE);
    assert_non_null(strstr(hb_context_message(f->context), "gnuplot"));
    static char text[8192];
    assert_true(read_text(f, "it's.csv", text, sizeof text) > 100);
    assert_true(read_text(f, "it's.gp", text, sizeof text) > 100);
    assert_int_equal(count_files(f, 0), 2);
}

/* A gnuplot that complains and fails: its own words come back, and no picture is left. */
static void a_failing_gnuplot_is_quoted(void **state)
{
    fixture *f = *state;
    draw(f);
    char script[128], *path = strdup(getenv("PATH"));
    snprintf(script, sizeof script, "%s/gnuplot", f->directory);
    FILE *file = fopen(script, "w");
    fputs("#!/bin/sh\necho half a picture\necho line 7: no such thing 2385 >&2\nexit 3\n", file);
    fchmod(fileno(file), 0755);
    fclose(file);
    setenv("PATH", f->directory, 1);
    hb_status status = write_figure(f, HB_PLOT_SVG);
    setenv("PATH", path, 1);
    free(path);
    assert_int_equal(status, HB_ERROR_FILE);
    assert_non_null(strstr(hb_context_message(f->context), "line 7: no such thing 2385"));
    assert_int_equal(count_files(f, 0), 3); /* .csv, .gp and the false gnuplot */
}

static void wrong_arguments_are_refused(void **state)
{
    fixture *f = *state;
    hb_context *c = f->context;
    hb_figure *figure;
    const double x[] = {4, 8}, *none = NULL;
    hb_panel panel;
    hb_panel_default(&panel);
    const hb_status bad = HB_ERROR_ARGUMENT;
    assert_fails(c, hb_figure_create(c, 0, 2, 0, 0, &figure), bad, "0 x 2 panels");
    assert_null(figure);
    assert_fails(c, hb_figure_create(c, 1, 2, -3, 0, &figure), bad, "-3 x 0 pixels");
    assert_fails(c, hb_figure_write(f->figure, "/tmp/x", 1), bad, "no panel");
    assert_fails(c, hb_figure_series(f->figure, "a", HB_STYLE_LINE, 0, 2, x, x, none, none), bad,
                 "needs a panel");
    panel.key = "top; !rm";
    assert_fails(c, hb_figure_panel(f->figure, &panel), bad, "key");
    panel.key = NULL;
    panel.log_x = 3;
    assert_fails(c, hb_figure_panel(f->figure, &panel), bad, "log_x is 3");
    panel.log_x = 0;
    panel.title = "two\nlines";
    assert_fails(c, hb_figure_panel(f->figure, &panel), bad, "line break");
    panel.title = NULL;
    assert_ok(c, hb_figure_panel(f->figure, &panel));
    assert_fails(c, hb_figure_panel(f->figure, &panel), bad, "only 1 x 2 panels");
    assert_fails(c, hb_figure_series(f->figure, "a", (hb_style)9, 0, 2, x, x, none, none), bad,
                 "style is 9");
    assert_fails(c, hb_figure_series(f->figure, "a", HB_STYLE_LINE, 0, 2, x, none, none, none), bad,
                 "needs y");
    assert_fails(c, hb_figure_series(f->figure, "a", HB_STYLE_BAND, 0, 2, x, x, none, none), bad,
                 "a band needs low and high");
    assert_fails(c, hb_figure_series(f->figure, "a", HB_STYLE_LINE, -1, 2, x, x, none, none), bad,
                 "color is -1");
    assert_fails(c, hb_figure_series(f->figure, "a", HB_STYLE_LINE, 0, 0, x, x, none, none), bad,
                 "at least one point");
    assert_fails(c, hb_figure_write(f->figure, "/tmp/x", 8), bad, "formats is 8");
    assert_fails(c, hb_figure_write(f->figure, "", 1), HB_ERROR_PATH, "empty");
    assert_fails(c, hb_figure_write(f->figure, "/nonexistent/x", 1), HB_ERROR_PATH, "/nonexistent");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(numbers_reach_the_csv),
        TEST(pictures_are_pictures),
        TEST(without_gnuplot_the_numbers_stay),
        TEST(a_failing_gnuplot_is_quoted),
        TEST(wrong_arguments_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
