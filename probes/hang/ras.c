/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/hang/ras.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/net.h"
#include "lib/base/units.h"
#include "lib/data/json.h"
#include "probes/hang/hang.h"
#include "probes/node/child.h"

/* ---- ras text ------------------------------------------------------------ */

/*
 * The state of a job as RAS tells it in words: all that NCCL 2.24 to 2.27 can.
 * It names ranks that differ from the most, or do not answer, and counts the
 * others; where all agree, it tells no number at all.
 */

#define GROUPS_MAX 4096		/* lines of its table */
#define DEAD_MAX   4096
#define LINE_BYTES   512
#define BEGUN_MAX  (4 * RAS_MAX_RANKS)
#define UNKNOWN	   (-1)

enum about {
	ABOUT_NOTHING, ABOUT_DEAD, ABOUT_MISSING, ABOUT_ERROR, ABOUT_CALLS
};

struct ras_reader {
	struct ras_answer *a;
	int64_t sizes[GROUPS_MAX], n_groups;	/* ranks of a communicator */
	struct ras_rank dead[DEAD_MAX];		/* processes: pid and host */
	size_t n_dead;
	bool in_table;
	enum about about;
	int64_t begun;		/* ranks of the communicators so far */
	/* the current communicator */
	char hash[24];
	size_t first, size;	/* its ranks in a->ranks */
	/* the current collective: "" = none */
	char call[32];
	int64_t *values;	/* by rank; UNKNOWN: not named */
	int64_t value;		/* of the last line that counts ranks */
	bool listed;		/* ... which it has named */
	int n_unlisted;		/* lines that have not */
	int64_t unlisted;	/* what the last of them said */
};

/* ---- words --------------------------------------------------------------- */

static int ras_ask(const char *addr, const char *ask, int64_t deadline_ns,
		   struct str *text, struct err *e);

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

/* ---- a collective -------------------------------------------------------- */

/** Finish the last line about ranks that RAS does not list. */
static void end_line(struct ras_reader *x)
{
	if (x->value != UNKNOWN && !x->listed) {
		x->unlisted = x->value;
		x->n_unlisted++;
	}
	x->value = UNKNOWN;
	x->listed = false;
}

/** Finish a collective.  Ranks that are not named have begun as many as the one
 *  line says that names none; with two such lines it is not known which ranks
 *  each is about. */
static void end_call(struct ras_reader *x)
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

/* ---- a communicator ------------------------------------------------------ */

/** Finish a communicator: keep the ranks that RAS described. */
static void end_comm(struct ras_reader *x)
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

/** "#0-1 (9f918090b2ddc3c6) MISMATCH": communicator 1 of those of line 0 of the
 *  table. */
