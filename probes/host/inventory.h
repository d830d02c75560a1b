/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_HOST_INVENTORY_H
#define PROBES_HOST_INVENTORY_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/data/schema.h"
#include "probes/host/gpu_state.h"
#include "probes/host/port.h"

/* ---- lldp ---------------------------------------------------------------- */

/** The port of a switch that an interface is connected to, by LLDP. */
#define LLDP_MAX 128

struct lldp_neighbour {
	char interface[32];
	char name[64];		/* of the switch, its MAC if it has none */
	char port[64];
};

/**
 * Parse @len bytes of "lldpctl -f json0" into @list; returns the number of
 * neighbours stored, 0 for any other text. Of several neighbours of an
 * interface the first counts. Pure.
 */
size_t lldp_parse(const char *text, size_t len,
		  struct lldp_neighbour list[LLDP_MAX]);

#define LLDP_ANSWER "lldp"

/* ---- facts --------------------------------------------------------------- */

/**
 * Append {"scope","fact","value","unit","source"} to the array @facts: a line
 * of facts.csv, less the node, which the coordinator knows.
 */
/** The words of such an entry, borrowed; "" where it has none. */
struct fact {
	const char *scope, *fact, *value, *unit, *source;
};

struct fact fact_of(const json_t *entry);
/** The first one of @facts of that name about @scope; each text "" without. */
struct fact facts_find(const json_t *facts, const char *scope,
		       const char *fact);

/** An inventory, or a port or GPU of it: a missing text is "", a missing tree
 *  NULL, another missing member 0.  All is borrowed from the JSON. */
struct inventory_seen {
	json_t *gpus, *ports, *interfaces, *facts, *nccl, *env, *tree;
	const char *host, *boot_id, *driver, *gpus_shown, *gpu_note;
	int gpus_hidden, gpus_divided;
};

struct inventory_part {
	const char *name, *state, *link_layer, *subnet, *bus, *uuid;
	json_t *pkeys;
	double line_GB_s, rate_Gb_s;
	bool software, up;
};

extern const struct field inventory_part_fields[];

struct inventory_seen inventory_seen(const json_t *inventory);
struct inventory_part inventory_part(const json_t *part);
void facts_add(json_t *facts, const char *scope, const char *fact,
	       const char *value, const char *unit, const char *source);
void facts_addf(json_t *facts, const char *scope, const char *fact,
		const char *unit, const char *source, const char *fmt, ...)
	__attribute__((format(printf, 6, 7)));

struct nccl;
struct nccl_torch_look;

/** Append the libraries of nccl_find() other than @nccl: "VERSION PATH, ..." in
 *  the order in which they would be used; at most 400 bytes. */
void nccl_also(const struct nccl *nccl, struct str *out);
/** Add the facts torch_nccl (the file that PyTorch jobs load, or none with
 *  torch_nccl_note) and torch_nccl_version, of scope node. Ends @l. */
void torch_facts(struct nccl_torch_look *l, int64_t deadline_ns,
		 json_t *facts);

/* ---- node facts ---------------------------------------------------------- */

/**
 * How a node is set up for GPUs and NICs, and where Slurm says that it stands:
 * facts of scope node, files read below @root ("" = /).
 */
void node_facts(const char *root, json_t *facts);

/**
 * The switch that a node is plugged into, by Slurm's SLURM_TOPOLOGY_ADDR
 * ("core.leaf3.n17") and SLURM_TOPOLOGY_ADDR_PATTERN ("switch.switch.node"):
 * srun sets both where topology.conf knows the switches, in the words of
 * "scontrol show topology".  False where they name none.
 */
bool node_leaf_switch(const char *addr, const char *pattern, char *leaf,
		      size_t size);

/** Return true if the node name at the end of @addr is the host @host, with or
 *  without its domain. */
bool node_is_last(const char *addr, const char *host);

/* ---- inventory ----------------------------------------------------------- */

/**
 * Inventory of a node, read once.  The reader never loads a GPU
 * library: a driver that hangs takes a child with it, not the agent.
 *
 * {"host":, "boot_id":, "driver": (missing without one),
 *  "gpus":[{"index":0,"uuid":,"bus":,"name":}],	as CUDA would count them
 *  "gpu_source": "nvml|cuda|proc|none", "gpu_note": why from no better one,
 *  "gpus_hidden": by CUDA_VISIBLE_DEVICES, whose text is "gpus_shown",
 *  "gpus_divided": by MIG; both are not in gpus[],
 *  "ports":[{"name":"mlx5_0","state":,"line_GB_s": (missing: unknown),
 *  "software":, "bus": of its PCI function (missing: none)}],
 *  "interfaces": as interface_json() has them,
 *  "env":{"NCCL_..":, "UCX_..":},
 *  "nccl": as nccl_conf_read() has it: of the environment and of files,
 *  "tree": as nccl_tree() has it,
 *  "facts":[{"scope":,"fact":,"value":,"unit":,"source":}]}
 */

/**
 * Fill in @out, files read below @root, asking the GPU driver through "gpucheck
 * worker inventory".  Returns 0, or -1 with @e when the driver did not answer
 * by @deadline_ns: @out is filled in then too, GPUs as the kernel lists them.
 * @ports gets the @n_ports HCA ports with what they have counted so far.
 */
int inventory_read(json_t *out, const char *root, int64_t deadline_ns,
		   struct port ports[PORT_MAX], size_t *n_ports,
		   struct err *e);

/**
 * Ask that child only: the GPUs to @l, what driver and kernel count about them
 * to @facts.  A recorded machine (@root) has its answer in the file
 * INVENTORY_ANSWER.  0, or -1 with @e.
 */
int inventory_ask_gpus(const char *root, struct gpu_list *l, json_t *facts,
		       int64_t deadline_ns, struct err *e);

#define INVENTORY_ANSWER "nvml"

/** That child: the GPUs as JSON on stdout.  Returns its exit code. */
int inventory_child_main(void);

/**
 * The part that needs no GPU library, read below @root ("" = /): host, driver,
 * limits, HCAs, environment.  Returns how many @ports were found.
 */
size_t inventory_read_host(json_t *out, const char *root,
			   struct port ports[PORT_MAX]);

/** The driver's number in /proc/driver/nvidia/version; "" when not there. */
void inventory_driver_version(const char *text, char *buf, size_t size);

/**
 * Optional libraries found on this machine, for "gpucheck version": an object
 * {"nccl":{"version":"2.28.9","path":"...","in":"","also":""},"cuda":{...},"pmi2":...,
 * "verbs":...,"nvml":...}; null where missing, with the reason under
 * "nccl_why" and so on.  New reference, NULL without memory.
 */
json_t *probes_libraries(void);

#endif
