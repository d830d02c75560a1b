/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_HOST_PORT_H
#define PROBES_HOST_PORT_H

#include <jansson.h>
#include <limits.h>
#include <net/if.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/str.h"
#include "probes/host/interface.h"

/* ---- link counts --------------------------------------------------------- */

#define LINK_COUNTS 5

/** Read the kernel's counters of @i since it was created, below @root ("" = /);
 *  -1 = it does not say. None if the interface of that name there has another
 *  hardware address: /sys of another network namespace. */
void link_counts_read(const char *root, const struct interface *i,
		      int64_t counts[LINK_COUNTS]);

/** Writes "carrier_changes +2, rx_errors +7" to @buf, "" if no counter has
 *  grown.  Returns true if the link was down in between. */
bool link_counts_grown(const int64_t before[LINK_COUNTS],
		       const int64_t now[LINK_COUNTS], char *buf, size_t size);

/* Facts of an interface whose link went down and came back within 24 h: the
 * longest time away, how long ago that ended, and how often. */
#define LINK_AWAY     "link_away"
#define LINK_AWAY_AGO "link_away_ago"
#define LINK_FLAPS    "link_flaps"

/** Find a message of a network driver in @text, a line of the kernel log, that
 *  the link of interface @name went @up or down; false: it has none.  Pure. */
bool link_log_parse(const char *text, char name[IF_NAMESIZE], bool *up);

/** Add these facts by the kernel log below @root ("" = /), or until
 *  @deadline_ns by the journal; else the fact "kernel_log" of the node, which
 *  has the reason why neither can be read. */
void link_away_facts(const char *root, int64_t deadline_ns, json_t *facts);

/* ---- pcie ---------------------------------------------------------------- */

/**
 * How far two PCI devices of a node are from each other, by /sys.  The words
 * are those of nvidia-smi topo -m and of NCCL:
 *   PIX   below one switch at most
 *   PXB   below several switches of one host bridge's port
 *   PHB   below one host bridge: by way of the CPU
 *   NODE  below two host bridges of one NUMA node
 *   SYS   on two NUMA nodes
 */
struct pcie_place {
	char path[PATH_MAX];	/* pci0000:17/0000:17:01.0/...; "" = unknown */
	int numa;		/* -1 = unknown */
};

/** Where the device at @bus, such as 0000:1b:00.0, is; read below @root. */
void pcie_find(const char *root, const char *bus, struct pcie_place *place);
/** Where the PCI device of HCA @hca is; a software one has none. */
void pcie_find_hca(const char *root, const char *hca, struct pcie_place *place);

/** The address of the device at @place, 0000:1b:00.0; NULL = unknown. */
const char *pcie_bus(const struct pcie_place *place);

/** How many folders from the beginning two paths have in common.  Pure. */
int pcie_common(const char *a, const char *b);

/** The word for two places, "" when one of them is not known.  Pure. */
const char *pcie_class(const struct pcie_place *a, const struct pcie_place *b);

/**
 * A fact "link" of scope "gpu0-mlx5_0" for each of @gpus (of an inventory) and
 * each HCA below @root, as far as both are known.
 */
void pcie_facts(const char *root, const json_t *gpus, json_t *facts);

/** The value of "link" between @a and @b ("gpu0", "gpu1", "mlx5_0"), either way
 *  round, in an inventory's facts; NULL = not known. */
const char *pcie_link(const json_t *facts, const char *a, const char *b);

/* ---- pin ----------------------------------------------------------------- */

/**
 * Add the CPUs of @text, a list of the kernel's such as "0-15,64-79", to @set.
 * Returns how many there are, or -1 when @text is no such list or names a CPU
 * beyond CPU_SETSIZE; then @set is empty.
 */
int pin_parse(const char *text, cpu_set_t *set);

/**
 * Keep this process on the CPUs next to PCI device @bus ("0000:1b:00.0"), as
 * far as it may use them now: memory and interrupts of the other socket cost
 * bandwidth.  If the kernel knows none, or none is allowed, nothing changes.
 */
void pin_to_device(const char *bus);
/** Return false if the kernel knows such CPUs and this process may use none. */
bool pin_is_allowed(const char *bus);
/** The same of the HCA @hca ("mlx5_0"); soft-RoCE is next to none. */
void pin_to_hca(const char *hca);
/** Keep it off these CPUs, so on another socket, whatever it was kept on
 *  before; false where there is none. */
bool pin_far_from(const char *bus);

/* ---- topo file ----------------------------------------------------------- */

