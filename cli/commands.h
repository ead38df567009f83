/* cli/commands.h: the commands, each in its file command_NAME.c. To add one: write that file, name
 * it here and in the table of main.c, and add docs/reference/commands/NAME.md, docs/man/heatball-NAME.1 and
 * its options in completions/heatball.bash (tests/cli/test_cli.py compares them with --help). */
#pragma once

#include "session.h"

extern const hb_command hb_command_sample;
extern const hb_command hb_command_constants;
extern const hb_command hb_command_budget;
extern const hb_command hb_command_solve;
extern const hb_command hb_command_residual;
extern const hb_command hb_command_data;
extern const hb_command hb_command_train;
extern const hb_command hb_command_evaluate;
extern const hb_command hb_command_certify;
extern const hb_command hb_command_generate;
extern const hb_command hb_command_helmholtz;
extern const hb_command hb_command_study;
extern const hb_command hb_command_reproduce;
