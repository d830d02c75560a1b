/* SPDX-License-Identifier: BSD-3-Clause */
/* A verdict and its findings in a few words: last lines, titles, headings. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"
#include "lib/base/units.h"
#include "report/judge/caption.h"
#include "report/model/part.h"
#include "report/model/run.h"

/** Findings that are named; the others are counted. */
#define PARTS_MAX 3
/** Bytes of the sentence of a finding. */
#define SAYS_MAX  120

/** The state of a part by the code of its finding. */
static const struct {
	const char *code, *word;
	bool noun;		/* a part has it, and is not it */
} states[] = {
	{ .code = "slow", .word = "slow" },
	{ .code = "still_slow", .word = "still slow" },
	{ .code = "still_missing", .word = "still missing" },
	{ .code = "gpu_missing", .word = "missing" },
	{ .code = "hca_missing", .word = "missing" },
	{ .code = "agent_missing", .word = "missing" },
	{ .code = "rank_missing", .word = "missing" },
	{ .code = "agent_lost", .word = "lost" },
	{ .code = "gpu_lost", .word = "lost" },
	{ .code = "task_lost", .word = "lost" },
	{ .code = "port_down", .word = "down" },
	{ .code = "link_down", .word = "down" },
	{ .code = "data_corrupt", .word = "corrupt data", .noun = true },
	{ .code = "silent_corruption", .word = "corrupt data", .noun = true },
};

/** Writes the state of the part of @f, such as "dead" or "50 % slow".  Returns
 *  true if it is a noun. */
static bool add_state(const struct finding *f, struct str *out)
{
	const size_t n = sizeof(states) / sizeof(states[0]);
	const bool by_cells = isfinite(f->score) ||
			      str_starts(f->code, "drill_");
	size_t i = 0;

	while (i < n && strcmp(states[i].code, f->code) != 0) {
		i++;
	}
	if (i < n && isfinite(f->lost) && f->lost > 0) {
		str_addf(out, "%.0f %% ", 100 * f->lost);
	}
	if (i < n) {
		str_add(out, states[i].word);
		return states[i].noun;
	}
	if (by_cells && f->cells > 0) {
		str_add(out, !f->fail ? "flaky" :
			f->explained < f->cells || f->part.node < 0 ||
					f->part.kind == PART_PAIR ?
				"failing" : "dead");
		return false;
	}
	for (const char *c = f->code; *c; c++) {
		str_addch(out, *c == '_' ? ' ' : *c);
	}
	return true;
}

static void add_members(const struct run *run, const struct finding *f,
			struct str *out)
{
	char (*names)[64] = calloc(f->n_members, sizeof(*names));

	for (size_t i = 0; names && i < f->n_members; i++) {
		STR_COPY(names[i], run->nodes[f->members[i]].name);
	}
	if (names) {
		part_add_names((const char (*)[64])names, f->n_members, out);
	}
	out->failed |= !names;
	free(names);
}

/** "GPU 4 of n1 (dead)"; as a @sentence "GPU 4 of n1 is dead", or where a state
 *  is no adjective what the finding says. */
static void add_finding(const struct run *run, const struct finding *f,
			bool sentence, struct str *out)
{
	const struct part shown = part_shown(run, &f->part);
	char name[PART_NAME_SIZE], says[SAYS_MAX], *more;
	struct str state = STR_INIT;
	bool noun = add_state(f, &state);

	/* what it says up to its first semicolon, in SAYS_MAX letters */
	if (sentence && noun) {
		if (str_copy(says, sizeof(says), f->says)) {
			says[strcspn(says, ";")] = '\0';
			str_add(out, says);
		} else {
			str_addf(out, "%.*s...", (int)strcspn(says, ";"), says);
		}
		str_release(&state);
		return;
	}
	if (f->part.node < 0 && f->n_members > 0 &&
	    part_is(&f->part, KIND(LIMIT) | KIND(CONFIG))) {
		add_members(run, f, out);
	} else {
		/* that of a NIC or the nodes of a switch behind the name are
		 * in the finding */
		part_name(run, &shown, name, sizeof(name));
		more = strstr(name, " (");
		if (more && name[strlen(name) - 1] == ')') {
			*more = '\0';
		}
		str_add(out, name);
	}
	if (state.len > 0) {
		str_addf(out, sentence ? " is %s" : " (%s)",
			 str_text(&state));
	}
	str_release(&state);
}

const char *finding_short(const struct run *run, const struct finding *f,
			  char *buf, size_t size)
{
	struct str out = STR_INIT;

	add_finding(run, f, false, &out);
	str_copy(buf, size, str_text(&out));
	str_release(&out);
	return buf;
}

/** "p2p, 2 nodes, 16 GPUs, 240 tests" */
static void add_tested(const struct run *run, const struct verdict *v,
		       struct str *out)
{
	const size_t n = verdict_measured(v);
	const char *rank = run->ports && !run->transport[0] ?
				   "port" :
			   run->mesh ? "address" :
				       spec_transport_rank(run->transport);

	str_add(out, run->probe);
	if (run->n_nodes > 0) {
		str_addf(out, ", %d node%s", run->n_nodes,
			 run->n_nodes == 1 ? "" : "s");
	}
	if (run->n_ranks > 0) {
		str_addf(out, ", %d %s%s", run->n_ranks, rank,
			 run->n_ranks == 1 ? "" : run->mesh ? "es" : "s");
	}
	if (n > 0) {
		str_addf(out, ", %s test%s", UNITS_COUNT(n),
			 n == 1 ? "" : "s");
	}
}

const char *caption_short(const struct run *run, const struct verdict *v,
			  bool sentence, char *buf, size_t size)
{
	/* with faults the warnings are only counted */
	const bool fail = v->n > 0 && v->findings[0].fail;
	const size_t most = sentence ? 1 : PARTS_MAX;
	struct str out = STR_INIT;
	size_t shown = 0;

	verdict_foreach(v, f) {
		if (shown < most && f->fail == fail) {
			str_add(&out, shown++ ? ", " : "");
			add_finding(run, f, sentence, &out);
		}
	}
	if (v->n > shown) {
		str_addf(&out, sentence ? ", and %zu more" : " and %zu more",
			 v->n - shown);
	}
	if (v->n == 0) {
		add_tested(run, v, &out);
	}
	str_copy(buf, size, str_text(&out));
	str_release(&out);
	return buf;
}
