/* SPDX-License-Identifier: BSD-3-Clause */
/* Evidence that the nodes of a hung job have on memory, GPUs and ports. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/order.h"
#include "lib/base/units.h"
#include "report/judge/findings.h"
#include "report/judge/hang.h"

/* ---- hang seat ----------------------------------------------------------- */

/* Compares the collectives that the ranks of each communicator have begun. */

bool hang_is_told(const struct hang_row *r)
{
	return strcmp(r->ras, HANG_RAS_ANSWERS) == 0;
}

bool hang_is_heard(const struct hang_rows *rows)
{
	bool heard = false;

	for (size_t i = 0; i < rows->n; i++) {
		heard = heard || hang_is_told(&rows->list[i]);
	}
	return heard;
}

bool hang_goes_on(const struct hang_rows *rows)
{
	bool on = false;

	for (size_t i = 0; i < rows->n; i++) {
		on = on || strcmp(rows->list[i].calls,
				  rows->list[i].calls_later) != 0;
	}
	return on;
}

/* ---- counts of RAS ------------------------------------------------------- */

/** Read "AllReduce 21, AllGather 1" into @calls; returns the sum. */
static int64_t read_calls(struct hang *h, const char *text,
			  int64_t calls[CALLS_MAX])
{
	char name[32];
	long long count;
	int64_t total = 0;
	int used = 0;

	while (sscanf(text, "%31[A-Za-z] %lld%n", name, &count, &used) == 2) {
		int i = 0;

		while (i < h->n_names && strcmp(h->names[i], name) != 0) {
			i++;
		}
		if (i == h->n_names && i < CALLS_MAX) {
			STR_COPY(h->names[h->n_names++], name);
		}
		if (i < h->n_names && count > 0) {
			calls[i] = count;
			total = number_sum(total, count);
		}
		text += used;
		text += strspn(text, ", ");
	}
	return total;
}

/** Returns true if @a has begun more collectives of any kind than @b.
 *  Collectives of a communicator have one order, so if each of two ranks is
 *  ahead in some kind, they do not keep to it, whenever they were asked. */
static bool is_ahead(const struct hang *h, const int64_t *a, const int64_t *b)
{
	for (int i = 0; i < h->n_names; i++) {
		if (a[i] > b[i]) {
			return true;
		}
	}
	return false;
}

static bool same_calls(const int64_t *a, const int64_t *b)
{
	return memcmp(a, b, CALLS_MAX * sizeof(*a)) == 0;
}

/* ---- one communicator ---------------------------------------------------- */

static struct seat *seat_of(const struct hang *h, const struct comm *c,
			    size_t i)
{
	return &h->seats[c->seats[i]];
}

/** In a communicator without progress, marks the ranks behind the front, or, if
 *  no rank has begun everything that others have, behind the majority; and the
 *  ranks that do not keep to the order of the majority. */
static void compare_still(struct hang *h, struct comm *c)
{
	int64_t front[CALLS_MAX] = { 0 };
	const int64_t *most = NULL, *last = NULL;
	size_t votes = 0, same = 0;

	for (size_t i = 0; i < c->n; i++) {
		const struct seat *s = seat_of(h, c, i);

		for (int k = 0; k < h->n_names; k++) {
			front[k] = s->now[k] > front[k] ? s->now[k] : front[k];
		}
		/* if more than half agree, it is they that are left */
		if (hang_is_told(s->row)) {
			most = votes == 0 ? s->now : most;
			votes += same_calls(s->now, most) ? 1 : SIZE_MAX;
		}
	}
	for (size_t i = 0; i < c->n; i++) {
		const struct seat *s = seat_of(h, c, i);

		if (hang_is_told(s->row)) {
			last = same_calls(s->now, front) ? front : last;
			same += same_calls(s->now, most);
		}
	}
	last = last ? last : same * 2 > c->told ? most : NULL;
	for (size_t i = 0; i < c->n && last; i++) {
		struct seat *s = seat_of(h, c, i);

		/* Nodes are asked one after the other: others may have gone on
		 * before this one was.  Each answer that its own node had must
		 * agree. */
		bool was_behind = s->row->behind == RECORD_NONE ||
				  s->row->behind == HANG_LOOKS;

		if (hang_is_told(s->row) && is_ahead(h, last, s->now)) {
			s->odd = is_ahead(h, s->now, last);
			s->behind = !s->odd && was_behind;
		}
	}
}

