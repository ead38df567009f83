/* The files of a certificate: the JSON first, whose name is the mark of a directory of ours, then figures, and the page last,
 * so that a page is there when all that it shows is. A file of one of the names in a directory without the mark is somebody
 * else's, and the directory is refused. Every file appears whole or not at all (src/file). */
#include "base/context.h"
#include "certify/certificate_files.h"

#include <errno.h>
#include <heatball/file.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_FIGURES = 8, PATH = 4096 };

static hb_status make_directory(hb_context *context, const char *directory)
{
    struct stat found;
    if (mkdir(directory, 0777) == 0) return HB_OK;
    const int reason = errno;
    if (reason == EEXIST && stat(directory, &found) == 0 && S_ISDIR(found.st_mode)) return HB_OK;
    return hb_fail(context, HB_ERROR_PATH, "the directory %.300s cannot be made: %s", directory,
                   reason == EEXIST ? "a file has this name" : strerror(reason));
}

static hb_status join(hb_context *context, const char *directory, const char *name, char *out)
{
    const int n = snprintf(out, PATH, "%s/%s", directory, name);
    HB_CHECK(context, n > 0 && n < PATH, HB_ERROR_PATH, "the path of the directory is too long");
    return HB_OK;
}

static int is_there(const char *path)
{
    struct stat found;
    return lstat(path, &found) == 0;
}

/* Files of these names that are not of an earlier certificate stay. */
static hb_status check_names(hb_context *context, const char *directory)
{
    static const char *const endings[] = {"svg", "gp", "plot.csv"};
    char path[PATH], name[64];
    HB_TRY(join(context, directory, "certificate.json", path));
    if (is_there(path)) return HB_OK;
    HB_TRY(join(context, directory, "certificate.html", path));
    for (size_t k = 0; !is_there(path) && hb_certificate_figures[k / 3].file; k++) {
        snprintf(name, sizeof name, "%s.%s", hb_certificate_figures[k / 3].file, endings[k % 3]);
        HB_TRY(join(context, directory, name, path));
    }
    HB_CHECK(context, !is_there(path), HB_ERROR_PATH,
             "%.300s would be replaced, but the directory has no certificate.json and so is not "
             "that of a certificate; choose another directory",
             path);
    return HB_OK;
}

static hb_status draw_figures(hb_context *context, const hb_certificate *c, const char *directory,
                              int *drawn)
{
    char stem[PATH];
    for (size_t k = 0; hb_certificate_figures[k].file; k++) {
        const hb_certificate_figure *figure = &hb_certificate_figures[k];
        if (!figure->wanted(c)) continue;
        HB_TRY(join(context, directory, figure->file, stem));
        const hb_status status = figure->draw(context, c, stem);
        drawn[k] = status == HB_OK;
        if (status == HB_ERROR_UNAVAILABLE)
            hb_note(context, "%s", hb_context_message(context));
        else
            HB_TRY(status);
    }
    return HB_OK;
}

static hb_status write_text(hb_context *context, const char *directory, const char *name,
                            const char *text)
{
    char path[PATH];
    hb_writer *writer;
    HB_TRY(join(context, directory, name, path));
    HB_TRY(hb_writer_create(context, path, &writer));
    const hb_status status = hb_writer_write(writer, strlen(text), text);
    return hb_writer_close(writer, status);
}

static hb_status write_json(hb_context *context, const hb_certificate *c, const char *directory)
{
    char *text;
    HB_TRY(hb_certificate_json(context, c, &text));
    const hb_status status = write_text(context, directory, "certificate.json", text);
    hb_context_release(context, text);
    return status;
}

static hb_status write_page(hb_context *context, const hb_certificate *c, const char *directory,
                            const int *drawn)
{
    char *text = NULL;
    size_t size = 0;
    FILE *page = open_memstream(&text, &size);
    HB_CHECK(context, page, HB_ERROR_MEMORY, "no memory for the page of a certificate");
    hb_certificate_page(page, c, drawn);
    const int failed = ferror(page) | fclose(page);
    const hb_status status =
        failed ? hb_fail(context, HB_ERROR_MEMORY, "no memory for the page of a certificate")
               : write_text(context, directory, "certificate.html", text);
    free(text);
    return status;
}

hb_status hb_certificate_save(hb_context *context, const hb_certificate *certificate,
                              const char *directory)
{
    int drawn[MOST_FIGURES] = {0};
    HB_CHECK(context, certificate, HB_ERROR_ARGUMENT, "the certificate is NULL");
    HB_CHECK(context, directory && *directory, HB_ERROR_ARGUMENT, "the directory has no name");
    HB_TRY(make_directory(context, directory));
    HB_TRY(check_names(context, directory));
    HB_TRY(write_json(context, certificate, directory));
    HB_TRY(draw_figures(context, certificate, directory, drawn));
    return write_page(context, certificate, directory, drawn);
}
