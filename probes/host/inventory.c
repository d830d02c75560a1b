/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/host/inventory.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/dl.h"
#include "lib/base/spawn.h"
#include "lib/base/str.h"
#include "lib/data/json.h"
#include "lib/data/record_rows.h"
#include "probes/dl/cuda.h"
#include "probes/dl/nccl.h"
#include "probes/dl/nvml.h"
#include "probes/dl/pmi2.h"
#include "probes/dl/verbs.h"
#include "probes/host/gpu_state.h"
#include "probes/host/interface.h"
#include "probes/host/nccl_conf.h"
#include "probes/host/port.h"
#include "probes/host/sysfile.h"

/* ---- lldp ---------------------------------------------------------------- */

#define TEXT_MAX (1024 * 1024)
#define PATIENCE_NS NS_PER_S

/* The first of the array @key of @obj: in json0 each thing is an array. */
static const json_t *first_of(const json_t *obj, const char *key)
{
	return json_array_get(json_object_get(obj, key), 0);
}

static const char *value_of(const json_t *obj, const char *key)
{
	return fact_of(first_of(obj, key)).value;
}

size_t lldp_parse(const char *text, size_t len,
		  struct lldp_neighbour list[LLDP_MAX])
{
	json_t *json = json_parse(text, len, NULL);
	const json_t *interface;
	size_t n = 0, i;

	json_array_foreach(json_object_get(first_of(json, "lldp"), "interface"),
			   i, interface) {
		const json_t *chassis = first_of(interface, "chassis");
		const json_t *port = first_of(interface, "port");
		const char *name = value_of(chassis, "name");
		size_t k = 0;

		if (n == LLDP_MAX) {
			break;
		}
		STR_COPY(list[n].interface, inventory_part(interface).name);
		STR_COPY(list[n].name,
			 name[0] != '\0' ? name : value_of(chassis, "id"));
		/* a MAC does not help to find a cable */
		name = json_member(first_of(port, "id"), "type");
		STR_COPY(list[n].port,
			 value_of(port,
				  strcmp(name, "mac") == 0 ? "descr" : "id"));
		while (strcmp(list[k].interface, list[n].interface) != 0) {
			k++;
		}
		n += k == n && list[n].interface[0] && list[n].name[0];
	}
	json_decref(json);
	return n;
}

/* ---- facts --------------------------------------------------------------- */

static void add_switch(json_t *facts, const char *scope, const char *name,
		       const char *port)
{
	facts_add(facts, scope, "switch", name, "", "lldpctl");
	if (port[0] != '\0') {
		facts_add(facts, scope, "switch_port", port, "", "lldpctl");
	}
}

/* Return true if @interface is @netdev or the bond that @netdev is in. */
static bool carries(const char *root, const char *interface,
		    const char *netdev)
{
	char path[PATH_MAX], to[PATH_MAX];
	const char *slash;
	ssize_t n;

	if (strcmp(interface, netdev) == 0) {
		return true;
	}
	snprintf(path, sizeof(path), "%.2000s/sys/class/net/%s/master", root,
		 interface);
	n = readlink(path, to, sizeof(to) - 1);
	to[n > 0 ? n : 0] = '\0';
	slash = strrchr(to, '/');
	return netdev[0] != '\0' && slash != NULL &&
	       strcmp(slash + 1, netdev) == 0;
}

/* Facts "switch" and "switch_port" of interfaces, and of the RoCE ports among
 * @ports whose netdev they are, or are in a bond of, names apart by ", ".  By
 * lldpctl, where lldpd lets this user ask it, in a second at most; of a machine
 * that was recorded below @root, by its file LLDP_ANSWER. */
