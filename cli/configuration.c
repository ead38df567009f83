/* The options of a run as one JSON object, every value as one types it, as a line and back.
 *
 *     {"drift": "a*x - x^3", "param": ["a=2"], "time": "1", "seed": "1", "heatball": "0.3.0"}
 * A .csv has it behind "# problem: " in a line above the names, and so has a printed table; JSON
 * has it under the key "problem". */
#include "configuration.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char OPENING[] = "# problem: ";

void hb_configuration_number(double value, char text[HB_CONFIGURATION_NUMBER])
{
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, HB_CONFIGURATION_NUMBER, "%.*g", digits, value);
        if (strtod(text, NULL) == value) return;
    }
}

char *hb_configuration_line(const json_t *object)
{
    char *text = json_dumps(object, 0), *line = NULL;
    if (text && asprintf(&line, "%s%s", OPENING, text) < 0) line = NULL;
    free(text);
    return line;
}

json_t *hb_configuration_read(const char *path, char message[HB_OPTIONS_MESSAGE])
{
    char *line = NULL;
    size_t size = 0;
    json_t *object = NULL;
    FILE *file = fopen(path, "rbe");
    snprintf(message, HB_OPTIONS_MESSAGE, "--from: cannot read %.200s: %s", path, strerror(errno));
    if (!file) return NULL;
    while (getline(&line, &size, file) > 0 && line[0] == '#' && !object)
        if (!strncmp(line, OPENING, sizeof OPENING - 1))
            object = json_loads(line + sizeof OPENING - 1, 0, NULL);
    if (line && line[0] == '{') {
        rewind(file);
        json_t *all = json_loadf(file, 0, NULL);
        object = json_incref(json_object_get(all, "problem"));
        json_decref(all);
    }
    free(line);
    fclose(file);
    if (!json_is_object(object))
        snprintf(message, HB_OPTIONS_MESSAGE,
                 "--from: %.200s does not hold the problem of a run; it must be a .csv of heatball "
                 "solve -o, or what --json printed",
                 path);
    return object;
}