/** In a communicator with progress, marks a rank that differs from the majority
 *  in a kind of collective without progress, and is on the other side of them
 *  in another kind. */
static void compare_moving(struct hang *h, struct comm *c)
{
	for (int k = 0; k < h->n_names; k++) {
		int64_t high[CALLS_MAX] = { 0 }, low[CALLS_MAX] = { 0 };
		size_t votes = 0, same = 0;
		int64_t most = 0;
		bool still = true;

		for (size_t i = 0; i < c->n; i++) {
			const struct seat *s = seat_of(h, c, i);

			if (hang_is_told(s->row)) {
				still = still && s->now[k] == s->then[k];
				most = votes == 0 ? s->now[k] : most;
				votes += s->now[k] == most ? 1 : SIZE_MAX;
			}
		}
		for (size_t i = 0; i < c->n && still; i++) {
			const struct seat *s = seat_of(h, c, i);

			if (!hang_is_told(s->row) || s->now[k] != most) {
				continue;
			}
			for (int m = 0; m < h->n_names; m++) {
				int64_t n = s->now[m];

				high[m] = n > high[m] ? n : high[m];
				low[m] = same == 0 || n < low[m] ? n : low[m];
			}
			same++;
		}
		for (size_t i = 0; i < c->n && same * 2 > c->told; i++) {
			struct seat *s = seat_of(h, c, i);
			int64_t n = s->now[k];

			s->odd = s->odd ||
				 (hang_is_told(s->row) &&
				  ((n > most && is_ahead(h, high, s->now)) ||
				   (n < most && is_ahead(h, s->now, low))));
		}
	}
}

static void compare(struct hang *h, struct comm *c)
{
	for (size_t i = 0; i < c->n; i++) {
		const struct seat *s = seat_of(h, c, i);
		bool moves = s->total > s->total_then;

		c->told += hang_is_told(s->row);
		c->goes_on = c->goes_on || moves;
		h->seats[s->process].moves |= moves;
	}
	(c->goes_on ? compare_moving : compare_still)(h, c);
	for (size_t i = 0; i < c->n; i++) {
		const struct seat *s = seat_of(h, c, i);

		c->behind += s->behind;
		c->wait += hang_is_told(s->row) && !s->behind &&
			   !hang_computes(s->row);
	}
	for (size_t i = 0; i < c->n && c->behind > 0; i++) {
		const struct seat *s = seat_of(h, c, i);

		if (hang_is_told(s->row) && !s->behind) {
			h->seats[s->process].victim = true;
		}
	}
}

/* ---- rows to seats ------------------------------------------------------- */

static const struct order_key by_process[] = {
	ORDER_ITEM(ORDER_POINTEE),
	ORDER_AS(struct seat, row, ORDER_POINTEE),
	ORDER_UP(struct hang_row, node),
	ORDER_UP(struct hang_row, pid),
	ORDER_ITEM(ORDER_PLACE),
	ORDER_END
};

static const struct order_key by_comm[] = {
	ORDER_ITEM(ORDER_POINTEE),
	ORDER_AS(struct seat, row, ORDER_POINTEE),
	ORDER_UP(struct hang_row, comm),
	ORDER_ITEM(ORDER_PLACE),
	ORDER_END
};

bool hang_seats_make(struct hang *h)
{
	size_t n = h->rows->n;
	struct seat **order = calloc(n + 1, sizeof(struct seat *));
	struct comm *c = NULL;

	h->seats = calloc(n + 1, sizeof(*h->seats));
	h->comms = calloc(n + 1, sizeof(*h->comms));
	h->places = calloc(n + 1, sizeof(*h->places));
	if (!order || !h->seats || !h->comms || !h->places) {
		free(order);
		return false;
	}
	for (size_t i = 0; i < n; i++) {
		struct seat *s = order[i] = &h->seats[i];

		s->row = &h->rows->list[i];
		s->total_then = read_calls(h, s->row->calls, s->then);
		s->total = read_calls(h, s->row->calls_later, s->now);
	}
	order_sort(order, n, sizeof(struct seat *), by_process);
	for (size_t i = 0; i < n; i++) {
		const struct seat *before = i > 0 ? order[i - 1] : NULL;

		order[i]->process =
			before && before->row->pid == order[i]->row->pid &&
					strcmp(before->row->node,
					       order[i]->row->node) == 0 ?
				before->process : (size_t)(order[i] - h->seats);
	}
	order_sort(order, n, sizeof(struct seat *), by_comm);
	for (size_t i = 0; i < n; i++) {
		struct seat *s = order[i];

		h->places[i] = (size_t)(s - h->seats);
		s->comm = NO_COMM;
		if (s->row->comm[0] == '\0') {
			continue;
		}
		if (!c || strcmp(h->seats[c->seats[0]].row->comm,
				 s->row->comm) != 0) {
			c = &h->comms[h->n_comms++];
			c->seats = &h->places[i];
		}
		c->n++;
		s->comm = (size_t)(c - h->comms);
	}
	free(order);
	for (size_t i = 0; i < h->n_comms; i++) {
		compare(h, &h->comms[i]);
	}
	return true;
}