static void lldp_facts(const char *root, const struct port *ports, size_t n,
		       json_t *facts)
{
	static const char *const sockets[] = { "/run/lldpd.socket",
					       "/run/lldpd/lldpd.socket" };
	char *const argv[] = { (char *)"lldpctl", (char *)"-f", (char *)"json0",
			       NULL };
	struct lldp_neighbour *list = calloc(LLDP_MAX, sizeof(*list));
	struct spawn_status st;
	struct str text = STR_INIT, names = STR_INIT, switch_ports = STR_INIT;
	char path[PATH_MAX];
	size_t n_list;

	if (list == NULL) {
		return;
	}
	if (root[0] != '\0') {
		snprintf(path, sizeof(path), "%.2000s/" LLDP_ANSWER, root);
		str_add_file(&text, open(path, O_RDONLY | O_CLOEXEC), TEXT_MAX);
	} else if (access(sockets[0], R_OK | W_OK) == 0 ||
		   access(sockets[1], R_OK | W_OK) == 0) {
		/* lldpctl of another user would wait for nothing */
		spawn_capture(argv, &text, NULL, TEXT_MAX,
			      clock_now_ns() + PATIENCE_NS, &st, NULL);
	}
	n_list = lldp_parse(str_text(&text), text.len, list);
	for (size_t i = 0; i < n_list; i++) {
		add_switch(facts, list[i].interface, list[i].name,
			   list[i].port);
	}
	for (size_t i = 0; i < n; i++) {
		str_reset(&names);
		str_reset(&switch_ports);
		for (size_t k = 0; k < n_list; k++) {
			if (carries(root, list[k].interface, ports[i].netdev)) {
				str_addf(&names, "%s%s", names.len > 0 ? ", " :
					 "", list[k].name);
				str_addf(&switch_ports, "%s%s",
					 switch_ports.len > 0 ? ", " : "",
					 list[k].port);
			}
		}
		if (names.len > 0) {
			add_switch(facts, ports[i].name, str_text(&names),
				   str_text(&switch_ports));
		}
	}
	str_release(&names);
	str_release(&switch_ports);
	str_release(&text);
	free(list);
}

/* ---- libraries ----------------------------------------------------------- */

/*
 * Which optional libraries this machine has.  They are opened but not
 * initialised: a sick driver must not hang "gpucheck version".
 */

#define ALSO_MAX 360	/* bytes that fit a fact */

void nccl_also(const struct nccl *nccl, struct str *out)
{
	struct nccl_files *f = nccl_find("");
	char path[PATH_MAX];

	dl_path((void *)nccl->ncclGetVersion, path);
	for (size_t i = 0; f && i < f->n; i++) {
		const size_t before = out->len;

		if (strcmp(f->list[i].path, path) == 0) {
			continue;
		}
		str_addf(out, "%s%s%s%s", before > 0 ? ", " : "",
			 f->list[i].version, f->list[i].version[0] ? " " : "",
			 f->list[i].path);
		if (out->len > ALSO_MAX) {
			str_cut(out, before);
			str_addf(out, " and %zu more", f->n - i);
			break;
		}
	}
	free(f);
}

/* Each returns an address inside the library (for its path), or NULL with @e;
 * @version stays "" when the library has no function that tells. */
typedef void *library_open_fn(char version[32], struct err *e);

static void *open_nccl(char version[32], struct err *e)
{
	const struct nccl *nccl = dl_nccl(e);
	int code = 0;

	if (nccl == NULL) {
		return NULL;
	}
	nccl->ncclGetVersion(&code);
	dl_nccl_version_text(code, version);
	return (void *)nccl->ncclGetVersion;
}

static void *open_cuda(char version[32], struct err *e)
{
	const struct cuda *cu = dl_cuda(e);
	int code = 0;

	if (cu == NULL) {
		return NULL;
	}
	if (cu->driver_version(&code) == CUDA_SUCCESS) {
		snprintf(version, 32, "%d.%d", code / 1000, code % 1000 / 10);
	}
	return (void *)cu->driver_version;
}

static void *open_nvml(char version[32], struct err *e)
{
	const struct nvml *nvml = dl_nvml(e);

	(void)version;
	return nvml != NULL ? (void *)nvml->nvmlInit_v2 : NULL;
}

