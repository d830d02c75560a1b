/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_DL_NVML_H
#define PROBES_DL_NVML_H

#include <stddef.h>

#include "lib/base/dl.h"
#include "lib/base/err.h"

/*
 * The part of NVML that this program uses. Its header comes only with some
 * versions of the CUDA toolkit; this is the ABI of the versioned names.
 */
typedef struct nvmlDevice_st *nvmlDevice_t;

#define NVML_SUCCESS		 0
#define NVML_ERROR_NO_PERMISSION 4
#define NVML_ERROR_NO_DRIVER	 9	/* DRIVER_NOT_LOADED */
#define NVML_ERROR_GPU_IS_LOST	 15
#define NVML_ERROR_RESET_WANTED	 16	/* RESET_REQUIRED */
#define NVML_ERROR_OTHER_DRIVER	 18	/* LIB_RM_VERSION_MISMATCH */
#define NVML_ERROR_UNKNOWN	 999
#define NVML_UUID_SIZE		 96
#define NVML_BUS_SIZE		 32
#define NVML_VBIOS_SIZE		 32

struct nvml_pci_info {		/* nvmlPciInfo_t */
	char bus_legacy[16];
	unsigned int domain, bus, device;
	unsigned int pci_device_id, pci_subsystem_id;
	char bus_id[NVML_BUS_SIZE];	/* 00000000:1B:00.0 */
};

struct nvml_violation {		/* nvmlViolationTime_t */
	unsigned long long reference_us, violation_ns;
};

struct nvml_field {		/* nvmlFieldValue_t */
	unsigned int id, scope;
	long long asked_us, took_us;
	int type;		/* unsigned long long here */
	int code;		/* of this field */
	unsigned long long value;
};

struct nvml_use {		/* nvmlUtilization_t */
	unsigned int gpu, memory;	/* percent of the last sample's time */
};

struct nvml_fabric {		/* nvmlGpuFabricInfo_t */
	unsigned char cluster[16];	/* UUID */
	int status;		/* of a registration that is complete */
	unsigned int clique;
	unsigned char state;	/* NVML_FABRIC_.. */
};

struct nvml_fabric_v {		/* nvmlGpuFabricInfo_v3_t */
	unsigned int version;	/* NVML_FABRIC_V3 or, without summary, V2 */
	unsigned char cluster[16];
	int status;
	unsigned int clique;
	unsigned char state;
	unsigned int health;	/* see enum nvml_fabric_health */
	unsigned char summary;	/* NVML_FABRIC_HEALTHY, .. */
};

#define NVML_FABRIC_V2 \
	((unsigned int)offsetof(struct nvml_fabric_v, summary) | 2U << 24)
#define NVML_FABRIC_V3 ((unsigned int)sizeof(struct nvml_fabric_v) | 3U << 24)

struct nvml_process {		/* nvmlProcessInfo_t */
	unsigned int pid;
	unsigned long long memory_B;
	unsigned int gpu_instance, compute_instance;
};

/* Activity of a GPU between two samples, from Hopper on. */
typedef struct nvmlGpmSample_st *nvmlGpmSample_t;

struct nvml_gpm_metric {	/* nvmlGpmMetric_t */
	unsigned int id;	/* NVML_GPM_.. */
	int code;		/* of this one */
	double value;
	char *name, *long_name, *unit;
};

#define NVML_GPM_VERSION 1
#define NVML_GPM_MAX	 512	/* more than the library of today has */
struct nvml_gpm {		/* nvmlGpmMetricsGet_t */
	unsigned int version, n;
	nvmlGpmSample_t from, to;
	struct nvml_gpm_metric list[NVML_GPM_MAX];
};

/* nvmlGpmMetricId_t: of all SMs those that had work, of all warps those that
 * were there, each in percent; bytes by NVLink, MiB/s */
enum {
	NVML_GPM_SM = 2, NVML_GPM_WARPS = 3,
	NVML_GPM_NVLINK_RX = 60, NVML_GPM_NVLINK_TX = 61
};

enum {
	NVML_FABRIC_NONE, NVML_FABRIC_NOT_STARTED, NVML_FABRIC_IN_PROGRESS,
	NVML_FABRIC_COMPLETED
};

