/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/talk.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "cli/exit_code.h"

static bool is_quiet;

void talk_quiet(bool quiet)
{
	is_quiet = quiet;
}

__attribute__((format(printf, 2, 0)))
static void say(const char *before, const char *fmt, va_list ap)
{
	if (is_quiet) {
		return;
	}
	fflush(stdout);	/* or it falls into what both print to one file */
	flockfile(stderr);
	fputs(before, stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	funlockfile(stderr);
}

void talk(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say("gpucheck: ", fmt, ap);
	va_end(ap);
}

void talk_hint(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say("hint: ", fmt, ap);
	va_end(ap);
}

void talk_quote(const char *line)
{
	if (!is_quiet) {
		fprintf(stderr, "  | %s\n", line);
	}
}

void talk_err(const struct err *e)
{
	char text[1024];

	fprintf(stderr, "gpucheck: %s\n", err_str(e, text, sizeof(text)));
	if (e->hint[0]) {
		fprintf(stderr, "hint: %s\n", e->hint);
	}
}

int talk_close_stdout(int code)
{
	struct err e;

	/* nothing printed on a closed stdout (EBADF at fclose) is no failure */
	if (!ferror(stdout) && fflush(stdout) == 0 &&
	    (fclose(stdout) == 0 || errno == EBADF)) {
		return code;
	}
	if (errno == EPIPE) {
		return code;
	}
	err_set(&e, errno, "cannot write standard output");
	talk_err(&e);
	return code == CODE_USAGE ? code : CODE_UNABLE;
}
