/* heatball data list, fetch and show of image sets.
 *
 *     list      name, whether the files are here, and where they are or belong
 *     fetch     the four files by npm, checked; fetch.c has the steps
 *     show      number, size, mean and standard deviation of the pixels, images of each class;
 *               --plot: a grid with a class in each row, or the first images without labels
 * The training images of MNIST have mean 0.1307 and deviation 0.3081. */
#include "command_data.h"
#include "points.h"
#include "rows.h"

#include <heatball/data.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { GRID_ROWS = 10, GRID_COLUMNS = 16, MOST_CLASSES = 26 };

const char *const hb_data_part_names[] = {"train", "test", NULL};
const char *const hb_data_resample_names[] = {"area", "bilinear", NULL};
const char *const hb_data_binarize_names[] = {"none", "threshold", "stochastic", NULL};
const char *const hb_data_range_names[] = {"unit", "symmetric", NULL};
const char *const hb_data_dtype_names[] = {"f64", "f32", NULL};

static int images_is_named(const char *name)
{
    return hb_images_describe(name) != NULL;
}

int hb_data_images_is(const char *name)
{
    struct stat info;
    for (const char *const *planar = hb_data_names(); *planar; planar++)
        if (!strcmp(*planar, name)) return 0;
    return images_is_named(name) || strchr(name, '/') || stat(name, &info) == 0;
}

/* ---- list and fetch ---- */

hb_status hb_data_images_list(hb_session *session, json_t *list)
{
    if (!list) printf("\n%-16s  %-4s  %s\n", "images", "here", "what it is, and where");
    for (const char *const *name = hb_images_names(); *name; name++) {
        char directory[HB_FETCH_PATH];
        int present;
        const char *what = hb_images_describe(*name);
        HB_TRY(hb_images_directory(hb_session_context(session), *name, sizeof directory, directory,
                                   &present));
        if (list)
            json_array_append_new(list,
                                  json_pack("{s:s, s:b, s:s, s:s}", "name", *name, "here", present,
                                            "directory", directory, "description", what));
        else
            printf("%-16s  %-4s  %s; %s\n", *name, present ? "yes" : "no", what, directory);
    }
    return HB_OK;
}

static hb_status images_print_fetched(hb_session *session, const hb_data_values *v,
                                      const char *directory, int fetched)
{
    hb_session_clear(session);
    if (v->json)
        return hb_rows_print_json(json_pack("{s:s, s:b, s:s}", "name", v->name, "fetched", fetched,
                                            "directory", directory),
                                  stdout);
    if (!hb_session_quiet(session))
        printf(fetched ? "%s: fetched into %s; all SHA-256 sums are right\n"
                       : "%s: already in %s\n",
               v->name, directory);
    return HB_OK;
}

hb_status hb_data_images_fetch(hb_session *session, const hb_data_values *v)
{
    char directory[HB_FETCH_PATH];
    int fetched;
    const hb_status status = hb_fetch_images(session, v->name, directory, &fetched);
    if (status == HB_OK) return images_print_fetched(session, v, directory, fetched);
    /* A wrong name is wrong input; all else, a missing npm too, is a run that failed. */
    const int kept = status == HB_ERROR_ARGUMENT || status == HB_ERROR_INTERRUPTED;
    return kept ? status : HB_ERROR_FILE;
}

/* ---- loading ---- */

static hb_status images_check_part(hb_session *session, const hb_data_values *v)
{
    struct stat info;
    HB_REFUSE_IF(session, v->tau != 0 || v->process != 0,
                 "--tau and --process are for planar sets; %.200s is a set of images", v->name);
    HB_REFUSE_IF(session,
                 v->part && !images_is_named(v->name) && stat(v->name, &info) == 0 &&
                     !S_ISDIR(info.st_mode),
                 "--part is for a set or a directory of images; %.200s is one file", v->name);
    return HB_OK;
}

hb_status hb_data_images_load(hb_session *session, const hb_data_values *v, hb_images *out)
{
    hb_images_settings settings;
    hb_images_settings_default(sizeof settings, &settings);
    settings.limit = (size_t)v->n;
    settings.resize = v->resize;
    settings.resample = v->resample;
    settings.binarize = v->binarize;
    settings.seed = v->seed;
    if (v->range) settings.low = -1;
    HB_TRY(images_check_part(session, v));
    return hb_images_load(hb_session_context(session), &settings,
                          v->part ? HB_PART_TEST : HB_PART_TRAIN, v->name, sizeof *out, out);
}

/* ---- show ---- */

typedef struct pixel_facts {
    double mean, deviation;
    size_t counts[256]; /* of each label */
} pixel_facts;

