/* SPDX-License-Identifier: BSD-3-Clause */
/* Findings about growing error counters, and GPUs in use by others. */
#include "report/judge/findings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/order.h"
#include "lib/base/stats.h"
#include "lib/spec/spec.h"

/** Facts that say how much a counter of a GPU or of an HCA port grew during
 *  the run. */
static const struct growth {
	const char *fact, *code, *text;
	double enough;		/* less is nothing to speak of; 0: any */
	bool real;		/* not a fault if software emulates the port */
	bool held;		/* the fact names a process that holds the
				 * GPU, not a number */
	bool joined;		/* the same, since some time in the run */
	bool said;		/* the fact is a sentence of its own */
} growths[] = {
#define GPU(counter, what, words) \
	{ .fact = counter "_growth", .code = what, .text = words }
#define PORT(counter, what, words) \
	GPU(counter, what, counter " (" words ")")
#define WIRE(counter, what, words) \
	{ .fact = counter "_growth", .code = what, .real = true, \
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
	PORT("aer_dev_nonfatal", "pcie_errors",
	     "PCIe errors that the link did not correct"),
	PORT("aer_dev_fatal", "pcie_errors", "fatal PCIe errors"),
	PORT("port_xmit_discards", "congestion", "packets discarded"),
	WIRE("out_of_buffer", "congestion", "no receive buffer"),
	WIRE("np_cnp_sent", "congestion", "congestion notifications sent"),
	WIRE("rp_cnp_handled", "congestion",
	     "congestion notifications handled"),
	WIRE("np_ecn_marked_roce_packets", "congestion",
	     "packets marked for congestion"),
	WIRE("roce_adp_retrans", "retransmits", "packets retransmitted"),
	WIRE("local_ack_timeout_err", "retransmits", "ACK timeouts"),
	WIRE("packet_seq_err", "retransmits", "packets lost at the peer"),
	WIRE("out_of_sequence", "retransmits", "packets lost"),
	WIRE("implied_nak_seq_err", "retransmits", "responses lost"),
	WIRE("duplicate_request", "retransmits", "packets received twice"),
	WIRE("completer_retry_err", "retransmits", "requests retried"),
	WIRE("out_of_seq_request", "retransmits", "packets lost"),
	PORT("link_down_events_phy", "link_flapped", "the link went down"),
	PORT("rx_pcs_symbol_err_phy", "link_errors",
	     "symbol errors that FEC did not correct"),
	PORT("rx_crc_errors_phy", "link_errors", "damaged frames"),
	PORT("rx_discards_phy", "congestion",
	     "packets discarded at the full receive buffer"),
	PORT("tx_pause_storm_error_events", "pause_storm",
	     "pause frames sent for so long that the NIC stopped them"),
	PORT("tx_pause_storm_warning_events", "pause_storm",
	     "pause frames sent for long"),
#define DISCARDS(k) PORT("rx_prio" #k "_discards", "congestion", \
			 "packets of this priority discarded")
	DISCARDS(0), DISCARDS(1), DISCARDS(2), DISCARDS(3),
	DISCARDS(4), DISCARDS(5), DISCARDS(6), DISCARDS(7),
	PORT("effective_errors", "link_errors",
	     "symbol errors that FEC did not correct"),
	{ .fact = "module_alarm", .code = "link_quality", .said = true,
	  .text = "" },
	GPU("xids", "xid", "Xids in the kernel log"),
	GPU("ecc_uncorrected", "ecc_errors", "uncorrectable ECC errors"),
	GPU("rows_remapped", "rows_remapped", "memory rows remapped"),
	GPU("nvlinks_lost", "nvlink_down", "NVLinks went down"),
	GPU("nvlink_recoveries", "nvlink_errors", "NVLink recoveries"),
	GPU("nvlink_replays", "nvlink_errors", "NVLink replays"),
#define HELD(name) \
	{ .fact = name, .code = name, .held = true, .text = "" }
	HELD(FINDING_GPU_BUSY),
	HELD(FINDING_GPU_IN_USE),
	{ .fact = FINDING_GPU_JOINED, .code = FINDING_GPU_JOINED, .held = true,
	  .joined = true, .text = "" },
	{ .fact = "thermal_throttle_growth", .code = "throttled",
	  .enough = 1e6, .text = "ns of thermal throttling" },
};

