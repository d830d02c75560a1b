/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Dumps of PyTorch's flight recorder: the last calls of each rank, as pickle or
 * JSON.  Groups are compared by their names, since the numbers of groups differ
 * between ranks; calls by their sequence number in the group.  Also lines of
 * NCCL Inspector, which has the time of every collective on every rank.
 */
#include "report/explain/explain.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/grow.h"
#include "lib/base/order.h"
#include "lib/base/stats.h"
#include "lib/data/json.h"

/** Calls of all dumps: 1,000 ranks with 2,000 each are two million. */
#define CALLS_MAX   (4 << 20)
#define RING_MAX    131072	/* of one dump */
#define RANKS_MAX   16384	/* dumps, and members of a group */
#define FRAMES_MAX  256
#define LINES_SHOWN 4
#define RANKS_SHOWN 16
/** Ranks of a communicator that are told apart by time; rates of one size. */
#define RANKS_TIMED 4096
#define RATES_MAX   4096
#define NONE	    SIZE_MAX

/** A call of a rank.  Texts are numbers: see text_of(). */
struct call {
	size_t group, op, sizes, where;
	int64_t seq;
	int64_t peer;		/* within the group; -1: a collective */
	bool send, done;
};

/** A dump. */
struct dump {
	int rank;
	bool whole;		/* it has the first call of its process */
	size_t first, n;	/* of flight.calls */
	size_t stuck;		/* the first call that has not ended; NONE */
	bool judged;		/* that call was */
};

/** A line of the Inspector: a collective on one rank. */
struct timing {
	size_t comm, coll;	/* text_of() */
	int64_t number, size_B, rank, ranks;
	double us, GB_s;	/* of the bus */
};

struct flight {
	json_t *texts;		/* text: number */
	json_t *names;		/* by number */
	json_t *members;	/* name of a group: list of its ranks */
	struct call *calls;
	size_t n_calls;
	struct dump *dumps;	/* flight_judge() sorts them by rank */
	size_t n;
	struct timing *timings;
	size_t n_timings, broken;	/* lines that cannot be read */
};

/* ---- reading ------------------------------------------------------------- */

/** The number of @text, which is remembered. */
static size_t number_of(struct flight *f, const char *text)
{
	int64_t n = (int64_t)json_array_size(f->names);

	if (json_opt_int(f->texts, text, 0, INT64_MAX, &n, NULL) == 0 &&
	    n == (int64_t)json_array_size(f->names)) {
		json_object_set_new(f->texts, text, json_integer(n));
		json_array_append_new(f->names, json_text(text));
	}
	return (size_t)n;
}

static const char *text_of(const struct flight *f, size_t number)
{
	const char *text = json_string_value(json_array_get(f->names, number));

	return text ? text : "";
}

/** The members of @group, "[0, 1, 2, 3]" or a list, unless they are known. */
static void take_members(struct flight *f, const char *group,
			 const json_t *ranks)
{
	const char *text = json_string_value(ranks);
	json_t *list = json_array();
	const json_t *one;
	size_t i;

	json_array_foreach(ranks, i, one) {
		if (i < RANKS_MAX) {
			json_array_append(list, (json_t *)(uintptr_t)one);
		}
	}
	while (text && *text && json_array_size(list) < RANKS_MAX) {
		if (isdigit((unsigned char)*text)) {
			json_array_append_new(list, json_integer(
				(json_int_t)strtol(text, (char **)&text, 10)));
		} else {
			text++;
		}
	}
	if (json_array_size(list) > 0) {
		json_object_set(f->members, group, list);
	}
	json_decref(list);
}

