/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages on stderr, data on stdout. */
#include "cli/front/talk.h"

#include <errno.h>
#include <langinfo.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/limit.h"
#include "lib/base/units.h"
#include "report/base/wrap.h"
#include "report/draw/draw.h"

/* ---- screen -------------------------------------------------------------- */

#define DEFAULT_WIDTH 80

bool screen_color(const struct spec *s)
{
	const char *term = getenv("TERM"), *none = getenv("NO_COLOR");

	if (s->color != WHEN_AUTO) {
		return s->color == WHEN_ALWAYS;
	}
	return isatty(STDOUT_FILENO) && !(none && none[0]) &&
	       term && strcmp(term, "dumb") != 0;
}

enum term_style screen_style(const struct spec *s)
{
	if (strcmp(nl_langinfo(CODESET), "UTF-8") != 0) {
		return TERM_ASCII;
	}
	if (screen_color(s)) {
		return TERM_COLOR;
	}
	return TERM_UNICODE;
}

void screen_print(struct str *text, FILE *f)
{
	/* messages have no colors of ours, but may quote those of a file */
	str_harmless_from(text, 0, f == stderr ? STR_LINES :
						 STR_LINES | STR_COLORS);
	fputs(str_text(text), f);
}

int screen_width(int fd)
{
	struct winsize size;
	const char *columns = getenv("COLUMNS");
	int64_t n = DEFAULT_WIDTH;

	if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col) {
		return size.ws_col;
	}
	if (columns) {
		units_parse_int(columns, 20, 10000, &n, NULL);
	}
	return (int)n;
}

bool screen_known(int fd)
{
	return isatty(fd) || getenv("COLUMNS");
}

/* ---- talk ---------------------------------------------------------------- */

static bool is_quiet;
static struct err last;

void talk_quiet(bool quiet)
{
	is_quiet = quiet;
}

/** On a terminal in lines that fit; else in one, which can be searched. */
static void say_text(const char *before, const char *text)
{
	struct str out = STR_INIT;
	struct wrap w = { .out = &out, .whole_quotes = true,
			  .width = screen_width(STDERR_FILENO) };

	str_add(&out, before);
	if (isatty(STDERR_FILENO)) {
		wrap_lines(&w, (int)strlen(before), text);
	} else {
		str_addf(&out, "%s\n", text);
	}
	fflush(stdout);	/* or it falls into what both print to one file */
	screen_print(&out, stderr);
	str_release(&out);
}

__attribute__((format(printf, 2, 0)))
static void say(const char *before, const char *fmt, va_list ap)
{
	char *text;

	if (!is_quiet && vasprintf(&text, fmt, ap) >= 0) {
		say_text(before, text);
		free(text);
	}
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
	struct str out = STR_INIT;

	if (!is_quiet) {
		str_addf(&out, "  | %s\n", line);
		screen_print(&out, stderr);
		str_release(&out);
	}
}

void talk_err(const struct err *e)
{
	struct err told = *e;
	char text[1024];

	limit_hint(&told, NULL);
	last = told;
	say_text("gpucheck: ", err_str(&told, text, sizeof(text)));
	if (told.hint[0]) {
		say_text("hint: ", told.hint);
	}
}

int talk_fail(const struct err *e, int code)
{
	talk_err(e);
	return code;
}

const struct err *talk_last(void)
{
	return &last;
}

/* ---- stdout ------------------------------------------------------------- */

/** stdio says that writing failed, but not why, when it is asked in the end. */
static int stdout_errno;
static bool stdout_written;
/** stdout as it was at the start, needed for messages after it is closed. */
static FILE *first_stdout;

static ssize_t write_stdout(void *cookie, const char *buf, size_t size)
{
	size_t done = 0;

	(void)cookie;
	stdout_written = true;
	while (done < size) {
		ssize_t n = write(STDOUT_FILENO, buf + done, size - done);

		if (n < 0 && errno != EINTR) {
			stdout_errno = errno;
			break;
		}
		done += n > 0 ? (size_t)n : 0;
	}
	return (ssize_t)done;
}

/** Closes stdout.  It is no error if stdout was closed from the start. */
static int close_stdout(void *cookie)
{
	(void)cookie;
	if (close(STDOUT_FILENO) < 0 && errno != EBADF) {
		stdout_errno = errno;
		return EOF;
	}
	return 0;
}

void talk_open_stdout(void)
{
	const cookie_io_functions_t functions = {
		.write = write_stdout, .close = close_stdout,
	};
	FILE *f = fopencookie(NULL, "w", functions);

	if (f != NULL) {
		setvbuf(f, NULL, isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF,
			BUFSIZ);
		first_stdout = stdout;
		stdout = f;
	}
}

bool talk_stdout_is_empty(void)
{
	return !stdout_written && __fpending(stdout) == 0;
}

int talk_close_stdout(int code)
{
	FILE *f = stdout;
	bool failed = ferror(f);
	struct err e;

	if (first_stdout != NULL) {
		stdout = first_stdout;
	}
	failed = fclose(f) != 0 || failed;
	if (!failed || stdout_errno == EPIPE) {
		return code;
	}
	err_set(&e, stdout_errno, "cannot write standard output");
	if (stdout_errno == ENOSPC || stdout_errno == EDQUOT) {
		err_hint(&e, "the output device is full; \"gpucheck report "
			 "DIR\" prints the result again");
	}
	talk_err(&e);
	return code == CODE_USAGE ? code : CODE_UNABLE;
}
