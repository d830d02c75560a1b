/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/memlock/look.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probes/host/sysfile.h"

#define UNIT	   "slurmd.service"
#define DROP_INS   64	/* in all folders */

/* Where systemd looks, the first place winning. */
static const char *const unit_folders[] = {
	"/etc/systemd/system", "/run/systemd/system",
	"/usr/local/lib/systemd/system", "/usr/lib/systemd/system",
	"/lib/systemd/system",
};

#define FOLDERS (sizeof(unit_folders) / sizeof(unit_folders[0]))

/* What was found so far: the last file that sets the limit. */
struct service {
	struct memlock *m;
	bool exists;		/* there is a unit or a drop-in */
	bool set;
	struct limit_pair limit;
	char where[160];	/* FILE:LINE */
	char ignored[340];	/* FILE:LINE: WHY of a line behind that; "" */
};

/* Read @path: 1, 0 when it is not there, -1 with @e when it cannot be read. */
static int read_file(struct service *s, const char *path, struct err *e)
{
	struct unit_limit got;

	if (memlock_read(s->m, path, e) < 0) {
		return e->code == ENOENT ? 0 : -1;
	}
	s->exists = true;
	if (unit_parse(&s->m->text, &got, e) < 0) {
		char why[200];

		STR_COPY(why, e->text);
		return err_set(e, 0, "'%.80s': %s", path, why);
	}
	if (got.line > 0) {
		s->set = true;
		s->limit = got.limit;
		s->ignored[0] = '\0';
		snprintf(s->where, sizeof(s->where), "%.140s:%d", path,
			 got.line);
	}
	if (got.ignored > 0) {
		snprintf(s->ignored, sizeof(s->ignored), "%.140s:%d: %s", path,
			 got.ignored, got.why);
	}
	return 1;
}

/* Unit or drop-in @name, from the first folder that has one. */
static int read_first(struct service *s, const char *name, struct err *e)
{
	char path[200];
	int rc = 0;

	for (size_t i = 0; i < FOLDERS && rc == 0; i++) {
		snprintf(path, sizeof(path), "%s/%s", unit_folders[i], name);
		rc = read_file(s, path, e);
	}
	return rc;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* The drop-ins of all folders, those of one name once, in systemd's order. */
static int read_drop_ins(struct service *s, struct err *e)
{
	char names[DROP_INS][64], name[96];
	size_t n = 0;

	for (size_t i = 0; i < FOLDERS; i++) {
		n += sysfile_list(names + n, DROP_INS - n, "%s%s/" UNIT ".d",
				  s->m->root, unit_folders[i]);
	}
	qsort(names, n, sizeof(names[0]), by_name);
	for (size_t i = 0; i < n; i++) {
		const char *dot = strrchr(names[i], '.');

		snprintf(name, sizeof(name), UNIT ".d/%.63s", names[i]);
		if ((i == 0 || strcmp(names[i], names[i - 1]) != 0) &&
		    dot != NULL && strcmp(dot, ".conf") == 0 &&
		    read_first(s, name, e) < 0) {
			return -1;
		}
	}
	return 0;
}

static int read_service(struct service *s, struct err *e)
{
	/* first, what holds where nothing else does */
	if (read_file(s, "/etc/systemd/system.conf", e) < 0) {
		return -1;
	}
	s->exists = false;
	return read_first(s, UNIT, e) < 0 ? -1 : read_drop_ins(s, e);
}

/* Did systemd start process @pid by that unit? */
static bool runs_in_unit(struct memlock *m, long pid)
{
	struct proc_cgroup group;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%ld/cgroup", pid);
	return memlock_read(m, path, NULL) == 0 &&
	       proc_cgroup_parse(&m->text, &group, NULL) == 0 &&
	       strcmp(group.unit, UNIT) == 0;
}

static void fill_row(const struct service *s, struct memlock_row *row,
		     long pid)
{
	const struct memlock *m = s->m;

	if (s->set) {
		row->limit_B = s->limit.soft;
		STR_COPY(row->source, s->where);
	}
	if (!runs_in_unit(s->m, pid)) {
		STR_COPY(row->code, "unit_unused");
		STR_COPY(row->detail, "slurmd runs outside systemd: the unit's "
				      "limits do not apply");
	} else if (s->ignored[0] != '\0') {
		row->outcome = OUTCOME_ERROR;
		STR_COPY(row->code, CODE_IGNORED);
		snprintf(row->detail, sizeof(row->detail),
			 "systemd ignores %s", s->ignored);
	} else if (!s->set) {
		STR_COPY(row->code, "unit_unset");
		STR_COPY(row->detail, UNIT " sets no LimitMEMLOCK: the default "
					   "of systemd applies, 8 MiB or 64 "
					   "KiB");
	} else if (m->slurmd_known && m->slurmd.hard != s->limit.hard) {
		STR_COPY(row->code, "unit_not_in_force");
		STR_COPY(row->detail, "the limit of slurmd differs from that "
				      "of " UNIT
				      ": it was not restarted since");
	} else {
		STR_COPY(row->detail, "LimitMEMLOCK of " UNIT);
	}
}

void memlock_look_unit(struct memlock *m, long pid)
{
	struct service s = { .m = m };
	struct memlock_row row;
	struct err e = { 0 };

	memlock_row_init(m, &row, MEMLOCK_SLURMD, CHECK_UNIT, "");
	if (read_service(&s, &e) < 0) {
		memlock_row_unknown(&row, &e);
	} else if (!s.exists) {
		memlock_row_absent(&row, "there is no " UNIT);
	} else {
		fill_row(&s, &row, pid);
	}
	memlock_row_say(m, &row);
}