/** "train.py:31 (step)": the innermost frame outside of PyTorch. */
static size_t take_where(struct flight *f, const json_t *entry)
{
	const json_t *list = json_get_array(entry, "frames", FRAMES_MAX, NULL);
	char text[160] = "", file[512], name[128];
	const json_t *frame;
	size_t i;

	json_array_foreach(list, i, frame) {
		const char *base;
		int64_t line = 0;
		bool own;

		file[0] = name[0] = '\0';
		json_opt_text(frame, "filename", file, sizeof(file), NULL);
		json_opt_text(frame, "name", name, sizeof(name), NULL);
		json_opt_int(frame, "line", 0, INT32_MAX, &line, NULL);
		own = !strstr(file, "/torch/");
		base = strrchr(file, '/');
		if (i == 0 || own) {
			snprintf(text, sizeof(text),
				 "%.80s:%" PRId64 " (%.40s)",
				 base ? base + 1 : file, line, name);
		}
		if (own) {
			break;
		}
	}
	return number_of(f, text);
}

/** Read the operation, "nccl:all_reduce", "nccl:send 0->1" or "nccl:recv
 *  1<-0". */
static void take_op(struct flight *f, const char *name, struct call *c)
{
	const char *op = strchr(name, ':');
	char text[64];
	int own, peer;

	op = op ? op + 1 : name;
	snprintf(text, sizeof(text), "%.60s", op);
	c->send = sscanf(op, "send %d->%d", &own, &peer) == 2;
	c->peer = c->send || sscanf(op, "recv %d<-%d", &own, &peer) == 2 ?
			  peer : -1;
	if (c->peer >= 0) {
		snprintf(text, sizeof(text), "%s", c->send ? "send" : "recv");
	}
	c->op = number_of(f, text);
}

/** Return false for a call that cannot be compared with those of others. */
static bool take_call(struct flight *f, const json_t *entry, struct call *c)
{
	char op[128] = "", state[24] = "";
	/* the name of the group: ["0", "default_pg"], or one text */
	const json_t *name = json_array_get(
		json_get_array(entry, "process_group", 2, NULL), 0);
	const char *group = name ? json_string_value(name) :
				   json_member(entry, "process_group");
	const json_t *list = json_get_array(entry, "input_sizes", 4096, NULL);
	bool p2p = false;
	char *sizes;

	json_opt_text(entry, "profiling_name", op, sizeof(op), NULL);
	json_opt_text(entry, "state", state, sizeof(state), NULL);
	json_opt_bool(entry, "is_p2p", &p2p, NULL);
	*c = (struct call){ .seq = -1,
			    .done = strcmp(state, "completed") == 0 };
	take_op(f, op, c);
	p2p = p2p || c->peer >= 0;
	json_opt_int(entry, p2p ? "p2p_seq_id" : "collective_seq_id", 0,
		     INT64_MAX, &c->seq, NULL);
	if (!group || !group[0] || !op[0] || !state[0] || c->seq < 0 ||
	    (p2p && c->peer < 0)) {
		return false;
	}
	sizes = list ? json_dumps(list, JSON_COMPACT) : NULL;
	c->sizes = number_of(f, sizes ? sizes : "");
	free(sizes);
	c->group = number_of(f, group);
	c->where = take_where(f, entry);
	return true;
}

/** Take the calls of @entries as those of @dump. */
static int take_calls(struct flight *f, const json_t *entries,
		      struct dump *dump, struct err *e)
{
	int64_t record = 0;
	const json_t *entry;
	size_t i;

	json_opt_int(json_array_get(entries, 0), "record_id", 0, INT64_MAX,
		     &record, NULL);
	dump->whole = record == 0;
	dump->first = f->n_calls;
	json_array_foreach(entries, i, entry) {
		struct call c;

		if (!take_call(f, entry, &c)) {
			continue;
		}
		if (f->n_calls == CALLS_MAX ||
		    !grow_add(&f->calls, &f->n_calls, &c, sizeof(c))) {
			return err_set(e, EFBIG, "the dumps have more than %d "
				       "calls", CALLS_MAX);
		}
		if (!c.done && dump->stuck == NONE) {
			dump->stuck = f->n_calls - 1;
		}
	}
	dump->n = f->n_calls - dump->first;
	return 0;
}

struct flight *flight_new(void)
{
	struct flight *f = calloc(1, sizeof(*f));

	if (f) {
		f->texts = json_object();
		f->names = json_array();
		f->members = json_object();
	}
	return f;
}

