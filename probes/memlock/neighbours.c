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

/* The row says @detail is wrong, by the name of @code. */
static void blame(struct memlock_row *row, const char *code,
		  const char *detail)
{
	row->outcome = OUTCOME_ERROR;
	STR_COPY(row->code, code);
	STR_COPY(row->detail, detail);
}

/* The row says that @have is less than @wanted, by the name of @code. */
static void demand(struct memlock_row *row, int64_t have, int64_t wanted,
		   const char *code)
{
	if (have < wanted) {
		row->outcome = OUTCOME_ERROR;
		STR_COPY(row->code, code);
	}
}

/* A line of /proc/self/limits; false when the row says why not. */
static bool own_limit(struct memlock *m, struct memlock_row *row,
		      const char *name, struct limit_pair *limit)
{
	struct err e = { 0 };

	if (memlock_read(m, row->source, &e) < 0 ||
	    proc_limit_parse(&m->text, name, limit, &e) < 0) {
		memlock_row_unknown(row, &e);
		return false;
	}
	return true;
}

static const char *count_text(int64_t n, char buf[24])
{
	if (n == MEMLOCK_UNLIMITED) {
		return "unlimited";
	}
	snprintf(buf, 24, "%lld", (long long)n);
	return buf;
}

static void say_pair(struct memlock_row *row, const struct limit_pair *l)
{
	char soft[24], hard[24];

	snprintf(row->detail, sizeof(row->detail), "%s, hard %s",
		 count_text(l->soft, soft), count_text(l->hard, hard));
}

/* NCCL raises its soft limit to the hard one by itself. */
static void look_nofile(struct memlock *m, struct memlock_row *row)
{
	struct limit_pair l;

	if (own_limit(m, row, "Max open files", &l)) {
		say_pair(row, &l);
		demand(row, l.hard, NOFILE_WANTED, "nofile_low");
	}
}

static void look_nproc(struct memlock *m, struct memlock_row *row)
{
	struct limit_pair l;

	if (own_limit(m, row, "Max processes", &l)) {
		say_pair(row, &l);
		demand(row, l.soft, NPROC_WANTED, "nproc_low");
	}
}

static void look_stack(struct memlock *m, struct memlock_row *row)
{
	struct limit_pair l;

	if (own_limit(m, row, "Max stack size", &l)) {
		row->limit_B = l.soft;
		if (l.soft == MEMLOCK_UNLIMITED) {
			blame(row, "stack_unlimited",
			      "threads get 2 MiB stacks when the limit is "
			      "unlimited, and NCCL's graph search needs more");
		}
	}
}

/* A tmpfs without size= has half of the memory. */
static int64_t half_of_memory(struct memlock *m)
{
	char value[64];
	long long kib = 0;

	if (memlock_read(m, "/proc/meminfo", NULL) == 0 &&
	    sysfile_value(str_text(&m->text), "MemTotal", value,
			  sizeof(value))) {
		sscanf(value, "%15lld", &kib);
	}
	return kib * 1024 / 2;
}

static void look_shm(struct memlock *m, struct memlock_row *row)
{
	struct err e = { 0 };
	int64_t size;

	if (memlock_read(m, row->source, &e) < 0 ||
	    proc_mount_size(&m->text, "/dev/shm", &size, &e) < 0) {
		memlock_row_unknown(row, &e);
	} else if (size < 0) {
		blame(row, "shm_missing", "nothing is mounted at /dev/shm");
	} else {
		row->limit_B = size > 0 ? size : half_of_memory(m);
		if (row->limit_B < GIB) {
			blame(row, "shm_small",
			      "less than the 1 GiB that NCCL's shared memory "
			      "of a full node can take");
		}
	}
}

