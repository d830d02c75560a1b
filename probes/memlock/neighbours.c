/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Settings that fail the same jobs as a low memlock and are asked about with
 * it.  They are shown, and a warning at most.
 */
#include "probes/memlock/look.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "probes/host/peer_way.h"
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

/* A line of /proc/self/limits; false when the row says why not. */
static bool own_limit(const struct memlock *m, struct memlock_row *row,
		      const char *name, struct limit_pair *limit)
{
	struct str text = STR_INIT;
	struct err e = { 0 };
	bool ok;

	STR_COPY(row->source, "/proc/self/limits");
	ok = memlock_read(m, row->source, &text, &e) == 0 &&
	     proc_limit_parse(str_text(&text), text.len, name, limit, &e) == 0;
	if (!ok) {
		memlock_row_unknown(row, &e);
	}
	str_release(&text);
	return ok;
}

static const char *count_text(int64_t n, char *buf, size_t size)
{
	if (n == MEMLOCK_UNLIMITED) {
		snprintf(buf, size, "unlimited");
	} else {
		snprintf(buf, size, "%lld", (long long)n);
	}
	return buf;
}

static void say_pair(struct memlock_row *row, const struct limit_pair *l)
{
	char soft[24], hard[24];

	snprintf(row->detail, sizeof(row->detail), "%s, hard %s",
		 count_text(l->soft, soft, sizeof(soft)),
		 count_text(l->hard, hard, sizeof(hard)));
}

/* NCCL raises its soft limit to the hard one by itself. */
static void look_nofile(const struct memlock *m, struct memlock_row *row)
{
	struct limit_pair l;

	if (own_limit(m, row, "Max open files", &l)) {
		say_pair(row, &l);
		if (l.hard < NOFILE_WANTED) {
			row->outcome = OUTCOME_ERROR;
			STR_COPY(row->code, "nofile_low");
		}
	}
}

static void look_nproc(const struct memlock *m, struct memlock_row *row)
{
	struct limit_pair l;

	if (own_limit(m, row, "Max processes", &l)) {
		say_pair(row, &l);
		if (l.soft < NPROC_WANTED) {
			row->outcome = OUTCOME_ERROR;
			STR_COPY(row->code, "nproc_low");
		}
	}
}

static void look_stack(const struct memlock *m, struct memlock_row *row)
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
static int64_t half_of_memory(const struct memlock *m, struct str *text)
{
	char value[64] = "";
	long long kib = 0;

	if (memlock_read(m, "/proc/meminfo", text, NULL) == 0 &&
	    sysfile_value(str_text(text), "MemTotal", value, sizeof(value))) {
		sscanf(value, "%18lld", &kib);
	}
	return kib * 1024 / 2;
}

static void look_shm(const struct memlock *m, struct memlock_row *row)
{
	struct str text = STR_INIT;
	struct err e = { 0 };
	int64_t size;

	STR_COPY(row->source, "/proc/self/mounts");
	if (memlock_read(m, row->source, &text, &e) < 0 ||
	    proc_mount_size(str_text(&text), text.len, "/dev/shm", &size,
			    &e) < 0) {
		memlock_row_unknown(row, &e);
	} else if (size < 0) {
		blame(row, "shm_missing", "nothing is mounted at /dev/shm");
	} else {
		row->limit_B = size > 0 ? size : half_of_memory(m, &text);
		if (row->limit_B < GIB) {
			blame(row, "shm_small",
			      "less than the 1 GiB that NCCL's shared memory "
			      "of a full node can take");
		}
	}
	str_release(&text);
}

/* The number in row->source; false when the row says why not. */
static bool own_number(const struct memlock *m, struct memlock_row *row,
		       int64_t *value)
{
	struct err e = { 0 };

	if (memlock_read_number(m, row->source, value, &e) < 0) {
		memlock_row_unknown(row, &e);
		return false;
	}
	count_text(*value, row->detail, sizeof(row->detail));
	return true;
}

static void look_map_count(const struct memlock *m, struct memlock_row *row)
{
	int64_t n;

	STR_COPY(row->source, "/proc/sys/vm/max_map_count");
	if (own_number(m, row, &n) && n < MAPS_WANTED) {
		row->outcome = OUTCOME_ERROR;
		STR_COPY(row->code, "map_count_low");
	}
}

static void look_overcommit(const struct memlock *m, struct memlock_row *row)
{
	int64_t mode;

	STR_COPY(row->source, "/proc/sys/vm/overcommit_memory");
	if (own_number(m, row, &mode) && mode == 2) {
		blame(row, "overcommit_strict",
		      "2: address space is counted as memory, and CUDA reserves "
		      "far more of it than it uses");
	}
}

