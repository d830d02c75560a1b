/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/judge/findings.h"

#include <stdlib.h>
#include <string.h>

#include "report/model/part.h"
#include "report/judge/says.h"
#include "report/judge/verdict.h"

/** Facts that say how much a counter of a GPU or of an HCA port grew during
 *  the run. */
static const struct growth {
	const char *fact, *code, *text;
	double enough;		/* less is nothing to speak of */
	bool real;		/* no fault where software plays the port */
} growths[] = {
#define PORT(counter, what, words) \
	{ .fact = counter "_growth", .code = what, .enough = 1, \
	  .text = counter " (" words ")" }
#define WIRE(counter, what, words) \
	{ .fact = counter "_growth", .code = what, .enough = 1, .real = true, \
	  .text = counter " (" words ")" }
	PORT("link_downed", "link_flapped", "the link went down"),
	PORT("carrier_changes", "link_flapped", "the link went up or down"),
	PORT("link_error_recovery", "link_errors", "the link was retrained"),
	PORT("symbol_error", "link_errors", "bit errors on the cable"),
	PORT("local_link_integrity_errors", "link_errors", "physical errors"),
	PORT("port_rcv_errors", "link_errors", "damaged packets"),
	PORT("port_rcv_remote_physical_errors", "link_errors",
	     "packets damaged before the switch"),
	PORT("rx_icrc_encapsulated", "link_errors", "damaged packets"),
	PORT("port_xmit_discards", "congestion", "packets discarded"),
	WIRE("out_of_buffer", "congestion", "no receive buffer"),
	WIRE("np_cnp_sent", "congestion", "congestion notifications sent"),
	WIRE("rp_cnp_handled", "congestion", "congestion notifications handled"),
	WIRE("np_ecn_marked_roce_packets", "congestion", "packets marked for congestion"),
	WIRE("roce_adp_retrans", "retransmits", "packets retransmitted"),
	WIRE("local_ack_timeout_err", "retransmits", "ACK timeouts"),
	WIRE("packet_seq_err", "retransmits", "packets lost at the peer"),
	WIRE("out_of_sequence", "retransmits", "packets lost"),
	WIRE("implied_nak_seq_err", "retransmits", "responses lost"),
	WIRE("duplicate_request", "retransmits", "packets received twice"),
	WIRE("completer_retry_err", "retransmits", "requests retried"),
	WIRE("out_of_seq_request", "retransmits", "packets lost"),
	{ .fact = "xids_growth", .code = "xid", .enough = 1,
	  .text = "Xids in the kernel log" },
	{ .fact = "ecc_uncorrected_growth", .code = "ecc_errors", .enough = 1,
	  .text = "uncorrectable ECC errors" },
	{ .fact = "rows_remapped_growth", .code = "rows_remapped",
	  .enough = 1, .text = "memory rows remapped" },
	{ .fact = "nvlinks_lost_growth", .code = "nvlink_down", .enough = 1,
	  .text = "NVLinks went down" },
	{ .fact = "nvlink_recoveries_growth", .code = "nvlink_errors",
	  .enough = 1, .text = "NVLink recoveries" },
	{ .fact = "nvlink_replays_growth", .code = "nvlink_errors",
	  .enough = 1, .text = "NVLink replays" },
	{ .fact = "thermal_throttle_growth", .code = "throttled",
	  .enough = 1e6, .text = "ns of thermal throttling" },
};

static const struct growth *growth_of(const struct fact_row *f)
{
	for (size_t i = 0; i < sizeof(growths) / sizeof(*growths); i++) {
		if (strcmp(f->fact, growths[i].fact) == 0 &&
		    strtod(f->value, NULL) >= growths[i].enough) {
			return &growths[i];
		}
	}
	return NULL;
}

