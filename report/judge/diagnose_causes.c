/* SPDX-License-Identifier: BSD-3-Clause */
/* Causes of lost rates that facts show, and the layers that each can explain.
 */
#include "report/judge/diagnose.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/judge/findings.h"
#include "report/model/run.h"

/** Part of an end of a pair that a fact is about. */
enum cause_of {
	OF_NODE,
	OF_GPU,
	OF_NIC,
	OF_INTERFACE,		/* of any that the node has */
	OF_PATH,		/* as NCCL used it: no fact */
	OF_SHARED_NIC		/* of two GPUs that were tested together */
};

/**
 * Causes, the most telling first.  To add one: a row, and its code in
 * data/symptoms.ini.  A cause is named only if the rate is lost in one of its
 * layers: what slows RDMA in host memory shows in that layer, not only in NCCL.
 */
static const struct {
	const char *fact;
	enum cause_of of;
	const char *is;		/* its value, a list; NULL: less than FACT_max,
				 * or without that than others of its scope */
	const char *but, *not_with;	/* a fact of the same scope, and its
					 * values, a list, with which it is no
					 * cause */
	const char *layers;	/* a list of names in diagnose_steps; "nccl"
				 * also stands for the model, "alone" for a pair
				 * that is not slow if it is tested alone */
	const char *says, *code;
} causes[] = {
	/* where GPU and NIC have a path of their own, it needs some of ACS */
	{ .fact = "acs_check", .of = OF_NODE, .is = "wrong",
	  .layers = "verbs_gpu cuda",
	  .says = "rdma_topo finds wrong PCIe ACS settings",
	  .code = "acs_wrong" },
	{ .fact = "acs", .of = OF_NODE, .is = "on",
	  .but = "acs_check", .not_with = "right wrong",
	  .layers = "verbs_gpu cuda", .says = "PCIe ACS is on",
	  .code = "acs_on" },
	{ .fact = "iommu", .of = OF_NODE, .is = "translates",
	  .layers = "verbs verbs_gpu cuda", .says = "the IOMMU translates DMA",
	  .code = "iommu_translates" },
	{ .fact = "pcie_width", .of = OF_NIC, .layers = "verbs",
	  .says = "the PCIe link of the NIC has fewer lanes than it can have",
	  .code = "pcie_downgraded" },
	{ .fact = "pcie_speed", .of = OF_NIC, .layers = "verbs",
	  .says = "the PCIe link of the NIC is slower than it can be",
	  .code = "pcie_downgraded" },
	{ .fact = "pcie_width", .of = OF_GPU, .layers = "verbs_gpu cuda",
	  .says = "the PCIe link of the GPU has fewer lanes than it can have",
	  .code = "pcie_downgraded" },
	{ .fact = "rate", .of = OF_NIC, .layers = "verbs",
	  .says = "the port is slower than others", .code = "rate_differs" },
	{ .fact = "active_mtu", .of = OF_NIC, .layers = "verbs",
	  .says = "the MTU of the port is smaller than that of others",
	  .code = "mtu_differs" },
	{ .fact = "mtu", .of = OF_INTERFACE, .layers = "tcp",
	  .says = "the MTU of the interface is smaller than that of others",
	  .code = "mtu_differs" },
	{ .fact = "path", .of = OF_PATH, .layers = "verbs_gpu nccl",
	  .says = "NCCL does not use GPUDirect RDMA, although GPU and NIC "
		  "share a PCIe switch",
	  .code = "gpudirect_missing" },
	{ .fact = "cpus", .of = OF_GPU, .is = "far", .layers = "tcp nccl",
	  .says = "the process may not use the CPUs of the GPU's NUMA node",
	  .code = "cpus_far" },
	/* with these drivers the clock follows the load */
	{ .fact = "governor", .of = OF_NODE,
	  .is = "powersave ondemand conservative schedutil",
	  .but = "cpufreq_driver", .not_with = "intel_pstate amd-pstate-epp",
	  .layers = "tcp nccl",
	  .says = "the CPU governor may lower the clock",
	  .code = "cpu_governor" },
	{ .fact = "throttled", .of = OF_GPU,
	  .is = "hw_slowdown sw_thermal hw_thermal hw_power_brake",
	  .layers = "cuda nccl",
	  .says = "heat or a power limit lowers the clocks of the GPU",
	  .code = "throttled" },
	{ .fact = "nic", .of = OF_SHARED_NIC, .layers = "alone",
	  .says = "GPUs that share the NIC were tested at the same time",
	  .code = "nic_shared" },
};

/** Return the value that @f could or should have. */
static double most_of(const struct run *run, const struct fact_row *f)
{
	char name[64];
	double most;

	snprintf(name, sizeof(name), "%.50s_max", f->fact);
	most = strtod(run_fact_beside(run, f, name), NULL);
	if (most > 0) {
		return most;
	}
	run_foreach_fact(run, other) {
		/* ports of one name are alike: others may be for storage */
		if (strcmp(other->fact, f->fact) == 0 &&
		    strcmp(other->scope, f->scope) == 0) {
			most = fmax(most, strtod(other->value, NULL));
		}
	}
	return most;
}

