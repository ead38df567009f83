/* The plot room: the numbers reach the .plot.csv unchanged, the pictures are pictures, and without
 * gnuplot the .plot.csv and .gp stay. Oracles: values typed in here; the magic bytes of PNG, SVG, PDF;
 * circles as contours of x^2 + y^2 and as lines along (-y, x).
 */
#include "plot/figure.h"
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
    hb_status status = hb_context_create(NULL, &f->context);
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

static void draw_second_panel(fixture *f)
{
    const double x[] = {4, 8, 16}, y[] = {2.385, 0.1, 70}, low[] = {1.5, 0.05, 60};
    hb_panel_settings panel;
    hb_panel_settings_default(sizeof panel, &panel);
    panel.y_max = 100.5;
    assert_ok(f->context, hb_figure_panel(f->figure, &panel));
    assert_ok(f->context, hb_figure_series(f->figure, HB_STYLE_BAND, 9, 3, NULL, x, NULL, low, y));
    assert_ok(f->context, hb_figure_series(f->figure, HB_STYLE_HISTOGRAM, 2, 3, "h", x, y, 0, 0));
    assert_ok(f->context, hb_figure_series(f->figure, HB_STYLE_DASHED, 3, 3, "l", x, y, 0, 0));
}

/* Every style of a line once, in two panels. */
static void draw(fixture *f)
{
    hb_panel_settings panel;
    hb_panel_settings_default(sizeof panel, &panel);
    panel.title = "it's a_1^{2}";
    panel.x_label = "a {/:Italic d} b";
    panel.log_x = 2;
    panel.log_y = 10;
    panel.key = "top left";
    const double x[] = {4, 8, 16}, y[] = {2.385, 0.1, 70}, low[] = {1.5, 0.05, 60};
    const double high[] = {3, NAN, 80};
    assert_ok(f->context, hb_figure_panel(f->figure, &panel));
    assert_ok(f->context, hb_figure_series(f->figure, HB_STYLE_POINTS, 0, 3, "measured, \"M\"", x,
                                           y, low, high));
    assert_ok(f->context, hb_figure_series(f->figure, HB_STYLE_LINE, 1, 3, "exact", x, y, 0, 0));
    draw_second_panel(f);
}

static hb_status write_figure(fixture *f, int formats)
{
    char stem[128];
    snprintf(stem, sizeof stem, "%s/it's", f->directory);
    return hb_figure_write(f->figure, formats, stem);
}

static void numbers_reach_the_csv(void **state)
{
    fixture *f = *state;
    static char text[8192];
    draw(f);
    assert_ok(f->context, write_figure(f, 0));
    read_text(f, "it's.plot.csv", text, sizeof text);
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
    assert_non_null(strstr(text, "data = './it''s.plot.csv'"));
    assert_non_null(strstr(text, "set title 'it''s a_1^{2}'"));
    assert_non_null(strstr(text, "set xlabel 'a {/:Italic d} b'"));
    assert_non_null(strstr(text, "set logscale x 2"));
    assert_non_null(strstr(text, "set xtics 4,2\n"));
    assert_non_null(strstr(text, "set ytics 0.01,10\n"));
    assert_non_null(strstr(text, "10^{%T}"));
    assert_non_null(strstr(text, "set yrange [*:100.5]"));
    assert_int_equal(count_files(f, 0), 2);
}

static void pictures_are_pictures(void **state)
{
    fixture *f = *state;
    if (!has_gnuplot()) skip();
    static char text[1 << 20], again[1 << 20];
    draw(f);
    assert_ok(f->context, write_figure(f, HB_FORMAT_SVG | HB_FORMAT_PNG | HB_FORMAT_PDF));
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
                                         0,    0,   0x07, 0xd0, 0,    0,    2,    0xee};
    assert_memory_equal(text, head, sizeof head); /* 2000 x 750, of 2 * 560 x 420 units */
    assert_ok(f->context, write_figure(f, HB_FORMAT_PNG));
    assert_int_equal(read_text(f, "it's.png", again, sizeof again), n);
    assert_memory_equal(text, again, n);
}

