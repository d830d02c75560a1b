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
	struct ras_process {
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

static int ras_ask(const char *addr, int64_t deadline_ns, struct str *text,
		   struct err *e);

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

/** Return the ncclResult_t that a line names. */
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

/** Those that are not named have begun as many as the one line says that names
 *  none; of two such lines nobody knows whom which is about. */
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

static void begin_call(struct ras_reader *x, const char *name, size_t len)
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

static int begin_comm(struct ras_reader *x, const char *hash, int64_t size,
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
static int read_head(struct ras_reader *x, const char *line, struct err *e)
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
static void ras_text_read_rank(struct ras_reader *x, const char *line)
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
		struct ras_process *p = &x->dead[x->n_dead++];

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
		ras_text_read_rank(x, line);
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
		rc = err_set(e, 0, "NCCL's RAS does not tell the state of the "
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

int64_t look_within_ns(const struct look *l, int64_t ns)
{
	int64_t end = clock_now_ns() + ns;

	return end < l->end_ns ? end : l->end_ns;
}

/** Where those of the job listen. */
static const char *ras_addr(const struct procs *p)
{
	for (size_t i = 0; i < p->n; i++) {
		if (p->list[i].ras_addr[0]) {
			return p->list[i].ras_addr;
		}
	}
	return RAS_ADDR;
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

/** Return true if @pid is a process of this node that is not part of the
 *  job. */
static bool is_strange(const struct look *l, int64_t pid)
{
	struct proc_look now;

	for (size_t k = 0; k < l->procs.n; k++) {
		if (l->procs.list[k].pid == pid) {
			return false;
		}
	}
	return proc_look(l->root, pid, &now) == 0;
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

/** Say which are on this node; and none of them where the job is another one:
 *  those of its processes that live are known. */
static void mark_own(const struct look *l, struct ras_answer *a)
{
	char addrs[NET_MAX_ADDRS][NET_ADDR_TEXT];
	int n_addrs = net_own_addrs(addrs, NET_MAX_ADDRS);
	bool ours = false, strange = false;

	for (size_t i = 0; i < a->n; i++) {
		struct ras_rank *r = &a->ranks[i];

		r->here = r->host[0] && is_here(r->host, addrs, n_addrs);
		strange = strange || (r->here && is_strange(l, r->pid));
		/* words leave the number out where a rank is like the most:
		 * then it is the process that has this rank of as many */
		for (size_t k = 0; k < l->procs.n && r->pid == 0; k++) {
			const struct proc *p = &l->procs.list[k];

			if (p->rank == r->rank && p->world == r->comm_size) {
				r->pid = p->pid;
				r->here = true;
			}
		}
		ours = ours || (a->words && is_lost(l, r));
		for (size_t k = 0; r->here && k < l->procs.n; k++) {
			ours = ours || l->procs.list[k].pid == r->pid;
		}
	}
	a->n = ours && !(a->words && strange) ? a->n : 0;
}

bool look_ask(const struct look *l, int64_t until_ns, struct ras_answer *a)
{
	int64_t one_ns = look_within_ns(l, ASK_NS);
	struct str text = STR_INIT;
	struct err e = { 0 };
	bool ok = l->procs.n > 0 &&
		  ras_ask(ras_addr(&l->procs),
			  one_ns < until_ns ? one_ns : until_ns, &text, &e) ==
			  0 &&
		  ras_parse(str_text(&text), text.len, a, &e) == 0;

	if (!ok && l->procs.n > 0) {
		node_task_fact("node", "ras_note", "hang", "%s", e.text);
		ras_release(a);
	}
	mark_own(l, a);
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

/** "[::1]:28028" and the IPv4 one: who is there first. */
#define RAS_ADDRS 8

static int dial(const char *addr, int64_t deadline_ns, struct err *e)
{
	struct sockaddr_storage list[RAS_ADDRS];
	int n = net_lookup(addr, list, RAS_ADDRS, e), error = ENOENT;

	for (int i = 0; i < n; i++) {
		int fd = net_connect(&list[i], deadline_ns);

		if (fd >= 0) {
			return fd;
		}
		error = errno;
	}
	return n < 0 ? -1 : err_set(e, error, "nobody answers at %s", addr);
}

/** All that comes until the other end closes. */
static int read_all(int fd, int64_t deadline_ns, struct str *text,
		    struct err *e)
{
	char buf[65536];
	ssize_t n = 1;

	while (n > 0 && text->len <= RAS_MAX_BYTES && !text->failed) {
		int error = net_wait(fd, POLLIN, deadline_ns);

		if (error) {
			return err_set(e, error, "no whole answer of NCCL");
		}
		n = recv(fd, buf, sizeof(buf), 0);
		str_addmem(text, buf, n > 0 ? (size_t)n : 0);
	}
	return text->failed	       ? err_set(e, ENOMEM, "no memory") :
	       text->len > RAS_MAX_BYTES ?
			err_set(e, EFBIG, "NCCL's answer has more than %d MiB",
				RAS_MAX_BYTES >> 20) :
	       n < 0 ? err_set(e, errno, "NCCL's answer broke off") : 0;
}

/* Ask at @addr ("host:port") for the whole state, in JSON, into @text.  0, or
 * -1 with @e: nobody listens, no answer by @deadline_ns, more than
 * RAS_MAX_BYTES.  An NCCL before 2.28 answers that it knows no formats, and
 * then in words. */
static int ras_ask(const char *addr, int64_t deadline_ns, struct str *text,
		   struct err *e)
{
	static const char ask[] = "TIMEOUT 3\nSET FORMAT json\n"
				  "VERBOSE STATUS\n";
	int fd = dial(addr, deadline_ns, e);
	int rc = fd < 0 ? -1 :
		 net_write_all(fd, ask, strlen(ask), deadline_ns, e);

	if (rc == 0) {
		rc = read_all(fd, deadline_ns, text, e);
	}
	if (fd >= 0) {
		close(fd);
	}
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

static void take_calls(const json_t *counts, struct ras_rank *r)
{
	struct str out = STR_INIT;
	const char *name;
	json_t *count;

	json_object_foreach((json_t *)counts, name, count) {
		const int64_t n = json_integer_value(count);

		if (n > 0) {
			str_addf(&out, "%s%s %lld", out.len ? ", " : "", name,
				 (long long)n);
			r->total = number_sum(r->total, n);
		}
	}
	STR_COPY(r->calls, str_text(&out));
	str_release(&out);
}

static int read_rank(const json_t *json, struct ras_rank *r, struct err *e)
{
	const json_t *status = json_object_get(json, "status");

	if (json_get_int(json, "rank", 0, INT32_MAX, &r->rank, e) < 0 ||
	    json_get_text(json, "host", r->host, sizeof(r->host), e) < 0 ||
	    json_get_int(json, "pid", 1, INT32_MAX, &r->pid, e) < 0 ||
	    json_opt_int(json, "nvml_dev", 0, INT16_MAX, &r->gpu, e) < 0 ||
	    json_opt_int(status, "async_error", 0, INT16_MAX, &r->async_error,
			 e) < 0 ||
	    json_opt_bool(status, "considered_dead", &r->dead, e) < 0) {
		return -1;
	}
	take_calls(json_object_get(json, "collective_counts"), r);
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
