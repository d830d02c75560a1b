/* SPDX-License-Identifier: BSD-3-Clause */
/* The text of expected.ini. */
#include "report/model/expected.h"

#include <errno.h>
#include <ini.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/rundir.h"
#include "lib/base/units.h"
#include "report/base/grow.h"

#define MAX_LINE_GB_S 1e6

/** data/expected.ini as text, part of the program. */
__asm__(".section .rodata\n"
	"expected_text:\n"
	".incbin \"data/expected.ini\"\n"
	".byte 0\n"
	".previous\n");
extern const char expected_text[];

struct reading {
	struct expected *x;
	size_t first;		/* of this text */
	const char *why;	/* of a line that is wrong */
};

static struct expected_line *section(struct reading *r, const char *name)
{
	struct expected_line new = { .line_GB_s = -1 };
	struct expected *x = r->x;

	if (x->n > r->first && strcmp(x->list[x->n - 1].name, name) == 0) {
		return &x->list[x->n - 1];
	}
	if (x->n == EXPECTED_MAX) {
		r->why = "too many sections";
		return NULL;
	}
	if (!name[0] || !STR_COPY(new.name, name)) {
		r->why = "a section without a name, or with a long one";
		return NULL;
	}
	r->why = "no memory";
	return grow_add(&x->list, &x->n, &new, sizeof(new));
}

static bool take_path(struct expected_line *l, const char *value)
{
	return STR_COPY(l->path, value);
}

static bool take_gpu(struct expected_line *l, const char *value)
{
	return value[0] && l->n_gpu < EXPECTED_WORDS &&
	       STR_COPY(l->gpu[l->n_gpu++], value);
}

static bool take_not(struct expected_line *l, const char *value)
{
	return value[0] && l->n_not < EXPECTED_WORDS &&
	       STR_COPY(l->not_gpu[l->n_not++], value);
}

static bool take_gpus(struct expected_line *l, const char *value)
{
	return units_parse_int(value, 1, SPEC_MAX_RANKS, &l->gpus, NULL) == 0;
}

/** A number above 0 up to @most. */
static bool take_number(const char *value, double most, double *out)
{
	char *end;

	*out = strtod(value, &end);
	return end != value && *end == '\0' && *out > 0 && *out <= most;
}

static bool take_line(struct expected_line *l, const char *value)
{
	if (strcmp(value, "nic") == 0) {
		l->line_GB_s = NAN;
		return true;
	}
	return take_number(value, MAX_LINE_GB_S, &l->line_GB_s);
}

static bool take_percent(struct expected_line *l, const char *value)
{
	return take_number(value, 100, &l->percent);
}

static bool take_source(struct expected_line *l, const char *value)
{
	return STR_COPY(l->source, value);
}

static const struct key {
	const char *name;
	bool (*take)(struct expected_line *l, const char *value);
} keys[] = {
	{ .name = "path", .take = take_path },
	{ .name = "gpu", .take = take_gpu },
	{ .name = "not", .take = take_not },
	{ .name = "gpus", .take = take_gpus },
	{ .name = "line_GB_s", .take = take_line },
	{ .name = "percent", .take = take_percent },
	{ .name = "source", .take = take_source },
};

#define BY "percent_"

static bool take_by(struct expected_line *l, const char *transport,
		    const char *value)
{
	return l->n_by < EXPECTED_WORDS && transport[0] &&
	       STR_COPY(l->by[l->n_by].transport, transport) &&
	       take_number(value, 100, &l->by[l->n_by++].percent);
}

/** inih's handler: 1 is good. */
static int take(void *user, const char *name, const char *key,
		const char *value)
{
	struct reading *r = user;
	struct expected_line *l = section(r, name);

	if (!l) {
		return 0;
	}
	r->why = "a value that is out of range, too long, or one too many";
	if (strncmp(key, BY, sizeof(BY) - 1) == 0) {
		return take_by(l, key + sizeof(BY) - 1, value);
	}
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (strcmp(key, keys[i].name) == 0) {
			return keys[i].take(l, value);
		}
	}
	r->why = "no such key";
	return 0;
}

int expected_parse(const char *text, struct expected *x, struct err *e)
{
	struct reading r = { .x = x, .first = x->n, .why = "not KEY=VALUE" };
	int line = ini_parse_string(text, take, &r);

	if (line < 0) {
		return err_set(e, ENOMEM, "no memory");
	}
	if (line > 0) {
		return err_set(e, EINVAL, "line %d: %s", line, r.why);
	}
	for (size_t i = r.first; i < x->n; i++) {
		const struct expected_line *l = &x->list[i];

		if (l->line_GB_s < 0 || l->percent <= 0 || !l->path[0]) {
			return err_set(e, EINVAL, "section [%s] lacks path, "
				       "line_GB_s or percent", l->name);
		}
	}
	return 0;
}

void expected_release(struct expected *x)
{
	free(x->list);
	*x = (struct expected){ 0 };
}

int expected_read(const char *dir, struct expected *x, struct err *e)
{
	struct err why = { 0 };
	char *site = dir ? rundir_read_text(dir, RUN_EXPECTED,
					    EXPECTED_MAX_BYTES, NULL, &why) :
			   NULL;
	int rc;

	*x = (struct expected){ 0 };
	if (why.code == EFBIG) {
		return err_set(e, E2BIG, "%s is too long", RUN_EXPECTED);
	}
	if (why.code == ENOMEM) {
		return err_set(e, ENOMEM, "no memory for %s", RUN_EXPECTED);
	}
	if (site && expected_parse(site, x, e) < 0) {
		rc = err_hint(e, "it is %s of the run", RUN_EXPECTED);
	} else {
		rc = expected_parse(expected_text, x, e);
	}
	free(site);
	return rc;
}