static int read_head(struct ras_reader *x, const char *line, struct err *e)
{
	char digits[20], hash[24], word[24] = "";
	struct ras_answer *a = x->a;
	struct ras_rank *ranks;
	long long group;
	int64_t size;

	if (sscanf(line, "#%lld-%*d (%19[0-9a-f]) %23s", &group, digits,
		   word) != 3 ||
	    group < 0 || group >= x->n_groups) {
		end_comm(x);
		return 0;
	}
	/* as its JSON has them */
	snprintf(hash, sizeof(hash), "0x%s", digits + strspn(digits, "0"));
	end_call(x);
	x->about = strcmp(word, "INCOMPLETE") == 0 ? ABOUT_MISSING :
		   strcmp(word, "ERROR") == 0	   ? ABOUT_ERROR :
						     ABOUT_CALLS;
	if (strcmp(hash, x->hash) == 0) {
		return 0;
	}
	/* another communicator begins */
	size = x->sizes[group];
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

/** "  Rank 3 has launched up to operation 20 -- GPU 1 managed by ..." */
static void read_rank_line(struct ras_reader *x, const char *line)
{
	/* by ncclResult_t */
	static const char *const errors[] = {
		NULL,
		"Unhandled CUDA error",
		"System error",
		"Internal error",
		"Invalid argument",
		"Invalid usage",
		"Remote process error",
	};
	int64_t n = number_behind(line, "Rank "), pid;
	struct ras_rank *r;
	const char *host;

	if (n < 0 || (uint64_t)n >= x->size) {
		return;
	}
	r = &x->a->ranks[x->first + (size_t)n];
	/* "GPU 1 (NVML 3) managed by process 835 on node 10.0.0.1" */
	pid = number_behind(line, " managed by process ");
	host = strstr(line, " on node ");
	if (pid >= 1 && pid <= INT32_MAX && host) {
		r->pid = pid;
		r->gpu = number_behind(line, " (NVML ");
		r->gpu = r->gpu >= 0 ? r->gpu : number_behind(line, " GPU ");
		r->gpu = r->gpu <= INT16_MAX ? r->gpu : -1;
		STR_COPY(r->host, host + strlen(" on node "));
	}
	if (x->about == ABOUT_MISSING) {
		r->missing = true;
	} else if (x->about == ABOUT_ERROR) {
		r->async_error = 0;
		for (size_t i = 1; i < sizeof(errors) / sizeof(*errors); i++) {
			if (strstr(line, errors[i])) {
				r->async_error = (int64_t)i;
			}
		}
	} else if (x->call[0]) {
		int64_t own = number_behind(line, " up to operation ");

		own = strstr(line, " has not launched any ") ? 0 : own;
		x->listed = x->listed || own < 0;
		x->values[n] = own >= 0 ? own : x->value;
	}
}

/* ---- lines --------------------------------------------------------------- */

static int read_line(struct ras_reader *x, const char *line, struct err *e)
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
		struct ras_rank *p = &x->dead[x->n_dead++];

		p->pid = number(line + strlen("  Process "));
		end = strstr(line, " on node ");
		str_copy(p->host, sizeof(p->host), end ? end + 9 : "");
		p->host[strcspn(p->host, " ")] = '\0';
	} else if (line[0] == '#') {
		return read_head(x, line, e);
	} else if (str_starts(line, differ) &&
		   (end = strstr(kind, " operation counts"))) {
		end_call(x);
		/* 2.24 and 2.25 count all kinds together */
		str_copy(x->call, sizeof(x->call), "Collective");
		if (!str_starts(kind, "collective operation counts")) {
			snprintf(x->call, sizeof(x->call), "%.*s",
				 (int)(end - kind), kind);
		}
		for (size_t i = 0; i < x->size; i++) {
			x->values[i] = UNKNOWN;
		}
	} else if (str_starts(line, differ)) {
		end_call(x);
	} else if (str_starts(line, "  Rank ")) {
		read_rank_line(x, line);
	} else if (x->call[0] && strstr(line, " ranks have ")) {
		end_line(x);
		x->value = strstr(line, " not launched any ") ? 0 :
			   number_behind(line, " up to operation ");
	}
	return 0;
}

/* The second of these alone. */
static int ras_parse_text(const char *text, size_t len, struct ras_answer *a,
			  struct err *e)
{
	struct ras_reader *x = calloc(1, sizeof(*x));
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
		rc = err_set(e, 0, "NCCL RAS does not report the state of the "
				   "job");
	}
	if (x) {
		end_comm(x);
		for (size_t i = 0; i < x->a->n; i++) {
			struct ras_rank *r = &x->a->ranks[i];

			for (size_t k = 0; r->missing && k < x->n_dead; k++) {
				r->dead =
					r->dead ||
					(x->dead[k].pid == r->pid &&
					 strcmp(x->dead[k].host, r->host) == 0);
			}
		}
	}
	free(x);
	return rc;
}

/* ---- look ras ------------------------------------------------------------ */

/* Answers of RAS about the ranks of a node, look by look. */

/* Deadline of one question to RAS, which itself gives its peers 3 s. */
#define ASK_NS (4 * NS_PER_S)

/* NCCL's own comparison of GPUs, drivers and settings: since that version, how
 * long it may take, and how many lines of it are kept. */
#define RAS_DIAGNOSTICS 2031
#define DIAGNOSE_NS	(2 * NS_PER_S)
#define DIAGNOSE_LINES	16

int64_t look_within_ns(const struct look *l, int64_t ns)
{
	int64_t end = clock_now_ns() + ns;

	return end < l->end_ns ? end : l->end_ns;
}

