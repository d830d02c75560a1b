/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state of a job as RAS tells it in words: all that NCCL 2.24 to 2.27 can.
 * It names ranks that differ from the most, or do not answer, and counts the
 * others; where all agree, it tells no number at all.
 */
#include "probes/hang/ras.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/number.h"
#include "lib/base/units.h"

#define GROUPS_MAX 4096		/* lines of its table */
#define DEAD_MAX   4096
#define LINE_BYTES   512
#define BEGUN_MAX  (4 * RAS_MAX_RANKS)
#define UNKNOWN	   (-1)

enum about {
	ABOUT_NOTHING, ABOUT_DEAD, ABOUT_MISSING, ABOUT_ERROR, ABOUT_CALLS
};

struct reader {
	struct ras_answer *a;
	int64_t sizes[GROUPS_MAX], n_groups;	/* ranks of a communicator */
	struct process {
		int64_t pid;
		char host[64];
	} dead[DEAD_MAX];
	size_t n_dead;
	bool in_table;
	enum about about;
	int64_t begun;		/* ranks of communicators told of so far */
	/* of the communicator that is told of */
	char hash[24];
	size_t first, size;	/* its ranks in a->ranks */
	/* of the collective that is told of: "" = none */
	char call[32];
	int64_t *values;	/* by rank; UNKNOWN: not named */
	int64_t value;		/* of the last line that counts ranks */
	bool listed;		/* ... which it has named */
	int n_unlisted;		/* lines that have not */
	int64_t unlisted;	/* what the last of them said */
};

/* ---- its words ----------------------------------------------------------- */

/** The number in front of @after, as in "3 ranks ..."; -1: it is none. */
static int64_t number(const char *text)
{
	char digits[24];
	int64_t n;

	snprintf(digits, sizeof(digits), "%.*s",
		 (int)strspn(text, "0123456789"), text);
	return units_parse_int(digits, 0, INT64_MAX, &n, NULL) == 0 ? n : -1;
}

/** The number behind @words in @line, -1: they are not there. */
static int64_t number_behind(const char *line, const char *words)
{
	const char *at = strstr(line, words);

	return at ? number(at + strlen(words)) : -1;
}

/** What it calls an ncclResult_t. */
static int64_t error_number(const char *line)
{
	static const char *const names[] = {
		NULL, "Unhandled CUDA error", "System error", "Internal error",
		"Invalid argument", "Invalid usage", "Remote process error",
	};
	int64_t error = 0;

	for (size_t i = 1; i < sizeof(names) / sizeof(names[0]); i++) {
		error = strstr(line, names[i]) ? (int64_t)i : error;
	}
	return error;
}

/** "GPU 1 (NVML 3) managed by process 835 on node 10.0.0.1", somewhere in
 *  @line. */
static void read_place(const char *line, struct ras_rank *r)
{
	int64_t pid = number_behind(line, " managed by process ");
	const char *host = strstr(line, " on node ");
	int64_t nvml = number_behind(line, " (NVML ");

	if (pid < 1 || pid > INT32_MAX || !host) {
		return;
	}
	r->pid = pid;
	r->gpu = nvml >= 0 ? nvml : number_behind(line, " GPU ");
	r->gpu = r->gpu <= INT16_MAX ? r->gpu : -1;
	STR_COPY(r->host, host + strlen(" on node "));
}

/* ---- a collective -------------------------------------------------------- */

/** What was said last of ranks that it does not name. */
static void end_line(struct reader *x)
{
	if (x->value != UNKNOWN && !x->listed) {
		x->unlisted = x->value;
		x->n_unlisted++;
	}
	x->value = UNKNOWN;
	x->listed = false;
}

/** Those that are not named have begun as many as the one line says that names
 *  none; of two such lines nobody knows whom which is about. */
