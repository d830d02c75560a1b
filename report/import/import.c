/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/import/import.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/input.h"

void import_release(struct import *x)
{
	record_list_release(&x->rows);
	str_release(&x->shown);
	str_release(&x->notes);
	import_pairs_free(x->pairs);
	*x = (struct import){ 0 };
}

int import_end(struct import *x, struct err *e)
{
	return x->pairs ? import_pairs_end(x, e) : 0;
}

static bool names_a_pair(const char *name)
{
	struct import_pair pair;

	return import_pair_name(name, &pair);
}

#define WORDS(...) (const char *const[]){ __VA_ARGS__, NULL }

/** A row a format: how a file of it is told from those of the rows below, by
 *  its name, by what it begins with, or by any one of the words in it; and what
 *  reads it. */
static const struct import_format {
	const char *name;	/* for people; "": the row above goes on */
	bool (*named)(const char *name);
	const char *begins;
	const char *const *has;
	int (*read)(struct import *x, FILE *f, struct err *e);
} formats[] = {
	{ .name = "logs of pairs (p2p-test-S-R-JOB.out)",
	  .named = names_a_pair, .read = import_pair_log },
	{ .name = "JSON of nccl-tests, perftest, nvbandwidth and ClusterKit",
	  .begins = "{", .read = import_json },
	{ .name = "the CSV of a ping script", .begins = "SourceNode,",
	  .read = import_ping },
	{ .name = "perftest", .read = import_perftest,
	  .has = WORDS("#bytes", "BW Test\n", "Latency Test\n") },
	{ .name = "nvbandwidth", .has = WORDS("nvbandwidth Version"),
	  .read = import_nvbandwidth },
	{ .name = "OSU micro-benchmarks", .has = WORDS("# OSU "),
	  .read = import_osu },
	{ .name = "", .has = WORDS("AlgBW (GB/s)", "algBW_GB/s"),
	  .read = import_boxed },
	{ .name = "", .has = WORDS("algbw"), .read = import_sweep },
	/* what it says where it does not get as far as its title */
	{ .name = "", .read = import_perftest,
	  .has = WORDS("Unable to init the socket connection",
		       "Unable to find the Infiniband/RoCE device",
		       "Couldn't connect to ", "Couldn't create CQ",
		       "Couldn't allocate MR", "Unable to create QP",
		       "Failed to modify QP") },
	{ .name = "fping", .has = WORDS(" is alive\n", " is alive (",
					" is unreachable\n",
					" : xmt/rcv/%", "ICMP Echo sent to"),
	  .read = import_fping },
	{ .name = "tables of nccl-tests, rccl-tests and MSCCL++",
	  .begins = "", .read = import_sweep },
};

#define FORMATS (sizeof(formats) / sizeof(*formats))
#define LOOK_MAX (1024 * 1024)

const char *import_format_name(size_t i)
{
	return i < FORMATS ? formats[i].name : NULL;
}

static bool is_of(const struct import_format *k, const char *name,
		  const char *text, size_t len)
{
	bool has = false;

	for (size_t i = 0; k->has && k->has[i]; i++) {
		has = has || memmem(text, len, k->has[i], strlen(k->has[i]));
	}
	return has || (k->named && k->named(name)) ||
	       (k->begins && str_starts(text + strspn(text, " \t\r\n"),
					k->begins));
}

int import_stream(struct import *x, const char *name, FILE *f, struct err *e)
{
	const struct import_format *k = formats;
	char *look = malloc(LOOK_MAX + 1);
	size_t len;

	x->file = name;
	if (!look) {
		return err_set(e, ENOMEM, "cannot read '%s'", name);
	}
	len = fread(look, 1, LOOK_MAX, f);
	look[len] = '\0';
	while (!is_of(k, basename(name), look, len)) {
		k++;	/* the last one takes all */
	}
	free(look);
	if (ferror(f) || fseek(f, 0, SEEK_SET) < 0) {
		return err_set(e, errno, "cannot read '%s'", name);
	}
	return k->read(x, f, e);
}

int import_file(struct import *x, const char *path, struct err *e)
{
	FILE *f = input_open(path, LOOK_MAX, e);
	int rc;

	if (!f) {
		return -1;
	}
	rc = import_stream(x, path, f, e);
	fclose(f);
	return rc;
}
