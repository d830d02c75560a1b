/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/host/port.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "lib/base/hash.h"
#include "lib/base/str.h"
#include "lib/base/units.h"
#include "probes/host/interface.h"
#include "probes/host/inventory.h"
#include "probes/host/nccl_conf.h"
#include "probes/host/sysfile.h"

/* ---- port route ---------------------------------------------------------- */

#define NETDEVS		    "/sys/class/infiniband/%s/ports/%d/gid_attrs/ndevs"
#define PORT_ROUTE_GIDS_MAX 32 /* looked at, as in port.c */

/* Find the ports that routes from port @from lead to (@leads), of those that
 * could be asked about (@asked). */
static void ask_routes(int routes, int from, size_t n, const int *owner,
		       const struct interface *list, size_t n_list,
		       bool leads[PORT_MAX], bool asked[PORT_MAX])
{
	struct ip_addr to;

	memset(leads, 0, n * sizeof(*leads));
	memset(asked, 0, n * sizeof(*asked));
	for (size_t a = 0; a < n_list; a++) {
		for (size_t b = 0; owner[a] == from && b < n_list; b++) {
			const struct ip_net *net = &list[b].net;
			size_t bytes = net->ip.family == AF_INET6 ? 16 : 4;

			if (owner[b] < 0 || owner[b] == from ||
			    leads[owner[b]] ||
			    net->ip.family != list[a].net.ip.family ||
			    net->prefix >= (int)(8 * bytes)) {
				continue;
			}
			/* an address of the network that is not local */
			to = net->ip;
			to.bytes[bytes - 1] ^= 1;
			asked[owner[b]] = true;
			leads[owner[b]] =
				routes_lead(routes, &list[a].net.ip,
					    if_nametoindex(list[a].name), &to);
		}
	}
}

void port_route_facts(const struct port *ports, size_t n,
		      const struct interface *list, size_t n_list,
		      json_t *facts)
{
	bool leads[PORT_MAX], asked[PORT_MAX];
	int owner[INTERFACE_MAX];
	char text[64];
	struct str names = STR_INIT;
	int routes = routes_open();

	/* the port that each address is of, by the ports' tables of them,
	 * because a VLAN is not an interface of the HCA itself; -1: of none */
	for (size_t k = 0; k < n_list; k++) {
		owner[k] = -1;
	}
	for (size_t i = 0; i < n * PORT_ROUTE_GIDS_MAX; i++) {
		const struct port *p = &ports[i / PORT_ROUTE_GIDS_MAX];

		if (strcmp(p->link_layer, "Ethernet") != 0) {
			continue;
		}
		sysfile_read(text, sizeof(text), NETDEVS "/%zu", p->hca,
			     p->number, i % PORT_ROUTE_GIDS_MAX);
		for (size_t k = 0; k < n_list; k++) {
			if (strcmp(text, list[k].name) == 0) {
				owner[k] = (int)(i / PORT_ROUTE_GIDS_MAX);
			}
		}
	}
	for (size_t i = 0; i < n; i++) {
		ask_routes(routes, (int)i, n, owner, list, n_list, leads,
			   asked);
		for (int no = 0; no < 2; no++) {
			str_reset(&names);
			for (size_t to = 0; to < n; to++) {
				if (asked[to] && leads[to] == !no) {
					str_addf(&names, "%s%s",
						 names.len > 0 ? " " : "",
						 ports[to].name);
				}
			}
			if (names.len > 0) {
				facts_add(facts, ports[i].name,
					  no ? "no_route_to" : "route_to",
					  str_text(&names), "", "rtnetlink");
			}
		}
	}
	str_release(&names);
	if (routes >= 0) {
		close(routes);
	}
}

/* ---- port facts ---------------------------------------------------------- */

#define SOURCE "/sys/class/infiniband"
#define AER "aer"		/* folder: of the PCI device */
#define ETHTOOL "ethtool"	/* folder: counters of the netdev's driver */

static void add_text(json_t *facts, const struct port *p, const char *fact,
		     const char *value)
{
	if (value[0] != '\0') {
		facts_add(facts, p->name, fact, value, "", SOURCE);
	}
}

