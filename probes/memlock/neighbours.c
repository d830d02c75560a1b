/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Settings that fail the same jobs as a low memlock and are asked about with
 * it.  They are shown, and a warning at most.
 */
#include "probes/memlock/look.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "probes/host/interface.h"
#include "probes/host/sysfile.h"

#define GIB	      (INT64_C(1) << 30)
/* 144 ranks in one process were seen to need 32 K descriptors. */
#define NOFILE_WANTED 16384
#define NPROC_WANTED  4096
#define MAPS_WANTED   65530	/* the kernel's default */

/* Make @row an error of @code with @detail. */
static void blame(struct memlock_row *row, const char *code,
		  const char *detail)
{
	row->outcome = OUTCOME_ERROR;
	STR_COPY(row->code, code);
	STR_COPY(row->detail, detail);
}

static const char *count_text(int64_t n, char buf[24])
{
	if (n == MEMLOCK_UNLIMITED) {
		return "unlimited";
	}
	snprintf(buf, 24, "%lld", (long long)n);
	return buf;
}

/*
 * A setting, read by @look.  For look_figure() it is a number: of the line
 * @limit of /proc/self/limits, or the only one of the source (NULL).
 */
struct neighbour {
	const char *check, *source;
	void (*look)(struct memlock *m, const struct neighbour *n,
		     struct memlock_row *row);
	const char *limit;
	int64_t least; /* a smaller value is an error, @code */
	const char *code;
	bool hard;		/* NCCL raises its soft limit to the hard one */
	bool bytes;		/* set limit_B, and no detail of a limit */
	int64_t wrong;		/* so is this one, for @says; -1 */
	const char *says;
};

static void look_figure(struct memlock *m, const struct neighbour *n,
			struct memlock_row *row)
{
	char soft[24], hard[24];
	struct limit_pair l;
	struct err e = { 0 };
	int64_t value;

	if (n->limit != NULL ?
		    memlock_read(m, row->source, &e) < 0 ||
			    proc_limit_parse(&m->text, n->limit, &l, &e) < 0 :
		    memlock_read_number(m, row->source, &l.soft, &e) < 0) {
		memlock_row_unknown(row, &e);
		return;
	}
	value = n->hard ? l.hard : l.soft;
	if (n->bytes) {
		row->limit_B = value;
	}
	if (n->limit == NULL) {
		STR_COPY(row->detail, count_text(value, soft));
	} else if (!n->bytes) {
		snprintf(row->detail, sizeof(row->detail), "%s, hard %s",
			 count_text(l.soft, soft), count_text(l.hard, hard));
	}
	if (value == n->wrong) {
		blame(row, n->code, n->says);
	} else if (value < n->least) {
		row->outcome = OUTCOME_ERROR;
		STR_COPY(row->code, n->code);
	}
}

static void look_shm(struct memlock *m, const struct neighbour *n,
		     struct memlock_row *row)
{
	struct err e = { 0 };
	char value[64];
	long long kib = 0;
	int64_t size;

	(void)n;
	if (memlock_read(m, row->source, &e) < 0 ||
	    proc_mount_size(&m->text, "/dev/shm", &size, &e) < 0) {
		memlock_row_unknown(row, &e);
	} else if (size < 0) {
		blame(row, "shm_missing", "nothing is mounted at /dev/shm");
	} else {
		/* a tmpfs without size= has half of the memory */
		if (size == 0 && memlock_read(m, "/proc/meminfo", NULL) == 0 &&
		    sysfile_value(str_text(&m->text), "MemTotal", value,
				  sizeof(value))) {
			sscanf(value, "%15lld", &kib);
		}
		row->limit_B = size > 0 ? size : kib * 1024 / 2;
		if (row->limit_B < GIB) {
			blame(row, "shm_small",
			      "less than the 1 GiB that NCCL's shared memory "
			      "of a full node can take");
		}
	}
}

/* One of the two ways by which a NIC reads the memory of a GPU. */
static void look_gpudirect(struct memlock *m, const struct neighbour *n,
			   struct memlock_row *row)
{
	static const char driver[] = "/proc/driver/nvidia/version";

	(void)n;
	if (!sysfile_there("%s/sys/module/nvidia", m->root) || m->hcas == 0) {
		memlock_row_absent(row, "there is no GPU driver, or no HCA");
	} else if (sysfile_there("%s%s", m->root, row->source)) {
		STR_COPY(row->detail, "nvidia_peermem is loaded");
	} else if (memlock_read(m, driver, NULL) == 0 &&
		   strstr(str_text(&m->text), "Open Kernel Module") != NULL) {
		STR_COPY(row->source, driver);
		STR_COPY(row->detail, "open driver: dma-buf");
	} else {
		blame(row, "gpudirect_missing",
		      "nvidia_peermem is not loaded and the driver has no "
		      "dma-buf: NICs cannot access GPU memory");
	}
}

static void look_acs(struct memlock *m, const struct neighbour *n,
		     struct memlock_row *row)
{
	int count[ACS_STATES];
	size_t devices = acs_count(m->root, count);
	struct err e = { 0 };