/** Return true if @host, an address or a name, is this machine. */
static bool is_here(const char *host, char addrs[][NET_ADDR_TEXT], int n)
{
	char name[NET_HOST_SIZE] = "";
	bool here = strncmp(host, "127.", 4) == 0 || strcmp(host, "::1") == 0;

	gethostname(name, sizeof(name) - 1);
	for (int i = 0; i < n && !here; i++) {
		here = strcmp(addrs[i], host) == 0;
	}
	return here || strcmp(host, name) == 0;
}

/** Return true if @r is, by its number, a rank of the job whose process is
 *  gone. */
static bool is_lost(const struct look *l, const struct ras_rank *r)
{
	bool lost = false;

	for (size_t k = 0; k < l->procs.n && r->here; k++) {
		const struct proc *p = &l->procs.list[k];

		if (p->rank == r->rank) {
			return false;
		}
		lost = lost || p->world == r->comm_size;
	}
	return lost;
}

/** The address at which those of the job listen. */
static const char *addr_of(const struct look *l)
{
	const char *addr = RAS_ADDR;

	for (size_t i = l->procs.n; i-- > 0;) {
		if (l->procs.list[i].ras_addr[0]) {
			addr = l->procs.list[i].ras_addr;
		}
	}
	return addr;
}

void look_diagnose(const struct look *l)
{
	static const char prefix[] = "NCCL DIAG [";
	const struct ras_answer *a = &l->ras[0];
	struct str text = STR_INIT;
	int major = 0, minor = 0;
	const char *line;

	/* one node asks for all; 2.31 has them */
	if (l->answers == 0 || a->n == 0 || !a->ranks[0].here ||
	    sscanf(a->version, "%3d.%3d", &major, &minor) != 2 ||
	    major * 1000 + minor < RAS_DIAGNOSTICS) {
		return;
	}
	ras_ask(addr_of(l), "TIMEOUT 1\nDIAGNOSTICS\n",
		look_within_ns(l, DIAGNOSE_NS), &text, NULL);
	line = strstr(str_text(&text), prefix);
	for (int i = 0; line && i < DIAGNOSE_LINES; i++) {
		const size_t len = strcspn(line, "\r\n");

		node_task_fact("node", "ras_diagnostics", "NCCL RAS", "%.*s",
			       (int)(len < 200 ? len : 200), line);
		line = strstr(line + strlen(prefix), prefix);
	}
	str_release(&text);
}

bool look_ask(const struct look *l, int64_t until_ns, struct ras_answer *a)
{
	int64_t one_ns = look_within_ns(l, ASK_NS);
	char addrs[NET_MAX_ADDRS][NET_ADDR_TEXT];
	int n_addrs = net_own_addrs(addrs, NET_MAX_ADDRS);
	bool ours = false, strange = false, ok;
	struct str text = STR_INIT;
	struct err e = { 0 };

	ok = l->procs.n > 0 &&
	     ras_ask(addr_of(l), "TIMEOUT 3\nSET FORMAT json\n"
		     "VERBOSE STATUS\n", one_ns < until_ns ? one_ns : until_ns,
		     &text, &e) == 0 &&
	     ras_parse(str_text(&text), text.len, a, &e) == 0;
	if (!ok && l->procs.n > 0) {
		node_task_fact("node", "ras_note", "hang", "%s", e.text);
		ras_release(a);
	}
	/* mark the ranks that are on this node; drop all if the job is another
	 * one: its live processes are known */
	for (size_t i = 0; i < a->n; i++) {
		struct ras_rank *r = &a->ranks[i];
		struct proc_look now;

		r->here = r->host[0] && is_here(r->host, addrs, n_addrs);
		/* a live process that is not part of the job */
		strange = strange ||
			  (r->here && !procs_at(&l->procs, r->pid) &&
			   proc_look(l->root, r->pid, &now) == 0);
		/* words leave the number out where a rank is like the most:
		 * then it is the process that has this rank of as many */
		for (size_t k = 0; k < l->procs.n && r->pid == 0; k++) {
			const struct proc *p = &l->procs.list[k];

			if (p->rank == r->rank && p->world == r->comm_size) {
				r->pid = p->pid;
				r->here = true;
			}
		}
		ours = ours || (a->words && is_lost(l, r)) ||
		       (r->here && procs_at(&l->procs, r->pid));
	}
	a->n = ours && !(a->words && strange) ? a->n : 0;
	str_release(&text);
	return ok;
}

