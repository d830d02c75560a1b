/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/memlock/look.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/units.h"
#include "probes/node/child.h"
#include "probes/host/sysfile.h"

int memlock_read(struct memlock *m, const char *path, struct err *e)
{
	char full[PATH_MAX];
	int why;

	str_reset(&m->text);
	snprintf(full, sizeof(full), "%.2000s%.2000s", m->root, path);
	why = str_add_file(&m->text, open(full, O_RDONLY | O_CLOEXEC |
						O_NONBLOCK), MEMLOCK_TEXT_MAX);
	return why ? err_set(e, why, "cannot read '%s'", path) : 0;
}

int memlock_read_number(const struct memlock *m, const char *path,
			int64_t *value, struct err *e)
{
	char text[64];

	if (sysfile_read(text, sizeof(text), "%s%s", m->root, path) < 0) {
		return err_set(e, errno, "cannot read '%s'", path);
	}
	if (strcmp(text, "max") == 0 ||
	    (strlen(text) >= 19 && text[strspn(text, "0123456789")] == '\0')) {
		STR_COPY(text, "unlimited");
	}
	return text_limit(text, 1, value, NULL) == 0 ?
		       0 :
		       err_set(e, 0, "'%s' contains no number", path);
}

static int64_t limit_of(rlim_t value)
{
	return value > INT64_MAX ? MEMLOCK_UNLIMITED : (int64_t)value;
}

struct limit_pair memlock_limit_now(void)
{
	struct rlimit r = { 0 };

	getrlimit(RLIMIT_MEMLOCK, &r);
	return (struct limit_pair){ .soft = limit_of(r.rlim_cur),
				    .hard = limit_of(r.rlim_max) };
}

void memlock_row_init(const struct memlock *m, struct memlock_row *row,
		      enum memlock_context context, const char *check,
		      const char *source)
{
	record_init(&schema_memlock, row);
	STR_COPY(row->node, m->node);
	STR_COPY(row->context, memlock_context_name(context));
	STR_COPY(row->check, check);
	STR_COPY(row->source, source);
	row->outcome = OUTCOME_OK;
	clock_utc(row->start_utc);
}

void memlock_row_unknown(struct memlock_row *row, const struct err *why)
{
	char text[sizeof(row->detail)];

	row->outcome = OUTCOME_NOT_RUN;
	STR_COPY(row->code, CODE_UNKNOWN);
	STR_COPY(row->detail, err_str(why, text, sizeof(text)));
}

void memlock_row_absent(struct memlock_row *row, const char *why)
{
	row->outcome = OUTCOME_SKIPPED;
	STR_COPY(row->code, CODE_ABSENT);
	STR_COPY(row->detail, why);
}

void memlock_row_say(const struct memlock *m, const struct memlock_row *row)
{
	if (m->rows != NULL) {
		json_array_append_new(m->rows,
				      record_json(&schema_memlock, row));
	} else {
		node_task_row(&schema_memlock, row);
	}
}

void memlock_say_unknown(const struct memlock *m, enum memlock_context context,
			 const char *check, const char *source,
			 const struct err *why)
{
	struct memlock_row row;

	memlock_row_init(m, &row, context, check, source);
	memlock_row_unknown(&row, why);
	memlock_row_say(m, &row);
}

void memlock_say_absent(const struct memlock *m, enum memlock_context context,
			const char *check, const char *why)
{
	struct memlock_row row;

	memlock_row_init(m, &row, context, check, "");
	memlock_row_absent(&row, why);
	memlock_row_say(m, &row);
}

const char *memlock_text(int64_t bytes, char *buf, size_t size)
{
	if (bytes == MEMLOCK_UNLIMITED) {
		snprintf(buf, size, "unlimited");
		return buf;
	}
	return units_size_text((uint64_t)bytes, buf, size);
}