static void *open_pmi2(char version[32], struct err *e)
{
	const struct pmi2 *pmi2 = dl_pmi2(e);

	(void)version;
	return pmi2 != NULL ? (void *)pmi2->PMI2_Init : NULL;
}

static void *open_verbs(char version[32], struct err *e)
{
	const struct verbs *verbs = dl_verbs(e);

	(void)version;
	return verbs != NULL ? (void *)verbs->get_device_list : NULL;
}

static const struct {
	const char *name, *why_name;
	library_open_fn *open;
} libraries[] = {
	{ "nccl", "nccl_why", open_nccl },
	{ "cuda", "cuda_why", open_cuda },
	{ "nvml", "nvml_why", open_nvml },
	{ "pmi2", "pmi2_why", open_pmi2 },
	{ "verbs", "verbs_why", open_verbs },
};

/* "1.14.44.0" of ".../libibverbs.so.1.14.44.0". */
static void version_of_path(const char *path, char version[32])
{
	const char *so = strstr(path, ".so.");

	if (so != NULL) {
		str_copy(version, 32, so + strlen(".so."));
	}
}

json_t *probes_libraries(void)
{
	json_t *out = json_object();
	char path[PATH_MAX];

	for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++) {
		char version[32] = "";
		struct err e = { 0 };
		struct str also = STR_INIT;
		const char *in = "";
		void *inside = libraries[i].open(version, &e);

		if (inside == NULL) {
			json_object_set_new(out, libraries[i].name,
					    json_null());
			json_object_set_new(out, libraries[i].why_name,
					    json_text(e.text));
			continue;
		}
		dl_path(inside, path);
		if (version[0] == '\0') {
			version_of_path(path, version);
		}
		if (libraries[i].open == open_nccl) {
			nccl_also(dl_nccl(NULL), &also);
			in = dl_nccl(NULL)->in;
		}
		json_object_set_new(out, libraries[i].name,
				    json_pack("{s:s,s:s,s:s,s:s}", "version",
					      version, "path", path, "in", in,
					      "also", str_text(&also)));
		str_release(&also);
	}
	return out;
}

void torch_facts(struct nccl_torch_look *l, int64_t deadline_ns, json_t *facts)
{
	static const char source[] = "python3";
	struct err why = { 0 };

	if (nccl_torch_end(l, deadline_ns, &why) < 0) {
		facts_add(facts, "node", "torch_nccl", INFO_NONE, "", source);
		facts_add(facts, "node", "torch_nccl_note", why.text, "",
			  source);
		return;
	}
	facts_add(facts, "node", "torch_nccl", l->path, "", source);
	if (l->version[0] != '\0') {
		facts_add(facts, "node", "torch_nccl_version", l->version, "",
			  source);
	}
}

/* ---- inventory host ------------------------------------------------------ */

#define FILE_TEXT 1024

extern char **environ;

static void read_system(json_t *out, json_t *facts, const char *root)
{
	static const char driver[] = "/proc/driver/nvidia/version";
	char text[FILE_TEXT], host[256] = "", version[64];
	struct utsname u;

	gethostname(host, sizeof(host) - 1);
	json_object_set_new(out, "host", json_string(host));
	facts_add(facts, "node", "host", host, "", "gethostname");
	sysfile_read(text, sizeof(text), "%s/proc/sys/kernel/random/boot_id",
		     root);
	json_object_set_new(out, "boot_id", json_string(text));
	facts_add(facts, "node", "boot_id", text, "", "/proc");
	if (uname(&u) == 0) {
		facts_add(facts, "node", "kernel", u.release, "", "uname");
	}
	sysfile_read(text, sizeof(text), "%s%s", root, driver);
	inventory_driver_version(text, version, sizeof(version));
	if (version[0] != '\0') {
		json_object_set_new(out, "driver", json_string(version));
		facts_add(facts, "node", "driver", version, "", driver);
	}
}

