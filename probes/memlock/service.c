/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/memlock/look.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "probes/host/sysfile.h"

#define UNIT	   "slurmd.service"
#define DROP_INS   32

/* Where systemd looks, the first place winning. */
static const char *const unit_folders[] = {
	"/etc/systemd/system", "/run/systemd/system",
	"/usr/local/lib/systemd/system", "/usr/lib/systemd/system",
	"/lib/systemd/system",
};

#define FOLDERS (sizeof(unit_folders) / sizeof(unit_folders[0]))

/* What was found so far: the last file that sets the limit. */
struct service {
	const struct memlock *m;
	struct str text;
	bool exists;		/* there is a unit or a drop-in */
	bool set;
	struct limit_pair limit;
	char where[160];	/* FILE:LINE */
};

/* Read @path if it is there; -1 with @e when it is and cannot be read. */
static int read_file(struct service *s, const char *path, struct err *e)
{
	struct unit_limit got;

	if (memlock_read(s->m, path, &s->text, e) < 0) {
		return e->code == ENOENT ? 0 : -1;
	}
	s->exists = true;
	if (unit_parse(str_text(&s->text), s->text.len, &got, e) < 0) {
		char why[200];

		STR_COPY(why, e->text);
		return err_set(e, 0, "'%.80s': %s", path, why);
	}
	if (got.line > 0) {
		s->set = true;
		s->limit = got.limit;
		snprintf(s->where, sizeof(s->where), "%.140s:%d", path,
			 got.line);
	}
	return 0;
}

static int read_unit(struct service *s, struct err *e)
{
	char path[160];

	for (size_t i = 0; i < FOLDERS && !s->exists; i++) {
		snprintf(path, sizeof(path), "%s/%s", unit_folders[i], UNIT);
		if (read_file(s, path, e) < 0) {
			return -1;
		}
	}
	return 0;
}

/* A drop-in, from the first folder that has one of that name. */
static int read_drop_in(struct service *s, const char *name, struct err *e)
{
	char path[200];

	for (size_t i = 0; i < FOLDERS; i++) {
		snprintf(path, sizeof(path), "%s/" UNIT ".d/%.100s",
			 unit_folders[i], name);
		if (memlock_exists(s->m, path)) {
			return read_file(s, path, e);
		}
	}
	return 0;
}

/* All names of drop-ins, each once, sorted as systemd does. */
static size_t drop_in_names(const struct service *s,
			    char names[DROP_INS][64])
{
	char here[DROP_INS][64], path[160], full[PATH_MAX];
	size_t n = 0;

	for (size_t i = 0; i < FOLDERS; i++) {
		size_t more;

		snprintf(path, sizeof(path), "%s/" UNIT ".d", unit_folders[i]);
		more = sysfile_list(memlock_below(s->m, path, full), here,
				    DROP_INS);
		for (size_t k = 0; k < more && n < DROP_INS; k++) {
			size_t at = 0;

			while (at < n && strcmp(names[at], here[k]) < 0) {
				at++;
			}
			if (at < n && strcmp(names[at], here[k]) == 0) {
				continue;
			}
			memmove(&names[at + 1], &names[at],
				(n - at) * sizeof(names[0]));
			memcpy(names[at], here[k], sizeof(names[0]));
			n++;
		}
	}
	return n;
}

static int read_service(struct service *s, struct err *e)
{
	char names[DROP_INS + 1][64];
	size_t n;

	if (read_unit(s, e) < 0) {
		return -1;
	}
	n = drop_in_names(s, names);
	for (size_t i = 0; i < n; i++) {
		const char *dot = strrchr(names[i], '.');

		if (dot != NULL && strcmp(dot, ".conf") == 0 &&
		    read_drop_in(s, names[i], e) < 0) {
			return -1;
		}
	}
	if (s->exists && !s->set) {
		return read_file(s, "/etc/systemd/system.conf", e);
	}
	return 0;
}

/* Did systemd start process @pid by that unit? */
static bool runs_in_unit(const struct memlock *m, long pid, struct str *text)
{
	struct proc_cgroup group;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%ld/cgroup", pid);
	return memlock_read(m, path, text, NULL) == 0 &&
	       proc_cgroup_parse(str_text(text), text->len, &group, NULL) ==
		       0 &&
	       strcmp(group.unit, UNIT) == 0;
}

static void fill_row(const struct memlock *m, struct service *s,
		     struct memlock_row *row, long pid)
{
	bool unit = pid > 0 && runs_in_unit(m, pid, &s->text);

	row->outcome = OUTCOME_OK;
	if (s->set) {
		row->limit_B = s->limit.soft;
		STR_COPY(row->source, s->where);
	}
	if (!unit) {
		STR_COPY(row->code, "unit_unused");
		STR_COPY(row->detail, "slurmd runs outside systemd: the unit's "
				      "limits do not apply");
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

void memlock_look_unit(const struct memlock *m, struct memlock_row *row,
		       long pid)
{
	struct service s = { .m = m };
	struct err e = { 0 };

	if (read_service(&s, &e) < 0) {
		memlock_row_unknown(row, &e);
	} else if (!s.exists) {
		memlock_row_absent(row, "there is no " UNIT);
	} else {
		fill_row(m, &s, row, pid);
	}
	str_release(&s.text);
}
