/* SPDX-License-Identifier: BSD-3-Clause */
/* What to type next, with the names of this run in it. */
#include <stdlib.h>
#include <string.h>

#include "report/judge/act_text.h"
#include "report/judge/says.h"
#include "report/judge/tell.h"

/** The command that measures one bad pair again, on the same nodes. */
static void add_again(const struct run *run, int src, int dst, struct str *out)
{
	if (run->mesh) {
		str_add(out, "gpucheck ping");
	} else if (src < 0) {
		str_addf(out, "gpucheck %s", run->probe);
	} else {
		tell_command(run, run->transport, src, dst, out);
	}
}

struct act_case {
	const struct run *run;
	const struct finding *finding;
	int src, dst;
};

/** A part without a node of its own: that of the example. */
static const char *act_node(const struct act_case *c)
{
	int node = c->finding->part.node;

	if (c->finding->part.kind == PART_SWITCH) {
		node = 0;
		while (c->run->leaf_of[node] != c->finding->part.index) {
			node++;
		}
	} else if (node < 0 && c->finding->n_members > 0) {
		node = c->finding->members[0];
	} else if (node < 0 && c->src >= 0) {
		node = c->run->ranks[c->src].node;
	}
	return node >= 0 ? c->run->nodes[node].name : "NODE";
}

static void add_place(const struct act_case *c, const char *name, size_t len,
		      struct str *out)
{
	const struct part *p = &c->finding->part;

	if (len == 5 && memcmp(name, "again", len) == 0) {
		add_again(c->run, c->src, c->dst, out);
	} else if (len == 4 && memcmp(name, "node", len) == 0) {
		str_add(out, act_node(c));
	} else if (len == 4 && memcmp(name, "peer", len) == 0) {
		str_add(out, p->peer_node >= 0 ?
			     c->run->nodes[p->peer_node].name : "NODE");
	} else if (len == 5 && memcmp(name, "index", len) == 0) {
		str_addf(out, "%d", p->index >= 0 ? p->index : 0);
	}
}

/*
 * Pretend nodes are this machine: a command for one of them is typed here.
 * Takes "ssh {node} " out of @text, and the quotes around what followed it; the
 * nodes of a model stay, as a sample of what would be typed.
 */
static void take_here(char *text)
{
	static const char far[] = "ssh {node} ";
	char *at, *end;

	while ((at = strstr(text, far)) != NULL) {
		memmove(at, at + sizeof(far) - 1,
			strlen(at + sizeof(far) - 1) + 1);
		end = *at == '\'' ? strchr(at + 1, '\'') : NULL;
		if (end != NULL) {
			memmove(end, end + 1, strlen(end + 1) + 1);
			memmove(at, at + 1, strlen(at + 1) + 1);
		}
	}
}

static void expand(const struct act_case *c, const char *text, struct str *out)
{
	const char *open;

	while ((open = strchr(text, '{')) != NULL) {
		const char *close = strchr(open, '}');

		str_addmem(out, text, (size_t)(open - text));
		add_place(c, open + 1, (size_t)(close - open - 1), out);
		text = close + 1;
	}
	str_add(out, text);
}

void says_act(const struct run *run, struct finding *f, int src, int dst)
{
	const struct act_case c = {
		.run = run, .finding = f, .src = src, .dst = dst,
	};
	char *text = strdup(act_text(run, f));
	struct str out = STR_INIT;

	if (text != NULL && tell_is_local(run) &&
	    !spec_transport_is(run->transport, XPORT_MODEL)) {
		take_here(text);
	}
	expand(&c, text != NULL ? text : "", &out);
	STR_COPY(f->act, str_text(&out));
	str_release(&out);
	free(text);
}
