/* heatball COMMAND ...: finds the command, parses its options by table, runs it, and turns the
 * status into an exit code.
 *
 *     0  success; also when the reader of a pipe has closed it, as head does
 *     1  a run that failed: disk full, interrupted, memory, numbers, stdout not writable; a
 *        certificate that has not passed, with --exit-code
 *     2  bad input: options, paths, file formats, an instruction set that the machine lacks
 *
 * Every failure prints exactly one line on stderr, here; only a wrong expression prints its text
 * and a caret below. */
#include "commands.h"
#include "session_team.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* In the order of heatball --help; a group begins where a title stands. */
static const struct {
    const char *title; /* NULL: the group goes on */
    const hb_command *command;
} commands[] = {{"Solve an SDE", &hb_command_solve}, {NULL, &hb_command_residual},
                {NULL, &hb_command_budget},          {"Score models", &hb_command_data},
                {NULL, &hb_command_train},           {NULL, &hb_command_evaluate},
                {NULL, &hb_command_generate},        {NULL, &hb_command_certify},
                {NULL, &hb_command_helmholtz},       {"Heat balls", &hb_command_sample},
                {NULL, &hb_command_constants},       {"The paper", &hb_command_study},
                {NULL, &hb_command_reproduce}};
enum { N_COMMANDS = sizeof commands / sizeof *commands, EXIT_RUN = 1, EXIT_INPUT = 2 };

static int exit_code(hb_status status)
{
    switch (status) {
    case HB_OK: return 0;
    case HB_ERROR_ARGUMENT:
    case HB_ERROR_PATH:
    case HB_ERROR_FORMAT:
    case HB_ERROR_DOMAIN:
    case HB_ERROR_UNAVAILABLE: return EXIT_INPUT;
    case HB_ERROR_MEMORY:
    case HB_ERROR_FILE:
    case HB_ERROR_INTERRUPTED:
    case HB_ERROR_NUMERICAL:
    case HB_ERROR_CALLBACK: return EXIT_RUN;
    }
    return EXIT_RUN;
}

static int print_version(void)
{
    printf("heatball %s\n", hb_version());
    return 0;
}

static int print_overview(void)
{
    printf("usage: heatball COMMAND [options]\n\n"
           "Exact heat-ball measures and what follows from them for diffusions.\n");
    for (int i = 0; i < N_COMMANDS; i++) {
        if (commands[i].title) printf("\n%s:\n", commands[i].title);
        printf("  %-10s  %s\n", commands[i].command->name, commands[i].command->summary);
    }
    printf("\nTry first:\n"
           "  heatball solve --drift \"x - x^3\" --initial \"point(0)\" --time 1 --at \"-1;0;1\"\n"
           "  heatball train --data ring --loss hb --epochs 20 -o ring.safetensors\n"
           "\n'heatball COMMAND --help' or 'heatball help COMMAND' lists the options of a\n"
           "command, with examples. 'heatball --version' prints the version.\n");
    return 0;
}

/* --help and --version win over whatever else is on the line, also over mistakes. */
static int asks_for(int argc, char **argv, const char *name, const char *letter)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], name) == 0 || (letter && strcmp(argv[i], letter) == 0)) return 1;
    return 0;
}

static int run_parsed(const hb_command *command, const hb_common *common, const void *values,
                      const hb_option_section *sections, const char *note)
{
    char message[2 * HB_OPTIONS_MESSAGE] = "no memory";
    hb_outputs *outputs = hb_outputs_create();
    hb_status status = outputs ? hb_outputs_declare(outputs, sections, message) : HB_ERROR_MEMORY;
    if (status != HB_OK) {
        hb_outputs_destroy(outputs);
        hb_session_complain(command->name, message);
        return exit_code(status);
    }
    hb_session *session = hb_session_open(command->name, common, outputs, &status);
    if (status == HB_OK && note[0]) hb_session_note(session, note);
    if (status == HB_OK && !command->alone)
        status = command->run(session, values);
    else if (status == HB_OK) {
        if (hb_session_alone(session, NULL)) status = command->run(session, values);
        status = hb_session_together(session, status);
    }
    snprintf(message, sizeof message, "%s", hb_session_message(session, status));
    if (status == HB_OK) hb_session_done(session);
    hb_session_close(session); /* takes the progress line away before the message is printed */
    if (status != HB_OK) hb_session_complain(command->name, message);
    return exit_code(status);
}

