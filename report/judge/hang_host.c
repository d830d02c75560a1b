/* SPDX-License-Identifier: BSD-3-Clause */
/* What the nodes of a job that hangs say of their memory, GPUs and ports. */
#include "report/judge/hang_seat.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/units.h"
#include "report/judge/findings.h"

#define LINES_SHOWN 4
#define NODES_SHOWN 8
/** Sent and received meanwhile: less is what a network has to say of itself;
 *  more than the second is data that somebody waits for. */
#define PORT_STATE "port_state"
#define QUIET_B 1000000
#define BUSY_B	10000000
/** "412 s ago: ...": what is older need not be why the job stands now. */
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

/** Is @f about the GPU with index @gpu of its node?  "(PCI:0000:1b:00)" in its
 *  value is the bus of one. */
static bool is_of_gpu(const struct hang *h, const struct fact_row *f,
		      int64_t gpu)
{
	const char *bus = strstr(f->value, "(PCI:");
	struct fact_row of = *f;
	const struct fact_row *own;

	snprintf(of.scope, sizeof(of.scope), "gpu%" PRId64, gpu);
	own = bus && gpu >= 0 ? run_fact_of(h->run, &of, "bus") : NULL;
	bus = bus ? bus + strlen("(PCI:") : "";
	return own && own->value[0] &&
	       strncasecmp(bus, own->value, strcspn(bus, ")")) == 0;
}

/** The GPU of the node of @f that it is about, -1: none that is known. */
static int gpu_of(const struct hang *h, const struct fact_row *f)
{
	int gpu = 0;

	while (gpu < 64 && !is_of_gpu(h, f, gpu)) {
		gpu++;
	}
	return gpu < 64 ? gpu : run_number_in(f->scope, "gpu");
}

/* ---- of a rank ----------------------------------------------------------- */

static bool killed_it(const struct hang *h, const struct hang_row *r,
		      const struct fact_row *f)
{
	(void)h;
	return number_behind(f->value, "Killed process ") == r->pid;
}

static bool has_ended(const struct hang_row *r)
{
	return strcmp(r->state, HANG_GONE) == 0 || strcmp(r->state, "Z") == 0;
}

/** The job's cgroup does not say whom. */
static bool may_have_killed(const struct hang *h, const struct hang_row *r,
			    const struct fact_row *f)
{
	(void)h;
	(void)f;
	return has_ended(r);
}

static bool is_its_gpu(const struct hang *h, const struct hang_row *r,
		       const struct fact_row *f)
{
	int64_t pid = number_behind(f->value, "pid=");

	return pid >= 0 ? pid == r->pid : is_of_gpu(h, f, r->gpu);
}

/** The first fact of its node that holds. */
static const struct host_cause {
	const char *fact;
	bool (*holds)(const struct hang *h, const struct hang_row *r,
		      const struct fact_row *f);
	const char *code, *says;
} host_causes[] = {
	{ HANG_KERNEL_XID, is_its_gpu, "rank_gpu_error",
	  "is at an end, or stands, after its GPU has reported an error" },
	{ HANG_KERNEL_OOM, killed_it, "rank_oom",
	  "was killed by the kernel for want of memory" },
	{ HANG_OOM, may_have_killed, "rank_oom",
	  "has ended, and the kernel has killed processes of the job there for "
	  "want of memory" },
};