	(void)n;
	if (devices == 0) {
		memlock_row_absent(row, "no PCI devices are visible");
	} else if (count[ACS_REDIRECTS_ON] > 0) {
		row->outcome = OUTCOME_ERROR;
		STR_COPY(row->code, "acs_on");
		snprintf(row->detail, sizeof(row->detail),
			 "on at %d of %d PCIe bridges: peer traffic goes "
			 "through the root complex", count[ACS_REDIRECTS_ON],
			 count[ACS_REDIRECTS_ON] + count[ACS_OFF]);
	} else if (count[ACS_UNKNOWN] > 0) {
		err_set(&e, EACCES, "%d bridges can be read by root only",
			count[ACS_UNKNOWN]);
		memlock_row_unknown(row, &e);
	} else {
		STR_COPY(row->detail, "off at every PCIe bridge");
	}
}

static void look_iommu(struct memlock *m, const struct neighbour *n,
		       struct memlock_row *row)
{
	const char *does = iommu_does(m->root);

	(void)n;
	if (strcmp(does, IOMMU_TRANSLATES) == 0) {
		blame(row, "iommu_translates",
		      "the IOMMU translates DMA: peer traffic is slow or hangs "
		      "on many boards");
	} else {
		STR_COPY(row->detail, does);
	}
}

/*
 * The driver makes these folders wherever it is loaded; a switch has one of its
 * own among the devices.  In a virtual machine there are GPUs without switches:
 * those are the host's, and so is their manager.
 */
static void look_fabricmanager(struct memlock *m, const struct neighbour *n,
			       struct memlock_row *row)
{
	char nvswitch[1][64];

	(void)n;
	if (sysfile_list(nvswitch, 1, "%s/proc/driver/nvidia-nvswitch/devices",
			 m->root) == 0) {
		memlock_row_absent(row, "the driver shows no NVSwitch");
	} else if (process_find(m->root, "nv-fabricmanage") > 0) {
		STR_COPY(row->detail, "runs");	/* comm is cut at 15 */
	} else {
		blame(row, "fabricmanager_down",
		      "there are NVSwitches, but nv-fabricmanager does not "
		      "run");
	}
}

static void look_cgroup(struct memlock *m, const struct neighbour *n,
			struct memlock_row *row)
{
	struct proc_cgroup group;
	struct err e = { 0 };
	size_t size;
	const char *dir;

	(void)n;
	if (memlock_read(m, row->source, &e) < 0 ||
	    proc_cgroup_parse(&m->text, &group, &e) < 0) {
		memlock_row_unknown(row, &e);
		return;
	}
	/* where the memory limit of group stands */
	size = sizeof(row->source);
	dir = strcmp(group.group, "/") == 0 ? "" : group.group;
	if (group.v2) {
		snprintf(row->source, size, "/sys/fs/cgroup%.120s/memory.max",
			 dir);
	} else {
		snprintf(row->source, size,
			 "/sys/fs/cgroup/memory%.90s/memory.limit_in_bytes",
			 dir);
	}
	if (memlock_read_number(m, row->source, &m->cgroup_B, &e) < 0 &&
	    e.code != ENOENT) {		/* the root group has none */
		memlock_row_unknown(row, &e);
		return;
	}
	row->limit_B = m->cgroup_B;
	row->needed_B = m->needed_B;
	if (row->limit_B < m->needed_B) {
		blame(row, "cgroup_memory",
		      "pinned memory counts towards this limit, and NCCL needs "
		      "more");
	}
}

#define LIMITS "/proc/self/limits"

/* In the order in which they are shown. */
static const struct neighbour neighbours[] = {
	{ "nofile", LIMITS, look_figure, "Max open files", NOFILE_WANTED,
	  "nofile_low", .hard = true, .wrong = -1 },
	{ "nproc", LIMITS, look_figure, "Max processes", NPROC_WANTED,
	  "nproc_low", .wrong = -1 },
	{ "stack", LIMITS, look_figure, "Max stack size", 0, "stack_unlimited",
	  .bytes = true, .wrong = MEMLOCK_UNLIMITED,
	  .says = "threads get 2 MiB stacks when the limit is unlimited, and "
		  "NCCL's graph search needs more" },
	{ "dev_shm", "/proc/self/mounts", .look = look_shm },
	{ "cgroup_memory", "/proc/self/cgroup", .look = look_cgroup },
	{ "max_map_count", "/proc/sys/vm/max_map_count", look_figure, NULL,
	  MAPS_WANTED, "map_count_low", .wrong = -1 },
	{ "overcommit", "/proc/sys/vm/overcommit_memory", look_figure, NULL, 0,
	  "overcommit_strict", .wrong = 2,
	  .says = "2: address space is counted as memory, and CUDA reserves "
		  "far more of it than it uses" },
	{ "shmmax", "/proc/sys/kernel/shmmax", look_figure, NULL, GIB,
	  "shmmax_low", .bytes = true, .wrong = -1 },
	{ "gpudirect", "/sys/module/nvidia_peermem", .look = look_gpudirect },
	{ "acs", ACS_SOURCE, .look = look_acs },
	{ "iommu", IOMMU_SOURCE, .look = look_iommu },
	{ "fabricmanager", "/proc", .look = look_fabricmanager },
	{ 0 }
};

void memlock_look_neighbours(struct memlock *m, enum memlock_context context)
{
	struct memlock_row row;

	for (const struct neighbour *n = neighbours; n->check != NULL; n++) {
		memlock_row_init(m, &row, context, n->check, n->source);
		n->look(m, n, &row);
		memlock_row_say(m, &row);
	}
}