static void look_shmmax(const struct memlock *m, struct memlock_row *row)
{
	STR_COPY(row->source, "/proc/sys/kernel/shmmax");
	if (own_number(m, row, &row->limit_B) && row->limit_B < GIB) {
		row->outcome = OUTCOME_ERROR;
		STR_COPY(row->code, "shmmax_low");
	}
}

/* One of the two ways by which a NIC reads the memory of a GPU. */
static void look_gpudirect(const struct memlock *m, struct memlock_row *row)
{
	struct str text = STR_INIT;

	STR_COPY(row->source, "/sys/module/nvidia_peermem");
	if (!memlock_exists(m, "/sys/module/nvidia") || m->hcas == 0) {
		memlock_row_absent(row, "there is no GPU driver, or no HCA");
	} else if (memlock_exists(m, row->source)) {
		STR_COPY(row->detail, "nvidia_peermem is loaded");
	} else if (memlock_read(m, "/proc/driver/nvidia/version", &text,
				NULL) == 0 &&
		   strstr(str_text(&text), "Open Kernel Module") != NULL) {
		STR_COPY(row->source, "/proc/driver/nvidia/version");
		STR_COPY(row->detail, "open driver: dma-buf");
	} else {
		blame(row, "gpudirect_missing",
		      "nvidia_peermem is not loaded and the driver has no "
		      "dma-buf: NICs cannot access GPU memory");
	}
	str_release(&text);
}

static void look_acs(const struct memlock *m, struct memlock_row *row)
{
	int count[ACS_STATES];
	size_t n = acs_count(m->root, count);
	struct err e = { 0 };

	STR_COPY(row->source, ACS_SOURCE);
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

static void look_iommu(const struct memlock *m, struct memlock_row *row)
{
	const char *does = iommu_does(m->root);

	STR_COPY(row->source, IOMMU_SOURCE);
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
static void look_fabricmanager(const struct memlock *m,
			       struct memlock_row *row)
{
	STR_COPY(row->source, "/proc");
	if (!memlock_holds(m, "/proc/driver/nvidia-nvswitch/devices")) {
		memlock_row_absent(row, "the driver shows no NVSwitch");
	} else if (memlock_find_process(m, "nv-fabricmanage") > 0) {
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

static void look_cgroup(const struct memlock *m, struct memlock_row *row)
{
	struct proc_cgroup group;
	struct str text = STR_INIT;
	struct err e = { 0 };

	STR_COPY(row->source, "/proc/self/cgroup");
	if (memlock_read(m, row->source, &text, &e) < 0 ||
	    proc_cgroup_parse(str_text(&text), text.len, &group, &e) < 0) {
		memlock_row_unknown(row, &e);
		goto release;
	}
	cgroup_file(&group, row->source, sizeof(row->source));
	if (memlock_read_number(m, row->source, &row->limit_B, &e) < 0) {
		if (e.code == ENOENT) {	/* the root group has none */
			row->limit_B = MEMLOCK_UNLIMITED;
		} else {
			memlock_row_unknown(row, &e);
			goto release;
		}
	}
	row->needed_B = m->needed_B;
	if (row->limit_B < m->needed_B) {
		blame(row, "cgroup_memory",
		      "pinned memory counts towards this limit, and NCCL needs "
		      "more");
	}
release:
	str_release(&text);
}

/* In the order in which they are shown. */
static const struct neighbour {
	const char *check;
	void (*look)(const struct memlock *m, struct memlock_row *row);
} neighbours[] = {
	{ .check = "nofile", .look = look_nofile },
	{ .check = "nproc", .look = look_nproc },
	{ .check = "stack", .look = look_stack },
	{ .check = "dev_shm", .look = look_shm },
	{ .check = "cgroup_memory", .look = look_cgroup },
	{ .check = "max_map_count", .look = look_map_count },
	{ .check = "overcommit", .look = look_overcommit },
	{ .check = "shmmax", .look = look_shmmax },
	{ .check = "gpudirect", .look = look_gpudirect },
	{ .check = "acs", .look = look_acs },
	{ .check = "iommu", .look = look_iommu },
	{ .check = "fabricmanager", .look = look_fabricmanager },
};

void memlock_look_neighbours(struct memlock *m, enum memlock_context context)
{
	for (size_t i = 0; i < sizeof(neighbours) / sizeof(neighbours[0]);
	     i++) {
		struct memlock_row row;

		memlock_row_init(m, &row, context, neighbours[i].check);
		row.outcome = OUTCOME_OK;
		neighbours[i].look(m, &row);
		memlock_row_say(&row);
		if (strcmp(row.check, "cgroup_memory") == 0) {
			m->cgroup_B = row.limit_B == RECORD_NONE ?
					      MEMLOCK_UNLIMITED :
					      row.limit_B;
		}
	}
}
