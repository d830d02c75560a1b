/* SPDX-License-Identifier: BSD-3-Clause */
/* GPUs that a node has and that are no ranks: what keeps them back. */
#include "probes/engine/coord/ranks.h"

#include <errno.h>
#include <stdio.h>

#include "lib/data/json.h"

#define REMEDY_HIDDEN "unset CUDA_VISIBLE_DEVICES, or let it name GPUs that " \
		      "'nvidia-smi -L' shows, not parts of them (MIG)"
#define REMEDY_MIG    "use nodes without MIG; to turn it off, as root: " \
		      "nvidia-smi -mig 0"

static int count(const struct coord_agent *a, const char *key)
{
	int64_t n = 0;

	json_opt_int(a->inventory, key, 0, SPEC_MAX_GPUS, &n, NULL);
	return (int)n;
}

/* "2 of the 8 GPUs", "all 8 GPUs" */
static const char *share(int n, int all, char buf[40])
{
	if (n == all) {
		snprintf(buf, 40, "%s%d GPU%s", n > 1 ? "all " : "", n,
			 n > 1 ? "s" : "");
	} else {
		snprintf(buf, 40, "%d of the %d GPUs", n, all);
	}
	return buf;
}

bool gpus_held_back(const struct coord_agent *a, struct gpus_why *w)
{
	int hidden = count(a, "gpus_hidden");
	int divided = count(a, "gpus_divided");
	int all = a->gpus_found + hidden + divided;
	char part[40];

	if (hidden > 0) {
		w->code = "gpu_hidden";
		w->remedy = REMEDY_HIDDEN;
		snprintf(w->says, sizeof(w->says),
			 "CUDA_VISIBLE_DEVICES='%.60s' hides %s",
			 json_member(a->inventory, "gpus_shown"),
			 share(hidden, all, part));
	} else if (divided > 0) {
		w->code = "gpu_mig";
		w->remedy = REMEDY_MIG;
		snprintf(w->says, sizeof(w->says), "MIG divides %s, and nothing "
			 "goes from one part of a GPU to another GPU",
			 share(divided, all, part));
	}
	return hidden > 0 || divided > 0;
}

bool gpus_expected(const struct coord_agent *a)
{
	struct gpus_why w;

	return a->driver || a->gpus_found > 0 || a->gpus_on_node > 0 ||
	       gpus_held_back(a, &w);
}

const struct coord_agent *gpus_first_held_back(const struct agents *s,
					       struct gpus_why *w)
{
	const struct coord_agent *a = NULL;

	while ((a = agents_next(s, a)) != NULL && !gpus_held_back(a, w)) {
		continue;
	}
	return a;
}

int gpus_none(const struct agents *s, bool expected, const char *other,
	      struct err *e)
{
	struct gpus_why w;
	const struct coord_agent *a = gpus_first_held_back(s, &w);
	const char *note = "";

	if (a != NULL) {
		err_set(e, ENXIO, "no GPU on any node: on '%s' %s", a->node,
			w.says);
		err_hint(e, "%s", w.remedy);
		return 3;
	}
	while (note[0] == '\0' && (a = agents_next(s, a)) != NULL) {
		note = json_member(a->inventory, "gpu_note");
	}
	err_set(e, expected ? ENXIO : ENODEV, "no GPU on any node%s%.150s",
		expected && note[0] != '\0' ? ": " : "", expected ? note : "");
	err_hint(e,
		 "check 'nvidia-smi -L' in a job; a run "
		 "without GPUs: --transport=%s", other);
	return 3;
}