void hang_seats_free(struct hang *h)
{
	free(h->seats);
	free(h->comms);
	free(h->places);
}

/* ---- hang gpu ------------------------------------------------------------ */

/*
 * Which GPU does something else than those that wait in NCCL.  All ranks of a
 * collective wait in kernels of the same shape: on 1 to 64 SMs of a hundred or
 * more, with three warps or more on each, at little power.
 */

/** Factor by which a computing GPU draws more power than a waiting one: an H200
 *  draws 124 to 130 W waiting in NCCL, and 160 W in small collectives. */
#define POWER_RATIO 1.5
/** SM usage above that of any NCCL kernel, and that of most kernels, in
 *  percent: a GPU that alternates between computing and waiting is in
 *  between. */
#define WIDE_PCT 60
#define WAIT_PCT 30
/** Warps on an SM that works; of NCCL's kernels. */
#define SM_WARPS  64
#define FEW_WARPS 2
/** GPUs that wait in one collective are as alike as this. */
#define ALIKE 1.25

bool hang_gpus_between(const struct hang *h, double least, double most)
{
	size_t n = 0;

	for (size_t i = 0; i < h->rows->n; i++) {
		const struct hang_row *r = h->seats[i].row;

		if (r->gpu == RECORD_NONE || !(r->gpu_busy_pct >= least) ||
		    !(r->gpu_busy_pct <= most)) {
			return false;
		}
		n++;
	}
	return n > 0;
}

bool hang_computes(const struct hang_row *r)
{
	return r->gpu_sm_pct >= WIDE_PCT;
}

bool hang_gpu_rests(const struct hang_row *r)
{
	return r->gpu_busy_pct <= HANG_REST_PCT;
}

/* ---- compared values ----------------------------------------------------- */

static double power(const struct hang_row *r)
{
	return r->gpu_power_W;
}

static double width(const struct hang_row *r)
{
	return r->gpu_sm_pct > 0 ? r->gpu_sm_pct : NAN;
}

/** Warps on an SM that has any. */
static double depth(const struct hang_row *r)
{
	return SM_WARPS * r->gpu_warp_pct / width(r);
}

/** The two extreme values, and the value at the other end. */
struct hang_host_ends {
	struct seat *first;
	double one, two, other;
	size_t n;
};

/** Returns false if the value of a process is not known. */
static bool find_ends(struct hang *h, double (*of)(const struct hang_row *r),
		      int sign, struct hang_host_ends *e)
{
	*e = (struct hang_host_ends){ .one = -INFINITY, .two = -INFINITY,
			    .other = INFINITY };
	for (size_t i = 0; i < h->rows->n; i++) {
		double value = sign * of(h->seats[i].row);

		if (h->seats[i].process != i) {
			continue;
		}
		if (isnan(value)) {
			return false;
		}
		e->other = fmin(e->other, value);
		if (value > e->one) {
			e->two = e->one;
			e->one = value;
			e->first = &h->seats[i];
		} else {
			e->two = fmax(e->two, value);
		}
		e->n++;
	}
	e->one *= sign;
	e->two *= sign;
	e->other *= sign;
	return e->n > 1;
}

/* ---- GPUs of processes -------------------------------------------------- */

static const struct order_key by_gpu[] = {
	ORDER_ITEM(ORDER_POINTEE),
	ORDER_UP(struct hang_row, node),
	ORDER_UP(struct hang_row, gpu),
	ORDER_END
};

