/* SPDX-License-Identifier: BSD-3-Clause */
/* What RAS says of the ranks of a node, look by look. */
#include "probes/hang/look.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/net.h"
#include "probes/node/child.h"

/* Of each question to RAS, which itself gives its peers 3 s. */
#define ASK_NS (4 * NS_PER_S)

int64_t look_within_ns(const struct look *l, int64_t ns)
{
	int64_t end = clock_now_ns() + ns;

	return end < l->end_ns ? end : l->end_ns;
}

void look_fact(const char *fact, const char *value)
{
	struct fact_row row = { .scope = "node", .source = "hang" };

	STR_COPY(row.fact, fact);
	STR_COPY(row.value, value);
	node_task_fact(&row);
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

/** Is @host, an address or a name, this machine? */
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

/** Is @pid a process of this node, and none of the job? */
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

/** Words leave the number out where a rank is like the most: then it is the
 *  process that has this rank of as many. */
static void find_process(const struct look *l, struct ras_rank *r)
{
	for (size_t k = 0; k < l->procs.n && r->pid == 0; k++) {
		const struct proc *p = &l->procs.list[k];

		if (p->rank == r->rank && p->world == r->comm_size) {
			r->pid = p->pid;
			r->here = true;
		}
	}
}

/** Is it, by its rank, one of the job that is not there any more? */
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
		find_process(l, r);
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
		look_fact("ras_note", e.text);
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