/** The local rank that @f is about: "gpu3", or the name of an HCA port. */
static int index_of(const struct run *run, const struct fact_row *f, int node)
{
	const struct run_node *n = &run->nodes[node];
	char rest;
	int index;

	for (int i = 0; run->ports && i < n->gpus; i++) {
		if (strcmp(run->ranks[n->first_rank + i].nic_name,
			   f->scope) == 0) {
			return i;
		}
	}
	return !run->ports &&
	       sscanf(f->scope, "gpu%4d%c", &index, &rest) == 1 ? index : -1;
}

/** The GPU or the port that @f is about; false: of none. */
static bool place_of(const struct run *run, const struct fact_row *f,
		     struct part *p)
{
	*p = part_of_kind(PART_GPU);
	for (int i = 0; i < run->n_nodes; i++) {
		if (strcmp(run->nodes[i].name, f->node) == 0) {
			p->node = i;
		}
	}
	p->index = p->node >= 0 ? index_of(run, f, p->node) : -1;
	return p->index >= 0 && p->index < run->nodes[p->node].gpus;
}

/** Is the port that @f is about none of hardware? */
static bool is_software(const struct run *run, const struct fact_row *f)
{
	for (size_t i = 0; i < run->n_facts; i++) {
		const struct fact_row *other = &run->facts[i];

		if (strcmp(other->fact, "software") == 0 &&
		    strcmp(other->scope, f->scope) == 0 &&
		    strcmp(other->node, f->node) == 0) {
			return true;
		}
	}
	return false;
}

/** Is @f about @gpu, alone or with others near it? */
static bool concerns(const struct finding *f, const struct part *gpu)
{
	const struct part *p = &f->part;

	switch (p->kind) {
	case PART_GPU:
	case PART_NIC:
		return p->node == gpu->node && p->index == gpu->index;
	case PART_RAIL:
		return gpu->kind == PART_NIC && p->index == gpu->index;
	case PART_PAIR:
		return (p->node == gpu->node && p->index == gpu->index) ||
		       (p->peer_node == gpu->node &&
			p->peer_index == gpu->index);
	case PART_NODE:
		return p->node == gpu->node;
	case PART_INTRA_NODE:
		return p->node < 0 || p->node == gpu->node;
	default:
		return false;
	}
}

static int add_warning(const struct run *run, const struct part *gpu,
		       const struct growth *g, const char *evidence,
		       struct verdict *v)
{
	struct finding *f = finding_add(v, gpu);

	if (!f) {
		return -1;
	}
	for (int s = 0; s < run->n_ranks; s++) {
		for (int d = 0; d < run->n_ranks; d++) {
			f->cells += run_measured(run_cell(run, s, d)->class) &&
				    part_touches(run, gpu, s, d);
		}
	}
	STR_COPY(f->code, g->code);
	STR_COPY(f->says, evidence);
	says_act(run, f, -1, -1);
	return finding_add_evidence(f, evidence);
}

static int add_growth(const struct run *run, const struct part *gpu,
		      const struct growth *g, const struct fact_row *fact,
		      struct verdict *v)
{
	char evidence[400], name[PART_NAME_SIZE];
	bool heard = false;
	int rc = 0;

	snprintf(evidence, sizeof(evidence),
		 "%.200s: %.32s %s during the run (%.80s)",
		 part_name(run, gpu, name, sizeof(name)), fact->value, g->text,
		 fact->source);
	for (size_t i = 0; i < v->n && rc == 0; i++) {
		if (concerns(&v->findings[i], gpu)) {
			rc = finding_add_evidence(&v->findings[i], evidence);
			heard = true;
		}
	}
	return rc < 0 || heard ? rc : add_warning(run, gpu, g, evidence, v);
}

int growth_findings(const struct run *run, struct verdict *v)
{
	for (size_t i = 0; i < run->n_facts; i++) {
		const struct fact_row *f = &run->facts[i];
		const struct growth *g = growth_of(f);
		struct part place;

		if (!g || !place_of(run, f, &place) ||
		    (g->real && is_software(run, f))) {
			continue;
		}
		place = part_shown(run, &place);
		if (add_growth(run, &place, g, f, v) < 0) {
			return -1;
		}
	}
	return 0;
}
