/* The files of a certificate: the JSON first, whose name is the mark of a directory of ours, then
 * figures, and the page last, so that a page is there when all that it shows is. A file of one of
 * the names in a directory without the mark is somebody else's, and the directory is refused. Every
 * file appears whole or not at all (src/file). */
#include "base/context.h"
#include "certify/certificate_files.h"

#include <errno.h>
#include <heatball/file.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_FIGURES = 8, PATH = 4096 };

static hb_status save_make_directory(hb_context *context, const char *directory)
{
    struct stat found;
    if (mkdir(directory, 0777) == 0) return HB_OK;
    const int reason = errno;
    if (reason == EEXIST && stat(directory, &found) == 0 && S_ISDIR(found.st_mode)) return HB_OK;
    return hb_fail(context, HB_ERROR_PATH, "the directory %.300s cannot be made: %s", directory,
                   reason == EEXIST ? "a file has this name" : strerror(reason));
}

static hb_status save_join(hb_context *context, const char *directory, const char *name, char *out)
{
    const int n = snprintf(out, PATH, "%s/%s", directory, name);
    HB_CHECK(context, n > 0 && n < PATH, HB_ERROR_PATH, "the path of the directory is too long");
    return HB_OK;
}

const char *hb_certificate_file(size_t index)
{
    static const char *const texts[] = {"certificate.json", "certificate.html"};
    if (index < 2) return texts[index];
    for (size_t k = 0; hb_certificate_figures[k].name; k++)
        if (index - 2 < (k + 1) * HB_FIGURE_FILES)
            return hb_certificate_figures[k].files[(index - 2) % HB_FIGURE_FILES];
    return NULL;
}

/* Files of these names that are not of an earlier certificate stay. */
static hb_status save_check_names(hb_context *context, const char *directory)
{
    char path[PATH];
    const char *name;
    for (size_t k = 0; (name = hb_certificate_file(k)); k++) {
        struct stat found;
        HB_TRY(save_join(context, directory, name, path));
        if (lstat(path, &found) != 0) continue;
        if (k == 0) return HB_OK;
        return hb_fail(context, HB_ERROR_PATH,
                       "%.300s would be replaced, but the directory has no certificate.json and so "
                       "is not that of a certificate; choose another directory",
                       path);
    }
    return HB_OK;
}

static hb_status save_figures(hb_context *context, const hb_certificate *c, const char *directory,
                              int *drawn)
{
    char stem[PATH];
    for (size_t k = 0; hb_certificate_figures[k].name; k++) {
        const hb_certificate_figure *figure = &hb_certificate_figures[k];
        if (!figure->wanted(c)) continue;
        HB_TRY(save_join(context, directory, figure->name, stem));
        const hb_status status = hb_certificate_draw(context, c, figure, stem);
        drawn[k] = status == HB_OK;
        if (status == HB_ERROR_UNAVAILABLE)
            hb_note(context, "%s", hb_context_message(context));
        else
            HB_TRY(status);
    }
    return HB_OK;
}

static hb_status save_text(hb_context *context, const hb_certificate *c, const char *directory,
                           size_t file, hb_certificate_print *print, const int *drawn)
{
    char path[PATH], *text;
    hb_writer *writer;
    HB_TRY(save_join(context, directory, hb_certificate_file(file), path));
    hb_status status = hb_certificate_text(context, c, print, drawn, &text);
    if (status == HB_OK) status = hb_writer_create(context, path, &writer);
    if (status == HB_OK)
        status = hb_writer_close(writer, hb_writer_write(writer, strlen(text), text));
    free(text);
    return status;
}

hb_status hb_certificate_save(hb_context *context, const hb_certificate *certificate,
                              const char *directory)
{
    int drawn[MOST_FIGURES] = {0};
    HB_CHECK(context, certificate, HB_ERROR_ARGUMENT, "the certificate is NULL");
    HB_CHECK(context, directory && *directory, HB_ERROR_ARGUMENT, "the directory has no name");
    HB_TRY(save_make_directory(context, directory));
    HB_TRY(save_check_names(context, directory));
    HB_TRY(save_text(context, certificate, directory, 0, hb_certificate_print_json, NULL));
    HB_TRY(save_figures(context, certificate, directory, drawn));
    return save_text(context, certificate, directory, 1, hb_certificate_page, drawn);
}