/**
 * Where devices are by a file in NCCL's format: a virtual machine shows none of
 * the bridges above its devices, so the cloud says it there.  <pci> elements
 * with a busid, one below the other, in a <cpu> with a numaid.
 */
#define TOPO_FILE_MAX (256 * 1024)
/** The one that is read where no other is named. */
#define TOPO_FILE_USUAL "/var/run/nvidia-topologyd/virtualTopology.xml"

/** The value of @key in the tag @at ... @end into @buf, "" without one. */
void topo_file_attribute(const char *at, const char *end, const char *key,
			 char *buf, size_t size);
/** Move *@at behind the '<' of the next tag that is not a comment, and *@end to
 *  the tag's end.  Return false if there is none. */
bool topo_file_next(const char **at, const char **end);

/** Pure: put where @text (NUL-ended) has the device at @bus, 0000:1b:00.0, into
 *  @place; false, @place as it was, when it has none. */
bool topo_file_find(const char *text, const char *bus,
		    struct pcie_place *place);

/** Pure: of @text into @out the elements with what says where devices are, and
 *  how they are connected: no comments, no GUIDs, no serial numbers, no hash of
 *  a host. */
void topo_file_plain(const char *text, struct str *out);

/** The text of the file that NCCL reads below @root: NCCL_TOPO_FILE, by the
 *  environment or nccl.conf, or the one of nvidia-topologyd.  free() frees;
 *  NULL: there is none. */
char *topo_file_read(const char *root);

/* ---- NCCL's tree --------------------------------------------------------- */

/**
 * The tree of PCI devices from which NCCL chooses NICs (src/graph/xml.cc):
 * CPUs, switches, GPUs and NICs, from the topology file if there is one, else
 * from /sys.  A switch is one node, whatever bridges it has; a root port is
 * none.
 *
 * The tree of @gpus (of an inventory) and of the HCAs below @root; an HCA with
 * a fact "data_direct" among @facts is where that function of it is, unless
 * NCCL_IB_DATA_DIRECT is 0:
 *	{"sys_GB_s": between two CPUs, "c2c_GB_s": between GPU and CPU beside
 *	 PCIe (missing: none), "gdr": false if GPUDirect RDMA is impossible
 *	 (missing: possible, or not known),
 *	 "gpus": [PLACE...],
 *	 "nics": [{"name": "mlx5_0", "place": PLACE}...] in NCCL's order}
 * A PLACE is a CPU, the switches below it, and the width of the link of each
 * and of the device: "0/0000:16:00.0=48/48" in GB/s.  New reference.
 */
json_t *nccl_tree(const char *root, const json_t *gpus,
		  const json_t *facts);

#define NCCL_TREE_DEPTH 8

/** A place, as it is read from such a text. */
struct nccl_place {
	int cpu;		/* NUMA node, -1: not known */
	int n;			/* switches, from the CPU down */
	struct { char bus[16]; double GB_s; } at[NCCL_TREE_DEPTH];
	double GB_s;		/* of the device's own link */
};

/** Pure; 0, or -1 if @text is not a place. */
int nccl_place_parse(const char *text, struct nccl_place *p);

/* ---- port ---------------------------------------------------------------- */

/**
 * Properties of an HCA port from /sys/class/infiniband and its PCI device. No
 * library is called, so that a sick driver cannot hang the reader.
 */
#define PORT_MAX      64	/* of a node */
#define PORT_COUNTERS 76
#define PORT_NAME     80
#define PORT_PKEYS    8		/* looked at: jobs use one of the first */
#define PORT_SUBNET   20

struct port_pcie {
	double speed_GT_s;	/* NAN: not known */
	int width;		/* 0: not known */
};

