/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int err_set(struct err *e, int code, const char *fmt, ...)
{
	va_list ap;

	if (!e) {
		return -1;
	}
	e->code = code;
	e->hint[0] = '\0';
	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	return -1;
}

int err_hint(struct err *e, const char *fmt, ...)
{
	va_list ap;

	if (!e) {
		return -1;
	}
	va_start(ap, fmt);
	vsnprintf(e->hint, sizeof(e->hint), fmt, ap);
	va_end(ap);
	return -1;
}

const char *err_str(const struct err *e, char *buf, unsigned long size)
{
	if (e->code) {
		snprintf(buf, size, "%s: %s", e->text, strerror(e->code));
	} else {
		snprintf(buf, size, "%s", e->text);
	}
	return buf;
}

bool err_is_read_only(const struct err *e)
{
	return e->code == EACCES || e->code == EPERM || e->code == EROFS;
}