/** Returns the row of @f if it grew by enough to count; else NULL. */
static const struct growth *growth_of(const struct fact_row *f)
{
	double grown = strtod(f->value, NULL);

	for (size_t i = 0; i < sizeof(growths) / sizeof(*growths); i++) {
		const struct growth *g = &growths[i];

		if (strcmp(f->fact, g->fact) == 0) {
			return g->held || g->said ||
					       grown >= fmax(g->enough, 1) ?
				       g : NULL;
		}
	}
	return NULL;
}

const char *growth_code(const struct run *run, const struct fact_row *f,
			const char **text)
{
	const struct growth *g = growth_of(f);

	if (!g || g->held || g->said ||
	    (g->real && run_fact_beside(run, f, "software")[0])) {
		return NULL;
	}
	*text = g->text;
	return g->code;
}

/** Returns true if @f is about @gpu, alone or with other parts near it. */
static bool concerns(const struct finding *f, const struct part *gpu)
{
	const struct part *p = &f->part;
	bool same_node = p->node == gpu->node;
	bool same = same_node && p->index == gpu->index;

	switch (p->kind) {
	case PART_GPU:
	case PART_NIC:
		return same;
	case PART_RAIL:
		return gpu->kind == PART_NIC && p->index == gpu->index;
	case PART_PAIR:
		return same || (p->peer_node == gpu->node &&
				p->peer_index == gpu->index);
	case PART_NODE:
		return same_node;
	case PART_INTRA_NODE:
		return p->node < 0 || same_node;
	default:
		return false;
	}
}

static void add_growth(const struct run *run, const struct part *gpu,
		       const struct growth *g, const struct fact_row *fact,
		       struct verdict *v)
{
	char evidence[400];
	bool heard = false;

	snprintf(evidence, sizeof(evidence),
		 g->said ? "%.100s: the transceiver reports %.200s%s "
			   "(%.80s)" :
		 g->joined ? "%.100s: %.160s%s started to use it during the "
			     "run (%.80s)" :
		 g->held ? "%.100s has been held by %.160s%s since before the "
			   "run (%.80s)" :
			   "%.200s: %.32s %s during the run (%.80s)",
		 PART_NAME(run, gpu), fact->value, g->text, fact->source);
	verdict_foreach(v, f) {
		if (concerns(f, gpu)) {
			finding_add_evidence(f, "%s", evidence);
			heard = true;
		}
	}
	if (!heard) {
		struct finding *f = finding_add(v, *gpu, g->code);

		f->cells = part_tests(run, gpu, NULL);
		finding_say(f, "%s", evidence);
	}
}

void held_findings(const struct run *run, struct verdict *v)
{
	verdict_foreach(v, f) {
		bool busy = strcmp(f->code, FINDING_GPU_BUSY) == 0;

		if (busy || strcmp(f->code, FINDING_GPU_IN_USE) == 0) {
			f->fail = false;
		}
		/* Outside of a Slurm job of ours other users may be entitled to
		 * the GPUs. */
		for (size_t i = 0; busy && f->part.node >= 0 &&
				   i < run->n_facts; i++) {
			f->fail |= strcmp(run->facts[i].fact, "slurm_job") ==
					   0 &&
				   strcmp(run->facts[i].node,
					  run->nodes[f->part.node].name) == 0;
		}
	}
}

/** The GPU or HCA port of @node that @f is about; GPUs tested one by one are
 *  not ranks.  index < 0: none of this run. */
static struct part part_of_fact(const struct run *run, const struct fact_row *f,
				int node)
{
	struct part p = part_at(PART_GPU, node, run_number_in(f->scope, "gpu"));
	int rank;

	if (run->ports) {
		rank = part_rank_of_name(run, node, f->scope);
		p.index = rank >= 0 ? run->ranks[rank].gpu : -1;
	}
	return p;
}