static void end_call(struct reader *x)
{
	end_line(x);
	for (size_t i = 0; i < x->size && x->call[0]; i++) {
		struct ras_rank *r = &x->a->ranks[x->first + i];
		int64_t value = x->values[i] != UNKNOWN ? x->values[i] :
				x->n_unlisted == 1 && !r->missing ?
				x->unlisted : UNKNOWN;
		size_t len = strlen(r->calls);

		r->told = r->told || value != UNKNOWN;
		if (value > 0) {
			snprintf(r->calls + len, sizeof(r->calls) - len,
				 "%s%s %" PRId64, len ? ", " : "", x->call,
				 value);
			r->total = number_sum(r->total, value);
		}
	}
	x->call[0] = '\0';
	x->n_unlisted = 0;
}

static void begin_call(struct reader *x, const char *name, size_t len)
{
	end_call(x);
	/* 2.24 and 2.25 count all kinds together */
	snprintf(x->call, sizeof(x->call), "%.*s", (int)len,
		 len == 10 && memcmp(name, "collective", len) == 0 ?
			 "Collective" : name);
	for (size_t i = 0; i < x->size; i++) {
		x->values[i] = UNKNOWN;
	}
}

/* ---- a communicator ------------------------------------------------------ */

/** Of its ranks those stay of which it has told. */
static void end_comm(struct reader *x)
{
	size_t n = x->first;

	end_call(x);
	for (size_t i = x->first; i < x->first + x->size; i++) {
		const struct ras_rank *r = &x->a->ranks[i];

		if (r->told || r->missing || r->async_error > 0) {
			x->a->ranks[n++] = *r;
		}
	}
	x->a->n = x->size > 0 ? n : x->a->n;
	x->size = 0;
	x->hash[0] = '\0';
	free(x->values);
	x->values = NULL;
}

static int begin_comm(struct reader *x, const char *hash, int64_t size,
		      struct err *e)
{
	struct ras_answer *a = x->a;
	struct ras_rank *ranks;

	end_comm(x);
	if (size < 1 || size > RAS_MAX_RANKS || (x->begun += size) >
						      BEGUN_MAX) {
		return err_set(e, EFBIG, "NCCL names more than %d ranks",
			       RAS_MAX_RANKS);
	}
	ranks = realloc(a->ranks, (a->n + (size_t)size) * sizeof(*ranks));
	x->values = malloc((size_t)size * sizeof(*x->values));
	a->ranks = ranks ? ranks : a->ranks;
	if (!ranks || !x->values) {
		return err_set(e, ENOMEM, "no memory for NCCL's ranks");
	}
	x->first = a->n;
	x->size = (size_t)size;
	a->n += x->size;
	STR_COPY(x->hash, hash);
	for (size_t i = 0; i < x->size; i++) {
		struct ras_rank *r = &ranks[x->first + i];

		*r = (struct ras_rank){ .gpu = -1, .rank = (int64_t)i,
					.comm_size = size };
		STR_COPY(r->comm, hash);
	}
	return 0;
}

/** "#0-1 (9f918090b2ddc3c6) MISMATCH": number 1 of those of line 0 of the
 *  table. */
static int read_head(struct reader *x, const char *line, struct err *e)
{
	char digits[20], hash[24], word[24] = "";
	long long group;
	size_t i;

	if (sscanf(line, "#%lld-%*d (%19[0-9a-f]) %23s", &group, digits,
		   word) != 3 || group < 0 || group >= x->n_groups) {
		end_comm(x);
		return 0;
	}
	/* as its JSON has them */
	i = strspn(digits, "0");
	snprintf(hash, sizeof(hash), "0x%s", digits + i);
	end_call(x);
	x->about = strcmp(word, "INCOMPLETE") == 0 ? ABOUT_MISSING :
		   strcmp(word, "ERROR") == 0	   ? ABOUT_ERROR :
						     ABOUT_CALLS;
	return strcmp(hash, x->hash) == 0 ? 0 :
		       begin_comm(x, hash, x->sizes[group], e);
}