int flight_add(struct flight *f, const json_t *json, const char *name,
	       struct err *e)
{
	const json_t *entries = json_get_array(json, "entries", RING_MAX, e);
	struct dump dump = { .rank = about_file(name), .stuck = NONE };
	json_t *configs = NULL, *config, *ranks;
	const char *group, *at = name + strlen(name);

	if (!entries || !f) {
		return entries ? err_set(e, ENOMEM, "no memory for dumps") : -1;
	}
	/* its rank is behind "rank", or at the end of its name */
	while (at > name && isdigit((unsigned char)at[-1])) {
		at--;
	}
	if (dump.rank < 0 && *at && strlen(at) < 7) {
		dump.rank = (int)strtol(at, NULL, 10);
	}
	if (dump.rank < 0) {
		err_set(e, 0, "the name of the dump has no rank");
		return err_hint(e, "call it comm_lib_trace_rank_3, for rank 3");
	}
	for (size_t i = 0; i < f->n; i++) {
		if (f->dumps[i].rank == dump.rank || f->n == RANKS_MAX) {
			return err_set(e, 0, "there is another dump of "
				       "rank %d, or there are more than %d",
				       dump.rank, RANKS_MAX);
		}
	}
	json_unpack((json_t *)(uintptr_t)json, "{s:o}", "pg_config", &configs);
	json_object_foreach(configs, group, config) {
		if (json_unpack(config, "{s:o}", "ranks", &ranks) == 0) {
			take_members(f, group, ranks);
		}
	}
	if (take_calls(f, entries, &dump, e) < 0) {
		return -1;
	}
	return grow_add(&f->dumps, &f->n, &dump, sizeof(dump)) ? 0 :
		       err_set(e, ENOMEM, "no memory for dumps");
}

void flight_add_line(struct flight *f, const char *line, size_t len)
{
	json_t *json = json_parse(line, len, NULL);
	json_t *head = NULL, *perf = NULL;
	char comm[64], coll[32], source[32] = "kernel";
	struct timing t;

	json_unpack(json, "{s:o, s:o}", "header", &head, "coll_perf", &perf);
	if (json_get_text(head, "id", comm, sizeof(comm), NULL) < 0 ||
	    json_get_int(head, "rank", 0, RANKS_MAX, &t.rank, NULL) < 0 ||
	    json_get_int(head, "n_ranks", 1, RANKS_MAX, &t.ranks, NULL) < 0 ||
	    json_get_text(perf, "coll", coll, sizeof(coll), NULL) < 0 ||
	    json_get_int(perf, "coll_sn", 0, INT64_MAX, &t.number, NULL) < 0 ||
	    json_get_int(perf, "coll_msg_size_bytes", 0, INT64_MAX, &t.size_B,
			 NULL) < 0 ||
	    json_get_real(perf, "coll_exec_time_us", 0, 1e15, &t.us, NULL) <
		    0 ||
	    json_get_real(perf, "coll_busbw_gbs", 0, 1e9, &t.GB_s, NULL) < 0 ||
	    json_opt_text(perf, "coll_timing_source", source, sizeof(source),
			  NULL) < 0) {
		f->broken++;
	} else if (str_starts(source, "kernel") && f->n_timings < CALLS_MAX) {
		/* the CPU only enqueues it */
		t.comm = number_of(f, comm);
		t.coll = number_of(f, coll);
		grow_add(&f->timings, &f->n_timings, &t, sizeof(t));
	}
	json_decref(json);
}

void flight_release(struct flight *f)
{
	if (f) {
		json_decref(f->texts);
		json_decref(f->names);
		json_decref(f->members);
		free(f->calls);
		free(f->dumps);
		free(f->timings);
		free(f);
	}
}

/* ---- judging ------------------------------------------------------------- */

/** States of ranks in whose group a call has not ended; the state that says
 *  most comes first. */