/** Returns true if each process has a GPU of its own. */
static bool own_gpus(struct hang *h)
{
	const struct hang_row **list = calloc(h->rows->n + 1, sizeof(*list));
	size_t n = 0;
	bool own = list;

	h->v->failed = h->v->failed || !list;
	for (size_t i = 0; list && i < h->rows->n; i++) {
		if (h->seats[i].process == i) {
			list[n++] = h->seats[i].row;
		}
	}
	order_sort(list, n, sizeof(*list), by_gpu);
	for (size_t i = 1; i < n; i++) {
		own = own && order_compare(by_gpu, &list[i - 1], &list[i]) != 0;
	}
	free(list);
	return own;
}

bool hang_all_wait(const struct hang *h)
{
	for (size_t i = 0; i < h->n_comms; i++) {
		if (h->comms[i].goes_on || h->comms[i].behind > 0) {
			return false;
		}
	}
	return h->n_comms > 0 && hang_gpus_between(h, HANG_BUSY_PCT, 100);
}

struct seat *hang_odd_gpu(struct hang *h, const char **code, const char **says)
{
	struct hang_host_ends e;
	bool near = true;

	if (!hang_all_wait(h) || !own_gpus(h)) {
		return NULL;
	}
	for (size_t i = 1; i < h->rows->n; i++) {
		near = near && strcmp(h->seats[i].row->node,
				      h->seats[0].row->node) == 0;
	}
	*code = "rank_gpu_busy";
	*says = "has started the same collective as the others, but its GPU "
		"still runs another kernel while theirs wait";
	if (find_ends(h, width, 1, &e) && e.one >= WIDE_PCT &&
	    e.two < WAIT_PCT) {
		return e.first;
	}
	if (find_ends(h, depth, -1, &e) && e.one < FEW_WARPS &&
	    e.two > FEW_WARPS) {
		return e.first;
	}
	/* Each of several communicators has its own number of channels, and a
	 * link that is dead beyond a node leaves ranks half done. */
	if (near && h->n_comms == 1 && find_ends(h, width, -1, &e) &&
	    e.n > 2 && e.one < e.two / 2 && e.other < e.two * ALIKE) {
		*code = "rank_other_size";
		*says = "waits in the same collective as the others but with "
			"fewer channels, which suggests a different size";
		return e.first;
	}
	return find_ends(h, power, 1, &e) && e.one > e.two * POWER_RATIO ?
		       e.first : NULL;
}

/* ---- hang host ----------------------------------------------------------- */

#define LINES_SHOWN 4
#define NODES_SHOWN 8
/** Bytes sent and received meanwhile: below QUIET_B is the network's own
 *  traffic, from BUSY_B on it is data of a job. */
#define PORT_STATE "port_state"
#define QUIET_B 1000000
#define BUSY_B	10000000
/** Age in s of "412 s ago: ...": older messages need not be the cause now. */
#define RECENT_S 900

/** The number behind @word in @text; -1. */
static int64_t number_behind(const char *text, const char *word)
{
	const char *at = strstr(text, word);
	char digits[24];
	int64_t n;

	at = at ? at + strlen(word) : "";
	at += *at == '\'';
	snprintf(digits, sizeof(digits), "%.*s",
		 (int)strspn(at, "0123456789"), at);
	return units_parse_int(digits, 0, INT64_MAX, &n, NULL) == 0 ? n : -1;
}

/** Returns true if @f is about the GPU with index @gpu of its node.  A value
 *  with "(PCI:0000:1b:00)" names the bus of a GPU. */
static bool is_of_gpu(const struct hang *h, const struct fact_row *f,
		      int64_t gpu)
{
	const char *bus = strstr(f->value, "(PCI:");
	char scope[sizeof(f->scope)];
	const struct fact_row *own;

	snprintf(scope, sizeof(scope), "gpu%" PRId64, gpu);
	own = bus && gpu >= 0 ? run_find_fact(h->run, f->node, scope, "bus") :
				NULL;
	bus = bus ? bus + strlen("(PCI:") : "";
	return own && own->value[0] &&
	       strncasecmp(bus, own->value, strcspn(bus, ")")) == 0;
}

/** Returns the GPU of its node that @f is about; -1 if not known. */
static int gpu_of(const struct hang *h, const struct fact_row *f)
{
	int gpu = 0;

	while (gpu < 64 && !is_of_gpu(h, f, gpu)) {
		gpu++;
	}
	return gpu < 64 ? gpu : run_number_in(f->scope, "gpu");
}

/* ---- of a rank ----------------------------------------------------------- */

/** Returns true if @f says that the process of @r was killed, or that its
 *  GPU failed.  HANG_OOM is about the job's cgroup, which does not name a
 *  process. */