static const struct {
	int resource;
	bool hard;
	const char *fact, *unit;
} limits[] = {
	{ RLIMIT_MEMLOCK, false, "memlock_soft", "B" },
	{ RLIMIT_MEMLOCK, true, "memlock_hard", "B" },
	{ RLIMIT_NOFILE, false, "nofile_soft", "" },
	{ RLIMIT_NOFILE, true, "nofile_hard", "" },
};

static json_t *port_json(const char *root, const struct port *p)
{
	struct inventory_part part = {
		.name = p->name, .state = p->state, .software = p->software,
		.link_layer = p->link_layer, .subnet = p->subnet,
		.pkeys = json_array(), .line_GB_s = port_line_GB_s(p),
		.rate_Gb_s = p->rate_Gb_s,
	};
	struct pcie_place place;
	json_t *j;

	for (int i = 0; i < p->n_pkeys; i++) {
		json_array_append_new(part.pkeys, json_integer(p->pkeys[i]));
	}
	pcie_find_hca(root, p->hca, &place);
	part.bus = pcie_bus(&place);
	j = schema_json(inventory_part_fields, &part);
	json_decref(part.pkeys);
	return j;
}

/* Read the interfaces of the running machine; a recorded one (@root) has
 * none. */
static void read_interfaces(json_t *out, json_t *facts, const char *root,
			    const struct port *ports, size_t n_ports)
{
	struct interface *list = calloc(INTERFACE_MAX, sizeof(*list));
	json_t *entries = json_array();
	size_t n = list != NULL && root[0] == '\0' ?
			   interface_list(list, INTERFACE_MAX) :
			   0;
	char ip[IP_TEXT];

	for (size_t i = 0; i < n; i++) {
		const char *name = list[i].name;
		double line_GB_s;
		size_t k;

		json_array_append_new(entries, interface_json(&list[i]));
		facts_addf(facts, name, "address", "", "getifaddrs",
			   "%s/%d, mtu %lld, %s",
			   ip_text(&list[i].net.ip, ip, sizeof(ip)),
			   list[i].net.prefix, (long long)list[i].mtu_B,
			   list[i].state);
		/* an interface has an entry for each of its addresses: the rest
		 * does not depend on them */
		for (k = 0; strcmp(list[k].name, name) != 0; k++) {
		}
		if (k < i) {
			continue;
		}
		if (list[i].mtu_B > 0) {
			facts_addf(facts, name, "mtu", "B", "getifaddrs",
				   "%lld", (long long)list[i].mtu_B);
		}
		line_GB_s = interface_line_GB_s(root, name);
		if (isfinite(line_GB_s)) {
			facts_addf(facts, name, "line_rate", "GB/s",
				   "/sys/class/net", "%.6g", line_GB_s);
		}
		if (interface_is_ipoib(root, name)) {
			facts_add(facts, name, "ipoib", "yes", "",
				  "/sys/class/net");
		}
	}
	port_route_facts(ports, n_ports, list, n, facts);
	json_object_set_new(out, "interfaces", entries);
	free(list);
}

static void read_env(json_t *out, json_t *facts)
{
	json_t *env = json_object();
	char name[128];

	for (char **at = environ; *at != NULL; at++) {
		const char *equals = strchr(*at, '=');

		/* libraries that carry a job's data; other variables may be
		 * secrets */
		if ((!str_starts(*at, "NCCL_") && !str_starts(*at, "UCX_")) ||
		    equals == NULL || (size_t)(equals - *at) >= sizeof(name)) {
			continue;
		}
		snprintf(name, sizeof(name), "%.*s", (int)(equals - *at), *at);
		/* null without memory or valid UTF-8: then it is left out */
		json_object_set_new(env, name, json_string(equals + 1));
		facts_add(facts, "node", name, equals + 1, "", "environment");
	}
	json_object_set_new(out, "env", env);
}

