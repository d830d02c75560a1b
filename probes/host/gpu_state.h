/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_HOST_GPU_STATE_H
#define PROBES_HOST_GPU_STATE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/data/schema.h"
#include "probes/dl/cuda.h"
#include "probes/dl/nvml.h"

/* ---- gpu holders --------------------------------------------------------- */

/* Codes of a row or rank. */
#define GPU_BUSY   "gpu_busy"	/* one of them belongs to no job of Slurm */
#define GPU_IN_USE "gpu_in_use"	/* all belong to jobs, or it is not known */

/** A code as well, of a GPU that others use since some time in the run. */
#define GPU_JOINED "gpu_joined"

/** Processes that hold a GPU. */
struct gpu_holders {
	unsigned int n;
	const char *code;	/* GPU_BUSY or GPU_IN_USE */
	char words[160];	/* the first of them: "pid 4711 (python3, user
				 * x, 142 GB, no Slurm job)" */
};

/** Text for a process number that is not visible here. */
#define GPU_UNSEEN "not visible here"

/**
 * List the processes that hold GPU @uuid according to NVML, except this process
 * and those of its run; empty if NVML does not tell. @used: this process holds
 * the GPU, so leave out processes that are not visible: in a container NVML may
 * report the host's numbers, and one of them is this process. May hang: call it
 * only in a child.
 */
void gpu_holders(const char *uuid, bool used, struct gpu_holders *h);

/** Start NVML and find GPU @uuid.  Returns NVML's code; -1 with *@lib NULL if
 *  NVML cannot be started.  The caller may shut *@lib down. */
int gpu_nvml(const char *uuid, const struct nvml **lib, nvmlDevice_t *dev);

/* ---- gpu refusal --------------------------------------------------------- */

/** Return the word for NVML's compute mode in the fact compute_mode; "":
 *  unknown. */
const char *gpu_mode_word(int mode);
#define GPU_MODE_PROHIBITED	   "prohibited"
#define GPU_MODE_EXCLUSIVE_PROCESS "exclusive_process"

/**
 * Return the known cause for which a context was refused with @rc on a GPU of
 * compute mode @mode (its word, "" if unknown); NULL if no cause is known.
 * Pure.
 */
const struct err_words *gpu_refusal_of(CUresult rc, const char *mode);

#define GPU_LOST "gpu_lost"	/* the code */

/* ---- gpu links ----------------------------------------------------------- */

/** The NVLinks of a GPU that are up, and what each has counted. */

#define GPU_LINK_COUNTS	 3
#define GPU_LINK_UNKNOWN UINT64_MAX	/* in place of a count */

/** The fact that has all of this. */
#define GPU_LINKS_FACT "nvlinks_up"

struct gpu_links {
	uint32_t up;		/* bit k: link k */
	uint64_t counts[NVML_LINKS_MAX][GPU_LINK_COUNTS];	/* of these */
};

/** "0-6:0/0/0 7:500/0/0", or without counts ("0-7:-/-/-") where they do not fit
 *  @size; "none" when none is up.  Returns @buf. */
const char *gpu_links_text(const struct gpu_links *l, char *buf, size_t size);
/** 0, or -1 when @text is nothing that gpu_links_text() writes: @l is undefined
 *  then. */
int gpu_links_parse(const char *text, struct gpu_links *l);

/* ---- gpu list ------------------------------------------------------------ */

#define GPU_LIST_MAX 64
#define CUDA_VISIBLE "CUDA_VISIBLE_DEVICES"

/** Write a UUID of 16 bytes as "8-4-4-4-12" digits; returns @text. */
#define GPU_UUID_HEX 37
const char *gpu_uuid_hex(const void *raw, char text[GPU_UUID_HEX]);

/** One GPU of a node as NVML, CUDA or the kernel driver names it. */
struct gpu_id {
	char uuid[48];	/* GPU-8-4-4-4-12 */
	char bus[32];	/* 0000:1b:00.0 */
	char name[96];
	bool divided;	/* by MIG: CUDA shows parts of it, if any */
	bool hidden;	/* no GPU of this list to CUDA: it is divided, or
			 * CUDA_VISIBLE_DEVICES leaves it out */
};

struct gpu_list {
	struct gpu_id gpus[GPU_LIST_MAX];
	size_t n;
	char source[16];	/* nvml, cuda, proc, none */
	char why[200];		/* why not from a better source, "" = none */
};

