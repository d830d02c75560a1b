/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/show/node_line.h"

#include <string.h>

/** Of these no more than fit are said; ", and 12 more" always does. */
#define MORE_MAX 20

static const char *const heads[] = {
	[VERDICT_PASS] = "ok",
	[VERDICT_WARN] = "warn",
	[VERDICT_FAIL] = "FAIL",
	[VERDICT_PARTIAL] = "partial",
	[VERDICT_RUNNING] = "partial",
	[VERDICT_PENDING] = "partial",
	[VERDICT_UNKNOWN] = "unknown",
};

static const char *node_name(const struct run *run)
{
	return run->n_nodes > 0 ? run->nodes[0].name : "-";
}

/** "GPU 3 of n1: lost" is "GPU 3: lost" where only n1 speaks, and "n1: full" is
 *  "full". */
static void add_says(const char *says, const char *node, struct str *out)
{
	size_t len = strlen(node);
	char of[80];
	const char *at;

	if (strncmp(says, node, len) == 0 && str_starts(says + len, ": ")) {
		says += len + 2;
	}
	snprintf(of, sizeof(of), " of %.64s: ", node);
	at = strstr(says, of);
	if (at) {
		str_addmem(out, says, (size_t)(at - says));
		str_add(out, ": ");
		says = at + strlen(of);
	}
	str_add(out, says);
}

static void add_findings(const struct run *run, const struct verdict *v,
			 struct str *out)
{
	for (size_t i = 0; i < v->n; i++) {
		struct str one = STR_INIT;
		size_t room;

		str_addf(&one, "%s%s: ", i > 0 ? "; " : " ",
			 v->findings[i].code);
		add_says(v->findings[i].says, node_name(run), &one);
		room = NODE_LINE_MAX - MORE_MAX > out->len ?
			       NODE_LINE_MAX - MORE_MAX - out->len : 0;
		if (one.len > room && i > 0) {
			str_release(&one);
			str_addf(out, "; and %zu more", v->n - i);
			return;
		}
		str_addmem(out, str_text(&one),
			   one.len < room ? one.len : room);
		str_release(&one);
	}
}

/** How many parts have a fact @name. */
static size_t count(const struct run *run, const char *name)
{
	size_t n = 0;

	for (size_t i = 0; i < run->n_facts; i++) {
		n += strcmp(run->facts[i].fact, name) == 0;
	}
	return n;
}

static void add_parts(const struct run *run, struct str *out)
{
	static const struct {
		const char *fact, *one, *many;
	} parts[] = {
		{ "uuid", "GPU", "GPUs" },
		{ "port_state", "HCA port", "HCA ports" },
		{ "link", "interface", "interfaces" },
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		size_t n = count(run, parts[i].fact);

		str_addf(out, "%s %zu %s", i > 0 ? "," : "", n,
			 n == 1 ? parts[i].one : parts[i].many);
	}
}

void node_line(const struct run *run, const struct verdict *v,
	       struct str *out)
{
	size_t from = out->len;

	str_addf(out, "%s %s", heads[v->status], node_name(run));
	if (v->n > 0) {
		add_findings(run, v, out);
	} else {
		add_parts(run, out);
	}
	/* one line, whatever a driver says */
	str_harmless_from(out, from, 0);
	str_addch(out, '\n');
}

static void add_lines(const char *text, const char *first, struct str *out)
{
	while (*text) {
		size_t n = strcspn(text, "\n");

		str_addf(out, "  %s%.*s\n", first, (int)n, text);
		first = "";
		text += n + (text[n] == '\n');
	}
}

void node_details(const struct run *run, const struct verdict *v,
		  struct str *out)
{
	for (size_t i = 0; i < v->n; i++) {
		const struct finding *f = &v->findings[i];

		str_addf(out, "\n%s %s: %s\n", f->fail ? "FAIL" : "warn",
			 f->code, f->says);
		for (size_t k = 0; k < f->n_evidence; k++) {
			add_lines(f->evidence[k], "", out);
		}
		add_lines(f->act, "do: ", out);
	}
	str_add(out, "\n");
	for (size_t i = 0; i < run->n_facts; i++) {
		const struct fact_row *f = &run->facts[i];

		str_addf(out, "%-12s %-24s %s%s%s\n", f->scope, f->fact,
			 f->value, f->unit[0] ? " " : "", f->unit);
	}
}