static void images_find_facts(const hb_images *images, pixel_facts *facts)
{
    const size_t n = images->count * (size_t)images->height * (size_t)images->width;
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++) sum += images->pixels[i];
    facts->mean = sum / (double)n;
    for (size_t i = 0; i < n; i++) {
        const double away = images->pixels[i] - facts->mean;
        squares += away * away;
    }
    facts->deviation = sqrt(squares / (double)n);
    memset(facts->counts, 0, sizeof facts->counts);
    for (size_t i = 0; images->labels && i < images->count; i++) facts->counts[images->labels[i]]++;
}

/* The images of the grid: a class in each row when each has enough, else the first ones. */
static void images_choose(const hb_images *images, const pixel_facts *facts, int *rows,
                          int *columns, size_t *chosen)
{
    size_t least = images->count;
    for (int k = 0; k < images->classes; k++)
        least = facts->counts[k] < least ? facts->counts[k] : least;
    const int by_class = images->classes > 0 && images->classes <= MOST_CLASSES && least > 0;
    const size_t most = by_class ? least : images->count;
    const size_t wide = most > 0 && most < GRID_COLUMNS ? most : GRID_COLUMNS;
    const size_t full = images->count / wide;
    *columns = (int)wide;
    *rows = by_class ? images->classes : full < GRID_ROWS ? (int)full : GRID_ROWS;
    size_t placed[MOST_CLASSES] = {0};
    for (size_t i = 0; !by_class && i < (size_t)*rows * wide; i++) chosen[i] = i;
    for (size_t i = 0; by_class && i < images->count; i++) {
        const size_t label = (size_t)images->labels[i];
        if (placed[label] < wide) chosen[label * wide + placed[label]++] = i;
    }
}

static hb_status images_plot_grid(hb_session *session, const hb_data_values *v,
                                  const hb_images *images, const pixel_facts *facts)
{
    const size_t size = (size_t)images->height * (size_t)images->width;
    const double range = images->high - images->low;
    size_t chosen[MOST_CLASSES * GRID_COLUMNS] = {0};
    int rows, columns;
    images_choose(images, facts, &rows, &columns, chosen);
    const size_t n = (size_t)rows * (size_t)columns;
    double *pixels = malloc(n * size * sizeof *pixels); // (n, size)
    if (!pixels) return HB_ERROR_MEMORY;
    for (size_t i = 0; i < n * size; i++)
        pixels[i] = (images->pixels[chosen[i / size] * size + i % size] - images->low) / range;
    const hb_status status = hb_images_grid_write(hb_session_context(session), rows, columns,
                                                  images->height, images->width, v->plot, pixels);
    free(pixels);
    return status;
}

static hb_status images_show_json(const hb_data_values *v, const hb_images *images,
                                  const pixel_facts *facts)
{
    json_t *counts = json_array();
    for (int k = 0; k < images->classes; k++)
        json_array_append_new(counts, json_integer((json_int_t)facts->counts[k]));
    json_t *object =
        json_pack("{s:s, s:s, s:I, s:i, s:i, s:i, s:f, s:f, s:o}", "name", v->name, "part",
                  hb_data_part_names[v->part], "images", (json_int_t)images->count, "height",
                  images->height, "width", images->width, "classes", images->classes, "mean",
                  facts->mean, "deviation", facts->deviation, "counts", counts);
    if (object && v->plot) json_object_set_new(object, "plot", json_string(v->plot));
    return hb_rows_print_json(object, stdout);
}

static hb_status images_print_facts(hb_session *session, const hb_data_values *v,
                                    const hb_images *images, const pixel_facts *facts)
{
    hb_session_clear(session);
    if (v->json) return images_show_json(v, images, facts);
    printf("%s%s%s: %zu images of %d by %d pixels\n", v->name, images_is_named(v->name) ? ", " : "",
           images_is_named(v->name) ? hb_data_part_names[v->part] : "", images->count,
           images->height, images->width);
    printf("pixels from %g to %g: mean %.6g, standard deviation %.6g\n", images->low, images->high,
           facts->mean, facts->deviation);
    if (images->classes == 0) printf("no labels\n");
    for (int k = 0; k < images->classes; k++)
        if (facts->counts[k] > 0) printf("label %d: %zu images\n", k, facts->counts[k]);
    if (v->plot && !hb_session_quiet(session)) printf("%s: a grid of images\n", v->plot);
    return HB_OK;
}

hb_status hb_data_images_show(hb_session *session, const hb_data_values *v)
{
    hb_images images = {0};
    pixel_facts facts;
    HB_REFUSE_IF(session, v->plot && !hb_points_has_extension(v->plot, ".png"),
                 "--plot is %.200s; for images the name must end in .png", v->plot);
    hb_status status = hb_data_images_load(session, v, &images);
    if (status != HB_OK) return status;
    images_find_facts(&images, &facts);
    if (v->plot) status = images_plot_grid(session, v, &images, &facts);
    if (status == HB_OK) status = images_print_facts(session, v, &images, &facts);
    hb_images_destroy(hb_session_context(session), &images);
    return status;
}