/** "  Rank 3 has launched up to operation 20 -- GPU 1 managed by ..." */
static void read_rank(struct reader *x, const char *line)
{
	int64_t n = number_behind(line, "Rank ");
	struct ras_rank *r;

	if (n < 0 || (uint64_t)n >= x->size) {
		return;
	}
	r = &x->a->ranks[x->first + (size_t)n];
	read_place(line, r);
	if (x->about == ABOUT_MISSING) {
		r->missing = true;
	} else if (x->about == ABOUT_ERROR) {
		r->async_error = error_number(line);
	} else if (x->call[0]) {
		int64_t own = number_behind(line, " up to operation ");

		own = strstr(line, " has not launched any ") ? 0 : own;
		x->listed = x->listed || own < 0;
		x->values[n] = own >= 0 ? own : x->value;
	}
}

/* ---- all of it ----------------------------------------------------------- */

static int read_line(struct reader *x, const char *line, struct err *e)
{
	static const char differ[] = "  Communicator ranks have different ";
	const char *kind = line + strlen(differ);
	const char *end;
	long long group, size;

	if (str_starts(line, "NCCL version ")) {
		snprintf(x->a->version, sizeof(x->a->version), "%.*s",
			 (int)strspn(line + 13, "0123456789."), line + 13);
	} else if (str_starts(line, "Group ")) {
		x->in_table = true;
	} else if (str_starts(line, "Errors")) {
		x->in_table = false;
	} else if (x->in_table &&
		   sscanf(line, "%lld %*d %*d %*s %lld", &group, &size) == 2 &&
		   group == x->n_groups && group < GROUPS_MAX) {
		x->sizes[x->n_groups++] = size;
	} else if (strcmp(line, "DEAD") == 0) {
		x->about = ABOUT_DEAD;
	} else if (x->about == ABOUT_DEAD && str_starts(line, "  Process ") &&
		   x->n_dead < DEAD_MAX) {
		struct process *p = &x->dead[x->n_dead++];

		p->pid = number(line + strlen("  Process "));
		end = strstr(line, " on node ");
		str_copy(p->host, sizeof(p->host), end ? end + 9 : "");
		p->host[strcspn(p->host, " ")] = '\0';
	} else if (line[0] == '#') {
		return read_head(x, line, e);
	} else if (str_starts(line, differ) &&
		   (end = strstr(kind, " operation counts"))) {
		begin_call(x, kind, (size_t)(end - kind));
	} else if (str_starts(line, differ)) {
		end_call(x);
	} else if (str_starts(line, "  Rank ")) {
		read_rank(x, line);
	} else if (x->call[0] && strstr(line, " ranks have ")) {
		end_line(x);
		x->value = strstr(line, " not launched any ") ? 0 :
			   number_behind(line, " up to operation ");
	}
	return 0;
}

static void mark_dead(struct reader *x)
{
	for (size_t i = 0; i < x->a->n; i++) {
		struct ras_rank *r = &x->a->ranks[i];

		for (size_t k = 0; r->missing && k < x->n_dead; k++) {
			r->dead = r->dead || (x->dead[k].pid == r->pid &&
					      strcmp(x->dead[k].host,
						     r->host) == 0);
		}
	}
}

int ras_parse_text(const char *text, size_t len, struct ras_answer *a,
		   struct err *e)
{
	struct reader *x = calloc(1, sizeof(*x));
	const char *end = text + len;
	char line[LINE_BYTES];
	int rc = x ? 0 : err_set(e, ENOMEM, "no memory");

	*a = (struct ras_answer){ .words = true };
	if (x) {
		x->a = a;
		x->value = UNKNOWN;
	}
	while (rc == 0 && text < end) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));
		size_t n = (size_t)((stop ? stop : end) - text);

		snprintf(line, sizeof(line), "%.*s",
			 (int)(n < LINE_BYTES ? n : LINE_BYTES - 1), text);
		rc = read_line(x, line, e);
		text += n + 1;
	}
	if (rc == 0 && !a->version[0]) {
		rc = err_set(e, 0, "NCCL's RAS does not tell the state of the "
				   "job");
	}
	if (x) {
		end_comm(x);
		mark_dead(x);
	}
	free(x);
	return rc;
}
