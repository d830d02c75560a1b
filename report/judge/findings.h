/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_JUDGE_FINDINGS_H
#define REPORT_JUDGE_FINDINGS_H

#include "report/judge/explained.h"
#include "report/judge/gone.h"
#include "report/judge/verdict.h"
#include "report/model/sweep.h"

/* Codes of a GPU that processes hold: of no job, or of jobs. */
#define FINDING_GPU_BUSY   "gpu_busy"
#define FINDING_GPU_IN_USE "gpu_in_use"
#define FINDING_GPU_JOINED "gpu_joined"

/** Findings that no bad cell shows.  Where memory runs out, @v has failed. */

/** Bytes that go another way than they come, or straight from the GPU at one
 *  end only: how are the nodes set up? */
void config_findings(const struct run *run, struct verdict *v);
/** Pairs of nodes that use TCP where both have a faster RDMA port, which is a
 *  fault unless the user asked for it; host memory where a NIC could read the
 *  GPU. */
void network_findings(const struct run *run, struct verdict *v);
/** The first of these, of collectives between nodes. */
void collective_network_findings(const struct run *run, const struct sweep *s,
				 struct verdict *v);
/** Facts in which nodes differ that should be set up alike. */
void skew_findings(const struct run *run, struct verdict *v);
/** --contrast=schedule and =memory: whole parts that lose when pairs run at the
 *  same time, or when data lies in GPU memory. */
void load_findings(const struct run *run, struct verdict *v);
/** --contrast: cells that are good in the first pass and fail in the other. */
void contrast_findings(const struct run *run, struct verdict *v);
/** --contrast=pxn: dead cells that PXN rescues; they are @explained by that. */
void pxn_findings(const struct run *run, uint8_t *explained,
		  struct verdict *v);
/** Where ranks are HCA ports: PCIe links below what they could be, an MTU or
 *  a rate that is not that of the other ports.  Of info, node: the links. */
void port_findings(const struct run *run, struct verdict *v);
/** Of info, node: nodes with fewer GPUs than they should show. */
void info_findings(const struct run *run, struct verdict *v);
/** Most agents fell silent at once: it is the coordinator that was cut off; or
 *  hung up at once: they were ended.  Their nodes go from @gone, and their
 *  cells are @explained.  In a run that broke off, cells of agents that were
 *  lost last are @explained by that. */
void cut_findings(const struct run *run, struct gone_list *gone,
		  uint8_t *explained, struct verdict *v);
/** Tests that were not measured as their processes did not get to run: nobody's
 *  fault that a test could show.  Nodes that are gone by that go from @gone,
 *  and their cells are @explained. */
void starved_findings(const struct run *run, struct gone_list *gone,
		      uint8_t *explained, struct verdict *v);
/** Where most tests were lost to that and none passed: those that failed show
 *  no fault either, and what they were found guilty of is a warning. */
void starved_excuse(const struct run *run, struct verdict *v);
/** Of every probe, last: where each node is named in @v for having no agent,
 *  one finding that names none takes the place of those. */
void absent_findings(const struct run *run, struct verdict *v);
/** Of every probe: fewer nodes or ranks than --nodes and --gpus-per-node ask
 *  for, as the launcher started no more; the run is partial. */
void few_findings(const struct run *run, struct verdict *v);
/** Of ping: what its addresses say.  Cells of an address that two machines have
 *  are @explained by that. */
void mesh_findings(const struct run *run, uint8_t *explained,
		   struct verdict *v);
/** All cells of the address @rank count for @f, and accuse no one else. */
void mesh_explain(const struct run *run, int rank, uint8_t *explained,
		  struct finding *f);
/** Of ping: what nodes say against themselves: a filter or a routing table that
 *  keeps packets from leaving, rails that are swapped. */
void own_findings(const struct run *run, uint8_t *explained,
		  struct verdict *v);
/** Of ping: an interface that is bad by IPv4 and by IPv6 is one finding. */
void mesh_merge(const struct run *run, struct verdict *v);
/** GPUs that have no way to the others of their node that most of these have to
 *  each other. */
void peer_findings(const struct run *run, struct verdict *v);
/** Pairs of one kind at two levels, neither of which is known to be a fault. */
void level_findings(const struct run *run, struct verdict *v);
/** Parts that fail now and then, by all of their tests: where these failed,
 *  their cells are EXPLAINED, those that passed when retried
 *  EXPLAINED_FLAKY alone. */
void rate_findings(const struct run *run, uint8_t *explained,
		   struct verdict *v);
/** Slow cells that parts explain which are a little slow, as where two of them
 *  meet, are SPARED. */
void effects_spare(const struct run *run, uint8_t *explained,
		   struct verdict *v);
/** Nodes, NICs and GPUs that are a little slow, or late, by all of their tests
 *  at once: faults where they are slow enough, by all of the interval or
 *  nearly, and tests of the follow-up confirm it.  Those slow cells that they
 *  explain stay SPARED. */
void effect_findings(const struct run *run, uint8_t *explained,
		     struct verdict *v);
/** NICs of GPUs, and networks of nodes, that are slow by themselves where the
 *  GPU or the node is slow as well. */
void depth_findings(const struct run *run, struct verdict *v);
/** Limits that our own processes ran into, and what they kept from being
 *  measured. */
void limit_findings(const struct run *run, struct verdict *v);
/** GPUs of the job that are no ranks, though nobody asked for fewer. */
void untested_findings(const struct run *run, struct verdict *v);
/** What a GPU counts grew while it was measured, or who holds it: evidence for
 *  what is found already about it, else a warning.  What is found of a GPU that
 *  others hold is judged as held_findings() does. */
void growth_findings(const struct run *run, struct verdict *v);
/** What is found of GPUs that others hold is a fault in a job of our own alone,
 *  and where no job has them; they were not broken. */
void held_findings(const struct run *run, struct verdict *v);
/** The code of what @f says has grown during the run, and *@text for it; NULL:
 *  it says nothing of that kind. */
const char *growth_code(const struct run *run, const struct fact_row *f,
			const char **text);
/** Ping: tables of neighbours that are too small for what was planned. */
void neighbour_findings(const struct run *run, struct verdict *v);

#endif