/* A member of struct port, which is not known below @least. */
#define MEMBER(fact, member, kind, least, unit) \
	{ fact, offsetof(struct port, member), KIND_##kind, least, unit }

static const struct {
	const char *fact;
	size_t offset;
	enum { KIND_TEXT, KIND_REAL, KIND_COUNT } kind;
	int least;
	const char *unit;
} members[] = {
	MEMBER("port_state", state, TEXT, 0, ""),
	MEMBER("port_phys_state", phys_state, TEXT, 0, ""),
	MEMBER("link_layer", link_layer, TEXT, 0, ""),
	MEMBER("rate", rate_Gb_s, REAL, 0, "Gb/s"),
	MEMBER("width", width, TEXT, 0, ""),
	MEMBER("firmware", firmware, TEXT, 0, ""),
	MEMBER("board", board, TEXT, 0, ""),
	MEMBER("netdev", netdev, TEXT, 0, ""),
	MEMBER("fec", fec, TEXT, 0, ""),
	MEMBER("pfc", pfc, TEXT, 0, ""),
	MEMBER("trust", trust, TEXT, 0, ""),
	MEMBER("ecn", ecn, TEXT, 0, ""),
	MEMBER("roce_priority", priority, COUNT, 0, ""),
	MEMBER("rdma_cm_tos", cm_tos, TEXT, 0, ""),
	MEMBER("gids", gids, TEXT, 0, ""),
	MEMBER("gid_kinds", gid_kinds, TEXT, 0, ""),
	MEMBER("subnet", subnet, TEXT, 0, ""),
	MEMBER("port_guid", guid, TEXT, 0, ""),
	MEMBER("pcie_speed", link.speed_GT_s, REAL, 0, "GT/s"),
	MEMBER("pcie_speed_max", most.speed_GT_s, REAL, 0, "GT/s"),
	MEMBER("pcie_width", link.width, COUNT, 1, "lanes"),
	MEMBER("pcie_width_max", most.width, COUNT, 1, "lanes"),
	MEMBER("numa_node", numa, COUNT, 0, ""),
	MEMBER("module_temp", module_C, COUNT, 1, "C"),
};

void port_facts(const struct port *p, json_t *facts)
{
	double line_GB_s = port_line_GB_s(p);

	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		const void *at = (const char *)p + members[i].offset;
		const int *count = at;
		double value;

		if (members[i].kind == KIND_TEXT) {
			add_text(facts, p, members[i].fact, at);
			continue;
		}
		value = members[i].kind == KIND_REAL ? *(const double *)at :
			*count < members[i].least    ? NAN :
						       *count;
		if (isfinite(value)) {
			facts_addf(facts, p->name, members[i].fact,
				   members[i].unit, SOURCE, "%.6g", value);
		}
	}
	if (p->software) {
		add_text(facts, p, "software", "no PCI device: the HCA is "
					       "emulated by a driver, its rate "
					       "is not a limit");
	}
	if (isfinite(line_GB_s)) {
		facts_addf(facts, p->name, "line_rate", "GB/s", SOURCE, "%.6g",
			   line_GB_s);
	}
	for (size_t i = 0; port_counter_defs[i].name != NULL; i++) {
		const struct port_counter *d = &port_counter_defs[i];

		/* drivers have many, of which most stay zero */
		if (p->has_counter[i] &&
		    (p->counters[i] > 0 || d->folder == NULL ||
		     strcmp(d->folder, ETHTOOL) != 0)) {
			facts_addf(facts, p->name, d->name,
				   "", SOURCE, "%" PRIu64, p->counters[i]);
		}
	}
}

void port_growth_facts(const struct port *before, const struct port *after,
		       json_t *facts)
{
	for (size_t i = 0; port_counter_defs[i].name != NULL; i++) {
		char fact[64];

		/* one that was reset in between tells nothing */
		if (!before->has_counter[i] || !after->has_counter[i] ||
		    after->counters[i] <= before->counters[i]) {
			continue;
		}
		snprintf(fact, sizeof(fact), "%s_growth",
			 port_counter_defs[i].name);
		facts_addf(facts, after->name, fact, "", SOURCE, "%" PRIu64,
			   after->counters[i] - before->counters[i]);
	}
	if (before->moved_B >= 0 && after->moved_B >= before->moved_B) {
		facts_addf(facts, after->name, "data_moved", "B", SOURCE,
			   "%" PRId64, after->moved_B - before->moved_B);
	}
	add_text(facts, after, "port_state_after", after->state);
	add_text(facts, after, "port_phys_state_after", after->phys_state);
}

/* ---- link counts --------------------------------------------------------- */

#define NET "%s/sys/class/net/%s/"

/** The first: of a link that went, or came back. */
static const struct {
	const char *folder, *name;
} count_files[LINK_COUNTS] = {
	{ "", "carrier_changes" },
	{ "statistics/", "rx_errors" },
	{ "statistics/", "tx_errors" },
	{ "statistics/", "rx_dropped" },
	{ "statistics/", "tx_dropped" },
};