/** Every fast link has bits that FEC corrects.  Their number depends on the
 *  cable and the transceiver. */
#define FEC_FACT  "rx_corrected_bits_phy"
#define FEC_PORTS 4
/** A share of wrong bits before FEC, of a tool; lower ones are all alike. */
#define BER_FACT  "raw_ber"
#define BER_LEAST 1e-12
/** Share of wrong bits up to which a link is well, however few the like ports
 *  have.  By choice: RS(544,514) of IEEE 802.3bs is made for about 2.4e-4. */
#define FEC_FREE  1e-8

/** A port with FEC. */
struct fec_port {
	const struct fact_row *of;	/* any fact of it */
	const char *board, *fec;
	double bits, rate_Gb_s;		/* corrected during the run */
	double ber;			/* in place of that; 0: not known */
	bool has_ber;
	double scale;			/* logarithm of the bits */
};

static const struct order_key by_scope[] = {
	ORDER_ITEM(ORDER_POINTEE),
	ORDER_UP(struct fact_row, node),
	ORDER_UP(struct fact_row, scope),
	ORDER_END
};

static const struct order_key by_like[] = {
	ORDER_UP(struct fec_port, board),
	ORDER_UP(struct fec_port, fec),
	ORDER_UP(struct fec_port, has_ber),
	ORDER_UP(struct fec_port, rate_Gb_s),
	ORDER_END
};

static void add_quality(const struct run *run, const struct fec_port *port,
			double usual, size_t n, struct verdict *v)
{
	const int node = run_find_node(run, port->of->node, -1);
	struct finding *to;
	struct part p;

	if (node < 0) {
		return;
	}
	p = part_of_fact(run, port->of, node);
	p = p.index < 0 ? part_at(PART_NODE, node, -1) : part_shown(run, &p);
	to = finding_add(v, p, "link_quality");
	to->cells = part_tests(run, &p, NULL);
	finding_say(to, port->ber > 0 ?
		    "%s: %.3g of its bits are wrong before FEC, %.3g on most "
		    "of the %zu ports like it: a cable or transceiver may be "
		    "going bad" :
		    "%s: FEC corrected %.3g bits during the run, %.3g on "
		    "most of the %zu ports like it: a cable or transceiver may "
		    "be going bad", port->of->scope,
		    port->ber > 0 ? port->ber : port->bits, usual, n);
	finding_add_evidence(to, port->ber > 0 ? "%s of %s: %s %.2g" :
			     "%s of %s: %s %.0f", port->of->scope,
			     port->of->node, port->ber > 0 ? BER_FACT :
			     FEC_FACT "_growth",
			     port->ber > 0 ? port->ber : port->bits);
}

/** Find ports among @n like ones whose errors are far from those of the others,
 *  on a scale of powers of ten. */
static void judge_like(const struct run *run, const struct fec_port *ports,
		       size_t n, double *scratch, struct verdict *v)
{
	const char *end = run_file(run->json).ended_utc;
	const int64_t end_s = clock_utc_s(end && end[0] ? end : run->last_utc);
	const int64_t s = end_s - clock_utc_s(run->started_utc);
	double middle, mad;

	if (n < FEC_PORTS || (ports->ber <= 0 && (end_s < 0 || s < 0))) {
		return;		/* too few, or it is not known for how long */
	}

	for (size_t i = 0; i < n; i++) {
		scratch[i] = ports[i].scale;
	}
	mad = stats_mad(scratch, n, &middle);
	for (size_t i = 0; i < n; i++) {
		/* of links that are all alike the power of ten is the least
		 * difference to speak of */
		if (ports[i].scale > middle + fmax(1, CELLS_SLOW_MADS * mad) &&
		    (ports[i].ber > FEC_FREE ||
		     ports[i].bits > FEC_FREE * ports[i].rate_Gb_s * 1e9 *
					     fmax(1, (double)s))) {
			add_quality(run, &ports[i], ports[i].ber > 0 ?
				    pow(10, middle) : pow(10, middle) - 1, n,
				    v);
		}
	}
}

