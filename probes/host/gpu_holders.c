/* SPDX-License-Identifier: BSD-3-Clause */
/* Who uses a GPU before we do: what another job, or one that has ended, holds
 * is no fault of the GPU, and is not to be disturbed. */
#include "probes/host/gpu_holders.h"

#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/str.h"
#include "probes/dl/nvml.h"
#include "probes/host/process.h"
#include "probes/host/sysfile.h"

#define HOLDERS_MAX  64
#define HOLDERS_SAID 2
#define DEPTH_MAX    64		/* of processes below each other */
#define ENVIRON_MAX  (256 * 1024)

/** SLURM_JOB_ID of process @pid into @job, "" where it has none, "?" where its
 *  environment may not be read. */
static void job_of(unsigned int pid, char job[32])
{
	char *vars = malloc(ENVIRON_MAX);
	int got = vars ? sysfile_read(vars, ENVIRON_MAX, "/proc/%u/environ",
				      pid) : -1;

	snprintf(job, 32, "%s", got < 0 ? "?" :
				process_env(vars, (size_t)got, "SLURM_JOB_ID"));
	free(vars);
}

static void say_holder(const struct nvml_process *p, const char *job,
		       struct str *out)
{
	char comm[32], dir[32];
	const struct passwd *user = NULL;
	struct stat st;

	snprintf(dir, sizeof(dir), "/proc/%u", p->pid);
	if (sysfile_read(comm, sizeof(comm), "%s/comm", dir) < 0) {
		str_addf(out, "pid %u (" GPU_UNSEEN, p->pid);
	} else {
		str_addf(out, "pid %u (%s", p->pid, comm);
	}
	if (stat(dir, &st) == 0) {
		user = getpwuid(st.st_uid);
		user ? str_addf(out, ", user %s", user->pw_name) :
		       str_addf(out, ", uid %u", (unsigned)st.st_uid);
	}
	if (p->memory_B < UINT64_C(1) << 50) {	/* else: not known */
		str_addf(out, ", %.3g GB", (double)p->memory_B / 1e9);
	}
	str_addf(out, job[0] == '?' ? ")" :
		      job[0]	    ? ", Slurm job %s)" :
				      ", no Slurm job)", job);
}

/** MPS's server is there for all of its clients. */
static bool is_service(unsigned int pid)
{
	char comm[32];

	return sysfile_read(comm, sizeof(comm), "/proc/%u/comm", pid) > 0 &&
	       str_starts(comm, "nvidia-");
}

/** What started process @pid, 0: it is not seen here. */
static unsigned int parent_of(unsigned int pid)
{
	char text[1024];
	const char *at = sysfile_read(text, sizeof(text), "/proc/%u/stat",
				      pid) > 0 ? strrchr(text, ')') : NULL;
	unsigned int parent = 0;

	return at && sscanf(at, ") %*c %u", &parent) == 1 ? parent : 0;
}

static bool is_same_program(unsigned int pid)
{
	char own[32] = "", comm[32] = "";

	return sysfile_read(own, sizeof(own), "/proc/self/comm") > 0 &&
	       sysfile_read(comm, sizeof(comm), "/proc/%u/comm", pid) > 0 &&
	       strcmp(own, comm) == 0;
}

/** Our program's process that started all of this run on this machine. */
static unsigned int start_of_run(void)
{
	unsigned int start = (unsigned int)getpid();

	for (int depth = 0; depth < DEPTH_MAX; depth++) {
		unsigned int parent = parent_of(start);

		if (parent == 0 || !is_same_program(parent)) {
			break;
		}
		start = parent;
	}
	return start;
}

/** Is process @pid of this run, that of @start and those below it? */
static bool is_below(unsigned int pid, unsigned int start)
{
	for (int depth = 0; depth < DEPTH_MAX && pid > 0; depth++) {
		if (pid == start) {
			return true;
		}
		pid = parent_of(pid);
	}
	return false;
}

static unsigned int ask(const char *uuid, struct nvml_process *list)
{
	const struct nvml *lib = dl_nvml(NULL);
	unsigned int n = HOLDERS_MAX;
	nvmlDevice_t dev;

	return lib && lib->nvmlDeviceGetHandleByUUID &&
			       lib->nvmlDeviceGetComputeRunningProcesses_v3 &&
			       lib->nvmlInit_v2() == NVML_SUCCESS &&
			       lib->nvmlDeviceGetHandleByUUID(uuid, &dev) ==
				       NVML_SUCCESS &&
			       lib->nvmlDeviceGetComputeRunningProcesses_v3(
				       dev, &n, list) == NVML_SUCCESS ?
		       n : 0;
}

void gpu_holders(const char *uuid, bool used, struct gpu_holders *h)
{
	struct nvml_process list[HOLDERS_MAX];
	unsigned int n = ask(uuid, list), start = n > 0 ? start_of_run() : 0;
	struct str out = STR_INIT;
	char job[32];

	*h = (struct gpu_holders){ .code = GPU_IN_USE };
	for (unsigned int i = 0; i < n && i < HOLDERS_MAX; i++) {
		if (is_service(list[i].pid) || is_below(list[i].pid, start) ||
		    (used && parent_of(list[i].pid) == 0)) {
			continue;
		}
		job_of(list[i].pid, job);
		h->code = job[0] ? h->code : GPU_BUSY;
		if (h->n++ < HOLDERS_SAID) {
			str_add(&out, h->n > 1 ? " and " : "");
			say_holder(&list[i], job, &out);
		}
	}
	if (h->n > HOLDERS_SAID) {
		str_addf(&out, " and %u more", h->n - HOLDERS_SAID);
	}
	str_copy(h->words, sizeof(h->words), str_text(&out));
	str_release(&out);
}