struct port {
	char hca[64];
	int number;
	char name[PORT_NAME];	/* mlx5_0; mlx5_0:2 where the HCA has more */
	char state[32];		/* ACTIVE, DOWN, INIT ... */
	char phys_state[32];	/* LinkUp, Polling, Disabled ... */
	char link_layer[32];	/* InfiniBand, Ethernet */
	char width[16];		/* 4X HDR */
	double rate_Gb_s;	/* NAN: not known */
	char firmware[64];
	char board[64];
	char netdev[64];	/* of RoCE */
	char fec[16];		/* the same: RS, BaseR, Off; "" not known */
	char pfc[24];		/* priorities with flow control: "3", "none" */
	char trust[8];		/* dscp, pcp: how packets get a priority */
	char ecn[12];		/* priorities with ECN: "---3----" */
	int priority;		/* of NCCL's packets; -1: not known */
	char cm_tos[8];		/* default ToS of rdma_cm: "106"; "unset": not
				 * set for this HCA; "": not known */
	char gids[160];		/* of RoCE, by index: "0:v1 1:v2 ..." */
	char gid_kinds[256];	/* the same: "0:link 1:IPv6 2:IPv4 ..." */
	char subnet[PORT_SUBNET];	/* of InfiniBand: fe80:0000:0000:0000 */
	char guid[20];			/* the same: 16 hex digits */
	int pkeys[PORT_PKEYS], n_pkeys;	/* of InfiniBand, by index */
	int numa;		/* -1: not known */
	int module_C;		/* of the transceiver; 0: not known */
	bool software;		/* no PCI device: the rate says nothing */
	struct port_pcie link, most;	/* as it runs, as it could with this
					 * device in this slot */
	int64_t moved_B;	/* sent and received; -1: not known */
	uint64_t counters[PORT_COUNTERS];	/* as port_counter_defs[] */
	bool has_counter[PORT_COUNTERS];
};

/** A counter that shows trouble when it grows. */
struct port_counter {
	const char *name;
	const char *folder;	/* counters, hw_counters; aer: of the PCI
				 * device; ethtool: of the netdev's driver;
				 * NULL: of the netdev */
};

/** Closed by a NULL name. */
extern const struct port_counter port_counter_defs[];

/** "4: ACTIVE" gives "ACTIVE"; text without a number stays as it is. */
void port_parse_state(const char *text, char *buf, size_t size);
/** "200 Gb/sec (4X HDR)": the rate in Gb/s, NAN when there is none, and what
 *  stands in the brackets. */
double port_parse_rate(const char *text, char *width, size_t size);
/** "16.0 GT/s PCIe" or "16 GT/s": transfers per second and lane; NAN. */
double port_parse_speed(const char *text);

/** "0xffff": a partition key; 0 when it is none. */
int port_parse_pkey(const char *text);

/** All ports below @root ("" = /), ordered by name; at most @max. */
size_t port_list(const char *root, struct port *ports, size_t max);
/** Read the state and the counters of @p again, not its settings. */
void port_read_again(const char *root, struct port *p);

/** The errno of the device file of HCA @hca on this machine; @otherwise where
 *  it may be opened, or is not there. */
int port_device_errno(const char *hca, int otherwise);

/**
 * Return the rate of the port per direction, 10^9 bytes per second: the slower
 * of the line and the PCIe link; NAN if neither is known or the port is
 * software.
 */
double port_line_GB_s(const struct port *p);

struct interface;

/**
 * Facts of RoCE ports: to the networks of which others of them, which have
 * addresses of the same family, the routes of this machine lead ("route_to"),
 * and to which not ("no_route_to"): names, apart by blanks.  As the kernel
 * would send from the one's address by the one's interface.
 */
void port_route_facts(const struct port *ports, size_t n,
		      const struct interface *list, size_t n_list,
		      json_t *facts);

/** Facts "bond_legs" and "bond_leg_down" of every bond below @root; "bond",
 *  "lacp_state" and "lacp_partner_state", "lacp_partner" of every leg. */
void bond_facts(const char *root, json_t *facts);

/** Facts of scope p->name, and the counters as they stand. */
void port_facts(const struct port *p, json_t *facts);
/** How much each counter of @after is above @before, where it is, and what the
 *  port has sent and received, "data_moved". */
void port_growth_facts(const struct port *before, const struct port *after,
		       json_t *facts);

/* ---- tools --------------------------------------------------------------- */

/**
 * Add the facts that "mlxlink -m -c" has of @ports, and "rdma_topo check" of
 * the node, if these are installed and this user may ask; they run side by
 * side, until @deadline_ns.  Of a recorded machine (@root) the files
 * mlxlink/NAME and rdma_topo/check are what they printed.  It takes a second or
 * two.
 */
void tools_facts(const char *root, const struct port *ports, size_t n,
		 int64_t deadline_ns, json_t *facts);
#define TOOLS_NS (3 * NS_PER_S)

/** Add what mlxlink --json printed about @p; 0, or -1 if it printed no such
 *  JSON. */
int mlxlink_parse(const char *text, size_t len, const struct port *p,
		  json_t *facts);
/** Add what "rdma_topo check" printed: acs_check, "right" or "wrong", and
 *  acs_wrong. */
void rdma_topo_parse(const char *text, json_t *facts);

#endif
