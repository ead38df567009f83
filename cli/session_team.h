/* cli/session_team.h: the command as one of several processes that mpirun or srun has started. */
#pragma once

#include <heatball/team.h>

/* Joins the team when there is one: HB_OK, and hb_command_team gives it or NULL. Under mpirun
 * without libheatball-mpi.so: HB_ERROR_UNAVAILABLE and a message (512 bytes), empty where
 * another process says it. Ranks other than 0 print nothing from now on. */
hb_status hb_command_team_join(int argc, char **argv, char *message);
const hb_team *hb_command_team(void);
/* HB_OK when all ranks were started in the same way: version, instruction set, arguments. */
hb_status hb_command_team_compare(hb_context *context);
/* The same for the bytes of an input. */
hb_status hb_command_team_compare_file(hb_context *context, const char *path);
/* Keeps the sentence of a failure, which rank 0 prints for all; 0: this rank is alone, and
 * prints it itself. */
int hb_command_team_keeps(const char *line);
/* Leaves the team with this exit code. Where ranks failed one by one the first to notice ends
 * all others, and says what happened. */
void hb_command_team_leave(int code);
