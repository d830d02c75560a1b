/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An NVML of three GPUs: 0 and 1 on an NVLink switch, two links of 0 straight
 * to 2, one of 1 down.  GPU 1 has one memory error more each time somebody
 * looks, when $FAKE_NVML_LOOKS names a file to count in; with $FAKE_NVML_HANG
 * asking for more than the list of GPUs hangs.  Link 7 of GPU 1 has counted 500
 * replays; $FAKE_NVML_LINK=down: it is up for the first looks only, up: from
 * then on.  $FAKE_NVML_SICK=lost: GPU 1 is; recovery: it waits for a reset;
 * mismatch: the driver is of another version.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "probes/dl/nvml.h"

#define GPUS	  3		/* but with $FAKE_NVML_SMS, $FAKE_NVML_ALL */
#define GPUS_MAX  8
#define FIRST_LOOKS 4		/* before the run */
#define INVENTORY_LOOKS 6	/* the same, with those at who holds a GPU */
#define NOT_FOUND 6
#define NOT_SUPPORTED 3
#define ARGUMENT_VERSION_MISMATCH 25

struct nvmlDevice_st {
	int index;
};

static struct nvmlDevice_st gpus[GPUS_MAX] = {
	{ 0 }, { 1 }, { 2 }, { 3 }, { 4 }, { 5 }, { 6 }, { 7 }
};

#define FAKE(name, ...)       \
	int name(__VA_ARGS__); \
	int name(__VA_ARGS__)

static int is_sick(const char *how)
{
	const char *text = getenv("FAKE_NVML_SICK");

	return text != NULL && strcmp(text, how) == 0;
}

FAKE(nvmlInit_v2, void)
{
	const char *path = getenv("FAKE_NVML_LOOKS");
	int fd = path != NULL ?
			 open(path, O_WRONLY | O_CREAT | O_APPEND, 0600) :
			 -1;

	if (getenv("FAKE_NVML_INIT") != NULL) {	/* the driver is not loaded */
		sleep((unsigned int)strtoul(getenv("FAKE_NVML_INIT"), NULL,
					    10));
		unsetenv("FAKE_NVML_INIT");
	}
	if (fd >= 0) {
		if (write(fd, ".", 1) != 1) {
			abort();
		}
		close(fd);
	}
	return is_sick("mismatch") ? NVML_ERROR_OTHER_DRIVER : NVML_SUCCESS;
}

FAKE(nvmlShutdown, void)
{
	return NVML_SUCCESS;
}

const char *nvmlErrorString(int code);
const char *nvmlErrorString(int code)
{
	return code == NVML_SUCCESS	   ? "fine" :
	       code == NVML_ERROR_GPU_IS_LOST ? "GPU is lost" : "not found";
}

FAKE(nvmlDeviceGetCount_v2, unsigned int *count)
{
	*count = getenv("FAKE_NVML_ALL") ? GPUS_MAX :
		 getenv("FAKE_NVML_SMS") ? GPUS + 1 : GPUS;
	return NVML_SUCCESS;
}

FAKE(nvmlDeviceGetHandleByIndex_v2, unsigned int index, nvmlDevice_t *dev)
{
	*dev = &gpus[index];
	return index == 1 && is_sick("lost") ? NVML_ERROR_GPU_IS_LOST :
					       NVML_SUCCESS;
}

FAKE(nvmlDeviceGetName, nvmlDevice_t dev, char *name, unsigned int size)
{
	(void)dev;
	snprintf(name, size, "Fake GPU");
	return NVML_SUCCESS;
}

FAKE(nvmlDeviceGetUUID, nvmlDevice_t dev, char *uuid, unsigned int size)
{
	snprintf(uuid, size, "GPU-%d", dev->index);
	return NVML_SUCCESS;
}

static int set_bus(int index, struct nvml_pci_info *pci)
{
	snprintf(pci->bus_id, sizeof(pci->bus_id), "00000000:%02X:00.0",
		 26 + index);
	return NVML_SUCCESS;
}

FAKE(nvmlDeviceGetPciInfo_v3, nvmlDevice_t dev, struct nvml_pci_info *pci)
{
	return set_bus(dev->index, pci);
}

