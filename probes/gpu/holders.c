/* SPDX-License-Identifier: BSD-3-Clause */
/* Who uses a GPU before we do: what another job, or one that has ended, holds
 * is no fault of the GPU, and is not to be disturbed. */
#include "probes/gpu/seat.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/str.h"
#include "probes/dl/nvml.h"
#include "probes/host/sysfile.h"

#define HOLDERS_MAX  64
#define HOLDERS_SAID 2
#define ENVIRON_MAX  (256 * 1024)

/** SLURM_JOB_ID of process @pid into @job, "" where it has none, "?" where its
 *  environment may not be read. */
static void job_of(unsigned int pid, char job[32])
{
	static const char name[] = "SLURM_JOB_ID=";
	char *vars = sysfile_whole(ENVIRON_MAX, "/proc/%u/environ", pid);
	const char *at = vars;

	snprintf(job, 32, "%s", vars ? "" : "?");
	/* closed by the NUL that sysfile_whole() adds */
	for (; at && *at; at += strlen(at) + 1) {
		if (str_starts(at, name)) {
			snprintf(job, 32, "%s", at + strlen(name));
		}
	}
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
		str_addf(out, "pid %u (not visible here", p->pid);
	} else {
		str_addf(out, "pid %u (%s", p->pid, comm);
	}
	if (stat(dir, &st) == 0) {
		user = getpwuid(st.st_uid);
		user ? str_addf(out, ", user %s", user->pw_name) :
		       str_addf(out, ", uid %u", (unsigned)st.st_uid);
	}
	if (p->memory_B < UINT64_C(1) << 50) {	/* else: not known */
		str_addf(out, ", %.1f GB", (double)p->memory_B / 1e9);
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

unsigned int gpu_holders(const char *uuid, char *buf, size_t size, bool *slurm)
{
	struct nvml_process list[HOLDERS_MAX];
	const struct nvml *lib = dl_nvml(NULL);
	unsigned int n = HOLDERS_MAX, held = 0;
	struct str out = STR_INIT;
	nvmlDevice_t dev;
	char job[32];

	buf[0] = '\0';
	*slurm = true;
	if (!lib || !lib->nvmlDeviceGetHandleByUUID ||
	    !lib->nvmlDeviceGetComputeRunningProcesses_v3 ||
	    lib->nvmlInit_v2() != NVML_SUCCESS ||
	    lib->nvmlDeviceGetHandleByUUID(uuid, &dev) != NVML_SUCCESS ||
	    lib->nvmlDeviceGetComputeRunningProcesses_v3(dev, &n, list) !=
		    NVML_SUCCESS) {
		return 0;
	}
	for (unsigned int i = 0; i < n && i < HOLDERS_MAX; i++) {
		if (is_service(list[i].pid)) {
			continue;
		}
		job_of(list[i].pid, job);
		*slurm = *slurm && job[0];
		if (held++ < HOLDERS_SAID) {
			str_add(&out, held > 1 ? " and " : "");
			say_holder(&list[i], job, &out);
		}
	}
	if (held > HOLDERS_SAID) {
		str_addf(&out, " and %u more", held - HOLDERS_SAID);
	}
	snprintf(buf, size, "%s", str_text(&out));
	str_release(&out);
	return held;
}
