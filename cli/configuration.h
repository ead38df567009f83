/* cli/configuration.h: the options of a run in what it leaves, so that it can be run again. */
#ifndef HB_CLI_CONFIGURATION_H
#define HB_CLI_CONFIGURATION_H

#include "options.h"

#include <jansson.h>

enum { HB_CONFIGURATION_NUMBER = 32 };

/* A number in the fewest digits that give it back. */
void hb_configuration_number(double value, char text[HB_CONFIGURATION_NUMBER]);
/* "# problem: {...}", to be released with free; NULL: no memory. */
char *hb_configuration_line(const json_t *object);
/* The object of a .csv, a printed table or JSON; where it is none, message says why. */
json_t *hb_configuration_read(const char *path, char message[HB_OPTIONS_MESSAGE]);

#endif