static bool is_about(const struct hang *h, const struct hang_row *r,
		     const struct fact_row *f)
{
	if (strcmp(f->fact, HANG_KERNEL_XID) == 0) {
		int64_t pid = number_behind(f->value, "pid=");

		return pid >= 0 ? pid == r->pid : is_of_gpu(h, f, r->gpu);
	}
	if (strcmp(f->fact, HANG_KERNEL_OOM) == 0) {
		return number_behind(f->value, "Killed process ") == r->pid;
	}
	return strcmp(r->state, HANG_GONE) == 0 || strcmp(r->state, "Z") == 0;
}

const char *hang_host_cause(const struct hang *h, const struct hang_row *r,
			    const char **says)
{
	/* the first fact of its node that holds */
	static const struct {
		const char *fact, *code, *says;
	} causes[] = {
		{ HANG_KERNEL_XID, "rank_gpu_error",
		  "has exited or hung after its GPU reported an error" },
		{ HANG_KERNEL_OOM, "rank_oom",
		  "was killed by the kernel because memory ran out" },
		{ HANG_OOM, "rank_oom",
		  "has exited, and the kernel has killed processes of the job "
		  "on that node because memory ran out" },
	};
	const size_t n = sizeof(causes) / sizeof(causes[0]);

	for (size_t i = 0; i < n && !hang_goes_on(h->rows); i++) {
		run_foreach_fact(h->run, f) {
			if (strcmp(f->fact, causes[i].fact) == 0 &&
			    strcmp(f->node, r->node) == 0 &&
			    is_about(h, r, f)) {
				*says = causes[i].says;
				return causes[i].code;
			}
		}
	}
	return NULL;
}

void hang_host_evidence(const struct hang *h, const struct hang_row *r,
			struct finding *f)
{
	size_t shown = 0;

	for (size_t i = 0; i < h->run->n_facts && shown < LINES_SHOWN; i++) {
		const struct fact_row *fact = &h->run->facts[i];
		const char *text;

		if (strcmp(fact->node, r->node) != 0) {
			continue;
		}
		if (strcmp(fact->fact, "ras_diagnostics") == 0 &&
		    !strstr(fact->value, "[OK]")) {
			finding_add_evidence(f, "%s", fact->value);
			shown++;
		} else if (str_starts(fact->fact, "kernel_") &&
		    strcmp(fact->fact, "kernel_log") != 0) {
			finding_add_evidence(f, "kernel log of %s: %s", r->node,
					     fact->value);
			shown++;
		} else if (growth_code(h->run, fact, &text)) {
			finding_add_evidence(f, "%s %s: %s %s during the watch",
					     r->node, fact->scope, fact->value,
					     text);
			shown++;
		}
	}
}

/* ---- ports --------------------------------------------------------------- */

static double moved_of(const struct fact_row *f)
{
	return strcmp(f->fact, "data_moved") == 0 ? strtod(f->value, NULL) :
						    NAN;
}

const char *hang_moved_text(struct hang *h, struct finding *f)
{
	const struct run *run = h->run;
	/* bytes that the ports of each node have moved; NAN: not reported */
	double *moved = malloc(((size_t)run->n_nodes + 1) * sizeof(*moved));
	int quiet = 0, busy = 0, nodes = 0, node = -1;

	h->v->failed = h->v->failed || !moved;
	for (int i = 0; moved && i < run->n_nodes; i++) {
		moved[i] = NAN;
	}
	for (size_t i = 0; moved && i < run->n_facts; i++) {
		double by = moved_of(&run->facts[i]);

		node = isnan(by) ? node :
			run_find_node(run, run->facts[i].node, node);
		if (!isnan(by) && node >= 0) {
			moved[node] = by + (isnan(moved[node]) ? 0 :
								 moved[node]);
		}
	}
	for (int i = 0; moved && i < run->n_nodes; i++) {
		if (isnan(moved[i])) {
			continue;
		}
		quiet += moved[i] < QUIET_B;
		busy += moved[i] >= BUSY_B;
		if (nodes++ < NODES_SHOWN) {
			finding_add_evidence(f,
					     "%s: its ports moved %.1f MB "
					     "during the watch",
					     run->nodes[i].name,
					     moved[i] / 1e6);
		}
	}
	free(moved);
	return nodes < 2	? "" :
	       quiet == nodes ? "; no port of these nodes moves data" :
	       busy == nodes  ? "; the ports of these nodes move data, "
				"possibly a long message" : "";
}