/* $FAKE_NVML_LOST=1: the GPU that broke, by fake_cuda.c, is GPU 1. */
static int is_lost(const char *uuid)
{
	const char *broke = getenv("FAKE_CUDA_BROKE");

	return getenv("FAKE_NVML_LOST") != NULL && broke != NULL &&
	       access(broke, F_OK) == 0 &&
	       (strncmp(uuid, "GPU-1", 5) == 0 ||
		strncmp(uuid, "GPU-02", 6) == 0);
}

FAKE(nvmlDeviceGetHandleByUUID, const char *uuid, nvmlDevice_t *dev)
{
	if (is_lost(uuid)) {
		return NVML_ERROR_GPU_IS_LOST;
	}
	if (getenv("FAKE_NVML_HANG") != NULL) {
		pause();
	}
	if (strncmp(uuid, "GPU-0", 5) == 0 && uuid[5] > '0' &&
	    uuid[5] <= '0' + GPUS) {	/* as fake_cuda.c has it */
		*dev = &gpus[uuid[5] - '1'];
		return NVML_SUCCESS;
	}
	if (strncmp(uuid, "GPU-", 4) != 0 || uuid[4] < '0' ||
	    uuid[4] >= '0' + GPUS) {
		return NOT_FOUND;
	}
	*dev = &gpus[uuid[4] - '0'];
	return NVML_SUCCESS;
}

FAKE(nvmlDeviceGetEccMode, nvmlDevice_t dev, unsigned int *now,
     unsigned int *pending)
{
	(void)dev;
	*now = *pending = 1;
	return NVML_SUCCESS;
}

/* $FAKE_NVML_MIG has the numbers of those that are divided. */
FAKE(nvmlDeviceGetMigMode, nvmlDevice_t dev, unsigned int *now,
     unsigned int *pending)
{
	const char *text = getenv("FAKE_NVML_MIG");

	*now = *pending = text != NULL && strchr(text, '0' + dev->index);
	return NVML_SUCCESS;
}

/* $FAKE_NVML_MODE is that of GPU 1. */
FAKE(nvmlDeviceGetComputeMode, nvmlDevice_t dev, int *mode)
{
	const char *text = getenv("FAKE_NVML_MODE");

	*mode = text != NULL && dev->index == 1 ?
			(int)strtol(text, NULL, 10) : 0;
	return NVML_SUCCESS;
}

FAKE(nvmlDeviceGetCudaComputeCapability, nvmlDevice_t dev, int *major,
     int *minor)
{
	(void)dev;
	*major = 9;
	*minor = 0;
	return NVML_SUCCESS;
}

/* Word number @i of those in the variable @name, NULL: it has none. */
static const char *word(const char *name, int i)
{
	const char *at = getenv(name);

	for (; at && i > 0; i--) {
		at = strchr(at, ' ');
		at += at ? 1 : 0;
	}
	return at;
}

/*
 * $FAKE_NVML_FABRIC: "STATE,STATUS,HEALTH,SUMMARY,CLUSTER,CLIQUE ...", a word
 * for each GPU, numbers of NVML, missing ones 0; without it no GPU supports a
 * fabric.  $FAKE_NVML_FABRIC_V is the newest version of the struct (3).
 */
FAKE(nvmlDeviceGetGpuFabricInfoV, nvmlDevice_t dev,
     struct nvml_fabric_v *fabric)
{
	const char *newest = getenv("FAKE_NVML_FABRIC_V");
	unsigned int version = fabric->version, last = version >> 24;
	const char *at = word("FAKE_NVML_FABRIC", dev->index);
	unsigned long n[6] = { 0 };

	if (last > strtoul(newest ? newest : "3", NULL, 10)) {
		return ARGUMENT_VERSION_MISMATCH;
	}
	for (int i = 0; at && i < 6; i++) {
		char *end;

		n[i] = strtoul(at, &end, 0);
		at = *end == ',' ? end + 1 : NULL;
	}
	fabric->state = (unsigned char)n[0];
	fabric->status = (int)n[1];
	fabric->health = (unsigned int)n[2];
	fabric->clique = (unsigned int)n[5];
	memset(fabric->cluster, (int)n[4], sizeof(fabric->cluster));
	if (last >= 3) {	/* version 2 has no room for it */
		fabric->summary = (unsigned char)n[3];
	}
	return NVML_SUCCESS;
}

