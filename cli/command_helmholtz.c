/* heatball helmholtz: the curl-free and the divergence-free part of a planar field.
 *
 *     f - mean = f_1 + f_2,  f_1 = (d chi/dy, -d chi/dx) the rotation,  f_2 = grad phi the gradient
 * on a box, by hb_judge_helmholtz (docs/reference/metrics.md). A score is a gradient; what a network has of
 * the rotation is its error. Masses are fractions of the sum of squares over the box: (-y, x) on a
 * square has the rotation mass 0.843465, because no gradient can flow round a corner. */
#include "command_helmholtz.h"
#include "commands.h"
#include "report.h"

#include <errno.h>
#include <heatball/file.h>
#include <heatball/train.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define VALUES hb_helmholtz_values
static const hb_option helmholtz_options[] = {
    HB_OPTION(TEXT, NULL, "MODEL|FIELD.npy", source,
              "a model file, or an array [ny][nx][2] of the field's values",
              .rules = HB_OPTION_REQUIRED | HB_OPTION_POSITIONAL),
    HB_OPTION(REAL, "tau", "T", tau, "the model's score at this tau; required with a model",
              .max = 1e6, .rules = HB_OPTION_ABOVE),
    HB_OPTION(TEXT, "box", "BOX", box,
              "low and high of the axes, as \"-4 4\" or \"-4 4, -2 2\"; default: of a model the "
              "box that holds samples at this tau, of an array the corner 0 and --spacing"),
    HB_OPTION(INTEGER, "points", "N", points,
              "points per side of the lattice of a model; default: 129", .min = 8, .max = 4096),
    HB_OPTION(REALS, "spacing", "H", spacing,
              "spacing of an array, one number or HX,HY; default: 1", .max = INFINITY,
              .rules = HB_OPTION_ABOVE),
    HB_OPTION(INTEGER, "label", "L", label, "the class, of a model that has classes; -1: none",
              .min = -1, .max = 1000000, .fallback = "-1"),
    HB_OPTION_JSON,
    HB_OPTION(TEXT, NULL, "DIR", directory,
              "the directory of the results, made when it is not there", .letter = 'o',
              .rules = HB_OPTION_REQUIRED),
    {0}};

/* ---- files ---- */

static hb_status helmholtz_make_directory(hb_session *session, const char *path)
{
    struct stat existing;
    if (mkdir(path, 0777) == 0) return HB_OK;
    const int error = errno;
    if (error == EEXIST && stat(path, &existing) == 0 && S_ISDIR(existing.st_mode)) return HB_OK;
    return hb_session_fail(session, HB_ERROR_PATH, "-o is %.200s: cannot make the directory: %s",
                           path, strerror(error == EEXIST ? ENOTDIR : error));
}

static hb_status helmholtz_write_array(hb_context *context, const char *path, const hb_lattice *l,
                                       const double *values)
{
    hb_writer *writer;
    const uint64_t shape[] = {(uint64_t)l->ny, (uint64_t)l->nx, 2};
    HB_TRY(hb_writer_create(context, path, &writer));
    hb_status status = hb_writer_npy_begin(writer, HB_DTYPE_F64, 3, shape);
    if (status == HB_OK)
        status = hb_writer_write(writer, shape[0] * shape[1] * 2 * sizeof *values, values);
    return hb_writer_close(writer, status);
}

static hb_status helmholtz_write_report(hb_context *context, const char *path,
                                        const hb_report *report)
{
    hb_writer *writer;
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    if (!stream) return HB_ERROR_MEMORY;
    hb_status status = hb_report_print(report, 1, stream);
    if (fclose(stream) != 0 && status == HB_OK) status = HB_ERROR_MEMORY;
    if (status == HB_OK) status = hb_writer_create(context, path, &writer);
    if (status == HB_OK) status = hb_writer_close(writer, hb_writer_write(writer, size, text));
    free(text);
    return status;
}

static hb_status helmholtz_write_files(hb_context *context, const char *directory,
                                       const hb_helmholtz_field *f, const hb_report *report)
{
    const struct {
        const char *name;
        const double *values;
    } files[] = {{"field.npy", f->field},
                 {"gradient.npy", f->gradient},
                 {"rotation.npy", f->rotation},
                 {"helmholtz.json", NULL}};
    hb_status status = HB_OK;
    for (size_t k = 0; k < sizeof files / sizeof *files && status == HB_OK; k++) {
        char *path;
        if (asprintf(&path, "%s/%s", directory, files[k].name) < 0) return HB_ERROR_MEMORY;
        status = files[k].values
                     ? helmholtz_write_array(context, path, &f->lattice, files[k].values)
                     : helmholtz_write_report(context, path, report);
        free(path);
    }
    return status;
}

/* ---- what is said ---- */