void link_counts_read(const char *root, const struct interface *i,
		      int64_t counts[LINK_COUNTS])
{
	char text[32], said[64], mac[2 * INTERFACE_MAC + 1];
	size_t len = 0;
	bool same;

	/* "02:42:0a" of the file is "02420a" here */
	sysfile_read(said, sizeof(said), NET "address", root, i->name);
	for (const char *at = said; *at; at++) {
		if (*at != ':') {
			said[len++] = *at;
		}
	}
	said[len] = '\0';
	hash_hex(i->mac, i->mac_len, mac);
	same = i->mac_len > 0 && strcmp(said, mac) == 0;
	for (size_t k = 0; k < LINK_COUNTS; k++) {
		counts[k] = -1;
		if (same && sysfile_read(text, sizeof(text), NET "%s%s", root,
					 i->name, count_files[k].folder,
					 count_files[k].name) > 0 &&
		    units_parse_int(text, 0, INT64_MAX, &counts[k], NULL) < 0) {
			counts[k] = -1;
		}
	}
}

bool link_counts_grown(const int64_t before[LINK_COUNTS],
		       const int64_t now[LINK_COUNTS], char *buf, size_t size)
{
	size_t len = 0;

	buf[0] = '\0';
	for (size_t k = 0; k < LINK_COUNTS && len < size; k++) {
		if (before[k] >= 0 && now[k] > before[k]) {
			len += (size_t)snprintf(buf + len, size - len,
						"%s%s +%lld", len ? ", " : "",
						count_files[k].name,
						(long long)(now[k] -
							    before[k]));
		}
	}
	return before[0] >= 0 && now[0] > before[0];
}

/* ---- links of the kernel log --------------------------------------------- */

#define AWAY_MAX 64		/* interfaces */
#define DAY_US	 (INT64_C(24) * 3600 * 1000000)
/** Links come up while a machine boots: what ends before that is not a
 *  fault. */
#define BOOT_US	 (INT64_C(600) * 1000000)

bool link_log_parse(const char *text, char name[IF_NAMESIZE], bool *up)
{
	const char *at = strcasestr(text, "link "), *end, *first;
	const char *state;

	if (at == NULL || at == text || at[-1] != ' ') {
		return false;
	}
	state = at + strlen("link ");
	state += strncasecmp(state, "is ", 3) == 0 ? 3 : 0;
	*up = strncasecmp(state, "up", 2) == 0;
	state += *up ? 2 : 4;
	if (!*up && strncasecmp(state - 4, "down", 4) != 0) {
		return false;
	}
	/* "eth2: Link up", "eno1 NIC Link is Down" */
	end = at - 1;
	if (end - text >= 4 && strncmp(end - 4, " NIC", 4) == 0) {
		end -= 4;
	} else if (end == text || end[-1] != ':') {
		return false;
	}
	end -= end > text && end[-1] == ':';
	for (first = end; first > text && first[-1] != ' '; first--) {
	}
	if (isalnum((unsigned char)*state) || end - first < 1 ||
	    end - first >= IF_NAMESIZE) {
		return false;
	}
	snprintf(name, IF_NAMESIZE, "%.*s", (int)(end - first), first);
	return strcspn(name, "/:[]()") == strlen(name);
}

/* An interface whose link the kernel log says went down or came up. */
struct link_away {
	char name[IF_NAMESIZE];
	int64_t down_us;	/* since boot; -1: up, or not known */
	int64_t longest_us, ended_us;
	int flaps;
};

/* The link of @x went @up or down @us after the boot. */
static void note_link(struct link_away *x, bool up, int64_t us, int64_t now_us)
{
	if (!up) {
		x->down_us = x->down_us < 0 ? us : x->down_us;
		return;
	}
	if (x->down_us >= 0 && us >= BOOT_US && now_us - us <= DAY_US) {
		x->flaps++;
		if (us - x->down_us > x->longest_us) {
			x->longest_us = us - x->down_us;
			x->ended_us = us;
		}
	}
	x->down_us = -1;
}

