/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIB_BASE_ERR_H
#define LIB_BASE_ERR_H

#include <stdbool.h>

/* ---- exit code ----------------------------------------------------------- */

/**
 * Exit status of the process, gpucheck(1) EXIT STATUS. When several apply, the
 * order is: usage, unable, partial, fault, healthy.
 */
enum exit_code {
	CODE_HEALTHY = 0,	/* measured, nothing wrong */
	CODE_FAULT = 1,		/* measured, a fault found */
	CODE_USAGE = 2,		/* the command line makes no sense */
	CODE_UNABLE = 3,	/* could not measure, or could not write */
	CODE_PARTIAL = 4,	/* stopped before the end, results saved */
};

/* ---- err ----------------------------------------------------------------- */

/**
 * Why something failed, carried as a value from where it happened to cli/,
 * the only place that prints.  Text: lower case, no full stop, the observed
 * fact first, names in single quotes.  Hint: what to do next, set only by
 * who knows.  No allocation, nothing to free; zero-initialise.
 */
struct err {
	int code;	/* errno value that classifies it, 0 if none fits */
	char text[320];
	char hint[320];
};

/**
 * Fill in @e (NULL is allowed: "I don't care why") and drop the hint of an
 * older error.  strerror(@code) is NOT added here but once, where the message
 * is printed.
 * Returns -1 always, so that callers can write "return err_set(...)".
 */
int err_set(struct err *e, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/** Add the remedy to @e (NULL is allowed).  Returns -1 always. */
int err_hint(struct err *e, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/**
 * Write "text: strerror(code)" into @buf, cut to @size, NUL-ended.
 * Returns @buf.
 */
const char *err_str(const struct err *e, char *buf, unsigned long size);

/** Return true if @e says that the file or directory cannot be written. */
bool err_is_read_only(const struct err *e);

/** A code of rows, such as gpu_exclusive, and what it says: what happened, and
 *  its usual cause. */
struct err_words {
	const char *code, *says;
};

#endif