/* NVML_GPU_FABRIC_HEALTH_MASK_SHIFT_*: fields of two bits, 0 not supported, 1
 * true, 2 false; the last one has four bits and is an enumeration, 0 not
 * supported, 1 none */
enum nvml_fabric_health {
	NVML_FABRIC_DEGRADED_BW = 0, NVML_FABRIC_ROUTE_RECOVERY = 2,
	NVML_FABRIC_ROUTE_UNHEALTHY = 4, NVML_FABRIC_ACCESS_TIMEOUT = 6,
	NVML_FABRIC_CONFIGURATION = 8
};
/* NVML_GPU_FABRIC_HEALTH_SUMMARY_* */
enum {
	NVML_FABRIC_HEALTHY = 1, NVML_FABRIC_UNHEALTHY, NVML_FABRIC_LIMITED
};

/* nvmlMemoryErrorType_t, nvmlEccCounterType_t, nvmlPerfPolicyType_t */
enum { NVML_ECC_CORRECTED, NVML_ECC_UNCORRECTED };
enum { NVML_ECC_VOLATILE, NVML_ECC_AGGREGATE };
enum { NVML_POLICY_POWER, NVML_POLICY_THERMAL };
/* nvmlTemperatureSensors_t, nvmlClockType_t */
enum { NVML_TEMPERATURE_GPU };
enum { NVML_CLOCK_GRAPHICS, NVML_CLOCK_SM };
/* nvmlNvLinkErrorCounter_t; those behind it also count what is corrected */
enum { NVML_LINK_REPLAY, NVML_LINK_RECOVERY, NVML_LINK_CRC_FLIT };
/* The same as fields, from Hopper on; the scope is the link */
enum {
	NVML_FI_LINK_REPLAY = 161,
	NVML_FI_LINK_RECOVERY = 162,
	NVML_FI_LINK_CRC = 163
};
/* Repair that a GPU needs before it can be used again, from driver 555 on; see
 * enum nvml_recovery */
#define NVML_FI_RECOVERY 230
enum nvml_recovery {		/* nvmlDeviceGpuRecoveryAction_t */
	NVML_RECOVERY_NONE, NVML_RECOVERY_RESET, NVML_RECOVERY_REBOOT,
	NVML_RECOVERY_DRAIN_P2P, NVML_RECOVERY_DRAIN_RESET,
	NVML_RECOVERIES
};
/* nvmlIntNvLinkDeviceType_t */
enum { NVML_LINK_TO_GPU, NVML_LINK_TO_NPU, NVML_LINK_TO_SWITCH };
#define NVML_LINKS_MAX 18

/**
 * NVML, opened at run time: $GPUCHECK_NVML_LIB, else libnvidia-ml.so.1.
 */
