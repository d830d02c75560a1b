/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/history/names.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/** N: the node, I: the index, P and J: those of the peer, S: its name. */
static const struct form {
	const char *kind, *text;
} forms[] = {
	{ "node", "N" },
	{ "gpu", "N GPU I" },
	{ "nic", "N NIC I" },
	{ "gpu_nvlink", "N GPU I nvlink" },
	{ "socket", "N socket I" },
	{ "node_network", "N network" },
	{ "config", "N setup" },
	{ "limit", "N limits" },
	{ "cable_swap", "N NIC I and J, cables" },
	{ "process", "rank I on N" },
	{ "rail", "rail I" },
	{ "inter_node", "between nodes" },
	{ "intra_node", "N inside" },
	{ "cross_rail", "across rails" },
	{ "node_pair", "N - P" },
	{ "pair", "N:I - P:J" },
	{ "switch", "switch S" },
	{ "rail_leaf", "rail I of switch S" },
	{ NULL, NULL }
};

static void add_number(struct str *out, int64_t n)
{
	if (n >= 0) {
		str_addf(out, "%" PRId64, n);
	}
}

static void fill_in(const struct summary_finding *f, const char *text,
		    struct str *out)
{
	for (const char *c = text; *c; c++) {
		/* a letter between blanks, colons or ends is one of ours */
		const bool alone = (c == text || c[-1] == ' ' ||
				    c[-1] == ':') &&
				   (!c[1] || strchr(" :,", c[1]));

		if (alone && *c == 'N') {
			str_add(out, f->node[0] ? f->node : "nodes");
		} else if (alone && *c == 'P') {
			str_add(out, f->peer_node);
		} else if (alone && *c == 'S') {
			str_add(out, f->name);
		} else if (alone && *c == 'I') {
			add_number(out, f->index);
		} else if (alone && *c == 'J') {
			add_number(out, f->peer_index);
		} else {
			str_addch(out, *c);
		}
	}
}

/** Of a kind that has no form. */
static void say_all(const struct summary_finding *f, struct str *out)
{
	str_addf(out, "%s%s", f->node, f->node[0] ? " " : "");
	for (const char *c = f->kind; *c; c++) {
		str_addch(out, *c == '_' ? ' ' : *c);
	}
	if (f->index >= 0) {
		str_addch(out, ' ');
		add_number(out, f->index);
	}
	str_addf(out, "%s%s", f->name[0] ? " " : "", f->name);
}

void names_of(const struct summary_finding *f, char *buf, size_t size)
{
	const struct form *form = forms;
	struct str out = STR_INIT;

	while (form->kind && strcmp(form->kind, f->kind) != 0) {
		form++;
	}
	if (form->kind) {
		fill_in(f, form->text, &out);
	} else {
		say_all(f, &out);
	}
	str_copy(buf, size, str_text(&out));
	str_release(&out);
}