/* The number in row->source; false when the row says why not. */
static bool own_number(struct memlock *m, struct memlock_row *row,
		       int64_t *value)
{
	struct err e = { 0 };
	char text[24];

	if (memlock_read_number(m, row->source, value, &e) < 0) {
		memlock_row_unknown(row, &e);
		return false;
	}
	STR_COPY(row->detail, count_text(*value, text));
	return true;
}

static void look_map_count(struct memlock *m, struct memlock_row *row)
{
	int64_t n;

	if (own_number(m, row, &n)) {
		demand(row, n, MAPS_WANTED, "map_count_low");
	}
}

static void look_overcommit(struct memlock *m, struct memlock_row *row)
{
	int64_t mode;

	if (own_number(m, row, &mode) && mode == 2) {
		blame(row, "overcommit_strict",
		      "2: address space is counted as memory, and CUDA reserves "
		      "far more of it than it uses");
	}
}

static void look_shmmax(struct memlock *m, struct memlock_row *row)
{
	if (own_number(m, row, &row->limit_B)) {
		demand(row, row->limit_B, GIB, "shmmax_low");
	}
}

/* One of the two ways by which a NIC reads the memory of a GPU. */
static void look_gpudirect(struct memlock *m, struct memlock_row *row)
{
	static const char driver[] = "/proc/driver/nvidia/version";

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

static void look_acs(struct memlock *m, struct memlock_row *row)
{
	int count[ACS_STATES];
	size_t n = acs_count(m->root, count);
	struct err e = { 0 };

	if (n == 0) {
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

static void look_iommu(struct memlock *m, struct memlock_row *row)
{
	const char *does = iommu_does(m->root);

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
static void look_fabricmanager(struct memlock *m, struct memlock_row *row)
{
	char nvswitch[1][64];

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

/* Where the memory limit of @group stands. */
static void cgroup_file(const struct proc_cgroup *group, char *path,
			size_t size)
{
	const char *dir = strcmp(group->group, "/") == 0 ? "" : group->group;

	if (group->v2) {
		snprintf(path, size, "/sys/fs/cgroup%.120s/memory.max", dir);
	} else {
		snprintf(path, size,
			 "/sys/fs/cgroup/memory%.90s/memory.limit_in_bytes",
			 dir);
	}
}

static void look_cgroup(struct memlock *m, struct memlock_row *row)
{
	struct proc_cgroup group;
	struct err e = { 0 };

	if (memlock_read(m, row->source, &e) < 0 ||
	    proc_cgroup_parse(&m->text, &group, &e) < 0) {
		memlock_row_unknown(row, &e);
		return;
	}
	cgroup_file(&group, row->source, sizeof(row->source));
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

/* In the order in which they are shown. */
static const struct neighbour {
	const char *check, *source;
	void (*look)(struct memlock *m, struct memlock_row *row);
} neighbours[] = {
	{ "nofile", "/proc/self/limits", look_nofile },
	{ "nproc", "/proc/self/limits", look_nproc },
	{ "stack", "/proc/self/limits", look_stack },
	{ "dev_shm", "/proc/self/mounts", look_shm },
	{ "cgroup_memory", "/proc/self/cgroup", look_cgroup },
	{ "max_map_count", "/proc/sys/vm/max_map_count", look_map_count },
	{ "overcommit", "/proc/sys/vm/overcommit_memory", look_overcommit },
	{ "shmmax", "/proc/sys/kernel/shmmax", look_shmmax },
	{ "gpudirect", "/sys/module/nvidia_peermem", look_gpudirect },
	{ "acs", ACS_SOURCE, look_acs },
	{ "iommu", IOMMU_SOURCE, look_iommu },
	{ "fabricmanager", "/proc", look_fabricmanager },
	{ 0 }
};

void memlock_look_neighbours(struct memlock *m, enum memlock_context context)
{
	struct memlock_row row;

	for (const struct neighbour *n = neighbours; n->check != NULL; n++) {
		memlock_row_init(m, &row, context, n->check, n->source);
		n->look(m, &row);
		memlock_row_say(m, &row);
	}
}
