/* SPDX-License-Identifier: BSD-3-Clause */
/* What the nodes of a job that hangs say of their memory, GPUs and ports. */
#include "report/judge/hang_seat.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/units.h"
#include "report/judge/findings.h"

#define LINES_SHOWN 4
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

size_t hang_host_findings(struct hang *h)
{
	bool wait = hang_all_wait(h);
	size_t named = 0;

	for (size_t i = 0; i < h->run->n_facts && wait; i++) {
		const struct fact_row *f = &h->run->facts[i];
		bool link = strcmp(f->fact, HANG_KERNEL_LINK) == 0;
		const char *text = link ? "lost its link since the job began" :
					  "an error since the job began";
		const char *code = link ? "link_flapped" :
				   strcmp(f->fact, HANG_KERNEL_XID) == 0 ?
					  "xid" :
					  growth_code(h->run, f, &text);
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
		if (!found->fail && (!str_starts(f->fact, "kernel_") ||
				     number_behind(f->value, "") <= RECENT_S)) {
			found->fail = true;
			named++;
		}
	}
	return named;
}
