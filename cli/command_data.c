/* heatball data: the sets to learn from, listed, fetched, shown and written into files.
 *
 *     list           every set in one line, and whether the files of the image sets are here
 *     fetch NAME     the files of an image set, into the cache directory
 *     show NAME      what is in a set; --plot: a picture
 *     export NAME    rows of numbers in a .npy or .csv file
 * NAME is a planar set (data_planar.c), a set of images, or a path to images (data_images.c). */
#include "command_data.h"
#include "commands.h"
#include "plot_path.h"
#include "rows.h"

enum { ACTION_LIST, ACTION_FETCH, ACTION_SHOW, ACTION_EXPORT };

static const char *const action_names[] = {"list", "fetch", "show", "export", NULL};

#define VALUES hb_data_values
static const hb_option data_options[] = {
    HB_OPTION(CHOICE, NULL, "ACTION", action,
              "what to do: list the sets, fetch the files of one, show one, or export its rows",
              .choices = action_names, .rules = HB_OPTION_REQUIRED | HB_OPTION_POSITIONAL),
    HB_OPTION(TEXT, NULL, "NAME", name,
              "the name of a set, or a path to images: a file in the IDX format, plain or .gz, or "
              "a directory with the files of mnist",
              .rules = HB_OPTION_POSITIONAL),
    HB_OPTION(UNSIGNED, NULL, "N", n,
              "number of rows to export; of images the first N, by default all", .letter = 'n',
              .min = 1, .max = 1e15),
    HB_OPTION(CHOICE, "process", NULL, process,
              "of planar sets: the process that makes noise of the data, Ornstein-Uhlenbeck or "
              "variance-exploding",
              .choices = hb_data_process_names, .fallback = "ou"),
    HB_OPTION(REAL, "tau", "T", tau,
              "of planar sets: show or export the set after the process has run this long",
              .max = 1e6, .fallback = "0"),
    HB_OPTION(CHOICE, "part", NULL, part, "of image sets: the images to train on or those to test",
              .choices = hb_data_part_names, .fallback = "train"),
    HB_OPTION(INTEGER, "resize", "S", resize,
              "of image sets: make the images S by S pixels; default: as in the file", .min = 1,
              .max = 4096),
    HB_OPTION(CHOICE, "resample", NULL, resample,
              "how to resize: the exact average over each pixel, or bilinear interpolation",
              .choices = hb_data_resample_names, .fallback = "area"),
    HB_OPTION(CHOICE, "binarize", NULL, binarize,
              "of image sets: make pixels 0 or 1, where they are at least 1/2, or with their value "
              "as probability",
              .choices = hb_data_binarize_names, .fallback = "none"),
    HB_OPTION(CHOICE, "range", NULL, range, "of image sets: pixels from 0 to 1, or from -1 to 1",
              .choices = hb_data_range_names, .fallback = "unit"),
    HB_OPTION(CHOICE, "dtype", NULL, dtype,
              "of image sets: numbers in double or in single precision",
              .choices = hb_data_dtype_names, .fallback = "f64"),
    HB_OPTION_SEED(seed, "42"),
    HB_OPTION_JSON,
    HB_OPTION(TEXT, NULL, "FILE", path, "the file to export to, .npy or .csv by its name",
              .letter = 'o', .rules = HB_OPTION_WRITES),
    HB_OPTION(TEXT, "labels", "FILE", labels,
              "with export of images: the file for their labels, .npy or .csv by its name",
              .rules = HB_OPTION_WRITES),
    HB_OPTION(TEXT, "plot", "FILE", plot,
              "with show: density and draws of a planar set into this file, .svg, .png or .pdf by "
              "its name, or many images into a .png file",
              .rules = HB_OPTION_FIGURE),
    {0}};

/* ---- checks ---- */

static hb_status data_check(hb_session *session, const hb_data_values *v)
{
    HB_REFUSE_IF(session, v->action == ACTION_LIST && v->name, "list takes no NAME");
    HB_REFUSE_IF(session, v->action != ACTION_LIST && !v->name,
                 "NAME is missing; heatball data list prints the sets");
    HB_REFUSE_IF(session, v->action != ACTION_EXPORT && (v->n > 0 || v->path),
                 "-n and -o are for export");
    HB_REFUSE_IF(session, v->action != ACTION_EXPORT && v->labels, "--labels is for export");
    HB_REFUSE_IF(session, v->action != ACTION_SHOW && v->plot, "--plot is for show");
    if (v->path && hb_rows_check_path(session, v->path) != HB_OK) return HB_ERROR_ARGUMENT;
    return hb_plot_path_check(session, v->plot);
}