void link_away_facts(const char *root, int64_t deadline_ns, json_t *facts)
{
	struct link_away list[AWAY_MAX] = { 0 };
	size_t k, n = 0;
	int64_t us, now_us = kernel_log_now_us(root);
	struct str lines = STR_INIT;
	const char *source = kernel_log_read(root, deadline_ns, &lines), *text;
	char name[IF_NAMESIZE], *next = lines.data;
	bool up;

	if (source == NULL && root[0] == '\0') {
		facts_add(facts, "node", "kernel_log", strerror(errno), "",
			  KERNEL_LOG);
	}
	while (source != NULL &&
	       (text = kernel_log_next(&next, &us)) != NULL) {
		now_us = us > now_us ? us : now_us;
		if (!link_log_parse(text, name, &up)) {
			continue;
		}
		k = STR_FIND(list, n, name, name);
		if (k == n && n < AWAY_MAX) {
			STR_COPY(list[n].name, name);
			list[n++].down_us = -1;
		}
		if (k < n) {
			note_link(&list[k], up, us, now_us);
		}
	}
	str_release(&lines);
	for (const struct link_away *x = list; x < list + n; x++) {
		if (x->flaps == 0) {
			continue;
		}
		facts_addf(facts, x->name, LINK_AWAY, "s", source, "%.1f",
			   (double)x->longest_us / 1e6);
		facts_addf(facts, x->name, LINK_AWAY_AGO, "s", source, "%.0f",
			   (double)(now_us - x->ended_us) / 1e6);
		facts_addf(facts, x->name, LINK_FLAPS, "", source, "%d",
			   x->flaps);
	}
}

/* ---- port ---------------------------------------------------------------- */

#define HCAS_MAX  64
#define PORTS_MAX 8
#define FILE_TEXT 256
#define SYS_UNITS "/sys/class/infiniband_verbs"
#define GIDS_MAX  32	/* looked at: NCCL takes one of the first few */