static hb_report *helmholtz_report(const hb_helmholtz_values *v, const hb_helmholtz_field *f)
{
    hb_report *report = hb_report_create();
    hb_report_text(report, "source", v->source, "");
    if (f->has_model) {
        hb_report_text(report, "head", HB_OPTION_NAME(hb_train, f, head), "of the model");
        hb_report_real(report, "tau", v->tau, "");
    }
    if (v->label >= 0) hb_report_integer(report, "label", v->label, "");
    hb_report_integer(report, "nx", f->lattice.nx, "points along x_1");
    hb_report_integer(report, "ny", f->lattice.ny, "points along x_2");
    hb_report_real(report, "x_low", f->lattice.x0, "the box");
    hb_report_real(report, "x_high", f->lattice.x1, "");
    hb_report_real(report, "y_low", f->lattice.y0, "");
    hb_report_real(report, "y_high", f->lattice.y1, "");
    hb_report_real(report, "mean_1", f->mean[0], "of the field; the parts add up to field - mean");
    hb_report_real(report, "mean_2", f->mean[1], "");
    hb_report_real(report, "rms", f->rms, "root mean square length of field - mean");
    hb_report_real(report, "rotation_rms", f->rotation_rms, "of the part without divergence");
    hb_report_real(report, "gradient_rms", f->gradient_rms, "of the part without curl");
    hb_report_real(report, "rotation_mass", f->rotation_mass, "fraction of the squares");
    hb_report_real(report, "gradient_mass", f->gradient_mass, "fraction of the squares");
    return report;
}

static hb_status helmholtz_show(hb_session *session, const hb_helmholtz_values *v,
                                const hb_report *report)
{
    hb_session_clear(session);
    if (v->json) return hb_report_print(report, 1, stdout);
    if (hb_session_quiet(session)) return HB_OK;
    const hb_status status = hb_report_print(report, 0, stdout);
    if (status == HB_OK)
        printf("%s: field.npy, gradient.npy, rotation.npy, helmholtz.json, helmholtz.svg, "
               "helmholtz.png\n",
               v->directory);
    return status;
}

/* Without gnuplot the numbers are there and shown, and the run ends with the figure's refusal. */
static hb_status helmholtz_write_all(hb_session *session, const hb_helmholtz_values *v,
                                     const hb_helmholtz_field *field, const hb_report *report)
{
    hb_status status =
        helmholtz_write_files(hb_session_context(session), v->directory, field, report);
    char *stem;
    if (asprintf(&stem, "%s/helmholtz", v->directory) < 0) return HB_ERROR_MEMORY;
    if (status == HB_OK) status = hb_helmholtz_figure_write(session, field, v->tau, stem);
    free(stem);
    if (status != HB_OK && status != HB_ERROR_UNAVAILABLE) return status;
    const hb_status shown = helmholtz_show(session, v, report);
    return shown == HB_OK ? status : shown;
}

/* Every file that the run will write, so that the source is none of them. */
static hb_status helmholtz_declare_files(hb_session *session, const char *directory)
{
    static const char *const files[] = {"field.npy",      "gradient.npy",  "rotation.npy",
                                        "helmholtz.json", "helmholtz.svg", NULL};
    static const char *const figures[] = {"helmholtz.png", NULL};
    HB_TRY(hb_session_writes_in(session, directory, files, 0));
    return hb_session_writes_in(session, directory, figures, 1);
}

static hb_status run_helmholtz(hb_session *session, const void *values)
{
    const hb_helmholtz_values *v = values;
    hb_helmholtz_field field = {0};
    HB_TRY(helmholtz_declare_files(session, v->directory));
    hb_status status = hb_helmholtz_field_create(session, v, &field);
    if (status == HB_OK) status = helmholtz_make_directory(session, v->directory);
    if (status == HB_OK) {
        hb_report *report = helmholtz_report(v, &field);
        status = helmholtz_write_all(session, v, &field, report);
        hb_report_destroy(report);
    }
    hb_helmholtz_field_destroy(&field);
    return status;
}

const hb_command hb_command_helmholtz = {
    .name = "helmholtz",
    .summary = "split a two-dimensional score into its gradient and its rotation",
    .text = "Takes the score of a model in two dimensions at one tau on a lattice, or an array of "
            "a field's values, and splits it on the box: field - mean = rotation + gradient. The "
            "gradient is the nearest one in the mean square, the rotation has no divergence and no "
            "flow through the boundary. Prints the masses (fractions of the squares) and writes "
            "field.npy, gradient.npy and rotation.npy of shape (ny, nx, 2), helmholtz.json and a "
            "figure into a directory.",
    .examples =
        {"heatball helmholtz model.safetensors --tau 0.5 -o parts",
         "heatball helmholtz model.safetensors --tau 0.1 --box \"-3 3\" --points 65 -o centre",
         "heatball helmholtz parts/field.npy --spacing 0.05 -o again"},
    .options = helmholtz_options,
    .size = sizeof(hb_helmholtz_values),
    .run = run_helmholtz,
    .alone = 1};