enum {
	STOP_MISSING,		/* have not called it, and wait in no other */
	STOP_OTHER, STOP_SIZES,	/* are in another operation, or size */
	STOP_SILENT,		/* have no dump */
	STOP_VICTIMS,		/* have not called it, and wait in another */
	STOP_UNKNOWN,		/* have a dump that does not reach back */
	STOP_KINDS
};

/** A call that has not ended. */
struct stop {
	size_t call;		/* of the first rank that waits */
	size_t waits;
	struct str ranks[STOP_KINDS];	/* "3, 9" */
	size_t n[STOP_KINDS];
	size_t odd;		/* first call of another operation or size */
	size_t last;		/* the last call of the first missing rank;
				 * NONE */
};

static const struct order_key by_rank[] = {
	ORDER_UP(struct dump, rank),
	ORDER_END
};

static struct dump *dump_of(const struct flight *f, int64_t rank)
{
	const struct dump like = { .rank = (int)rank };

	return order_find(&like, f->dumps, f->n, sizeof(like), by_rank);
}

/** The call of @d that is @like; NONE: it has none.  *@missing: it is certain
 *  that the rank has not called it so far. */
static size_t find_call(const struct flight *f, const struct dump *d,
			const struct call *like, bool *missing)
{
	size_t found = NONE;
	int64_t last = -1;

	for (size_t i = d->first; i < d->first + d->n; i++) {
		const struct call *c = &f->calls[i];

		if (c->group == like->group && c->peer < 0) {
			last = c->seq > last ? c->seq : last;
			found = c->seq == like->seq ? i : found;
		}
	}
	*missing = found == NONE && last < like->seq && (last >= 0 || d->whole);
	return found;
}

/** Return the rank that is number @i of the group, -1: there is none. */
static int64_t member_of(const struct flight *f, size_t group, size_t i)
{
	const json_t *list = json_get_array(f->members, text_of(f, group),
					    RANKS_MAX, NULL);

	if (!list) {	/* as the world: all ranks with dumps */
		return i < f->n ? f->dumps[i].rank : -1;
	}
	return i < json_array_size(list) ?
		       json_integer_value(json_array_get(list, i)) : -1;
}

static bool is_like(const struct flight *f, size_t a, size_t b, bool sizes)
{
	/* operations to which all ranks give one size */
	static const char *const one_size[] = {
		"all_reduce", "allreduce", "_all_gather_base",
		"all_gather_into_tensor", "_reduce_scatter_base",
		"reduce_scatter_tensor", "broadcast", "reduce", NULL
	};
	const struct call *c = &f->calls[a], *d = &f->calls[b];

	return c->op == d->op && (!sizes || c->sizes == d->sizes ||
				  str_index(one_size, text_of(f, c->op)) < 0);
}

/** Add the ranks whose call, of @found[0..@n], is not like most in operation,
 *  or with @sizes also in size. */
static void add_odd(const struct flight *f, const size_t *found, size_t n,
		    bool sizes, struct stop *s)
{
	const int kind = sizes ? STOP_SIZES : STOP_OTHER;
	size_t most = NONE, votes = 0, same = 0, all = 0;

	/* if most are alike, it is they that are left */
	for (size_t i = 0; i < n; i++) {
		if (found[i] != NONE) {
			most = votes == 0 ? found[i] : most;
			votes += is_like(f, found[i], most, sizes) ? 1 :
								     SIZE_MAX;
			all++;
		}
	}
	for (size_t i = 0; i < n; i++) {
		same += found[i] != NONE && is_like(f, found[i], most, sizes);
	}
	if (same * 2 <= all) {
		return;
	}
	s->call = most;
	for (size_t i = 0; i < n; i++) {
		if (found[i] != NONE && !is_like(f, found[i], most, sizes)) {
			s->odd = s->odd == NONE ? found[i] : s->odd;
			str_add_number(&s->ranks[kind], &s->n[kind],
				       RANKS_SHOWN,
				       member_of(f, f->calls[most].group, i));
		}
	}
}