#define LINK(n) { .name = #n, .folder = "counters" }
#define RDMA(n) { .name = #n, .folder = "hw_counters" }
#define WIRE(n) { .name = #n, .folder = ETHTOOL }
#define PCIE(n) { .name = #n, .folder = AER }
#define PRIORITY(k) WIRE(rx_prio##k##_discards), WIRE(rx_prio##k##_pause), \
	WIRE(tx_prio##k##_pause)

/* Those of mlx5 and of the kernel's own drivers; what is not there is not
 * read.  New ones go to the end of their group. */
const struct port_counter port_counter_defs[] = {
	LINK(symbol_error),
	LINK(link_error_recovery),
	LINK(link_downed),
	LINK(local_link_integrity_errors),
	LINK(excessive_buffer_overrun_errors),
	LINK(port_rcv_errors),
	LINK(port_rcv_remote_physical_errors),
	LINK(port_rcv_switch_relay_errors),
	LINK(port_xmit_constraint_errors),
	LINK(port_rcv_constraint_errors),
	LINK(port_xmit_discards),
	LINK(VL15_dropped),
	RDMA(local_ack_timeout_err),
	RDMA(packet_seq_err),
	RDMA(out_of_sequence),
	RDMA(implied_nak_seq_err),
	RDMA(rnr_nak_retry_err),
	RDMA(out_of_buffer),
	RDMA(duplicate_request),
	RDMA(req_cqe_error),
	RDMA(resp_cqe_error),
	RDMA(req_remote_access_errors),
	RDMA(req_remote_invalid_request),
	RDMA(roce_adp_retrans),
	RDMA(rx_icrc_encapsulated),
	RDMA(np_cnp_sent),
	RDMA(rp_cnp_handled),
	RDMA(np_ecn_marked_roce_packets),
	RDMA(retry_exceeded_err),
	RDMA(retry_rnr_exceeded_err),
	RDMA(completer_retry_err),
	RDMA(out_of_seq_request),
	RDMA(rcvd_seq_err),
	RDMA(send_err),
	/* of mlx5: bits that FEC corrected, symbols that it did not */
	WIRE(rx_corrected_bits_phy),
	WIRE(rx_pcs_symbol_err_phy),
	WIRE(rx_crc_errors_phy),
	WIRE(link_down_events_phy),
	WIRE(rx_discards_phy),
	WIRE(tx_pause_storm_warning_events),
	WIRE(tx_pause_storm_error_events),
	PRIORITY(0), PRIORITY(1), PRIORITY(2), PRIORITY(3),
	PRIORITY(4), PRIORITY(5), PRIORITY(6), PRIORITY(7),
	/* of the PCIe link: totals */
	PCIE(aer_dev_correctable),
	PCIE(aer_dev_nonfatal),
	PCIE(aer_dev_fatal),
	{ .name = "carrier_changes" },
	{ 0 }
};

_Static_assert(sizeof(port_counter_defs) / sizeof(port_counter_defs[0]) - 1 <=
		       PORT_COUNTERS,
	       "a counter has no place in struct port");

/* ---- texts of the kernel ------------------------------------------------ */

void port_parse_state(const char *text, char *buf, size_t size)
{
	const char *colon = strstr(text, ": ");

	str_copy(buf, size, colon != NULL ? colon + 2 : text);
}

/* The number that @text begins with; NAN when it begins with none. */
static double leading_number(const char *text)
{
	char *end;
	double v;

	if (*text < '0' || *text > '9') {
		return NAN;	/* strtod would take "inf", "0x" and blanks */
	}
	v = strtod(text, &end);
	return end != text && isfinite(v) && v > 0 && v < 1e6 ? v : NAN;
}

double port_parse_rate(const char *text, char *width, size_t size)
{
	const char *open = strchr(text, '(');

	str_copy(width, size, open != NULL ? open + 1 : "");
	width[strcspn(width, ")")] = '\0';
	return leading_number(text);
}

double port_parse_speed(const char *text)
{
	return strstr(text, "GT/s") != NULL ? leading_number(text) : NAN;
}

int port_parse_pkey(const char *text)
{
	char *end;
	unsigned long key = strncmp(text, "0x", 2) == 0 ?
				    strtoul(text + 2, &end, 16) : 0;

	return key > 0 && key <= UINT16_MAX && *end == '\0' ? (int)key : 0;
}

/* ---- reading ------------------------------------------------------------- */

/* File of the port or of its HCA, below the root. */
#define HCA_FILE  "%s/sys/class/infiniband/%s/"
#define CM_CONFIG "%s/sys/kernel/config/rdma_cm"
#define PORT_FILE HCA_FILE "ports/%d/"

/* @kind: of the device as it runs or could run, or of the slot. */
static struct port_pcie read_pcie(const char *root, const struct port *p,
				  const char *kind)
{
	char text[FILE_TEXT];
	struct port_pcie link;
	double lanes;

	sysfile_read(text, sizeof(text), HCA_FILE "device/%s_link_speed", root,
		     p->hca, kind);
	link.speed_GT_s = port_parse_speed(text);
	sysfile_read(text, sizeof(text), HCA_FILE "device/%s_link_width", root,
		     p->hca, kind);
	lanes = leading_number(text);
	/* 63 is what the kernel says for a link that it cannot see */
	link.width = lanes >= 1 && lanes <= 32 ? (int)lanes : 0;
	return link;
}

/** Read which priorities the port protects, and which one NCCL's packets have:
 *  that of their DSCP, or without such a table that of the service level. */
static void read_lossless(const char *root, const json_t *conf,
			  const char *stats, struct port *p)
{
	char text[FILE_TEXT], dscps[1024] = " ", key[16];
	const char *at, *source;
	int64_t tc = 0, sl = 0, tos;
	bool by_dscp = interface_said(stats, INTERFACE_DSCP, dscps + 1,
				      sizeof(dscps) - 1);
	size_t len = 0;

	for (int k = 0; k < 8; k++) {
		/* of Mellanox's driver package */
		if (sysfile_read(text, sizeof(text), NET "ecn/roce_np/enable/%d",
				 root, p->netdev, k) > 0 &&
		    len < sizeof(p->ecn)) {
			len += (size_t)snprintf(p->ecn + len,
						sizeof(p->ecn) - len, "%c",
						text[0] == '1' ? '0' + k : '-');
		}
	}
	/* the folder of an HCA is there after a mkdir, which tools do to set
	 * the ToS of connections by rdma_cm, such as those of storage */
	if (sysfile_read(text, sizeof(text), CM_CONFIG
			 "/%s/ports/%d/default_roce_tos", root, p->hca,
			 p->number) > 0 &&
	    units_parse_int(text, 0, 255, &tos, NULL) == 0) {
		snprintf(p->cm_tos, sizeof(p->cm_tos), "%d", (int)tos);
	} else if (sysfile_there(CM_CONFIG, root) &&
		   !sysfile_there(CM_CONFIG "/%s", root, p->hca)) {
		STR_COPY(p->cm_tos, "unset");
	}
	if (!interface_said(stats, INTERFACE_PFC, p->pfc, sizeof(p->pfc))) {
		return;
	}
	if (sysfile_read(text, sizeof(text), NET "qos/trust", root,
			 p->netdev) > 0) {
		by_dscp = by_dscp && strcmp(text, "dscp") == 0;
	}
	STR_COPY(p->trust, by_dscp ? "dscp" : "pcp");
	nccl_conf_int(conf, "NCCL_IB_TC", 0, 255, &tc, &source);
	nccl_conf_int(conf, "NCCL_IB_SL", 0, 15, &sl, &source);
	sysfile_read(text, sizeof(text), HCA_FILE "tc/%d/traffic_class", root,
		     p->hca, p->number);
	if (sscanf(text, "Global tclass=%" SCNd64, &tc) == 1) {
		tc &= 255;	/* set for all queue pairs */
	}
	snprintf(key, sizeof(key), " %d=", (int)(tc >> 2));
	at = strstr(dscps, key);
	p->priority = !by_dscp ? (int)sl & 7 :
		      at != NULL ? (int)strtol(at + strlen(key), NULL, 10) : -1;
}

/** Read the temperature of the transceiver, if the driver has a sensor for it
 *  ("Module0", mlx5 since Linux 6.7), in millidegrees. */
static void read_module(const char *root, struct port *p)
{
	char names[4][64], text[FILE_TEXT];
	size_t n = sysfile_list(names, 4, HCA_FILE "device/hwmon", root,
				p->hca);
	int64_t mC;

	for (size_t i = 0; i < n * 4; i++) {
		sysfile_read(text, sizeof(text), HCA_FILE
			     "device/hwmon/%s/temp%zu_label", root, p->hca,
			     names[i / 4], i % 4 + 1);
		if (str_starts(text, "Module") &&
		    sysfile_read(text, sizeof(text), HCA_FILE
				 "device/hwmon/%s/temp%zu_input", root, p->hca,
				 names[i / 4], i % 4 + 1) > 0 &&
		    units_parse_int(text, 1, 200000, &mC, NULL) == 0) {
			p->module_C = (int)((mC + 500) / 1000);
		}
	}
}

/* @stats: of interface_stats(). */
static void read_counters(const char *root, const char *stats, struct port *p)
{
	static const char *const moved[] = { "port_xmit_data",
					     "port_rcv_data" };
	char text[FILE_TEXT], aer[1024], *end;
	const char *total;
	int64_t words;

	for (size_t i = 0; port_counter_defs[i].name != NULL; i++) {
		const struct port_counter *d = &port_counter_defs[i];

		if (d->folder != NULL && strcmp(d->folder, ETHTOOL) == 0) {
			p->has_counter[i] = interface_stat(stats, d->name,
							   &p->counters[i]);
			continue;
		}
		if (d->folder != NULL && strcmp(d->folder, AER) == 0) {
			/* the total is the last line: "TOTAL_ERR_COR 3" */
			sysfile_read(aer, sizeof(aer), HCA_FILE "device/%s",
				     root, p->hca, d->name);
			total = strstr(aer, "TOTAL_ERR_");
			total = total != NULL ? strchr(total, ' ') : NULL;
			str_copy(text, sizeof(text), total ? total + 1 : "");
		} else if (d->folder != NULL) {
			sysfile_read(text, sizeof(text), PORT_FILE "%s/%s",
				     root, p->hca, p->number, d->folder,
				     d->name);
		} else {
			sysfile_read(text, sizeof(text),
				     "%s/sys/class/net/%s/%s", root, p->netdev,
				     d->name);
		}
		p->counters[i] = strtoull(text, &end, 10);
		p->has_counter[i] = end != text && *end == '\0';
	}
	/* in words of four bytes */
	p->moved_B = 0;
	for (size_t i = 0; i < 2 && p->moved_B >= 0; i++) {
		sysfile_read(text, sizeof(text), PORT_FILE "counters/%s", root,
			     p->hca, p->number, moved[i]);
		p->moved_B = units_parse_int(text, 0, INT64_MAX >> 4, &words,
					     NULL) < 0 ?
				     -1 :
				     p->moved_B + words * 4;
	}
}

/* A word of a list by index. */
static void add_word(struct str *out, int index, const char *word)
{
	if (word[0] != '\0') {
		str_addf(out, "%s%d:%s", out->len > 0 ? " " : "", index, word);
	}
}

/* The table of addresses, as NCCL_IB_GID_INDEX counts it.  An index without one
 * cannot be read. */
static void read_gids(const char *root, struct port *p)
{
	char text[FILE_TEXT];
	struct str types = STR_INIT, kinds = STR_INIT;

	for (int i = 0; i < GIDS_MAX; i++) {
		if (sysfile_read(text, sizeof(text),
				 PORT_FILE "gid_attrs/types/%d", root, p->hca,
				 p->number, i) <= 0) {
			continue;
		}
		add_word(&types, i, strstr(text, "RoCE v2") != NULL ? "v2" :
								      "v1");
		sysfile_read(text, sizeof(text), PORT_FILE "gids/%d", root,
			     p->hca, p->number, i);
		/* the kernel writes all digits */
		add_word(&kinds, i,
			 str_starts(text, "0000:0000:0000:0000:0000:ffff:") ?
				 "IPv4" :
			 str_starts(text, "fe80:0000:0000:0000:") ? "link" :
			 strspn(text, "0:") == strlen(text) ? "" : "IPv6");
	}
	STR_COPY(p->gids, str_text(&types));
	STR_COPY(p->gid_kinds, str_text(&kinds));
	str_release(&types);
	str_release(&kinds);
}

/* Read the settings that a subnet manager makes. */
static void read_fabric(const char *root, struct port *p)
{
	char text[FILE_TEXT];

	sysfile_read(text, sizeof(text), PORT_FILE "gids/0", root, p->hca,
		     p->number);
	STR_COPY(p->subnet, text);
	for (const char *c = text; *c != '\0'; c++) {
		size_t n = strlen(p->guid);

		/* behind the subnet: fe80:0000:0000:0000:b8ce:f603:001e:15f0 */
		if (c - text >= PORT_SUBNET && *c != ':' &&
		    n + 1 < sizeof(p->guid)) {
			p->guid[n] = *c;
		}
	}
	for (int i = 0; i < PORT_PKEYS; i++) {
		if (sysfile_read(text, sizeof(text), PORT_FILE "pkeys/%d",
				 root, p->hca, p->number, i) > 0) {
			p->pkeys[i] = port_parse_pkey(text);
			p->n_pkeys = i + 1;
		}
	}
}

static const char *port_text(const char *root, const struct port *p,
			     const char *name, char text[FILE_TEXT])
{
	sysfile_read(text, FILE_TEXT, PORT_FILE "%s", root, p->hca, p->number,
		     name);
	return text;
}

static void read_state(const char *root, struct port *p)
{
	char text[FILE_TEXT];

	port_parse_state(port_text(root, p, "state", text), p->state,
			 sizeof(p->state));
	port_parse_state(port_text(root, p, "phys_state", text), p->phys_state,
			 sizeof(p->phys_state));
}

void port_read_again(const char *root, struct port *p)
{
	char *stats = p->netdev[0] != '\0' ?
			      interface_stats(root, p->netdev, false) : NULL;

	read_state(root, p);
	read_counters(root, stats, p);
	free(stats);
}

static void read_port(const char *root, const json_t *conf, struct port *p)
{
	char text[FILE_TEXT], *stats;
	struct port_pcie slot;
	int64_t numa = -1;

	read_state(root, p);
	STR_COPY(p->link_layer, port_text(root, p, "link_layer", text));
	p->rate_Gb_s = port_parse_rate(port_text(root, p, "rate", text),
				       p->width, sizeof(p->width));
	port_text(root, p, "gid_attrs/ndevs/0", text);
	STR_COPY(p->netdev, strchr(text, '/') == NULL ? text : "");
	if (strcmp(p->link_layer, "Ethernet") == 0) {
		read_gids(root, p);
	} else {
		read_fabric(root, p);
	}
	sysfile_read(p->firmware, sizeof(p->firmware), HCA_FILE "fw_ver", root,
		     p->hca);
	sysfile_read(p->board, sizeof(p->board), HCA_FILE "board_id", root,
		     p->hca);
	p->software = !sysfile_there(HCA_FILE "device", root, p->hca);
	p->link = read_pcie(root, p, "current");
	p->most = read_pcie(root, p, "max");
	/* no link is faster or wider than the slot that it ends in */
	slot = read_pcie(root, p, "../max");
	p->most.speed_GT_s = fmin(p->most.speed_GT_s, slot.speed_GT_s);
	if (slot.width > 0 && slot.width < p->most.width) {
		p->most.width = slot.width;
	}
	sysfile_read(text, sizeof(text), HCA_FILE "device/numa_node", root,
		     p->hca);
	units_parse_int(text, 0, INT_MAX, &numa, NULL);
	p->numa = (int)numa;
	stats = p->netdev[0] != '\0' ? interface_stats(root, p->netdev, true) :
				      NULL;
	interface_said(stats, INTERFACE_FEC, p->fec, sizeof(p->fec));
	p->fec[strcspn(p->fec, " ")] = '\0';
	read_module(root, p);
	if (!p->software && stats != NULL) {
		read_lossless(root, conf, stats, p);
	}
	read_counters(root, stats, p);
	free(stats);
}

size_t port_list(const char *root, struct port *ports, size_t max)
{
	char hcas[HCAS_MAX][64], numbers[PORTS_MAX][64];
	size_t n = 0, n_hcas = sysfile_list(hcas, HCAS_MAX,
					    "%s/sys/class/infiniband", root);
	json_t *conf = n_hcas > 0 ? nccl_conf_read(root, 0) : NULL;

	for (size_t i = 0; i < n_hcas; i++) {
		size_t k, m = sysfile_list(numbers,
					   max - n < PORTS_MAX ? max - n :
								 PORTS_MAX,
					   HCA_FILE "ports", root, hcas[i]);

		for (k = 0; k < m; k++) {
			struct port *p = &ports[n++];

			*p = (struct port){ .priority = -1 };
			p->number = (int)strtol(numbers[k], NULL, 10);
			STR_COPY(p->hca, hcas[i]);
			STR_COPY(p->name, hcas[i]);
			if (m > 1) {
				snprintf(p->name, sizeof(p->name), "%.63s:%d",
					 hcas[i], p->number);
			}
			read_port(root, conf, p);
		}
	}
	json_decref(conf);
	return n;
}

int port_device_errno(const char *hca, int otherwise)
{
	char units[HCAS_MAX][64], path[PATH_MAX], text[64];
	size_t n = sysfile_list(units, HCAS_MAX, SYS_UNITS);

	for (size_t i = 0; i < n; i++) {
		sysfile_read(text, sizeof(text), SYS_UNITS "/%s/ibdev",
			     units[i]);
		snprintf(path, sizeof(path), "/dev/infiniband/%s", units[i]);
		if (strcmp(text, hca) == 0 && access(path, R_OK | W_OK) < 0) {
			return errno;
		}
	}
	return otherwise;
}

double port_line_GB_s(const struct port *p)
{
	/* up to 5 GT/s a byte travels as 10 bits, above 128 bits as 130 */
	double code = p->link.speed_GT_s <= 5 ? 8.0 / 10 : 128.0 / 130;
	double pcie_Gb_s = p->link.width > 0 ?
				   p->link.speed_GT_s * p->link.width * code :
				   NAN;

	/* fmin() takes the other one when one is not known */
	return p->software ? NAN : fmin(p->rate_Gb_s, pcie_Gb_s) / 8;
}

/* ---- bonds --------------------------------------------------------------- */

#define BONDS_MAX 16
#define BOND_TEXT (64 * 1024)
#define BOND_SOURCE "/proc/net/bonding"

/* The facts of leg @leg of @b, which is called @name; the states of LACP from
 * sysfs if the bond's file does not have them. */
static void leg_facts(const char *root, struct bond *b, const char *name,
		      int leg, json_t *facts)
{
	static const char *const states[] = {
		[BOND_ACTOR] = "lacp_state",
		[BOND_PARTNER] = "lacp_partner_state",
	};
	struct bond_leg *l = &b->legs[leg];
	char fault[BOND_FAULT];

	facts_add(facts, l->name, "bond", name, "", BOND_SOURCE);
	for (int end = 0; b->lacp && end < BOND_ENDS; end++) {
		if (l->state[end] < 0 &&
		    sysfile_read(fault, sizeof(fault), NET "bonding_slave/"
				 "ad_%s_oper_port_state", root, l->name,
				 end == BOND_ACTOR ? "actor" : "partner") > 0) {
			l->state[end] = (int)strtol(fault, NULL, 10);
		}
		if (l->state[end] >= 0) {
			facts_addf(facts, l->name, states[end], "",
				   BOND_SOURCE, "%d", l->state[end]);
		}
	}
	if (b->lacp && l->partner[0] != '\0') {
		facts_add(facts, l->name, "lacp_partner", l->partner, "",
			  BOND_SOURCE);
	}
	if (bond_leg_fault(b, leg, fault)[0] != '\0') {
		facts_add(facts, name, "bond_leg_down", fault, "", BOND_SOURCE);
	}
}

void bond_facts(const char *root, json_t *facts)
{
	char names[BONDS_MAX][64];
	size_t n = sysfile_list(names, BONDS_MAX, "%s" BOND_SOURCE, root);

	for (size_t i = 0; i < n; i++) {
		char *text = sysfile_whole(BOND_TEXT, "%s" BOND_SOURCE "/%s",
					   root, names[i]);
		struct bond b = { .n_legs = 0 };

		if (text != NULL && bond_parse(text, &b)) {
			facts_addf(facts, names[i], "bond_legs", "",
				   BOND_SOURCE, "%d", b.n_legs);
		}
		for (int k = 0; k < b.n_legs; k++) {
			leg_facts(root, &b, names[i], k, facts);
		}
		free(text);
	}
}