/** Read UUID, name and bus of the GPU @dev, each as far as NVML knows it.
 *  Returns NVML's code for the UUID. */
int gpu_id_read(const struct nvml *nvml, nvmlDevice_t dev, struct gpu_id *gpu);

/** By NVML, else by CUDA.  May hang with a sick driver: only in a child. */
void gpu_list_ask_driver(struct gpu_list *l);

/** From /proc/driver/nvidia/gpus below @root ("" = /): no library, no hang. */
void gpu_list_read_proc(struct gpu_list *l, const char *root);

/**
 * Order and hide as CUDA_VISIBLE_DEVICES = @text does (NULL: not set): the
 * GPUs that it names come first, in its order; indexes and unambiguous UUID
 * prefixes count; at the first that is wrong CUDA stops reading, a GPU named
 * twice makes it show none.  Divided ones are not among those that it numbers,
 * stand last and are hidden.
 */
void gpu_list_apply_visible(struct gpu_list *l, const char *text);

/** How many are not hidden. */
size_t gpu_list_visible(const struct gpu_list *l);

/** "00000000:1B:00.0" and "0000:1B:00.0" become "0000:1b:00.0". */
void gpu_list_plain_bus(const char *text, char bus[32]);

/** As the child prints it; and back with limits: 0 or -1 with @e. */
extern const struct field gpu_list_fields[];
int gpu_list_parse(const json_t *json, struct gpu_list *l, struct err *e);

/* ---- gpu pci ------------------------------------------------------------- */

/**
 * Facts of scope "gpu0" about the place of each of @gpus (of an inventory) in
 * its host, read below @root, as far as the kernel tells them: numa_node,
 * root_port, pcie_speed_max, pcie_width_max, pcie_width, relaxed_ordering (to
 * root alone), gsp_firmware.
 */
void gpu_pci_facts(const char *root, const json_t *gpus, json_t *facts);

/** Return 1 if the device with @len bytes of configuration space @config may
 *  request relaxed ordering, 0 if not, -1 if the bytes do not tell. Pure. */
int gpu_pci_relaxed(const void *config, size_t len);

/* ---- gpu state ----------------------------------------------------------- */

/**
 * Counters of driver and kernel for the GPUs of a node: read before and after a
 * run, so that their growth is evidence. Facts of facts_add() with scope
 * "gpu3", or "gpu0-gpu3" for the link between two GPUs.
 */

/** By NVML; nothing where it is not there.  May hang: only in a child. */
void gpu_state_facts(const struct gpu_list *l, json_t *facts);

/** Add the readings of scope @scope that alone show GPU @dev to be unwell:
 *  memory errors, a reset that is due, reduced clocks. May hang, too. */
void gpu_health_facts(const struct nvml *nvml, nvmlDevice_t dev,
		      const char *scope, json_t *facts);

/**
 * Add the state of GPU @dev in the NVLink fabric, with scope @scope, if the GPU
 * supports one: fabric_state, fabric_health; of a fabric of several machines
 * fabric_cluster and fabric_clique; "nvswitch" if the state is not good and the
 * GPU is connected to NVSwitches. May hang, too.
 */
void gpu_fabric_facts(const struct nvml *nvml, nvmlDevice_t dev,
		      const char *scope, json_t *facts);

/**
 * Add facts of scope "node" about what runs the NVLink fabric: nvswitches,
 * fabric_manager, fabric_manager_version with driver_loaded, nvlsm, ib_umad;
 * each only where it is known.  Executes nv-fabricmanager --version, 1 s at
 * most.
 */
void node_fabric_facts(const struct nvml *nvml, json_t *facts);

/** NVML's reasons for a low clock that are no normal ones, as
 *  "hw_thermal+hw_power_brake"; "" = none.  Pure. */
void gpu_throttle_words(unsigned long long reasons, char *buf, size_t size);

/** Xids by the kernel's log, where it may be read; never blocks. */
void gpu_xid_facts(const struct gpu_list *l, json_t *facts);

/** "xids_growth" and its like to @out: the counters of @after above those of
 *  @before, each an array of facts; and GPU_JOINED, of gpu_holders.h. */
void gpu_growth_facts(const json_t *before, const json_t *after, json_t *out);

/** Returns true if @line of the kernel's log is an Xid, with its GPU's bus
 *  ("0000:1b:00") and its number.  Pure. */
bool gpu_xid_parse(const char *line, char bus[32], int *xid);

#endif