static int run_command(const hb_command *command, int argc, char **argv)
{
    hb_common common = {0};
    void *values = calloc(1, command->size);
    if (!values) {
        hb_session_complain(command->name, hb_status_text(HB_ERROR_MEMORY));
        return exit_code(HB_ERROR_MEMORY);
    }
    const hb_option_section sections[] = {
        {.title = "Options", .options = command->options, .values = values},
        {.title = "Common options", .options = hb_session_options, .values = &common},
        {0}};
    const hb_help help = {
        .command = command->name, .text = command->text, .examples = command->examples};
    char message[HB_OPTIONS_MESSAGE];
    int code = 0;
    if (asks_for(argc, argv, "--help", "-h"))
        hb_options_help(stdout, &help, sections);
    else if (asks_for(argc, argv, "--version", NULL))
        code = print_version();
    else if (hb_options_parse(sections, argc, argv, message) == HB_OK)
        code = run_parsed(command, &common, values, sections, message);
    else {
        hb_session_complain(command->name, message);
        code = EXIT_INPUT;
    }
    hb_options_release(sections);
    free(values);
    return code;
}

static const hb_command *find_command(const char *name)
{
    for (int i = 0; i < N_COMMANDS; i++)
        if (strcmp(commands[i].command->name, name) == 0) return commands[i].command;
    return NULL;
}

static int refuse_command(const char *name)
{
    const char *names[N_COMMANDS + 1] = {NULL};
    char message[HB_OPTIONS_MESSAGE];
    for (int i = 0; i < N_COMMANDS; i++) names[i] = commands[i].command->name;
    const char *nearest = hb_options_nearest(name, names);
    const char *what = name[0] == '-' ? "option" : "command";
    if (nearest)
        snprintf(message, sizeof message, "unknown %s %.80s; did you mean %s?", what, name,
                 nearest);
    else
        snprintf(message, sizeof message, "unknown %s %.80s; heatball --help lists the commands",
                 what, name);
    hb_options_clean(message);
    hb_session_complain("", message);
    return EXIT_INPUT;
}

static int main_dispatch(int argc, char **argv)
{
    static char help_option[] = "--help";
    if (argc < 2) {
        hb_session_complain("", "no command; heatball --help lists the commands");
        return EXIT_INPUT;
    }
    const char *name = argv[1];
    const hb_command *command = find_command(name);
    if (command) return run_command(command, argc - 2, argv + 2);
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) return print_overview();
    if (strcmp(name, "--version") == 0) return print_version();
    if (strcmp(name, "help") != 0) return refuse_command(name);
    if (argc == 2) return print_overview();
    command = find_command(argv[2]);
    return command ? run_command(command, 1, (char *[]){help_option}) : refuse_command(argv[2]);
}

/* With a closed standard stream the next file opened would take its number, and results would be
 * printed into it. A /dev/null that is open the wrong way makes such prints fail instead. */
static void fill_standard_streams(void)
{
    for (int stream = 0; stream <= 2; stream++)
        if (fcntl(stream, F_GETFD) == -1 && errno == EBADF)
            (void)!open("/dev/null", stream == 0 ? O_WRONLY : O_RDONLY);
}

/* What is left to print goes out; the exit code. */
static int main_finish(int code)
{
    if (fflush(stdout) == 0 && !ferror(stdout)) return code;
    const int error = errno;
    if (code != 0) return code; /* its line is already there */
    struct pollfd out = {STDOUT_FILENO, POLLOUT, 0};
    if (poll(&out, 1, 0) > 0 && (out.revents & POLLERR)) return 0; /* the reader has seen enough */
    char message[HB_OPTIONS_MESSAGE];
    snprintf(message, sizeof message, "cannot write to standard output: %s", strerror(error));
    hb_session_complain("", message);
    return EXIT_RUN;
}

int main(int argc, char **argv)
{
    fill_standard_streams();
    signal(SIGPIPE, SIG_IGN); /* a reader that leaves is an error of printf, seen below */
    char message[HB_OPTIONS_MESSAGE];
    const hb_status joined = hb_command_team_join(argc, argv, message);
    if (joined != HB_OK) {
        if (message[0]) hb_session_complain("", message);
        return exit_code(joined);
    }
    const int code = main_finish(main_dispatch(argc, argv));
    hb_command_team_leave(code);
    return code;
}