/** Returns true if the port works for another job: it moves data, and no other
 *  node of this hung job does. */
static bool is_of_others(const struct hang *h, const struct fact_row *f)
{
	const struct fact_row *own = run_find_fact(h->run, f->node, f->scope,
						   "data_moved");
	bool alone = own && moved_of(own) >= BUSY_B, known = false;

	for (size_t i = 0; i < h->run->n_facts && alone; i++) {
		const struct fact_row *g = &h->run->facts[i];
		double by = moved_of(g);

		if (!isnan(by) && strcmp(g->node, f->node) != 0) {
			alone = by < QUIET_B;
			known = true;
		}
	}
	return alone && known;
}

/** Returns true if the port is down, and ports of its name are up on at least
 *  as many nodes of the job as they are down. */
static bool is_down_alone(const struct hang *h, const struct fact_row *f)
{
	int down = 0, up = 0;

	if (strcmp(f->fact, PORT_STATE) != 0 || strcmp(f->value, "DOWN") != 0) {
		return false;
	}
	run_foreach_fact(h->run, g) {
		if (strcmp(g->fact, PORT_STATE) == 0 &&
		    strcmp(g->scope, f->scope) == 0) {
			down += strcmp(g->value, "DOWN") == 0;
			up += strcmp(g->value, "ACTIVE") == 0;
		}
	}
	return up >= down;
}

/* ---- of a job in which all wait ------------------------------------------ */

/** Returns true if @f is about a GPU of the job, or about a port of a job on
 *  several nodes.  Other GPUs and ports belong to other jobs. */
static bool is_of_job(const struct hang *h, const struct fact_row *f, int gpu)
{
	bool own = false;

	for (size_t i = 0; i < h->rows->n && !own; i++) {
		const struct hang_row *r = h->seats[i].row;
		bool here = strcmp(r->node, f->node) == 0;

		own = gpu >= 0 ? here && r->gpu == gpu :
				 !here && strcmp(f->fact, HANG_KERNEL_XID) != 0;
	}
	return own;
}

/** The code of what @f says against a part, NULL: nothing; and in words. */
static const char *code_of(const struct hang *h, const struct fact_row *f,
			   const char **text)
{
	if (strcmp(f->fact, HANG_KERNEL_LINK) == 0) {
		*text = "lost its link since the job began";
		return "link_flapped";
	}
	if (strcmp(f->fact, HANG_KERNEL_XID) == 0) {
		*text = "an error since the job began";
		return "xid";
	}
	if (is_down_alone(h, f)) {
		*text = "the port is down, but up on other nodes";
		return "port_down";
	}
	return growth_code(h->run, f, text);
}

size_t hang_host_findings(struct hang *h)
{
	bool wait = hang_all_wait(h);
	size_t named = 0;

	for (size_t i = 0; i < h->rows->n && wait; i++) {
		wait = !hang_computes(&h->rows->list[i]);
	}
	for (size_t i = 0; i < h->run->n_facts && wait; i++) {
		const struct fact_row *f = &h->run->facts[i];
		const char *text, *code = code_of(h, f, &text);
		int gpu = code ? gpu_of(h, f) : -1, node;
		struct finding *found;
		struct part p;

		/* Some only slow a job down. */
		if (!code || strcmp(code, "congestion") == 0 ||
		    strcmp(code, "throttled") == 0 ||
		    strcmp(code, "rows_remapped") == 0 ||
		    !is_of_job(h, f, gpu)) {
			continue;
		}
		node = run_find_node(h->run, f->node, -1);
		p = gpu >= 0 ? part_at(PART_GPU, node, gpu) :
			       part_at(PART_NODE_NETWORK, node, -1);
		found = verdict_find(h->v, &p, code);
		found = found ? found : finding_add(h->v, p, code);
		if (!found->says[0]) {
			finding_say(found, "All ranks wait in NCCL, and %s has "
				    "a fault: %s%s%s", f->node,
				    strcmp(f->scope, "node") ? f->scope : "",
				    strcmp(f->scope, "node") ? ", " : "", text);
		}
		finding_add_evidence(found, "%s %s: %s", f->node, f->scope,
				     f->value);
		if (!found->fail && !is_of_others(h, f) &&
		    (!str_starts(f->fact, "kernel_") ||
		     number_behind(f->value, "") <= RECENT_S)) {
			found->fail = true;
			named++;
		}
	}
	return named;
}