/** Compare the collective @s->call on all ranks of its group. */
static void judge_stop(struct flight *f, struct stop *s)
{
	const struct call like = f->calls[s->call];
	size_t *found = NULL, n = 0;

	for (int64_t rank; (rank = member_of(f, like.group, n)) >= 0;) {
		struct dump *d = dump_of(f, rank);
		bool missing = false;
		size_t at = d ? find_call(f, d, &like, &missing) : NONE;
		int kind = !d		      ? STOP_SILENT :
			   !missing	      ? STOP_UNKNOWN :
			   d->stuck == NONE ? STOP_MISSING : STOP_VICTIMS;

		if (!grow_add(&found, &n, &at, sizeof(at))) {
			break;
		}
		if (at != NONE) {
			s->waits += !f->calls[at].done;
			d->judged = d->judged || d->stuck == at;
			continue;
		}
		if (kind == STOP_MISSING && s->n[kind] == 0 && d->n > 0) {
			s->last = d->first + d->n - 1;
		}
		str_add_number(&s->ranks[kind], &s->n[kind], RANKS_SHOWN, rank);
	}
	add_odd(f, found, n, false, s);
	if (s->odd == NONE) {
		add_odd(f, found, n, true, s);
	}
	free(found);
}

/* ---- send and receive ---------------------------------------------------- */

/** The rank for which @d waits in a send or a receive; -1: in none. */
static int64_t peer_of(const struct flight *f, const struct dump *d)
{
	const struct call *c = d && d->stuck != NONE ? &f->calls[d->stuck] :
						       NULL;

	return c && c->peer >= 0 ?
		       member_of(f, c->group, (size_t)c->peer) : -1;
}

/** Follow the waits from @d to the end of the chain.  Returns the last rank;
 *  *@cycle: it ends in a circle, whose ranks are added to @way. */
static int64_t follow(const struct flight *f, const struct dump *d,
		      struct str *way, bool *cycle)
{
	int64_t rank = d->rank, next = peer_of(f, d);
	size_t steps = 0, n = 0;

	/* after as many steps as there are ranks, it is in a circle */
	while (next >= 0 && steps++ <= f->n) {
		rank = next;
		next = peer_of(f, dump_of(f, rank));
	}
	*cycle = next >= 0;
	for (int64_t at = rank; *cycle && (at != rank || n == 0);) {
		str_add_number(way, &n, RANKS_SHOWN, at);
		at = peer_of(f, dump_of(f, at));
	}
	return rank;
}

/* ---- words --------------------------------------------------------------- */

static const char *s_of(size_t n)
{
	return n == 1 ? "" : "s";
}

/** "all_reduce 21 of group 0 at train.py:31 (step)". */
static void add_call(const struct flight *f, size_t call, struct str *out)
{
	const struct call *c = &f->calls[call];

	str_addf(out, "%s %" PRId64 " of group %.20s", text_of(f, c->op),
		 c->seq, text_of(f, c->group));
	if (text_of(f, c->where)[0]) {
		str_addf(out, " at %s", text_of(f, c->where));
	}
}

/** Add the line of @s, whose ranks are of @kind and those after it; messages of
 *  data/symptoms.ini begin like it. */
static void add_stop(const struct flight *f, const struct stop *s, int kind,
		     struct str *out)
{
	const char *ranks = str_text(&s->ranks[kind]);
	const char *many = s_of(s->n[kind]);