#define NVML_POINTER(name, args) int (*name) args;
#define NVML_FUNCTIONS(F, OPT) \
	F(nvmlInit_v2, (void)) \
	F(nvmlShutdown, (void)) \
	F(nvmlDeviceGetCount_v2, (unsigned int *count)) \
	F(nvmlDeviceGetHandleByIndex_v2, (unsigned int index, \
		nvmlDevice_t *dev)) \
	F(nvmlDeviceGetName, (nvmlDevice_t dev, char *name, \
		unsigned int size)) \
	F(nvmlDeviceGetUUID, (nvmlDevice_t dev, char *uuid, \
		unsigned int size)) \
	F(nvmlDeviceGetPciInfo_v3, (nvmlDevice_t dev, \
		struct nvml_pci_info *pci)) \
	OPT(nvmlDeviceGetHandleByUUID, (const char *uuid, nvmlDevice_t *dev)) \
	OPT(nvmlDeviceGetEccMode, (nvmlDevice_t dev, unsigned int *now, \
		unsigned int *pending)) \
	OPT(nvmlDeviceGetPersistenceMode, (nvmlDevice_t dev, \
		unsigned int *mode)) \
	OPT(nvmlDeviceGetMigMode, (nvmlDevice_t dev, unsigned int *now, \
		unsigned int *pending)) \
	OPT(nvmlDeviceGetComputeMode, (nvmlDevice_t dev, int *mode)) \
	OPT(nvmlDeviceGetCudaComputeCapability, (nvmlDevice_t dev, \
		int *major, int *minor)) \
	OPT(nvmlDeviceGetGpuFabricInfo, (nvmlDevice_t dev, \
		struct nvml_fabric *fabric)) \
	OPT(nvmlDeviceGetGpuFabricInfoV, (nvmlDevice_t dev, \
		struct nvml_fabric_v *fabric)) \
	OPT(nvmlSystemGetDriverVersion, (char *version, unsigned int size)) \
	OPT(nvmlDeviceGetRemappedRows, (nvmlDevice_t dev, \
		unsigned int *corrected, unsigned int *uncorrected, \
		unsigned int *pending, unsigned int *failed)) \
	OPT(nvmlDeviceGetGpcClkVfOffset, (nvmlDevice_t dev, int *MHz)) \
	OPT(nvmlDeviceGetMemClkVfOffset, (nvmlDevice_t dev, int *MHz)) \
	OPT(nvmlDeviceGetCurrentClocksThrottleReasons, (nvmlDevice_t dev, \
		unsigned long long *reasons)) \
	OPT(nvmlDeviceGetViolationStatus, (nvmlDevice_t dev, int policy, \
		struct nvml_violation *time)) \
	OPT(nvmlDeviceGetTotalEccErrors, (nvmlDevice_t dev, int error, \
		int counter, unsigned long long *count)) \
	OPT(nvmlDeviceGetNvLinkState, (nvmlDevice_t dev, unsigned int link, \
		unsigned int *active)) \
	OPT(nvmlDeviceGetNvLinkErrorCounter, (nvmlDevice_t dev, \
		unsigned int link, int counter, unsigned long long *count)) \
	OPT(nvmlDeviceGetFieldValues, (nvmlDevice_t dev, int n, \
		struct nvml_field *fields)) \
	OPT(nvmlDeviceGetNvLinkRemoteDeviceType, (nvmlDevice_t dev, \
		unsigned int link, unsigned int *type)) \
	OPT(nvmlDeviceGetNvLinkRemotePciInfo_v2, (nvmlDevice_t dev, \
		unsigned int link, struct nvml_pci_info *pci)) \
	OPT(nvmlDeviceGetTopologyCommonAncestor, (nvmlDevice_t a, \
		nvmlDevice_t b, unsigned int *level)) \
	OPT(nvmlSystemGetCudaDriverVersion_v2, (int *version)) \
	OPT(nvmlDeviceGetUtilizationRates, (nvmlDevice_t dev, \
		struct nvml_use *use)) \
	OPT(nvmlDeviceGetTemperature, (nvmlDevice_t dev, int sensor, \
		unsigned int *celsius)) \
	OPT(nvmlDeviceGetClockInfo, (nvmlDevice_t dev, int clock, \
		unsigned int *MHz)) \
	OPT(nvmlDeviceGetPowerUsage, (nvmlDevice_t dev, \
		unsigned int *milliwatts)) \
	OPT(nvmlDeviceGetComputeRunningProcesses_v3, (nvmlDevice_t dev, \
		unsigned int *n, struct nvml_process *list)) \
	OPT(nvmlGpmSampleAlloc, (nvmlGpmSample_t *sample)) \
	OPT(nvmlGpmSampleFree, (nvmlGpmSample_t sample)) \
	OPT(nvmlGpmSampleGet, (nvmlDevice_t dev, nvmlGpmSample_t sample)) \
	OPT(nvmlGpmMetricsGet, (struct nvml_gpm *gpm)) \
	OPT(nvmlDeviceGetVbiosVersion, (nvmlDevice_t dev, char *version, \
		unsigned int size))

struct nvml {
	const char *(*nvmlErrorString)(int code);
	NVML_FUNCTIONS(NVML_POINTER, NVML_POINTER)
};

/** True if the NVML @lib has the function @call and the call succeeded. */
#define NVML_SAYS(lib, call, ...) \
	((lib)->call != NULL && (lib)->call(__VA_ARGS__) == NVML_SUCCESS)

/** The table, loaded once; NULL with @e when there is no NVML. */
const struct nvml *dl_nvml(struct err *e);

#endif
