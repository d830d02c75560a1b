/* SPDX-License-Identifier: BSD-3-Clause */
/* main(): find the command, read its options and run it. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/front/help.h"
#include "cli/front/options.h"
#include "cli/front/show.h"
#include "cli/front/talk.h"
#include "lib/base/err.h"
#include "lib/base/limit.h"
#include "lib/base/spawn.h"
#include "lib/base/str.h"
#include "lib/data/rundir.h"

#define COMMAND_ROW(name) &cmd_##name,
/** Others find it in their session. */
static const struct command *const commands[] = { COMMANDS(COMMAND_ROW) NULL };

/** Free descriptors that each of our processes needs to start: with fewer than
 *  six, libuv calls abort(). */
#define START_FILES 8

/** Return 0 if START_FILES more files can be opened, or -1 with @e. */
static int check_files(struct err *e)
{
	int fds[START_FILES], n = 0;
	struct limit_user u;

	while (n < START_FILES &&
	       (fds[n] = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0)) >= 0) {
		n++;
	}
	for (int i = 0; i < n; i++) {
		close(fds[i]);
	}
	if (n == START_FILES) {
		return 0;
	}
	err_set(e, errno, "too few file descriptors: %d of %d are free", n,
		START_FILES);
	u = (struct limit_user){ .files = limit_files() + START_FILES - n };
	limit_hint(e, &u);
	return -1;
}

static int unknown_command(const char *name)
{
	const char *names[64], *nearest;
	size_t n = 0, max = sizeof(names) / sizeof(names[0]) - 1;
	struct err e;

	for (int i = 0; commands[i] && n < max; i++) {
		if (!commands[i]->hidden && !commands[i]->known_as) {
			names[n++] = commands[i]->name;
		}
	}
	names[n] = NULL;
	nearest = str_nearest(name, names);
	err_set(&e, 0, "there is no command '%s'", name);
	if (nearest) {
		err_hint(&e, "did you mean '%s'?", nearest);
	} else if (name[0] == '-') {
		err_hint(&e, "the command comes first: gpucheck p2p --local");
	} else {
		err_hint(&e, "\"gpucheck help\" lists the commands");
	}
	talk_err(&e);
	return CODE_USAGE;
}

/** Answer frequent questions of scripts without loading a library: --version
 *  alone, and for shell completion --list-commands, --list-codes and
 *  --list-options CMD. */
static bool answer_at_once(int argc, char **argv)
{
	const struct command *cmd;

	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
		printf("gpucheck %s\n", version_own());
		return true;
	}
	if (argc == 2 && strcmp(argv[1], "--list-commands") == 0) {
		for (size_t i = 0; commands[i]; i++) {
			if (!commands[i]->hidden && !commands[i]->known_as) {
				printf("%s\n", commands[i]->name);
			}
		}
		return true;
	}
	if (argc == 2 && strcmp(argv[1], "--list-codes") == 0) {
		help_list_codes(stdout);
		return true;
	}
	if (argc == 3 && strcmp(argv[1], "--list-options") == 0) {
		cmd = command_find(commands, argv[2]);
		if (cmd) {
			help_list_options(cmd, stdout);
		}
		return true;
	}
	return false;
}

/** Make "collective NAME" the command NAME, which does the work; after plan,
 *  too. */
static void name_collective(int *argc, char **argv)
{
	const int at = strcmp(argv[1], "plan") == 0 ? 2 : 1;
	const struct command *cmd = *argc > at + 1 &&
				    strcmp(argv[at], "collective") == 0 ?
		command_find(commands, argv[at + 1]) : NULL;

	if (cmd && (cmd->takes & SPEC_CMD_COLLECTIVE)) {
		memmove(&argv[at], &argv[at + 1],
			(size_t)(*argc - at) * sizeof(*argv));
		(*argc)--;
	}
}

/** Parse the command line and run its command.  Returns the exit code. */
static int run_line(int argc, char **argv)
{
	struct session s = { .argv = argv, .commands = commands };
	const struct command *cmd;
	const struct err *why;
	struct err e = { 0 };
	int code = CODE_HEALTHY, rc;

	if (argc < 2) {
		help_overview(commands, stderr);
		return CODE_USAGE;
	}
	if (answer_at_once(argc, argv)) {
		return CODE_HEALTHY;
	}
	name_collective(&argc, argv);
	s.argc = argc;
	cmd = command_find(commands, argv[1]);
	if (!cmd) {
		return unknown_command(argv[1]);
	}
	if (cmd->raw) {
		return cmd->run(&s);
	}
	rc = options_parse(&s, cmd, &e);
	if (rc < 0) {
		code = talk_fail(&e, CODE_USAGE);
	} else if (rc > 0) {
		help_command(cmd, rc == OPTIONS_HELP_ALL, stdout);
	} else {
		talk_quiet(s.spec.quiet);
		code = cmd->run(&s);
		why = talk_last();
		/* a command that judges a run prints --json even if the run
		 * could not be started or read */
		if (s.spec.json && !s.plan && !s.spec.dry_run &&
		    why->text[0] && (cmd->takes & SPEC_CMD_JUDGES) &&
		    (!(cmd->takes & SPEC_CMD_STATUS) || s.spec.follow) &&
		    (code == CODE_USAGE || code == CODE_UNABLE) &&
		    talk_stdout_is_empty()) {
			code = show_failure(cmd->min_args > 0 ? s.args[0] :
					    s.spec.resume[0] ? s.spec.resume :
							       NULL,
					    &s, why, code);
		}
	}
	options_release(&s);
	return code;
}

int main(int argc, char **argv)
{
	const struct command *cmd;
	struct err e = { 0 };
	char self[PATH_MAX];

	/* Programs and libraries are not looked up in directories that another
	 * user chose.  The loader has read LD_LIBRARY_PATH: only a new process
	 * reads it again. */
	if (spawn_clean_environment() &&
	    spawn_self(self, sizeof(self), NULL) == 0) {
		execv(self, argv);
	}
	/* A closed stdin, stdout or stderr would become the first file that we
	 * open.  /dev/null is read-only, so that writing to it still fails. */
	for (int fd = 0; fd <= 2; fd++) {
		if (fcntl(fd, F_GETFD) < 0) {
			(void)!open("/dev/null", O_RDONLY);
		}
	}
	rundir_umask();
	setlocale(LC_CTYPE, "");
	/* a reader that goes away is an error of write(2), not our death */
	signal(SIGPIPE, SIG_IGN);
	talk_open_stdout();
	if (check_files(&e) < 0) {
		cmd = argc > 2 ? command_find(commands, argv[1]) : NULL;
		if (cmd && cmd->excuse) {
			cmd->excuse(argv[2], &e);
		}
		return talk_fail(&e, CODE_UNABLE);
	}
	return talk_close_stdout(run_line(argc, argv));
}
