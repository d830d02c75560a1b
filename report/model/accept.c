/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/model/run.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/grow.h"
#include "lib/base/str.h"
#include "lib/base/units.h"
#include "lib/data/record_rows.h"
#include "lib/data/rundir.h"
#include "lib/spec/spec.h"

/** Maximum limit, GB/s or us. */
#define LIMIT_MAX 1e9
#define SIZE_MAX_B (UINT64_C(1) << 40)
#define WORDS	   7

static const char none[] = "-";

static bool take_limit(const char *text, double *out)
{
	char *end;

	*out = NAN;
	if (strcmp(text, none) == 0) {
		return true;
	}
	*out = strtod(text, &end);
	return text[0] >= '0' && text[0] <= '9' && *end == '\0' && *out > 0 &&
	       *out <= LIMIT_MAX;
}

static bool take_count(const char *text, int64_t most, int64_t *out)
{
	*out = RECORD_NONE;
	return strcmp(text, none) == 0 ||
	       units_parse_int(text, 1, most, out, NULL) == 0;
}

static bool take_size(const char *text, int64_t *out)
{
	uint64_t size;

	*out = RECORD_NONE;
	if (strcmp(text, none) == 0) {
		return true;
	}
	if (units_parse_size(text, &size, NULL) < 0 || size < 1 ||
	    size > SIZE_MAX_B) {
		return false;
	}
	*out = (int64_t)size;
	return true;
}

/** Reads the @n @words into @t. Returns NULL, or the error in words. */
static const char *take(char *const *words, size_t n, struct accept_test *t)
{
	bool pairs = strcmp(words[0], "p2p") == 0;
	const char *bw, *us;

	if (!pairs && collective_parse(words[0]) == COLLECTIVES) {
		return "does not begin with a collective or p2p";
	}
	if (n != (pairs ? 4 : 6)) {
		return pairs ? "is not \"p2p PATH BW_MIN LATENCY_MAX\"" :
			       "is not \"COLLECTIVE NODES GPUS SIZE BUSBW_MIN "
			       "TIME_MAX\"";
	}
	if (pairs && strcmp(words[1], none) != 0 &&
	    !STR_COPY(t->path, words[1])) {
		return "has a path that is too long";
	}
	if (!pairs) {
		STR_COPY(t->op, words[0]);
		if (!take_count(words[1], SPEC_MAX_NODES, &t->nodes) ||
		    !take_count(words[2], SPEC_MAX_RANKS, &t->gpus)) {
			return "has a number of nodes or GPUs that is out of "
			       "range";
		}
		if (!take_size(words[3], &t->size_B)) {
			return "has a size that is not like 8G";
		}
	}
	bw = words[n - 2];
	us = words[n - 1];
	if (!take_limit(bw, &t->bw_min_GB_s) || !take_limit(us, &t->max_us)) {
		return "has a limit that is neither a number above 0 nor \"-\"";
	}
	return isnan(t->bw_min_GB_s) && isnan(t->max_us) ? "has no limit" :
							   NULL;
}

static int take_line(struct accept_test **list, size_t *n_tests,
		     const char *text, size_t len, int number, struct err *e)
{
	static const char blanks[] = " \t\r";
	struct accept_test t = { .line = number };
	struct str joined = STR_INIT;
	char line[ACCEPT_LINE], *words[WORDS], *rest = NULL, *at;
	const char *why = NULL;
	size_t n = 0;

	len = strcspn(text, "#\n") < len ? strcspn(text, "#\n") : len;
	if (len >= sizeof(line)) {
		return err_set(e, E2BIG, "line %d is longer than %d bytes",
			       number, ACCEPT_LINE - 1);
	}
	snprintf(line, sizeof(line), "%.*s", (int)len, text);
	/* more words than fit count as well */
	for (at = strtok_r(line, blanks, &rest); at;
	     at = strtok_r(NULL, blanks, &rest)) {
		if (n < WORDS) {
			words[n] = at;
		}
		n++;
	}
	if (n == 0) {
		return 0;
	}
	why = take(words, n, &t);
	for (size_t i = 0; i < n && i < WORDS; i++) {
		str_addf(&joined, "%s%s", i ? " " : "", words[i]);
	}
	STR_COPY(t.words, str_text(&joined));
	str_release(&joined);
	if (why) {
		return err_set(e, EINVAL, "line %d, '%.80s', %s", number,
			       t.words, why);
	}
	if (*n_tests == ACCEPT_MAX) {
		return err_set(e, E2BIG, "more than %d tests", ACCEPT_MAX);
	}
	return grow_add(list, n_tests, &t, sizeof(t)) ? 0 :
		       err_set(e, ENOMEM, "no memory");
}

int accept_parse(const char *text, struct accept_test **list, size_t *n,
		 struct err *e)
{
	int number = 0, rc = 0;

	if (!text) {
		return 0;
	}
	free(*list);
	*list = NULL;
	*n = 0;
	while (rc == 0 && *text) {
		size_t len = strcspn(text, "\n");

		rc = take_line(list, n, text, len, ++number, e);
		text += len + (text[len] == '\n');
	}
	return rc < 0 ? -1 : *n > 0 ? 0 :
	       err_set(e, EINVAL, "there is no line with a test");
}

int accept_read(const char *dir, struct run *run, struct err *e)
{
	struct err why = { 0 };
	char *text = rundir_has(dir, RUN_ACCEPT) ?
			     rundir_read_text(dir, RUN_ACCEPT, ACCEPT_MAX_BYTES,
					      NULL, e) : NULL;
	int rc = 0;

	if (rundir_has(dir, RUN_ACCEPT)) {
		rc = text ? accept_parse(text, &run->accept, &run->n_accept,
					 &why) : -1;
	}
	if (rc < 0 && text) {
		err_set(e, why.code, "%s: %s", RUN_ACCEPT, why.text);
	}
	free(text);
	return rc;
}
