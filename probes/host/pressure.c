/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/host/pressure.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/str.h"
#include "lib/base/units.h"
#include "probes/host/sysfile.h"

#define DIGITS "0123456789."
#define NUMBER_MAX 12

/** The digits at the beginning of @text, 0: it is no number. */
static int digits(const char *text)
{
	size_t n = strspn(text, DIGITS);

	return n <= NUMBER_MAX ? (int)n : 0;
}

int64_t pressure_waited_ns(const char *root)
{
	char text[256];
	const char *total;
	int64_t us;

	sysfile_read(text, sizeof(text), "%s/proc/pressure/cpu", root);
	text[strcspn(text, "\n")] = '\0';	/* "some" is the first line */
	total = str_starts(text, "some ") ? strstr(text, "total=") : NULL;
	return total && units_parse_int(total + strlen("total="), 0,
					INT64_MAX / NS_PER_US, &us, NULL) == 0 ?
		       us * NS_PER_US : -1;
}

void pressure_text(const char *root, char *buf, size_t size)
{
	static const char *const what[] = { "cpu", "memory", "io" };
	static const char some[] = "some avg10=";
	char text[256];
	size_t len = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < sizeof(what) / sizeof(*what); i++) {
		const char *share = text + strlen(some);

		sysfile_read(text, sizeof(text), "%s/proc/pressure/%s", root,
			     what[i]);
		if (str_starts(text, some) && digits(share) > 0 && len < size) {
			len += (size_t)snprintf(
				buf + len, size - len, "%s%s %.*s %%",
				len > 0 ? ", " : "waited in the last 10 s: ",
				what[i], digits(share), share);
		}
	}
	if (len == 0 &&
	    sysfile_read(text, sizeof(text), "%s/proc/loadavg", root) > 0 &&
	    digits(text) > 0) {
		snprintf(buf, size, "load %.*s on %ld CPUs", digits(text), text,
			 sysconf(_SC_NPROCESSORS_ONLN));
	}
}
