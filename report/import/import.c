/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/import/import.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void import_release(struct import *x)
{
	str_release(&x->rows);
	str_release(&x->shown);
	str_release(&x->notes);
	import_pairs_free(x->pairs);
	*x = (struct import){ 0 };
}

int import_end(struct import *x, struct err *e)
{
	return x->pairs ? import_pairs_end(x, e) : 0;
}

/** How a kind of file is told from the others: by what it begins with, or by
 *  what stands in it. */
static const struct import_kind {
	const char *begins, *has;
	int (*read)(struct import *x, FILE *f, struct err *e);
} import_kinds[] = {
	{ .begins = "{", .read = import_json },
	{ .begins = "SourceNode,", .read = import_ping },
	{ .has = "#bytes", .read = import_perftest },
	{ .has = "BW Test\n", .read = import_perftest },
	{ .has = "Latency Test\n", .read = import_perftest },
	{ .begins = "", .read = import_sweep },
};

#define LOOK_MAX (1024 * 1024)

static const struct import_kind *kind_of(const char *text, size_t len)
{
	const struct import_kind *k = import_kinds;
	size_t blanks = strspn(text, " \t\r\n");

	while (!(k->begins && str_starts(text + blanks, k->begins)) &&
	       !(k->has && memmem(text, len, k->has, strlen(k->has)))) {
		k++;
	}
	return k;
}

int import_stream(struct import *x, const char *name, FILE *f, struct err *e)
{
	const struct import_kind *k;
	struct import_pair pair;
	char *look;
	size_t len;

	x->file = name;
	if (import_pair_name(basename(name), &pair)) {
		return import_pair_log(x, &pair, f, e);
	}
	look = malloc(LOOK_MAX + 1);
	if (!look) {
		return err_set(e, ENOMEM, "cannot read '%s'", name);
	}
	len = fread(look, 1, LOOK_MAX, f);
	look[len] = '\0';
	k = kind_of(look, len);
	free(look);
	if (ferror(f) || fseek(f, 0, SEEK_SET) < 0) {
		return err_set(e, errno, "cannot read '%s'", name);
	}
	return k->read(x, f, e);
}

int import_file(struct import *x, const char *path, struct err *e)
{
	FILE *f = fopen(path, "re");
	int rc;

	if (!f) {
		return err_set(e, errno, "cannot read '%s'", path);
	}
	rc = import_stream(x, path, f, e);
	fclose(f);
	return rc;
}
