/* SPDX-License-Identifier: BSD-3-Clause */
#include "sbatch/slurm_blame.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/str.h"
#include "lib/data/hostlist.h"
#include "sbatch/slurm.h"
#include "sbatch/slurm_ask.h"

#define AGAIN_NS (500 * NS_PER_MS)
/** Of more it is not these that are the question. */
#define NAMES_MAX 100

/** What somebody has to look at, by what Slurm says. */
static const struct {
	const char *why, *hint;
} causes[] = {
	{ "rolog", "the prolog, a script of the site that Slurm runs before a "
		   "job, failed there: slurmd's log has its words" },
	{ "ot responding", "slurmd does not answer there: is the node up?" },
	{ "", "\"sinfo --list-reasons\" tells since when" },
};

bool slurm_blame_parse(const char *text, struct err *e)
{
	struct slurm_node node, first = { 0 };
	struct str names = STR_INIT;
	char was[sizeof(e->text)];
	size_t i = 0;

	while (slurm_parse_node(&text, &node)) {
		/* a node stands there once for each partition that it is in */
		if (!slurm_state_is_out(node.state) || names.len > NAMES_MAX ||
		    hostlist_has(str_text(&names), node.name)) {
			continue;
		}
		first = first.name[0] ? first : node;
		str_addf(&names, "%s%s", names.len ? "," : "", node.name);
	}
	if (first.name[0]) {
		while (!strstr(first.why, causes[i].why)) {
			i++;
		}
		snprintf(was, sizeof(was), "%s", e->text);
		err_set(e, e->code, "%.150s: Slurm has %s as %s%s%s", was,
			str_text(&names), first.state,
			first.why[0] ? ": " : "", first.why);
		err_hint(e, "%s; -x %s does without", causes[i].hint,
			 str_text(&names));
	}
	str_release(&names);
	return first.name[0] != '\0';
}

bool slurm_blame(const char *nodes, struct err *e)
{
	bool found = false;

	for (int i = 0; !found && i < 2; i++) {
		struct str out = STR_INIT;

		clock_sleep(i * AGAIN_NS);
		found = slurm_ask_nodes(nodes, &out, NULL) == 0 &&
			slurm_blame_parse(str_text(&out), e);
		str_release(&out);
	}
	return found;
}
