/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/front/command.h"

#include "lib/base/exit_code.h"
#include "cli/front/node_self.h"
#include "cli/front/talk.h"
#include "report/judge/node.h"
#include "report/symptoms/symptom.h"

/** What a node is drained for must be a code, and one that is a fault. */
static int check_codes(const char *codes, struct err *e)
{
	char code[48];

	while (node_next_code(&codes, code)) {
		if (!symptom_find(symptoms_builtin(), code)) {
			err_set(e, 0, "--fail-on: there is no code '%s'", code);
			return err_hint(e, "\"man gpucheck-node\" lists those "
					   "that a node can have");
		}
		if (!node_may_fail(code)) {
			err_set(e, 0, "--fail-on: '%s' never fails a node",
				code);
			return err_hint(e, "it is no fault of the node, or "
					   "says that nobody could look");
		}
	}
	return 0;
}

static int run_node(struct session *s)
{
	struct err e = { 0 };

	return spec_check(&s->spec, &e) < 0 ||
			       check_codes(s->spec.fail_on, &e) < 0 ?
		       talk_fail(&e, CODE_USAGE) : node_self(s);
}

static const char *const examples[] = {
	"gpucheck node",
	"gpucheck node --expect-gpus=8 -v",
	"gpucheck node --fail-on=port_down,gpu_lost,gpu_missing",
	NULL
};

const struct command cmd_node = {
	.name = "node",
	.summary = "What this node can say of itself within 4.5 s; for hooks.",
	.usage = "[OPTION...]",
	.examples = examples,
	.takes = SPEC_CMD_NODE,
	.run = run_node,
};