const struct ras_rank *look_rank(const struct ras_answer *a,
				 const struct ras_rank *like)
{
	for (size_t i = 0; i < a->n; i++) {
		if (a->ranks[i].rank == like->rank &&
		    strcmp(a->ranks[i].comm, like->comm) == 0) {
			return &a->ranks[i];
		}
	}
	return NULL;
}

static bool add_rank(struct ras_answer *a, const struct ras_rank *r)
{
	struct ras_rank *list = realloc(a->ranks, (a->n + 1) * sizeof(*list));

	if (list) {
		a->ranks = list;
		list[a->n] = *r;
		list[a->n].calls[0] = '\0';
		list[a->n++].total = 0;
	}
	return list;
}

void look_complete(struct look *l)
{
	for (int i = 0; i < l->answers; i++) {
		for (int k = 0; k < l->answers && l->ras[k].words; k++) {
			size_t n = l->ras[i].n;

			for (size_t j = 0; k != i && j < n; j++) {
				const struct ras_rank *r = &l->ras[i].ranks[j];

				if (!look_rank(&l->ras[k], r) &&
				    !add_rank(&l->ras[k], r)) {
					return;
				}
			}
		}
	}
}

int64_t look_behind(const struct look *l, const struct ras_rank *like)
{
	int64_t behind = 0;

	for (int i = 0; i < l->answers; i++) {
		const struct ras_rank *own = look_rank(&l->ras[i], like);
		bool is_behind = false;

		if (!own || own->missing) {
			return RECORD_NONE;
		}
		for (size_t k = 0; k < l->ras[i].n; k++) {
			const struct ras_rank *r = &l->ras[i].ranks[k];

			is_behind = is_behind ||
				    (r->total > own->total &&
				     strcmp(r->comm, own->comm) == 0);
		}
		behind += is_behind;
	}
	return l->answers == HANG_LOOKS ? behind : RECORD_NONE;
}

/* ---- asking -------------------------------------------------------------- */

/** Addresses of the name that are tried, such as "[::1]:28028" and the IPv4
 *  one. */
#define RAS_ADDRS 8

/* Send @ask to @addr ("host:port"), and the answer into @text.  0, or -1 with
 * @e: it is not complete by @deadline_ns, or has more than RAS_MAX_BYTES.
 * Asked for the state in JSON, an NCCL before 2.28 answers that it knows no
 * formats, and then in words. */
static int ras_ask(const char *addr, const char *ask, int64_t deadline_ns,
		   struct str *text, struct err *e)
{
	struct sockaddr_storage list[RAS_ADDRS];
	int n = net_lookup(addr, list, RAS_ADDRS, e), error = ENOENT, fd = -1;
	char buf[65536];
	ssize_t got = 1;
	int rc;

	if (n < 0) {
		return -1;
	}
	for (int i = 0; i < n && fd < 0; i++) {
		fd = net_connect(&list[i], deadline_ns);
		error = fd < 0 ? errno : 0;
	}
	if (fd < 0) {
		return err_set(e, error, "no answer at %s", addr);
	}
	rc = net_write_all(fd, ask, strlen(ask), deadline_ns, e);
	/* the answer is complete when the other end closes */
	while (rc == 0 && got > 0 && text->len <= RAS_MAX_BYTES &&
	       !text->failed) {
		error = net_wait(fd, POLLIN, deadline_ns);
		if (error) {
			rc = err_set(e, error, "incomplete answer from NCCL");
			break;
		}
		got = recv(fd, buf, sizeof(buf), 0);
		str_addmem(text, buf, got > 0 ? (size_t)got : 0);
	}
	if (rc == 0 && text->failed) {
		rc = err_set(e, ENOMEM, "no memory");
	} else if (rc == 0 && text->len > RAS_MAX_BYTES) {
		rc = err_set(e, EFBIG, "NCCL's answer has more than %d MiB",
			     RAS_MAX_BYTES >> 20);
	} else if (rc == 0 && got < 0) {
		rc = err_set(e, errno, "the answer from NCCL ended early");
	}
	close(fd);
	return rc;
}

/* ---- the answer ---------------------------------------------------------- */

/** @json with the commas that are missing between a value and the name behind
 *  it. */