static hb_status data_check_planar(hb_session *session, const hb_data_values *v)
{
    HB_REFUSE_IF(session, v->action == ACTION_EXPORT && (v->n == 0 || !v->path),
                 "export needs -n N and -o FILE");
    HB_REFUSE_IF(session,
                 v->resize || v->resample || v->binarize || v->range || v->part || v->dtype ||
                     v->labels,
                 "--part, --resize, --resample, --binarize, --range, --dtype and --labels are for "
                 "image sets");
    return HB_OK;
}

/* ---- list ---- */

/* The planar sets: printed, or added to the list. */
static hb_status data_list_planar(hb_session *session, json_t *list)
{
    hb_context *context = hb_session_context(session);
    if (!list) printf("%-16s  %10s  %5s  %s\n", "name", "components", "parts", "what it is");
    for (const char *const *name = hb_data_names(); *name; name++) {
        hb_mixture *mixture;
        HB_TRY(hb_mixture_named(context, *name, &mixture));
        const size_t count = hb_mixture_count(mixture);
        const int parts = hb_mixture_modes(mixture, NULL);
        if (list)
            json_array_append_new(list, json_pack("{s:s, s:i, s:I, s:i, s:s}", "name", *name, "dim",
                                                  2, "components", (json_int_t)count, "parts",
                                                  parts, "description", hb_data_describe(*name)));
        else
            printf("%-16s  %10zu  %5d  %s\n", *name, count, parts, hb_data_describe(*name));
        hb_mixture_destroy(mixture);
    }
    return HB_OK;
}

static hb_status data_list(hb_session *session, const hb_data_values *v)
{
    json_t *sets = v->json ? json_array() : NULL, *images = v->json ? json_array() : NULL;
    hb_status status = data_list_planar(session, sets);
    if (status == HB_OK) status = hb_data_images_list(session, images);
    if (status == HB_OK && v->json)
        return hb_rows_print_json(json_pack("{s:o, s:o}", "sets", sets, "images", images), stdout);
    json_decref(sets);
    json_decref(images);
    return status;
}

/* ---- the command ---- */

static hb_status run_planar(hb_session *session, const hb_data_values *v)
{
    hb_mixture *mixture = NULL;
    HB_TRY(data_check_planar(session, v));
    hb_status status = hb_named_set_open(session, v->name, &mixture);
    const char *images = status == HB_OK ? NULL : hb_options_nearest(v->name, hb_images_names());
    if (images)
        return hb_session_fail(session, status, "there is no set called %.100s (did you mean %s?)",
                               v->name, images);
    if (status != HB_OK) return status;
    status = (v->action == ACTION_SHOW ? hb_data_planar_show : hb_data_planar_export)(session, v,
                                                                                      mixture);
    hb_mixture_destroy(mixture);
    return status;
}

static hb_status run_data(hb_session *session, const void *values)
{
    const hb_data_values *v = values;
    HB_TRY(data_check(session, v));
    if (v->action == ACTION_LIST) return data_list(session, v);
    if (v->action == ACTION_FETCH) return hb_data_images_fetch(session, v);
    if (!hb_data_images_is(v->name)) return run_planar(session, v);
    return (v->action == ACTION_SHOW ? hb_data_images_show : hb_data_images_export)(session, v);
}

const hb_command hb_command_data = {
    .name = "data",
    .summary = "list the data sets, fetch, show or export one",
    .text = "Lists the sets to learn from, fetches the files of one, shows what is in one, or "
            "exports its rows. Planar sets are Gaussian mixtures, so that their distribution under "
            "the Ornstein-Uhlenbeck and the variance-exploding process is exact at every tau; rows "
            "are independent draws x_1, x_2. Image sets are files in the IDX format; a row is an "
            "image from its top left corner, pixels 0 black to 1 white.",
    .examples = {"heatball data list", "heatball data show two_moon --plot moons.svg",
                 "heatball data export two_moon -n 2000 --seed 7 -o moons.npy"},
    .options = data_options,
    .size = sizeof(hb_data_values),
    .run = run_data,
    .alone = 1};