FAKE(nvmlDeviceGetGpuFabricInfo, nvmlDevice_t dev, struct nvml_fabric *fabric)
{
	struct nvml_fabric_v v = { .version = 1 << 24 };

	nvmlDeviceGetGpuFabricInfoV(dev, &v);
	*fabric = (struct nvml_fabric){ .status = v.status, .state = v.state,
					.clique = v.clique };
	memcpy(fabric->cluster, v.cluster, sizeof(fabric->cluster));
	return NVML_SUCCESS;
}

FAKE(nvmlSystemGetDriverVersion, char *version, unsigned int size)
{
	snprintf(version, size, "580.159.04");
	return NVML_SUCCESS;
}

FAKE(nvmlDeviceGetPersistenceMode, nvmlDevice_t dev, unsigned int *mode)
{
	(void)dev;
	*mode = getenv("FAKE_NVML_PERSISTENCE") != NULL;
	return NVML_SUCCESS;
}

FAKE(nvmlDeviceGetVbiosVersion, nvmlDevice_t dev, char *version,
     unsigned int size)
{
	snprintf(version, size, "96.00.%02d", dev->index);
	return NVML_SUCCESS;
}

FAKE(nvmlSystemGetCudaDriverVersion_v2, int *version)
{
	*version = 12080;
	return NVML_SUCCESS;
}

/* How often somebody has looked. */
static unsigned long long looks(void)
{
	const char *path = getenv("FAKE_NVML_LOOKS");
	struct stat st = { 0 };

	return path != NULL && stat(path, &st) == 0 ?
		       (unsigned long long)st.st_size : 0;
}

FAKE(nvmlDeviceGetTotalEccErrors, nvmlDevice_t dev, int error, int counter,
     unsigned long long *count)
{
	(void)counter;
	*count = dev->index == 1 && error == NVML_ECC_UNCORRECTED ? looks() :
								    0;
	return NVML_SUCCESS;
}

/* $FAKE_NVML_CLOCKS: "0x4 0x40", one for each GPU. */
FAKE(nvmlDeviceGetCurrentClocksThrottleReasons, nvmlDevice_t dev,
     unsigned long long *reasons)
{
	const char *said = word("FAKE_NVML_CLOCKS", dev->index);

	*reasons = said ? strtoull(said, NULL, 16) :
			  dev->index == 2 && !getenv("FAKE_NVML_SMS") ? 0x68 :
									0x4;
	return NVML_SUCCESS;
}

/* Does $FAKE_NVML_LINK say that it is down at this look? */
static int is_turned_down(nvmlDevice_t dev, unsigned int link)
{
	const char *turn = getenv("FAKE_NVML_LINK");

	return turn != NULL && dev->index == 1 && link == 7 &&
	       (looks() > FIRST_LOOKS) == (strcmp(turn, "down") == 0);
}

FAKE(nvmlDeviceGetNvLinkState, nvmlDevice_t dev, unsigned int link,
     unsigned int *active)
{
	*active = dev->index == 2 ? link < 2 : dev->index == 0 || link != 5;
	*active = *active && !is_turned_down(dev, link);
	return NVML_SUCCESS;
}

FAKE(nvmlDeviceGetNvLinkErrorCounter, nvmlDevice_t dev, unsigned int link,
     int counter, unsigned long long *count)
{
	(void)link;
	*count = dev->index == 2 && counter == NVML_LINK_RECOVERY;
	return NVML_SUCCESS;
}

/* GPU 2 is too old for fields. */
FAKE(nvmlDeviceGetFieldValues, nvmlDevice_t dev, int n,
     struct nvml_field *fields)
{
	for (int i = 0; i < n; i++) {
		fields[i].code = dev->index == 2 ? NOT_SUPPORTED : NVML_SUCCESS;
		fields[i].value =
			fields[i].id == NVML_FI_RECOVERY ?
				dev->index == 1 && is_sick("recovery") :
			fields[i].id != NVML_FI_LINK_REPLAY ? 0 :
			dev->index == 1 && fields[i].scope == 7 ? 500 :
			dev->index == 0;
	}
	return NVML_SUCCESS;
}

/* Where a link leads: a GPU, or -1 for the switch. */
static int end_of(nvmlDevice_t dev, unsigned int link)
{
	return dev->index == 2 ? 0 : dev->index == 0 && link < 2 ? 2 : -1;
}

FAKE(nvmlDeviceGetNvLinkRemoteDeviceType, nvmlDevice_t dev, unsigned int link,
     unsigned int *type)
{
	*type = end_of(dev, link) < 0 ? NVML_LINK_TO_SWITCH : NVML_LINK_TO_GPU;
	return NVML_SUCCESS;
}

