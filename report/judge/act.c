/* SPDX-License-Identifier: BSD-3-Clause */
/* What to type next: the remedy of data/symptoms.ini with the names of this run
 * in it, and the command that tests again. */
#include <stdio.h>
#include <string.h>

#include "lib/data/json.h"
#include "lib/base/limit.h"
#include "report/judge/says.h"
#include "report/judge/tell.h"
#include "report/symptoms/symptom.h"

struct act_case {
	const struct run *run;
	const struct finding *finding;
};

/** The first node of a leaf switch. */
static int leaf_node(const struct run *run, int leaf)
{
	int node = 0;

	while (run->nodes[node].leaf != leaf + 1) {
		node++;
	}
	return node;
}

/** A part without a node of its own: that of the example. */
static int act_node(const struct act_case *c)
{
	const struct finding *f = c->finding;
	int node = f->part.node;

	if (part_leaf(&f->part) >= 0) {
		node = leaf_node(c->run, part_leaf(&f->part));
	} else if (node < 0 && f->n_members > 0) {
		node = f->members[0];
	} else if (node < 0 && f->src >= 0) {
		node = c->run->ranks[f->src].node;
	}
	return node;
}

/** The other end: of the part, or of the example. */
static int act_peer(const struct act_case *c)
{
	const struct finding *f = c->finding;
	int peer = f->part.peer_node;

	if (part_peer_leaf(&f->part) >= 0) {
		peer = leaf_node(c->run, part_peer_leaf(&f->part));
	} else if (peer < 0 && f->src >= 0) {
		peer = c->run->ranks[f->src].node;
		peer = peer != act_node(c) ? peer :
					     c->run->ranks[f->dst].node;
	}
	return peer;
}

static bool add_name(void *user, const char *name, size_t len, struct str *out)
{
	static const char *const names[] = {
		"node", "peer", "nic", "gpu", "rail", "pid", NULL
	};
	const struct act_case *c = user;
	const struct part *p = &c->finding->part;
	const char *nic = p->kind == PART_NIC ? part_nic_name(c->run, p) : "";
	int at[2] = { act_node(c), act_peer(c) };
	size_t i = 0;

	while (names[i] && (strlen(names[i]) != len ||
			    memcmp(names[i], name, len) != 0)) {
		i++;
	}
	if (i < 2 && at[i] >= 0) {
		str_add(out, c->run->nodes[at[i]].name);
	} else if (i == 2 && nic[0]) {
		str_add(out, nic);
	} else if ((i == 3 || i == 4) && p->index >= 0) {
		str_addf(out, "%d", p->index);
	} else if (i == 5 && p->kind == PART_PROCESS) {
		str_addf(out, "%d", p->peer_index);
	} else {
		return false;
	}
	return true;
}

/*
 * Pretend nodes are this machine: a command for one of them is typed here.
 * Appends @text without "ssh {node} ", and the quotes around what follows it.
 */
static void add_here(struct str *out, const char *text, const char *node)
{
	struct str far = STR_INIT;
	const char *at;
	size_t from;

	str_add(&far, TELL_COMMAND "ssh ");
	from = far.len;
	str_add(&far, node);
	str_plain_from(&far, from);
	str_addch(&far, ' ');
	while ((at = strstr(text, str_text(&far))) != NULL) {
		const char *line = at + far.len, *end = strchr(line, '\n');
		size_t len = end ? (size_t)(end - line) : strlen(line);
		size_t quoted = len > 1 && line[0] == '\'' &&
				line[len - 1] == '\'';

		str_addmem(out, text, (size_t)(at - text));
		str_add(out, TELL_COMMAND);
		str_addmem(out, line + quoted, len - 2 * quoted);
		text = line + len;
	}
	str_add(out, text);
	str_release(&far);
}

/** The test that tells it from the first other part for which there is one. */
static void add_tell(const struct run *run, const struct finding *f,
		     struct str *out)
{
	bool told = f->part.kind == PART_CONFIG;
	struct str test = STR_INIT;

	for (size_t i = 0; i < f->n_or && !told; i++) {
		told = tell_apart(run, &f->part, &f->or_parts[i], f->src,
				  f->dst, &test);
	}
	if (test.len > 0) {
		str_addf(out, "\n%s", str_text(&test));
	}
	str_release(&test);
}

static void add_again(const struct run *run, const struct finding *f,
		      const char *more, struct str *out)
{
	char option[64] = "";	/* that @more sets anew */
	const char *const without[] = { option, NULL };
	const bool pair = f->src >= 0 && !run->mesh;

	sscanf(more, "--%63[^= ]", option);
	str_addf(out, "%s%s:\n" TELL_COMMAND, out->len ? "\n" : "",
		 pair ? "same pair again" : "retest");
	if (!pair && !*more && tell_retest(run, out)) {
		tell_passed_on(run, out);
	} else if (!pair) {
		tell_again(run, without, out);
		str_addf(out, "%s%s", *more ? " " : "", more);
		tell_passed_on(run, out);
	} else {
		tell_command(run, run->transport, f->src, f->dst, out);
	}
}

void says_act(const struct run *run, struct finding *f)
{
	const struct act_case c = { .run = run, .finding = f };
	const char *const where[] = {
		f->scatter ? "scatter" : part_kind_name(f->part.kind),
		run->transport, run->probe,
		json_member(run->json, "launcher"), NULL
	};
	const struct symptom *x = symptom_for(symptoms_builtin(), f->code,
					      where);
	struct str text = STR_INIT, out = STR_INIT;
	int node = act_node(&c);

	if (run->drill || run_is_model(run)) {
		str_addf(&out, "(%s) on real nodes:\n",
			 run->drill ? "drill" : "simulated");
	}
	if (x) {
		symptom_remedy(x, add_name, (void *)&c, &text);
	}
	if (tell_is_local(run) && !run_is_model(run) && node >= 0) {
		add_here(&out, str_text(&text), run->nodes[node].name);
	} else {
		str_add(&out, str_text(&text));
	}
	add_tell(run, f, &out);
	/* of a limit --resume will do; a job that was looked at is not ours */
	if (!limit_is(f->code) && strcmp(run->probe, "hang") != 0) {
		add_again(run, f, x ? str_text(&x->again) : "", &out);
	}
	finding_set_act(f, str_text(&out));
	str_release(&text);
	str_release(&out);
}
