/* SPDX-License-Identifier: BSD-3-Clause */
/* Facts about the NVLink fabric: NVML's state of each GPU, and the services. */
#include "probes/host/gpu_state.h"

#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/spawn.h"
#include "lib/base/str.h"
#include "probes/host/inventory.h"
#include "probes/host/sysfile.h"

/* ---- state of a GPU ------------------------------------------------------ */

/** Read the newest version of the state that the driver has into @f; false if
 *  it has none. */
static bool read_fabric(const struct nvml *nvml, nvmlDevice_t dev,
			struct nvml_fabric_v *f)
{
	struct nvml_fabric old = { 0 };

	for (unsigned int v = NVML_FABRIC_V3; v; v = v == NVML_FABRIC_V3 ?
						     NVML_FABRIC_V2 : 0) {
		*f = (struct nvml_fabric_v){ .version = v };
		if (NVML_SAYS(nvml, nvmlDeviceGetGpuFabricInfoV, dev, f)) {
			return true;
		}
	}
	*f = (struct nvml_fabric_v){ 0 };
	if (!NVML_SAYS(nvml, nvmlDeviceGetGpuFabricInfo, dev, &old)) {
		return false;
	}
	memcpy(f->cluster, old.cluster, sizeof(f->cluster));
	f->status = old.status;
	f->clique = old.clique;
	f->state = old.state;
	return true;
}

/* The field of four bits; a value without a word is shown as its number. */
static const char *const configurations[16] = {
	[2] = "incorrect_sysguid", [3] = "incorrect_chassis_sn",
	[4] = "no_partition", [5] = "insufficient_nvlinks",
	[6] = "incompatible_gpu_fw", [7] = "invalid_location",
	[8] = "gpu_state_invalid",
};

/** Fields that are true, joined by "+", or "healthy"; "" if the driver reports
 *  none of them. */
static void health_words(const struct nvml_fabric_v *f, struct str *out)
{
	static const struct {
		enum nvml_fabric_health shift;
		const char *word;
	} fields[] = {
		{ NVML_FABRIC_DEGRADED_BW, "degraded_bandwidth" },
		{ NVML_FABRIC_ROUTE_RECOVERY, "route_recovery" },
		{ NVML_FABRIC_ROUTE_UNHEALTHY, "route_unhealthy" },
		{ NVML_FABRIC_ACCESS_TIMEOUT, "access_timeout_recovery" },
	};
	unsigned int config = f->health >> NVML_FABRIC_CONFIGURATION & 0xf;
	bool known = f->summary != 0 || config != 0;

	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		unsigned int value = f->health >> fields[i].shift & 3;

		known = known || value != 0;
		if (value == 1) {
			str_addf(out, "%s%s", out->len ? "+" : "",
				 fields[i].word);
		}
	}
	if (config > 1) {
		str_addf(out, "%sincorrect_configuration:",
			 out->len ? "+" : "");
		if (configurations[config] != NULL) {
			str_add(out, configurations[config]);
		} else {
			str_addf(out, "%u", config);
		}
	}
	if (out->len == 0 && known) {
		str_add(out, f->summary == NVML_FABRIC_UNHEALTHY ? "unhealthy" :
			     f->summary == NVML_FABRIC_LIMITED ?
				     "limited_capacity" : "healthy");
	}
}

/** Return true if GPU @dev is made to be connected to NVSwitches: one of its
 *  NVLinks is, or it is a data-centre Blackwell, whose links are down before
 *  the fabric is ready. */
static bool has_switch(const struct nvml *nvml, nvmlDevice_t dev)
{
	unsigned int type;
	int major, minor;

	if (NVML_SAYS(nvml, nvmlDeviceGetCudaComputeCapability, dev, &major,
		      &minor) && major == 10) {
		return true;
	}
	for (unsigned int l = 0; l < NVML_LINKS_MAX; l++) {
		if (NVML_SAYS(nvml, nvmlDeviceGetNvLinkRemoteDeviceType, dev,
			      l, &type) && type == NVML_LINK_TO_SWITCH) {
			return true;
		}
	}
	return false;
}