static void mend(const char *json, size_t len, struct str *out)
{
	bool quoted = false, escaped = false;
	char last = ',';	/* that is no blank */

	for (size_t i = 0; i < len; i++) {
		char c = json[i];

		if (!quoted && c == '"' && !strchr(",:{[", last)) {
			str_addch(out, ',');
		}
		if (c == '"' && !escaped) {
			quoted = !quoted;
		}
		escaped = quoted && c == '\\' && !escaped;
		last = isspace((unsigned char)c) ? last : c;
		str_addch(out, c);
	}
}

static int read_rank(const json_t *json, struct ras_rank *r, struct err *e)
{
	const json_t *status = json_object_get(json, "status");
	struct str calls = STR_INIT;
	const char *name;
	json_t *count;

	if (json_get_int(json, "rank", 0, INT32_MAX, &r->rank, e) < 0 ||
	    json_get_text(json, "host", r->host, sizeof(r->host), e) < 0 ||
	    json_get_int(json, "pid", 1, INT32_MAX, &r->pid, e) < 0 ||
	    json_opt_int(json, "nvml_dev", 0, INT16_MAX, &r->gpu, e) < 0 ||
	    json_opt_int(status, "async_error", 0, INT16_MAX, &r->async_error,
			 e) < 0 ||
	    json_opt_bool(status, "considered_dead", &r->dead, e) < 0) {
		return -1;
	}
	json_object_foreach(json_object_get(json, "collective_counts"), name,
			    count) {
		const int64_t n = json_integer_value(count);

		if (n > 0) {
			str_addf(&calls, "%s%s %lld", calls.len ? ", " : "",
				 name, (long long)n);
			r->total = number_sum(r->total, n);
		}
	}
	STR_COPY(r->calls, str_text(&calls));
	str_release(&calls);
	return 0;
}

static int read_ranks(const json_t *comm, const char *key, bool missing,
		      struct ras_answer *a, struct err *e)
{
	const json_t *list = json_object_get(comm, key);
	struct ras_rank like = { .gpu = -1, .missing = missing,
				 .told = !missing };
	struct ras_rank *ranks = a->ranks;
	const json_t *json;
	size_t i;

	if (json_get_text(comm, "hash", like.comm, sizeof(like.comm), e) < 0 ||
	    json_get_int(comm, "size", 1, INT32_MAX, &like.comm_size, e) < 0) {
		return -1;
	}
	if (json_array_size(list) > RAS_MAX_RANKS - a->n) {
		return err_set(e, EFBIG, "NCCL names more than %d ranks",
			       RAS_MAX_RANKS);
	}
	ranks = realloc(ranks, (a->n + json_array_size(list) + 1) *
				       sizeof(*ranks));
	if (!ranks) {
		return err_set(e, ENOMEM, "no memory for NCCL's ranks");
	}
	a->ranks = ranks;
	json_array_foreach(list, i, json) {
		ranks[a->n] = like;
		if (read_rank(json, &ranks[a->n], e) < 0) {
			return -1;
		}
		a->n++;
	}
	return 0;
}

int ras_parse(const char *text, size_t len, struct ras_answer *a,
	      struct err *e)
{
	const char *begin = memchr(text, '{', len);
	struct str whole = STR_INIT;
	const json_t *comms, *comm;
	json_t *json = NULL;
	int rc = -1;
	size_t i;

	*a = (struct ras_answer){ 0 };
	if (!begin) {
		return ras_parse_text(text, len, a, e);
	}
	mend(begin, len - (size_t)(begin - text), &whole);
	if (!whole.failed) {
		json = json_parse(str_text(&whole), whole.len, e);
	}
	comms = json ? json_get_array(json, "communicators", RAS_MAX_RANKS, e) :
		       NULL;
	rc = comms ? json_opt_text(json, "nccl_version", a->version,
				   sizeof(a->version), e) : -1;
	json_array_foreach((json_t *)comms, i, comm) {
		if (rc == 0 &&
		    (read_ranks(comm, "ranks", false, a, e) < 0 ||
		     read_ranks(comm, "missing_ranks", true, a, e) < 0)) {
			rc = -1;
		}
	}
	json_decref(json);
	str_release(&whole);
	return rc;
}

void ras_release(struct ras_answer *a)
{
	free(a->ranks);
	*a = (struct ras_answer){ 0 };
}