/** Return the fact by which @rank has the cause; NULL: it does not. */
static const struct fact_row *fact_at(const struct run *run, size_t c, int rank)
{
	const struct cluster_rank *r = &run->ranks[rank];
	const enum cause_of of = causes[c].of;

	run_foreach_fact(run, f) {
		double value = strtod(f->value, NULL);
		char word[sizeof(f->value)], nic[sizeof(f->scope)];

		STR_COPY(word, f->value);
		word[strcspn(word, " ")] = '\0';
		/* without the number of the port */
		STR_COPY(nic, f->scope);
		nic[strcspn(nic, ":")] = '\0';
		if (strcmp(f->fact, causes[c].fact) == 0 &&
		    strcmp(f->node, run->nodes[r->node].name) == 0 &&
		    (of == OF_INTERFACE ||
		     (of == OF_NODE && strcmp(f->scope, "node") == 0) ||
		     (of == OF_GPU &&
		      run_number_in(f->scope, "gpu") == r->gpu) ||
		     (of == OF_NIC && (str_names_meet(r->nic_name, f->scope) ||
				       str_names_meet(r->nic_name, nic)))) &&
		    (causes[c].is ? str_names_meet(causes[c].is, word) :
				    value > 0 && value < most_of(run, f)) &&
		    !(causes[c].but &&
		      str_names_meet(causes[c].not_with,
				     run_fact_beside(run, f, causes[c].but)))) {
			return f;
		}
	}
	return NULL;
}

/** Return true if the pair has the cause, and append where. */
static bool shows(const struct run *run, size_t c, int src, int dst,
		  struct str *out)
{
	const char *way = run->paths[run->cell_way[run_at(run, src, dst)]];
	const int ends[] = { src, dst };
	bool shown = false;

	if (causes[c].of == OF_PATH) {
		str_addf(out, " (%s)", way);
		return network_bounces(run, run_at(run, src, dst));
	}
	for (int i = 0; i < 2; i++) {
		const struct cluster_rank *r = &run->ranks[ends[i]];
		const struct fact_row *f =
			causes[c].of == OF_SHARED_NIC ? NULL :
						fact_at(run, c, ends[i]);
		int sharing = 0;

		for (int k = 0; k < run->n_ranks; k++) {
			sharing += run->ranks[k].node == r->node &&
				   run->ranks[k].nic == r->nic;
		}
		if (f) {
			str_addf(out, "%s%s=%s at %s%s%s", shown ? ", " : " (",
				 f->fact, f->value, f->node,
				 causes[c].of == OF_NODE ? "" : " ",
				 causes[c].of == OF_NODE ? "" : f->scope);
		} else if (causes[c].of == OF_SHARED_NIC && sharing > 1 &&
			   run->ranks[src].node != run->ranks[dst].node &&
			   run->nodes[r->node].nics > 0 &&
			   strcmp(run->schedule, "parallel") == 0) {
			str_addf(out, "%sNIC %d of %s", shown ? ", " : " (",
				 r->nic, run->nodes[r->node].name);
		} else {
			continue;
		}
		shown = true;
	}
	str_add(out, shown ? ")" : "");
	return shown;
}

/** Return true if the rate of the pair may be lost in a layer of @c: in the
 *  lowest one that lacks it, or in one right below that was not measured. */
static bool fits(const struct run *run, size_t c, int src, int dst)
{
	const struct diagnose_step *top = diagnose_top(run);
	const struct diagnose_step *s = diagnose_lost(run, src, dst);
	bool inter = run->ranks[src].node != run->ranks[dst].node, in = false;

	if (!s) {
		return diagnose_keeps(run, top, src, dst) > 0 &&
		       str_names_meet(causes[c].layers, "alone");
	}
	/* the first step is ping, which has no rate */
	for (; !in && s > diagnose_steps &&
	       diagnose_keeps(run, s, src, dst) <= 0; s--) {
		in = (s->of & top->base) &&
		     s->where != (inter ? DIAGNOSE_INTRA : DIAGNOSE_INTER) &&
		     str_names_meet(causes[c].layers,
				    s->base == BASE_SIM ? "nccl" : s->name);
	}
	return in;
}

size_t diagnose_causes(const struct run *run, int src, int dst, struct str *out,
		       const char *codes[DIAGNOSE_CAUSES])
{
	const struct diagnose_row *good =
		diagnose_good(run, diagnose_top(run), src, dst);
	const size_t from = out->len;
	size_t n = 0;

	for (size_t c = 0;
	     n < DIAGNOSE_CAUSES && c < sizeof(causes) / sizeof(*causes); c++) {
		struct str where = STR_INIT, other = STR_INIT;

		/* what the good pair has as well does not explain it */
		if (fits(run, c, src, dst) && shows(run, c, src, dst, &where) &&
		    !(good && shows(run, c, (int)good->src_rank,
				    (int)good->dst_rank, &other))) {
			bool known = false;

			str_addf(out, "%s%s%s", out->len > from ? "; " : "",
				 causes[c].says, str_text(&where));
			for (size_t k = 0; k < n; k++) {
				known = known ||
					strcmp(codes[k], causes[c].code) == 0;
			}
			if (!known) {
				codes[n++] = causes[c].code;
			}
		}
		out->failed |= where.failed || other.failed;
		str_release(&where);
		str_release(&other);
	}
	return n;
}