	str_add(out, FLIGHT_SAYS);
	switch (kind) {
	case STOP_MISSING:
		str_addf(out, "rank%s %s never called ", many, ranks);
		add_call(f, s->call, out);
		if (s->last != NONE) {
			str_addf(out, ", while %zu wait; last call: ",
				 s->waits);
			add_call(f, s->last, out);
		}
		break;
	case STOP_OTHER:
		str_addf(out, "rank%s %s called another collective: ", many,
			 ranks);
		add_call(f, s->odd, out);
		str_add(out, ", not ");
		add_call(f, s->call, out);
		break;
	case STOP_SIZES:
		str_addf(out, "rank%s %s used another size: ", many, ranks);
		add_call(f, s->odd, out);
		str_addf(out, ", %.40s, not %.40s",
			 text_of(f, f->calls[s->odd].sizes),
			 text_of(f, f->calls[s->call].sizes));
		break;
	case STOP_SILENT:
		str_addf(out, "no dump of rank%s %s, while %zu wait in ",
			 many, ranks, s->waits);
		add_call(f, s->call, out);
		break;
	case STOP_VICTIMS:
		str_addf(out, "ranks %s and others wait for each other, in "
			 "different groups: these never called ", ranks);
		add_call(f, s->call, out);
		break;
	default:
		str_add(out, "all ranks wait in ");
		add_call(f, s->call, out);
		break;
	}
	if (s->n[STOP_UNKNOWN] > 0) {
		str_addf(out, "; dumps that do not reach back so far: %s",
			 str_text(&s->ranks[STOP_UNKNOWN]));
	}
	str_add(out, "\n");
}

/** Add a line about the end of the chain of sends and receives that @d is in,
 *  unless that waits in a collective.  Returns false then. */
static bool add_chain(const struct flight *f, const struct dump *d,
		      struct str *out)
{
	struct str way = STR_INIT, silent = STR_INIT;
	size_t n = 0;		/* silent ones */
	bool cycle;
	int64_t end = follow(f, d, &way, &cycle);
	const struct dump *last = dump_of(f, end);
	const struct dump *peer = dump_of(f, peer_of(f, last));
	const bool told = cycle || !last || last->stuck == NONE;
	/* one of two ranks sends what the other receives */
	const bool matched = cycle && peer_of(f, peer) == end &&
			     f->calls[last->stuck].send !=
				     f->calls[peer->stuck].send;

	/* a rank without a dump may be the one that did not call */
	for (int64_t rank, i = 0;
	     (rank = member_of(f, f->calls[d->stuck].group, (size_t)i)) >= 0;
	     i++) {
		if (!dump_of(f, rank)) {
			str_add_number(&silent, &n, RANKS_SHOWN, rank);
		}
	}

	if (told) {
		str_add(out, FLIGHT_SAYS);
	}
	if (matched) {
		str_addf(out, "all ranks wait in send or receive: ranks %s ",
			 str_text(&way));
	} else if (cycle) {
		str_addf(out, "ranks %s wait for each other in ",
			 str_text(&way));
	} else if (told && n > 0) {
		str_addf(out, "no dump of rank%s %s, while rank %d waits in ",
			 s_of(n), str_text(&silent), d->rank);
	} else if (told) {
		str_addf(out, "the end of the chain is rank %" PRId64 ", which "
			 "waits for nothing, while rank %d waits in ", end,
			 d->rank);
	}
	if (told) {
		add_call(f, d->stuck, out);
		str_add(out, "\n");
	}
	str_release(&way);
	str_release(&silent);
	return told;
}

/* ---- NCCL Inspector ------------------------------------------------------ */

/** A rank is late if it is in the collective for less than this share of the
 *  median: the others wait in it for the last one. */
#define LATE_SHARE 0.5
/** Collectives that must be compared, and the share in which a rank is late. */
#define LATE_LEAST 10
#define LATE_MOST  0.5

static const struct order_key by_collective[] = {
	ORDER_UP(struct timing, comm),
	ORDER_UP(struct timing, coll),
	ORDER_UP(struct timing, number),
	ORDER_UP(struct timing, us),
	ORDER_END
};

/** The timings of a communicator. */
struct timed {
	size_t compared, late[RANKS_TIMED];
	double waited_us, GB_s[RATES_MAX];
	int64_t size_B;		/* the largest; GB_s has @n of this size */
	size_t n, coll;
};

/** Count the collective t[0..@n], sorted by time. */
static void count_timing(const struct timing *t, size_t n, struct timed *to)
{
	bool late = n > 1 && t[0].us < t[n / 2].us * LATE_SHARE;

	if ((int64_t)n == t->ranks && n > 1) {
		to->compared++;
		if (late && t->rank < RANKS_TIMED) {
			to->late[t->rank]++;
			to->waited_us += t[n / 2].us - t[0].us;
		}
	}
	if (t->size_B > to->size_B) {
		to->size_B = t->size_B;
		to->n = 0;
		to->coll = t->coll;
	}
	if (t->size_B == to->size_B && to->n < RATES_MAX) {
		to->GB_s[to->n++] = t->GB_s;	/* of the last to arrive */
	}
}