FAKE(nvmlDeviceGetNvLinkRemotePciInfo_v2, nvmlDevice_t dev, unsigned int link,
     struct nvml_pci_info *pci)
{
	return set_bus(end_of(dev, link), pci);
}

FAKE(nvmlDeviceGetTopologyCommonAncestor, nvmlDevice_t a, nvmlDevice_t b,
     unsigned int *level)
{
	(void)a;
	(void)b;
	*level = 30;
	return NVML_SUCCESS;
}

static void add_process(unsigned int *n, struct nvml_process *list,
			const char *at)
{
	if (at && *at != '-') {		/* "- 4711": GPU 1's */
		list[*n].memory_B = 142000000000;
		list[(*n)++].pid = (unsigned int)strtoul(at, NULL, 10);
	}
}

/*
 * $FAKE_NVML_PIDS: the first works on GPU 0, and so on.  $FAKE_NVML_JOIN: the
 * same, once we hold that GPU, or after the first looks.  Who holds a GPU of
 * fake_cuda.c is there, too, by the number $FAKE_NVML_OWN of its host.
 */
FAKE(nvmlDeviceGetComputeRunningProcesses_v3, nvmlDevice_t dev,
     unsigned int *n, struct nvml_process *list)
{
	const char *held = getenv("FAKE_CUDA_HELD"), *own;
	int ours = held && strtol(held, NULL, 10) == dev->index;
	char number[16];

	snprintf(number, sizeof(number), "%d", (int)getpid());
	own = getenv("FAKE_NVML_OWN");
	*n = 0;
	add_process(n, list, ours ? own ? own : number : NULL);
	add_process(n, list, word("FAKE_NVML_PIDS", dev->index));
	if (ours || looks() > INVENTORY_LOOKS) {
		add_process(n, list, word("FAKE_NVML_JOIN", dev->index));
	}
	return NVML_SUCCESS;
}

FAKE(nvmlDeviceGetUtilizationRates, nvmlDevice_t dev, struct nvml_use *use)
{
	(void)dev;
	*use = (struct nvml_use){ .gpu = 100 };
	return NVML_SUCCESS;
}

FAKE(nvmlDeviceGetPowerUsage, nvmlDevice_t dev, unsigned int *milliwatts)
{
	*milliwatts = 124000 + 1000 * (unsigned int)dev->index;
	return NVML_SUCCESS;
}

/* A sample is its GPU; GPU 2 has none, as those before Hopper.  GPU 1 runs one
 * thread, and GPU 0 waits in NCCL; or, with $FAKE_NVML_SMS, "18.2:5.5 97:40",
 * each GPU has so many of its SMs and of its warps at work, in percent. */
FAKE(nvmlGpmSampleAlloc, nvmlGpmSample_t *sample)
{
	*sample = malloc(sizeof(int));
	return NVML_SUCCESS;
}

FAKE(nvmlGpmSampleFree, nvmlGpmSample_t sample)
{
	free(sample);
	return NVML_SUCCESS;
}

FAKE(nvmlGpmSampleGet, nvmlDevice_t dev, nvmlGpmSample_t sample)
{
	*(int *)(void *)sample = dev->index;
	return dev->index == 2 && !getenv("FAKE_NVML_SMS") ? NOT_SUPPORTED :
							     NVML_SUCCESS;
}

FAKE(nvmlGpmMetricsGet, struct nvml_gpm *gpm)
{
	int gpu = *(int *)(void *)gpm->to;
	const char *said = word("FAKE_NVML_SMS", gpu);
	double sms = gpu ? 0.76 : 18.2, warps = gpu ? 0.01 : 5.5;

	if (said && sscanf(said, "%lf:%lf", &sms, &warps) != 2) {
		abort();
	}
	for (unsigned int i = 0; i < gpm->n; i++) {
		struct nvml_gpm_metric *m = &gpm->list[i];

		m->code = m->id == NVML_GPM_NVLINK_TX ? NOT_SUPPORTED :
							NVML_SUCCESS;
		m->value = m->id == NVML_GPM_SM	   ? sms :
			   m->id == NVML_GPM_WARPS ? warps : 0;
	}
	return gpm->version == NVML_GPM_VERSION &&
			       gpu == *(int *)(void *)gpm->from ?
		       NVML_SUCCESS : NOT_SUPPORTED;
}