void gpu_fabric_facts(const struct nvml *nvml, nvmlDevice_t dev,
		      const char *scope, json_t *facts)
{
	static const char *const states[] = {
		[NVML_FABRIC_NOT_STARTED] = "not_started",
		[NVML_FABRIC_IN_PROGRESS] = "in_progress",
		[NVML_FABRIC_COMPLETED] = "completed",
	};
	static const unsigned char none[16];
	struct str health = STR_INIT;
	struct nvml_fabric_v f;
	char uuid[GPU_UUID_HEX];
	bool good;

	if (!read_fabric(nvml, dev, &f) || f.state == NVML_FABRIC_NONE ||
	    f.state > NVML_FABRIC_COMPLETED) {
		return;
	}
	good = f.state == NVML_FABRIC_COMPLETED && f.status == NVML_SUCCESS;
	facts_add(facts, scope, "fabric_state",
		  f.state == NVML_FABRIC_COMPLETED && !good ?
			  nvml->nvmlErrorString(f.status) : states[f.state],
		  "", "nvml");
	health_words(&f, &health);
	if (health.len > 0) {
		facts_add(facts, scope, "fabric_health", str_text(&health), "",
			  "nvml");
	}
	str_release(&health);
	if (!good && has_switch(nvml, dev)) {
		facts_add(facts, scope, "nvswitch", "yes", "", "nvml");
	}
	/* an NVSwitch inside one machine has a clique of no cluster */
	if (memcmp(f.cluster, none, sizeof(none)) != 0) {
		facts_add(facts, scope, "fabric_cluster",
			  gpu_uuid_hex(f.cluster, uuid), "", "nvml");
		facts_addf(facts, scope, "fabric_clique", "", "nvml", "%u",
			   f.clique);
	}
}

/* ---- services of the node ------------------------------------------------ */

/** Maximum bytes that nv-fabricmanager --version may print; the rest is
 *  dropped. */
#define VERSION_MAX 1024
#define NVSWITCHES  "/proc/driver/nvidia-nvswitch/devices"
#define NVLSM	    "/opt/nvidia/nvlsm/sbin/nvlsm"

/** Add "running" or "not running" for the process @comm.  In a container the
 *  processes of the host, such as kthreadd, are not visible: no fact. */
static void add_service(const char *fact, const char *comm, json_t *facts)
{
	bool runs = process_find("", comm) > 0;

	if (runs || process_find("", "kthreadd") > 0) {
		facts_add(facts, "node", fact, runs ? "running" : "not running",
			  "", "/proc");
	}
}

void node_fabric_facts(const struct nvml *nvml, json_t *facts)
{
	char *argv[] = { (char *)"nv-fabricmanager", (char *)"--version",
			 NULL };
	char version[32] = "", driver[80] = "", names[64][64];
	struct spawn_status st;
	struct str out = STR_INIT;
	size_t n = sysfile_list(names, sizeof(names) / sizeof(*names),
				NVSWITCHES);

	/* the device files by which a process uses multicast objects */
	facts_add(facts, "node", "nvidia_caps",
		  sysfile_there("/dev/nvidia-caps") ? "yes" : "no", "", "/dev");
	if (n > 0) {
		facts_addf(facts, "node", "nvswitches", "", NVSWITCHES, "%zu",
			   n);
		add_service("fabric_manager", "nv-fabricmanage", facts);
	}
	/* from Blackwell on the switches have a subnet manager of their own */
	if (sysfile_there(NVLSM)) {
		add_service("nvlsm", "nvlsm", facts);
		facts_add(facts, "node", "ib_umad",
			  sysfile_there("/sys/module/ib_umad") ? "yes" : "no",
			  "", "/sys/module");
	}
	/* the versions of the manager and of the driver must be equal */
	if (spawn_find(argv[0], NULL, 0) &&
	    spawn_capture(argv, &out, NULL, VERSION_MAX,
			  clock_now_ns() + NS_PER_S, &st, NULL) == 0 &&
	    st.exit_code == 0) {
		inventory_driver_version(str_text(&out), version,
					 sizeof(version));
	}
	str_release(&out);
	if (version[0] != '\0' &&
	    NVML_SAYS(nvml, nvmlSystemGetDriverVersion, driver,
		      sizeof(driver))) {
		facts_add(facts, "node", "fabric_manager_version", version, "",
			  argv[0]);
		facts_add(facts, "node", "driver_loaded", driver, "", "nvml");
	}
}
