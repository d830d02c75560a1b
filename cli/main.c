/* SPDX-License-Identifier: BSD-3-Clause */
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/front/talk.h"

/**
 * A closed stdin, stdout or stderr would become the first file we open.  They
 * are filled with /dev/null, read-only, so that writing to them still fails.
 */
static void fill_standard_files(void)
{
	for (int fd = 0; fd <= 2; fd++) {
		if (fcntl(fd, F_GETFD) < 0) {
			(void)!open("/dev/null", O_RDONLY);
		}
	}
}

int main(int argc, char **argv)
{
	fill_standard_files();
	setlocale(LC_CTYPE, "");
	/* a reader that goes away is an error of write(2), not our death */
	signal(SIGPIPE, SIG_IGN);
	talk_open_stdout();
	return talk_close_stdout(command_main(argc, argv));
}