static void without_gnuplot_the_numbers_stay(void **state)
{
    fixture *f = *state;
    draw(f);
    char *path = strdup(getenv("PATH"));
    setenv("PATH", "/nonexistent", 1);
    hb_status status = write_figure(f, HB_FORMAT_SVG | HB_FORMAT_PNG);
    setenv("PATH", path, 1);
    free(path);
    assert_int_equal(status, HB_ERROR_UNAVAILABLE);
    assert_non_null(strstr(hb_context_message(f->context), "gnuplot"));
    static char text[8192];
    assert_true(read_text(f, "it's.plot.csv", text, sizeof text) > 100);
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
    hb_status status = write_figure(f, HB_FORMAT_SVG);
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
    hb_panel_settings panel;
    hb_panel_settings_default(sizeof panel, &panel);
    const hb_status bad = HB_ERROR_ARGUMENT;
    assert_fails(c, hb_figure_create(c, 0, 2, 0, 0, &figure), bad, "0 x 2 panels");
    assert_null(figure);
    assert_fails(c, hb_figure_create(c, 1, 2, 0, -3, &figure), bad, "-3 x 0 pixels");
    assert_fails(c, hb_figure_write(f->figure, 1, "/tmp/x"), bad, "no panel");
    assert_fails(c, hb_figure_series(f->figure, HB_STYLE_LINE, 0, 2, "a", x, x, none, none), bad,
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
    assert_fails(c, hb_figure_series(f->figure, (hb_style)9, 0, 2, "a", x, x, none, none), bad,
                 "style is 9");
    assert_fails(c, hb_figure_series(f->figure, HB_STYLE_LINE, 0, 2, "a", x, none, none, none), bad,
                 "needs y");
    assert_fails(c, hb_figure_series(f->figure, HB_STYLE_BAND, 0, 2, "a", x, x, none, none), bad,
                 "a band needs low and high");
    assert_fails(c, hb_figure_series(f->figure, HB_STYLE_LINE, -1, 2, "a", x, x, none, none), bad,
                 "color is -1");
    assert_fails(c, hb_figure_series(f->figure, HB_STYLE_LINE, 0, 0, "a", x, x, none, none), bad,
                 "at least one point");
    assert_fails(c, hb_figure_write(f->figure, 8, "/tmp/x"), bad, "formats is 8");
    assert_fails(c, hb_figure_write(f->figure, 1, ""), HB_ERROR_PATH, "empty");
    assert_fails(c, hb_figure_write(f->figure, 1, "/nonexistent/x"), HB_ERROR_PATH, "/nonexistent");
}

/* ---- functions of the plane ---- */

enum { NX = 61, NY = 81 };

/* x^2 + y^2, -y and x on [-1.5, 1.5] x [-2, 2]. */
static const hb_lattice plane = {NX, NY, -1.5, 1.5, -2, 2};
static double square[NX * NY], minus_y[NX * NY], plus_x[NX * NY];

static void fill_plane(void)
{
    for (int k = 0; k < NX * NY; k++) {
        const double x = -1.5 + 3.0 * (k % NX) / (NX - 1), y = -2 + 4.0 * (k / NX) / (NY - 1);
        square[k] = x * x + y * y;
        minus_y[k] = -y;
        plus_x[k] = x;
    }
}

static hb_series *start_plane(fixture *f)
{
    hb_panel_settings panel;
    hb_panel_settings_default(sizeof panel, &panel);
    fill_plane();
    assert_ok(f->context, hb_figure_panel(f->figure, &panel));
    assert_ok(f->context, hb_figure_image(f->figure, &plane, "u", square));
    return f->figure->cells[f->figure->n_panels - 1].first;
}

static void images_hold_every_value(void **state)
{
    const hb_series *image = start_plane(*state);
    assert_int_equal(image->style, HB_STYLE_IMAGE);
    assert_int_equal(image->n, NX * NY);
    for (size_t k = 0; k < image->n; k++) {
        const double x = image->x[k], y = image->y[k];
        assert_true(fabs(image->low[k] - x * x - y * y) < 1e-13);
    }
    assert_true(image->x[NX - 1] == 1.5 && image->y[NX - 1] == -2 && image->y[NX * NY - 1] == 2);
}

static void contours_are_where_the_level_is(void **state)
{
    fixture *f = *state;
    const hb_series *image = start_plane(f);
    const double levels[] = {1.21};
    assert_ok(f->context, hb_figure_contours(f->figure, 0, 1, &plane, NULL, square, levels));
    const hb_series *line = image->next;
    double length = 0;
    for (size_t k = 0; k < line->n; k += 3) {
        for (size_t i = k; i < k + 2; i++) /* linear between points h = 0.05 apart */
            assert_true(fabs(hypot(line->x[i], line->y[i]) - 1.1) < 0.05 * 0.05 / 8 / 1.1 + 1e-12);
        assert_true(isnan(line->x[k + 2]));
        length += hypot(line->x[k + 1] - line->x[k], line->y[k + 1] - line->y[k]);
    }
    assert_true(fabs(length - 2 * M_PI * 1.1) < 0.005); /* the whole circle, once */
    const double none[] = {77};
    assert_ok(f->context, hb_figure_contours(f->figure, 0, 1, &plane, NULL, square, none));
    assert_null(line->next);
}

/* Along (-y, x) every line keeps its distance from the middle, and turns to the left. */
static void streamlines_follow_the_field(void **state)
{
    fixture *f = *state;
    const hb_series *image = start_plane(f);
    assert_ok(f->context, hb_figure_streamlines(f->figure, 1, &plane, "s", minus_y, plus_x));
    const hb_series *line = image->next, *heads = line->next;
    double radius = NAN;
    int lines = 0;
    for (size_t k = 0; k < line->n; k++) {
        const double r = hypot(line->x[k], line->y[k]);
        if (isnan(r))
            lines++;
        else if (!isnan(radius))
            assert_true(fabs(r - radius) < 1e-5);
        radius = r;
    }
    assert_true(lines >= 15 && (size_t)lines == heads->n);
    for (size_t k = 0; k < heads->n; k++) {
        const double along =
            -heads->y[k] * heads->low[k] + heads->x[k] * heads->high[k]; /* (dx, dy).(-y, x) */
        const double sizes = hypot(heads->x[k], heads->y[k]) * hypot(heads->low[k], heads->high[k]);
        assert_true(along > 0.99 * sizes);
    }
}

static void planes_become_pictures(void **state)
{
    fixture *f = *state;
    static char text[1 << 21];
    start_plane(f);
    const double levels[] = {0.3, 1.21};
    assert_ok(f->context, hb_figure_contours(f->figure, 0, 2, &plane, NULL, square, levels));
    assert_ok(f->context, hb_figure_streamlines(f->figure, 1, &plane, "s", minus_y, plus_x));
    draw_second_panel(f);
    if (!has_gnuplot()) skip();
    assert_ok(f->context, write_figure(f, HB_FORMAT_SVG | HB_FORMAT_PNG | HB_FORMAT_PDF));
    read_text(f, "it's.gp", text, sizeof text);
    assert_non_null(strstr(text, "every ::0::4940 using 4:5:6 with image")); /* 61 x 81 rows */
    read_text(f, "it's.svg", text, sizeof text);
    assert_non_null(strstr(text, "data:image/png;base64"));
}

static void wrong_planes_are_refused(void **state)
{
    fixture *f = *state;
    hb_context *c = f->context;
    const hb_status bad = HB_ERROR_ARGUMENT;
    start_plane(f);
    hb_lattice wrong = plane;
    assert_fails(c, hb_figure_image(f->figure, &plane, "u", square), bad, "first series");
    wrong.nx = 1;
    assert_fails(c, hb_figure_streamlines(f->figure, 0, &wrong, "u", square, square), bad,
                 "1 x 81 points");
    wrong = plane;
    wrong.y1 = -2;
    assert_fails(c, hb_figure_contours(f->figure, 0, 1, &wrong, "u", square, square), bad,
                 "increasing");
    assert_fails(
        c, hb_figure_series(f->figure, HB_STYLE_IMAGE, 0, 2, "a", square, square, square, square),
        bad, "hb_figure_image");
    assert_fails(c, hb_figure_series(f->figure, HB_STYLE_ARROWS, 0, 2, "a", square, square, 0, 0),
                 bad, "low and high");
}

static void axes_carry_names_and_few_decades(void **state)
{
    fixture *f = *state;
    char text[8192], stem[128];
    hb_panel_settings panel;
    hb_panel_settings_default(sizeof panel, &panel);
    panel.x_names = "core; it's the tail";
    panel.log_y = 10;
    const double x[] = {1, 2}, y[] = {2e-17, 2.385};
    assert_ok(f->context, hb_figure_panel(f->figure, &panel));
    assert_ok(f->context,
              hb_figure_series(f->figure, HB_STYLE_POINTS, 0, 2, "a", x, y, NULL, NULL));
    snprintf(stem, sizeof stem, "%s/names", f->directory);
    assert_ok(f->context, hb_figure_write(f->figure, 0, stem));
    assert_true(read_text(f, "names.gp", text, sizeof text) > 0);
    assert_non_null(strstr(text, "set xtics ('core' 1, 'it''s the tail' 2)\n"));
    /* 17 decades: every second one is written. */
    assert_non_null(strstr(text, ",100\nset mytics"));
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
        TEST(images_hold_every_value),
        TEST(contours_are_where_the_level_is),
        TEST(streamlines_follow_the_field),
        TEST(planes_become_pictures),
        TEST(wrong_planes_are_refused),
        TEST(axes_carry_names_and_few_decades),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