static void add_timed(const struct flight *f, const struct timing *t,
		      struct timed *c, struct str *out)
{
	const char *comm = text_of(f, t->comm);

	for (size_t r = 0; r < RANKS_TIMED; r++) {
		if (c->compared >= LATE_LEAST &&
		    (double)c->late[r] > LATE_MOST * (double)c->compared) {
			str_addf(out, "NCCL Inspector: rank %zu is late in %zu "
				 "of %zu collectives of communicator %.24s, "
				 "and the others wait %.0f us each time\n", r,
				 c->late[r], c->compared, comm,
				 c->waited_us / (double)c->late[r]);
		}
	}
	str_addf(out, "NCCL Inspector: bus bandwidth of %.24s in communicator "
		 "%.24s, %" PRId64 " ranks: %.1f GB/s at %" PRId64
		 " B, median of %zu\n", text_of(f, c->coll), comm, t->ranks,
		 stats_median(c->GB_s, c->n), c->size_B, c->n);
}

/** Report per communicator which rank is late, and the bus bandwidth. */
static void judge_timings(struct flight *f, struct str *out)
{
	struct timed *c = calloc(1, sizeof(*c));

	order_sort(f->timings, f->n_timings, sizeof(*f->timings),
		   by_collective);
	for (size_t i = 0, end; c && i < f->n_timings; i = end) {
		const struct timing *t = &f->timings[i];

		for (end = i + 1; end < f->n_timings &&
		     f->timings[end].comm == t->comm &&
		     f->timings[end].coll == t->coll &&
		     f->timings[end].number == t->number; end++) {
			/* its last rank */
		}
		count_timing(t, end - i, c);
		if (end == f->n_timings || f->timings[end].comm != t->comm) {
			add_timed(f, t, c, out);
			memset(c, 0, sizeof(*c));
		}
	}
	if (f->broken > 0) {
		str_addf(out, FLIGHT_SAYS "dump refused: %zu line%s of NCCL "
			 "Inspector\n", f->broken, f->broken == 1 ? "" : "s");
	}
	free(c);
}

void flight_judge(struct flight *f, struct str *out)
{
	struct str best = STR_INIT, chain = STR_INIT;
	int first = STOP_KINDS;	/* of what the lines of @best say */

	judge_timings(f, out);
	if (f->n == 0) {
		return;
	}
	order_sort(f->dumps, f->n, sizeof(*f->dumps), by_rank);
	for (size_t i = 0; i < f->n; i++) {
		struct dump *d = &f->dumps[i];
		struct stop s = { .call = d->stuck, .odd = NONE, .last = NONE };
		int kind = STOP_MISSING;

		if (d->judged || d->stuck == NONE) {
			continue;
		}
		if (f->calls[d->stuck].peer >= 0) {
			if (chain.len == 0) {
				add_chain(f, d, &chain);
			}
			continue;
		}
		judge_stop(f, &s);
		while (kind < STOP_UNKNOWN && s.n[kind] == 0) {
			kind++;
		}
		if (kind <= first) {
			str_cut(&best, kind < first ? 0 : best.len);
			first = kind;
			if (best.len < LINES_SHOWN * 200) {
				add_stop(f, &s, kind, &best);
			}
		}
		for (int k = 0; k < STOP_KINDS; k++) {
			str_release(&s.ranks[k]);
		}
	}
	/* ranks that never called a collective may wait in a chain */
	str_add(out, first > STOP_SIZES && chain.len > 0 ? str_text(&chain) :
							   str_text(&best));
	if (first == STOP_KINDS && chain.len == 0) {
		str_add(out, FLIGHT_SAYS "no rank waits\n");
	}
	str_release(&best);
	str_release(&chain);
}