/** Read the ports that have FEC, or count what it corrects, of the @n facts at
 *  @facts, which are sorted; returns how many. */
static size_t read_ports(const struct fact_row *const *facts, size_t n,
			 struct fec_port *ports)
{
	size_t k = 0;

	for (size_t i = 0; i < n; i++) {
		const struct fact_row *f = facts[i];
		struct fec_port *p = &ports[k];

		if (i == 0 ||
		    order_compare(by_scope, &facts[i - 1], &facts[i]) != 0) {
			*p = (struct fec_port){ .of = f, .board = "",
						.fec = "" };
		}
		if (strcmp(f->fact, "board") == 0) {
			p->board = f->value;
		} else if (strcmp(f->fact, "fec") == 0) {
			p->fec = f->value;
		} else if (strcmp(f->fact, "rate") == 0) {
			p->rate_Gb_s = strtod(f->value, NULL);
		} else if (strcmp(f->fact, BER_FACT) == 0) {
			p->ber = fmax(strtod(f->value, NULL), BER_LEAST);
		} else {
			p->bits = strtod(f->value, NULL);
		}
		p->has_ber = p->ber > 0;
		p->scale = p->ber > 0 ? log10(p->ber) :
					log10(1 + fmax(0, p->bits));
		/* the last fact of a port */
		k += (i + 1 == n ||
		      order_compare(by_scope, &facts[i], &facts[i + 1]) != 0) &&
		     (p->fec[0] || p->bits > 0 || p->ber > 0);
	}
	return k;
}

static void quality_findings(const struct run *run, struct verdict *v)
{
	static const char *const names[] = {
		"board", "fec", "rate", BER_FACT, FEC_FACT "_growth", NULL
	};
	const struct fact_row **facts =
		calloc(run->n_facts + 1, sizeof(*facts));
	struct fec_port *ports;
	double *scratch;
	size_t n = 0, k = 0;

	for (size_t i = 0; facts && i < run->n_facts; i++) {
		if (str_index(names, run->facts[i].fact) >= 0) {
			facts[n++] = &run->facts[i];
		}
	}
	ports = calloc(n + 1, sizeof(*ports));
	scratch = calloc(n + 1, sizeof(*scratch));
	v->failed |= !facts || !ports || !scratch;
	if (n > 0 && ports && scratch) {
		order_sort(facts, n, sizeof(*facts), by_scope);
		k = read_ports(facts, n, ports);
		order_sort(ports, k, sizeof(*ports), by_like);
	}
	for (size_t from = 0, i = 1; i <= k; i++) {
		if (i == k ||
		    order_compare(by_like, &ports[from], &ports[i]) != 0) {
			judge_like(run, &ports[from], i - from, scratch, v);
			from = i;
		}
	}
	free(facts);
	free(ports);
	free(scratch);
}

/** Adds the growth that facts say, or, with @said, what they report. */
static void say_growth(const struct run *run, bool said, struct verdict *v)
{
	run_foreach_fact(run, f) {
		const struct growth *g = growth_of(f);
		struct part p;
		int node;

		/* Processes that hold a GPU matter to a run that uses GPUs. */
		if (!g || g->said != said ||
		    (g->held && strcmp(run->probe, "gpu") != 0 &&
		     !spec_transport_is(run->transport, XPORT_GPU))) {
			continue;
		}
		node = run_find_node(run, f->node, -1);
		if (node < 0) {
			continue;
		}
		p = part_of_fact(run, f, node);
		if (p.index >= 0 && (p.index < run->nodes[node].gpus ||
				     strcmp(run->probe, "gpu") == 0) &&
		    !(g->real && run_fact_beside(run, f, "software")[0])) {
			p = part_shown(run, &p);
			add_growth(run, &p, g, f, v);
		}
	}
}

void growth_findings(const struct run *run, struct verdict *v)
{
	say_growth(run, false, v);
	quality_findings(run, v);
	say_growth(run, true, v);
	held_findings(run, v);
}