size_t inventory_read_host(json_t *out, const char *root,
			   struct port ports[PORT_MAX])
{
	json_t *facts = json_array();
	size_t n = port_list(root, ports, PORT_MAX);
	json_t *conf;
	json_t *list;
	struct rlimit r;
	rlim_t value;

	read_system(out, facts, root);
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		if (getrlimit(limits[i].resource, &r) < 0) {
			continue;
		}
		value = limits[i].hard ? r.rlim_max : r.rlim_cur;
		if (value == RLIM_INFINITY) {
			facts_add(facts, "node", limits[i].fact, "unlimited",
				  "", "getrlimit");
		} else {
			facts_addf(facts, "node", limits[i].fact,
				   limits[i].unit, "getrlimit", "%llu",
				   (unsigned long long)value);
		}
	}
	list = json_array();
	for (size_t i = 0; i < n; i++) {
		json_array_append_new(list, port_json(root, &ports[i]));
		port_facts(&ports[i], facts);
	}
	json_object_set_new(out, "ports", list);
	read_interfaces(out, facts, root, ports, n);
	lldp_facts(root, ports, n, facts);
	/* read the settings that apply to NCCL, whose version is unknown
	 * here */
	conf = nccl_conf_read(root, 0);
	nccl_conf_facts(conf, root, facts);
	json_object_set_new(out, "nccl", conf);
	node_facts(root, facts);
	bond_facts(root, facts);
	read_env(out, facts);
	json_object_set_new(out, "facts", facts);
	return n;
}

/* ---- inventory ----------------------------------------------------------- */

#define CHILD_MAX_BYTES (1024 * 1024)
#define CHILD_MAX_FACTS 8192
/* A loaded driver takes 40 ms. */
#define SLOW_INIT_NS	NS_PER_S

/* Facts "data_direct" of HCAs, ConnectX-8 and later, that have a function of
 * their own beside the GPU: where it is below /sys. */
static void data_direct_facts(json_t *facts)
{
	struct {
		int (*mlx5dv_get_data_direct_sysfs_path)(struct ibv_context *,
							 char *, size_t);
	} mlx5;
	static const char *const names[] = { "libmlx5.so.1", NULL };
	const struct dl_sym syms[] = {
		{ .name = "mlx5dv_get_data_direct_sysfs_path" }, { 0 }
	};
	const struct verbs *verbs = dl_verbs(NULL);
	struct ibv_device **list = NULL;
	char path[512];
	int n = 0;

	if (verbs != NULL && dl_load(NULL, names, syms, &mlx5, NULL) != NULL) {
		list = verbs->get_device_list(&n);
	}
	for (int i = 0; list != NULL && i < n; i++) {
		struct ibv_context *ctx = verbs->open_device(list[i]);

		if (ctx == NULL) {
			continue;
		}
		if (mlx5.mlx5dv_get_data_direct_sysfs_path(
			    ctx, path, sizeof(path)) == 0) {
			facts_add(facts, verbs->get_device_name(list[i]),
				  "data_direct", path, "", "libmlx5");
		}
		verbs->close_device(ctx);
	}
	if (list != NULL) {
		verbs->free_device_list(list);
	}
}

/*
 * Print two lines: the list of the GPUs, then the facts about them: if the
 * driver hangs while it is asked for these, the list is there.
 */
