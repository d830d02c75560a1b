/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/memlock/memlock.h"

#include <stdlib.h>

#include "lib/data/json.h"
#include "probes/memlock/look.h"
#include "probes/host/sysfile.h"

#define HCAS_MAX 64

static int read_args(struct memlock *m, const json_t *args, struct err *e)
{
	char hcas[HCAS_MAX][64];
	struct spec spec;

	if (json_get_text(args, "node", m->node, sizeof(m->node), e) < 0 ||
	    spec_from_json(&spec, json_object_get(args, "options"), e) < 0) {
		return -1;
	}
	snprintf(m->root, sizeof(m->root), "%s", spec.sysroot);
	m->hcas = (int)sysfile_list(hcas, HCAS_MAX, "%s/sys/class/infiniband",
				    m->root);
	m->needed_B = memlock_needed(&spec, m->hcas);
	return 0;
}

static int look(const json_t *args, void (*then)(struct memlock *m),
		struct err *e)
{
	struct memlock m = { .cgroup_B = MEMLOCK_UNLIMITED };

	if (read_args(&m, args, e) < 0) {
		return -1;
	}
	m.in_step = m.root[0] == '\0' && getenv("SLURM_JOB_ID") != NULL &&
		    getenv("SLURM_PROCID") != NULL;
	memlock_look_contexts(&m);
	memlock_look_neighbours(&m, m.in_step ? MEMLOCK_STEP : MEMLOCK_HERE);
	if (then != NULL) {
		then(&m);
	}
	str_release(&m.text);
	return 0;
}

int memlock_child(const json_t *args, struct err *e)
{
	return look(args, memlock_prove, e);
}

int memlock_limits_child(const json_t *args, struct err *e)
{
	return look(args, NULL, e);
}
