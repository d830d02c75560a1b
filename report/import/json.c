/* SPDX-License-Identifier: BSD-3-Clause */
/* JSON of other programs: whose it is, one of its members tells. */
#include "report/import/import.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/json.h"

#define FILE_MAX (256L * 1024 * 1024)

static const struct json_format {
	const char *member;
	json_type type;
	int (*read)(struct import *x, const json_t *top, struct err *e);
} json_formats[] = {
	{ "results", JSON_ARRAY, import_nccl_tests_json },
	{ "results", JSON_OBJECT, import_perftest_json },
	{ "nvbandwidth", JSON_OBJECT, import_nvbandwidth_json },
	{ "Links", JSON_ARRAY, import_clusterkit_json },
	{ 0 }
};

static int read_top(struct import *x, const json_t *top, struct err *e)
{
	const struct json_format *k = json_formats;
	const json_t *member;

	while (k->member && !((member = json_object_get(top, k->member)) &&
			      json_typeof(member) == k->type)) {
		k++;
	}
	return k->member ? k->read(x, top, e) :
			   err_set(e, EINVAL, "'%s' is JSON, and has none of "
				   "'results', 'nvbandwidth', 'Links'",
				   x->file);
}

int import_json(struct import *x, FILE *f, struct err *e)
{
	json_t *top = NULL;
	char *text = NULL;
	size_t room = 0;
	ssize_t len;
	int rc;

	if (fseek(f, 0, SEEK_END) < 0 || ftell(f) > FILE_MAX) {
		return err_set(e, EFBIG, "more than %ld MiB of JSON",
			       FILE_MAX >> 20);
	}
	rewind(f);
	len = getdelim(&text, &room, '\0', f);	/* JSON has no such byte */
	top = json_parse(len > 0 ? text : "", len > 0 ? (size_t)len : 0, e);
	free(text);
	if (!top) {
		return err_hint(e, "if the program was stopped early, import its "
				"text output");
	}
	rc = read_top(x, top, e);
	json_decref(top);
	return rc;
}