int inventory_child_main(void)
{
	const struct nvml *nvml = dl_nvml(NULL);
	json_t *json, *facts = json_array();
	int64_t began_ns = clock_now_ns(), took_ns = 0;
	char path[PATH_MAX], version[32] = "";
	struct gpu_list list;
	void *inside;
	bool said;

	/* NVML counts its users; starting it takes 40 ms each time that there
	 * are none */
	if (nvml != NULL) {
		nvml->nvmlInit_v2(); /* each caller below checks the result */
		took_ns = clock_now_ns() - began_ns;
	}
	gpu_list_ask_driver(&list);
	json = schema_json(gpu_list_fields, &list);
	said = json_dumpfd(json, STDOUT_FILENO, JSON_COMPACT) == 0 &&
	       write(STDOUT_FILENO, "\n", 1) == 1;
	if (took_ns >= SLOW_INIT_NS) {
		facts_addf(facts, "node", "nvml_init", "s", "nvml", "%.1f",
			   (double)took_ns / 1e9);
	}
	/* libraries whose version can be read without a device */
	inside = open_verbs(version, NULL);
	if (inside != NULL) {
		version_of_path(dl_path(inside, path), version);
	}
	if (version[0] != '\0') {
		facts_add(facts, "node", "libibverbs", version, "", path);
	}
	data_direct_facts(facts);
	gpu_xid_facts(&list, facts);
	gpu_state_facts(&list, facts);
	said = said && json_dumpfd(facts, STDOUT_FILENO, JSON_COMPACT) == 0;
	json_decref(json);
	json_decref(facts);
	return said ? 0 : 3;
}

/* Take the two lines of the child, GPUs and facts; -1 with @e if the first is
 * missing or wrong. */
static int take_lines(const struct str *out, struct gpu_list *l, json_t *facts,
		      struct err *e)
{
	const char *text = str_text(out), *line = memchr(text, '\n', out->len);
	char value[5][160];
	json_t *json, *f;
	size_t i;
	int rc;

	if (line == NULL) {
		return err_set(e, EPROTO, "the list of GPUs is empty");
	}
	json = json_parse(text, (size_t)(line - text), e);
	rc = json != NULL ? gpu_list_parse(json, l, e) : -1;
	json_decref(json);
	if (rc < 0) {
		return rc;
	}
	line++;
	json = json_loadb(line, out->len - (size_t)(line - text), 0, NULL);
	if (json_array_size(json) <= CHILD_MAX_FACTS) {
		json_array_foreach(json, i, f) {
			static const char *const keys[] = {
				"scope", "fact", "value", "unit", "source",
			};
			rc = 0;
			for (int k = 0; k < 5 && rc == 0; k++) {
				rc = json_get_text(f, keys[k], value[k],
						   sizeof(value[k]), NULL);
			}
			if (rc == 0) {
				facts_add(facts, value[0], value[1], value[2],
					  value[3], value[4]);
			}
		}
	}
	json_decref(json);
	return 0;
}

int inventory_ask_gpus(const char *root, struct gpu_list *l, json_t *facts,
		       int64_t deadline_ns, struct err *e)
{
	char self[PATH_MAX], text[96];
	char *const argv[] = { self, (char *)"worker", (char *)"inventory",
			       NULL };
	struct str out = STR_INIT;
	struct spawn_status st;
	int rc = -1;

	if (root[0] != '\0') {
		snprintf(self, sizeof(self), "%.2000s/" INVENTORY_ANSWER, root);
		rc = str_add_file(&out, open(self, O_RDONLY | O_CLOEXEC),
				  CHILD_MAX_BYTES) == 0 ?
			     take_lines(&out, l, facts, NULL) :
			     -1;
		str_release(&out);
	}
	if (rc == 0) {
		return 0;
	}
	if (spawn_self(self, sizeof(self), e) == 0 &&
	    spawn_capture(argv, &out, NULL, CHILD_MAX_BYTES, deadline_ns, &st,
			  e) == 0) {
		rc = take_lines(&out, l, facts, NULL);
		if (st.exit_code != 0) {
			err_set(e, st.timed_out ? ETIMEDOUT : EIO,
				"the process that lists the GPUs failed: %s%s",
				spawn_status_text(&st, text, sizeof(text)),
				st.timed_out ? " (the driver hangs, or takes "
					       "long to start as persistence "
					       "mode is off)" : "");
		} else if (rc < 0) {
			err_set(e, EPROTO, "the GPU driver's list of GPUs "
					   "cannot be read");
		}
		if (rc == 0 && st.exit_code != 0) {
			STR_COPY(l->why, e != NULL ? e->text : "");
		}
	}
	str_release(&out);
	return rc;
}

