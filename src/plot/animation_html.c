/* An animation as one page: the frames are PNG pictures of 256 colours, written into it by base64
 * (RFC 4648), and a few lines of script move between them. Nothing is fetched from anywhere.
 *
 * Keys: blank plays and stops, the arrows step, Home and End go to the ends. Without script the
 * first frame is there. A number to reproduce: base64 of "Man" is TWFu. */
#include "base/context.h"
#include "base/memory.h"
#include "plot/animation.h"

#include <png.h>
#include <string.h>

static const char HEAD[] =
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<style>\n"
    "body { margin: 0 auto; max-width: 1180px; padding: 0.6em; font: 16px/1.4 sans-serif; color: "
    "#202020; "
    "background: #ffffff; }\n"
    "h1 { font-size: 1.1em; margin: 0.2em 0; }\n"
    "img { display: block; height: auto; max-height: calc(100vh - 7.5em); margin: 0 auto; }\n"
    ".row { display: flex; align-items: center; gap: 0.8em; margin: 0.4em auto; }\n"
    "button { font: inherit; min-width: 5.2em; min-height: 44px; }\n"
    "input { flex: 1; min-width: 0; height: 44px; }\n"
    "output { min-width: 7.5em; font-variant-numeric: tabular-nums; }\n"
    "</style>\n";

static const char CONTROLS[] =
    "<div class=\"row\">\n"
    "<button id=\"play\" type=\"button\">Play</button>\n"
    "<input id=\"place\" type=\"range\" min=\"0\" value=\"0\" step=\"1\" aria-label=\"time\">\n"
    "<output id=\"time\"></output>\n"
    "</div>\n";

static const char SCRIPT[] =
    "const pictures = frames.map(f => { const i = new Image(); i.src = 'data:image/png;base64,' + "
    "f; return i; });\n"
    "const film = document.getElementById('film'), place = document.getElementById('place');\n"
    "const button = document.getElementById('play'), time = document.getElementById('time');\n"
    "let at = 0, timer = null;\n"
    "place.max = frames.length - 1;\n"
    "function show(k) {\n"
    "  at = Math.max(0, Math.min(frames.length - 1, k));\n"
    "  film.src = pictures[at].src;\n"
    "  film.alt = 'frame at time ' + times[at];\n"
    "  place.value = at;\n"
    "  place.setAttribute('aria-valuetext', 'time ' + times[at]);\n"
    "  time.textContent = 't = ' + times[at];\n"
    "}\n"
    "function stop() { clearInterval(timer); timer = null; button.textContent = 'Play'; }\n"
    "function play() {\n"
    "  if (timer !== null) { stop(); return; }\n"
    "  if (at === frames.length - 1) show(0);\n"
    "  button.textContent = 'Stop';\n"
    "  timer = setInterval(() => { show(at + 1); if (at === frames.length - 1) stop(); }, delay);\n"
    "}\n"
    "button.addEventListener('click', play);\n"
    "place.addEventListener('input', () => { stop(); show(Number(place.value)); });\n"
    "document.addEventListener('keydown', event => {\n"
    "  const steps = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: frames.length - 1 };\n"
    "  if (event.key === ' ') { event.preventDefault(); play(); }\n"
    "  else if (event.key in steps) { event.preventDefault(); stop(); show(steps[event.key]); }\n"
    "});\n"
    "show(0);\n";

static hb_status write_base64(hb_writer *writer, size_t n, const void *bytes)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *data = bytes;
    char text[4096];
    size_t used = 0;
    for (size_t i = 0; i < n; i += 3) {
        const size_t left = n - i;
        const unsigned v = (unsigned)data[i] << 16 | (left > 1 ? (unsigned)data[i + 1] << 8 : 0) |
                           (left > 2 ? data[i + 2] : 0);
        text[used++] = letters[v >> 18];
        text[used++] = letters[v >> 12 & 63];
        text[used++] = left > 1 ? letters[v >> 6 & 63] : '=';
        text[used++] = left > 2 ? letters[v & 63] : '=';
        if (used < sizeof text) continue;
        HB_TRY(hb_writer_write(writer, used, text));
        used = 0;
    }
    return hb_writer_write(writer, used, text);
}

hb_status hb_animation_png(const hb_animation *animation, size_t k, hb_bytes_writer *write,
                           hb_writer *writer)
{
    const unsigned char *pixels =
        animation->pixels + k * (size_t)animation->width * (size_t)animation->height;
    png_image image = {.version = PNG_IMAGE_VERSION,
                       .width = (png_uint_32)animation->width,
                       .height = (png_uint_32)animation->height,
                       .format = PNG_FORMAT_RGB_COLORMAP,
                       .colormap_entries = HB_ANIMATION_COLORS};
    png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
    void *memory;
    HB_TRY(hb_allocate(animation->context, size, 1, &memory));
    hb_status status = HB_OK;
    if (!png_image_write_to_memory(&image, memory, &size, 0, pixels, 0, animation->colors))
        status = hb_fail(animation->context, HB_ERROR_MEMORY, "libpng cannot make a frame: %.100s",
                         image.message);
    if (status == HB_OK) status = write(writer, size, memory);
    hb_release(animation->context, memory);
    return status;
}

/* Text in HTML. */
static hb_status write_text(hb_writer *writer, const char *text)
{
    for (const char *c = text; *c; c++) {
        const char *sign = *c == '<' ? "&lt;" : *c == '>' ? "&gt;" : *c == '&' ? "&amp;" : NULL;
        HB_TRY(hb_writer_write(writer, sign ? strlen(sign) : 1, sign ? sign : c));
    }
    return HB_OK;
}

static hb_status write_frames(const hb_animation *animation, int delay, hb_writer *writer)
{
    HB_TRY(hb_writer_printf(writer, "<script>\nconst delay = %d;\nconst times = [", 10 * delay));
    for (size_t k = 0; k < animation->n; k++)
        HB_TRY(hb_writer_printf(writer, "%s%.9g", k ? ", " : "", animation->times[k]));
    HB_TRY(hb_writer_printf(writer, "];\nconst frames = [\n"));
    for (size_t k = 0; k < animation->n; k++) {
        HB_TRY(hb_writer_printf(writer, "'"));
        HB_TRY(hb_animation_png(animation, k, write_base64, writer));
        HB_TRY(hb_writer_printf(writer, "',\n"));
    }
    return hb_writer_printf(writer, "];\n%s</script>\n", SCRIPT);
}

hb_status hb_animation_write_html(const hb_animation *animation, const char *title, int delay,
                                  hb_writer *writer)
{
    HB_TRY(hb_writer_printf(
        writer, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>"));
    HB_TRY(write_text(writer, title));
    HB_TRY(hb_writer_printf(writer, "</title>\n%s</head>\n<body>\n<h1>", HEAD));
    HB_TRY(write_text(writer, title));
    HB_TRY(hb_writer_printf(writer,
                            "</h1>\n<img id=\"film\" style=\"max-width: min(100%%, %dpx)\" "
                            "alt=\"frame\">\n",
                            (int)(animation->width / HB_ANIMATION_PAGE_SCALE)));
    HB_TRY(hb_writer_printf(writer, "%s", CONTROLS));
    HB_TRY(write_frames(animation, delay, writer));
    return hb_writer_printf(writer, "</body>\n</html>\n");
}