const char *hang_host_cause(const struct hang *h, const struct hang_row *r,
			    const char **says)
{
	const size_t n = sizeof(host_causes) / sizeof(host_causes[0]);

	for (const struct host_cause *c = host_causes;
	     c < host_causes + n && !hang_goes_on(h->rows); c++) {
		for (size_t i = 0; i < h->run->n_facts; i++) {
			const struct fact_row *f = &h->run->facts[i];

			if (strcmp(f->fact, c->fact) == 0 &&
			    strcmp(f->node, r->node) == 0 &&
			    c->holds(h, r, f)) {
				*says = c->says;
				return c->code;
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
		if (str_starts(fact->fact, "kernel_") &&
		    strcmp(fact->fact, "kernel_log") != 0) {
			finding_add_evidence(f, "%s, its kernel: %s", r->node,
					     fact->value);
			shown++;
		} else if (growth_code(h->run, fact, &text)) {
			finding_add_evidence(f, "%s %s: %s %s meanwhile",
					     r->node, fact->scope, fact->value,
					     text);
			shown++;
		}
	}
}

/* ---- what its ports do --------------------------------------------------- */

static double moved_of(const struct fact_row *f)
{
	return strcmp(f->fact, "data_moved") == 0 ? strtod(f->value, NULL) :
						    NAN;
}

/** Bytes that the ports of each node have moved, NAN where none of them tells;
 *  NULL without memory. */
static double *moved_by_node(const struct run *run)
{
	double *moved = malloc(((size_t)run->n_nodes + 1) * sizeof(*moved));
	int node = -1;

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
	return moved;
}

const char *hang_moved_text(struct hang *h, struct finding *f)
{
	double *moved = moved_by_node(h->run);
	int quiet = 0, busy = 0, nodes = 0;

	h->v->failed = h->v->failed || !moved;
	for (int i = 0; moved && i < h->run->n_nodes; i++) {
		if (isnan(moved[i])) {
			continue;
		}
		quiet += moved[i] < QUIET_B;
		busy += moved[i] >= BUSY_B;
		if (nodes++ < NODES_SHOWN) {
			finding_add_evidence(f, "%s: its ports moved %.1f MB "
					     "meanwhile",
					     h->run->nodes[i].name,
					     moved[i] / 1e6);
		}
	}
	free(moved);
	return nodes < 2	? "" :
	       quiet == nodes ? "; no port of its nodes moves data" :
	       busy == nodes  ? "; its nodes' ports move data, which may be a "
				"long message" : "";
}

/** Is it a port that works for somebody else?  It moves data, and no other
 *  node of a job that stands does. */
static bool is_of_others(const struct hang *h, const struct fact_row *f)
{
	const struct fact_row *own = run_fact_of(h->run, f, "data_moved");
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

/** Is it a port that is down, as those of its name are not on as many other
 *  nodes of the job? */
static bool is_down_alone(const struct hang *h, const struct fact_row *f)
{
	int down = 0, up = 0;

	if (strcmp(f->fact, PORT_STATE) != 0 || strcmp(f->value, "DOWN") != 0) {
		return false;
	}
	for (size_t i = 0; i < h->run->n_facts; i++) {
		const struct fact_row *g = &h->run->facts[i];

		if (strcmp(g->fact, PORT_STATE) == 0 &&
		    strcmp(g->scope, f->scope) == 0) {
			down += strcmp(g->value, "DOWN") == 0;
			up += strcmp(g->value, "ACTIVE") == 0;
		}
	}
	return up >= down;
}

/* ---- of a job in which all wait ------------------------------------------ */

/** Is @f about a GPU of the job, or a port of one that has several nodes?  The
 *  others are other people's. */
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

static struct finding *name_part(struct hang *h, const struct fact_row *f,
				 int gpu, const char *code)
{
	int node = run_find_node(h->run, f->node, -1);
	struct part p = gpu >= 0 ? part_at(PART_GPU, node, gpu) :
				   part_at(PART_NODE_NETWORK, node, -1);
	struct finding *found;

	for (size_t i = 0; i < h->v->n; i++) {
		found = &h->v->findings[i];
		if (part_compare(&found->part, &p) == 0 &&
		    strcmp(found->code, code) == 0) {
			return found;
		}
	}
	return finding_add(h->v, &p, code);
}

/** Codes of what only slows a job down. */
static bool is_slow_only(const char *code)
{
	return strcmp(code, "congestion") == 0 ||
	       strcmp(code, "throttled") == 0 ||
	       strcmp(code, "rows_remapped") == 0;
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
		*text = "the port is down, as it is not on other nodes";
		return "port_down";
	}
	return growth_code(h->run, f, text);
}

static bool none_computes(const struct hang *h)
{
	size_t i = 0;

	while (i < h->rows->n && !hang_computes(&h->rows->list[i])) {
		i++;
	}
	return i == h->rows->n;
}

size_t hang_host_findings(struct hang *h)
{
	bool wait = hang_all_wait(h) && none_computes(h);
	size_t named = 0;

	for (size_t i = 0; i < h->run->n_facts && wait; i++) {
		const struct fact_row *f = &h->run->facts[i];
		const char *text, *code = code_of(h, f, &text);
		int gpu = code ? gpu_of(h, f) : -1;
		struct finding *found;

		if (!code || is_slow_only(code) || !is_of_job(h, f, gpu)) {
			continue;
		}
		found = name_part(h, f, gpu, code);
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