static void write_gpus(json_t *out, const struct gpu_list *l)
{
	json_t *gpus = json_array(), *facts = inventory_seen(out).facts;
	const char *shows = getenv(CUDA_VISIBLE);
	int64_t divided = 0, hidden;

	for (size_t i = 0; i < l->n; i++) {
		const struct gpu_id *gpu = &l->gpus[i];
		char scope[32];

		snprintf(scope, sizeof(scope), "gpu%zu", i);
		divided += gpu->divided;
		if (gpu->hidden) {
			facts_addf(facts, "node", "gpu_hidden", "",
				   gpu->divided ? "MIG" : CUDA_VISIBLE,
				   "%s %s %s", gpu->uuid, gpu->bus, gpu->name);
			continue;
		}
		json_array_append_new(
			gpus, json_pack("{s:I,s:s,s:s,s:s}", "index",
					(json_int_t)i, "uuid", gpu->uuid,
					"bus", gpu->bus, "name", gpu->name));
		facts_add(facts, scope, "uuid", gpu->uuid, "", l->source);
		facts_add(facts, scope, "bus", gpu->bus, "", l->source);
		facts_add(facts, scope, "name", gpu->name, "", l->source);
	}
	json_object_set_new(out, "gpus", gpus);
	json_object_set_new(out, "gpu_source", json_string(l->source));
	hidden = (int64_t)(l->n - gpu_list_visible(l));
	facts_addf(facts, "node", "gpus_hidden", "", l->source, "%lld",
		   (long long)hidden);
	json_object_set_new(out, "gpus_divided", json_integer(divided));
	json_object_set_new(out, "gpus_hidden", json_integer(hidden - divided));
	json_object_set_new(out, "gpu_note", json_text(l->why));
	if (shows != NULL) {
		json_object_set_new(out, "gpus_shown", json_text(shows));
		facts_add(facts, "node", CUDA_VISIBLE, shows, "",
			  "environment");
	}
	if (l->why[0] != '\0') {
		facts_add(facts, "node", "gpu_note", l->why, "", l->source);
	}
}

/* The question to the GPU driver, in a thread: its child is slow to start, and
 * the rest is read meanwhile. */
struct inventory_ask {
	const char *root;
	struct gpu_list list;
	json_t *facts;
	int64_t deadline_ns;
	struct err why;
	int rc;
};

static void *ask_gpus(void *arg)
{
	struct inventory_ask *a = arg;

	a->rc = inventory_ask_gpus(a->root, &a->list, a->facts, a->deadline_ns,
				   &a->why);
	return NULL;
}

int inventory_read(json_t *out, const char *root, int64_t deadline_ns,
		   struct port ports[PORT_MAX], size_t *n_ports, struct err *e)
{
	struct inventory_ask a = {
		.root = root, .facts = json_array(), .deadline_ns = deadline_ns,
	};
	json_t *facts;
	pthread_t thread;
	bool beside = pthread_create(&thread, NULL, ask_gpus, &a) == 0;

	*n_ports = inventory_read_host(out, root, ports);
	if (beside) {
		pthread_join(thread, NULL);
	} else {
		ask_gpus(&a);
	}
	facts = inventory_seen(out).facts;
	json_array_extend(facts, a.facts);
	json_decref(a.facts);
	if (a.rc < 0) {
		gpu_list_read_proc(&a.list, "");
		gpu_list_apply_visible(&a.list, getenv(CUDA_VISIBLE));
		STR_COPY(a.list.why, a.why.text);
		if (e != NULL) {
			*e = a.why;
		}
	}
	write_gpus(out, &a.list);
	pcie_facts(root, inventory_seen(out).gpus, facts);
	gpu_pci_facts(root, inventory_seen(out).gpus, facts);
	json_object_set_new(out, "tree",
			    nccl_tree(root, inventory_seen(out).gpus, facts));
	return a.rc;
}
