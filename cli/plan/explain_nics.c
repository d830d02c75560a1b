/* SPDX-License-Identifier: BSD-3-Clause */
/* gpucheck plan p2p --explain-nics: why each GPU here has its NIC. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/front/talk.h"
#include "cli/plan/plan.h"
#include "lib/base/clock.h"
#include "lib/base/str.h"
#include "probes/host/inventory.h"
#include "probes/host/sysfile.h"

#define DRIVER_NS (10 * NS_PER_S)

/** The NICs of this machine as NCCL sees them, from its @inventory. */
static int read_nics(const struct session *s, json_t *inventory,
		     struct affinity *a, struct err *e)
{
	struct port *ports = calloc(PORT_MAX, sizeof(*ports));
	int slots[SPEC_MAX_GPUS], n_gpus, rc;
	char root[PATH_MAX];
	size_t n;

	if (ports == NULL) {
		return err_set(e, 0, "no memory for the NICs");
	}
	sysfile_root(s->spec.sysroot, "n0", root, sizeof(root));
	rc = inventory_read(inventory, root, clock_now_ns() + DRIVER_NS,
			    ports, &n, e);
	free(ports);
	n_gpus = (int)json_array_size(inventory_seen(inventory).gpus);
	if (n_gpus == 0 || n_gpus > SPEC_MAX_GPUS) {
		rc = rc < 0 ? rc : err_set(e, 0, "this machine has no GPU");
		err_hint(e, "run it on a node with GPUs: srun gpucheck plan "
			    "p2p --explain-nics");
		return -1;
	}
	for (int g = 0; g < n_gpus; g++) {
		slots[g] = g;
	}
	if (affinity_init(a, n_gpus) < 0) {
		return err_set(e, 0, "no memory for the NICs");
	}
	affinity_add_inventory(a, inventory, slots, NULL);
	return 0;
}

static void add_names(const struct affinity *a, const int *list, int n,
		      struct str *out)
{
	for (int i = 0; i < n; i++) {
		str_addf(out, "%s%s", i > 0 ? ", " : "",
			 a->nics[list[i]].name);
	}
}

static json_t *names_json(const struct affinity *a, const int *list, int n)
{
	json_t *j = json_array();

	for (int i = 0; i < n; i++) {
		json_array_append_new(j, json_string(a->nics[list[i]].name));
	}
	return j;
}

/** Why GPU @gpu starts where it does. */
static void add_why(const struct affinity *a, int gpu,
		    const struct affinity_pick *p, struct str *out)
{
	if (p->n_near == 1) {
		str_addf(out, a->n_nics == 1 ? "the only NIC" :
			      "best path among %d NICs", a->n_nics);
		return;
	}
	str_addf(out, "%d NICs are equal (", p->n_near);
	add_names(a, p->near, p->n_near, out);
	str_addf(out, "), local to %d GPU%s: GPU %d mod %d is %d%s",
		 p->sharers, p->sharers > 1 ? "s" : "", a->dev[gpu],
		 p->sharers, a->dev[gpu] % p->sharers,
		 (p->n_near & (p->n_near - 1)) == 0 && p->n_near > 2 &&
				 a->dev[gpu] % p->sharers != 0 ?
			 ", bits mirrored" : "");
}

static void print_text(const struct affinity *a)
{
	struct affinity_pick p;
	bool differ = false;

	printf("NICs that NCCL takes for each GPU of this machine, without "
	       "PXN\n\n");
	for (int g = 0; g < a->n_gpus; g++) {
		struct str nics = STR_INIT, why = STR_INIT;

		affinity_pick(a, g, false, &p);
		if (p.n_near == 0) {
			printf("GPU %-3d -: no path to a NIC is known\n",
			       a->dev[g]);
			continue;
		}
		add_names(a, p.mine, p.n_mine, &nics);
		add_why(a, g, &p, &why);
		printf("GPU %-3d %s: %s, %.3g GB/s; %s\n", a->dev[g],
		       str_text(&nics), affinity_way_names[p.path.way],
		       p.path.GB_s, str_text(&why));
		differ |= p.n_near > p.n_mine;
		str_release(&nics);
		str_release(&why);
	}
	if (differ) {
		printf("\nIn a pair NCCL sees one GPU per node, which takes "
		       "all NICs that are equal.\nTests give each GPU its NIC "
		       "above, unless NCCL_IB_HCA or --nic-choice=nccl is "
		       "set.\n");
	}
}

int explain_nics(const struct session *s)
{
	struct err e = { 0 };
	struct affinity a = { 0 };
	struct affinity_pick all, alone;
	json_t *list, *inventory = json_object();
	int rc = read_nics(s, inventory, &a, &e);

	if (rc == 0 && s->spec.json) {
		list = json_array();
		for (int g = 0; g < a.n_gpus; g++) {
			affinity_pick(&a, g, false, &all);
			affinity_pick(&a, g, true, &alone);
			json_array_append_new(list, json_pack(
				"{s:i,s:s,s:f,s:o,s:i,s:o,s:o}",
				"gpu", a.dev[g],
				"path", affinity_way_names[all.path.way],
				"path_GB_s", all.path.GB_s,
				"alike", names_json(&a, all.near, all.n_near),
				"sharers", all.sharers,
				"nics", names_json(&a, all.mine, all.n_mine),
				"nics_in_a_pair",
				names_json(&a, alone.mine, alone.n_mine)));
		}
		json_dumpf(list, stdout, JSON_COMPACT);
		putchar('\n');
		json_decref(list);
	} else if (rc == 0) {
		print_text(&a);
	}
	affinity_release(&a);
	json_decref(inventory);
	return rc == 0 ? CODE_HEALTHY : talk_fail(&e, CODE_UNABLE);
}
