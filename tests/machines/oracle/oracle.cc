/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * oracle: print the NICs that NCCL itself takes for each GPU of a machine.
 * usage: oracle ROOT
 *
 * ROOT has the files of a machine, as tests/machines/unpack makes them.  NCCL's
 * src/graph reads them through the wrappers below; NVML and the IB plugin are
 * replaced by what ROOT says.  A line per GPU: the NICs of its channels in
 * order, up to the first that comes again; then the NICs of its channels if it
 * is the only GPU of the node in its communicator, as in a pair.  No PXN.
 */
#include <algorithm>
#include <cstdarg>
#include <ftw.h>
#include <map>
#include <string>
#include <vector>

#include "comm.h"
#include "core.h"
#include "graph/topo.h"
#include "net.h"
#include "nvmlwrap.h"
#include "transport.h"
#include "utils.h"

using std::string;

static string root;
static std::map<string, string> places;	/* of each PCI function */

static bool is_bdf(const string &s)
{
	return s.size() == 12 && s[4] == ':' && s[7] == ':' && s[10] == '.';
}

/* ---- files --------------------------------------------------------------- */

extern "C" FILE *__real_fopen(const char *path, const char *mode);
extern "C" char *__real_realpath(const char *path, char *out);

static string below(const string &path)
{
	return path.compare(0, root.size(), root) == 0 ? path : root + path;
}

static bool has_children(const string &dir)
{
	for (auto &p : places) {
		if (p.second.compare(0, dir.size() + 1, dir + "/") == 0) {
			return true;
		}
	}
	return false;
}

extern "C" FILE *__wrap_fopen(const char *path, const char *mode)
{
	static char bridge[] = "0x060400\n";
	FILE *f = __real_fopen(below(path).c_str(), mode);
	string s = path;
	size_t at = s.rfind("/numa_node");

	/* trees do not record the place of a bridge: that of what is below */
	if (f == NULL && at != string::npos && at + 10 == s.size()) {
		for (auto &p : places) {
			if (f == NULL &&
			    p.second.compare(0, at + 1,
					     s.substr(0, at) + "/") == 0) {
				f = __real_fopen((p.second +
						  "/numa_node").c_str(), mode);
			}
		}
	}
	at = s.rfind("/class");
	/* ... nor that it is one */
	if (f == NULL && at != string::npos && at + 6 == s.size() &&
	    has_children(s.substr(0, at))) {
		f = fmemopen(bridge, sizeof(bridge) - 1, "r");
	}
	return f;
}

extern "C" char *__wrap_realpath(const char *path, char *out)
{
	string s = path;
	size_t at = s.rfind('/');
	string last = s.substr(at + 1);

	(void)out;
	if (s.compare(0, 19, "/sys/class/pci_bus/") == 0) {
		return places.count(last) ? strdup(places[last].c_str()) : NULL;
	}
	if (last == "subsystem") {
		string dir = s.substr(0, at);

		return is_bdf(dir.substr(dir.rfind('/') + 1)) &&
		       places.count(dir.substr(dir.rfind('/') + 1)) ?
			       strdup("/sys/bus/pci") : NULL;
	}
	return __real_realpath(below(s).c_str(), NULL);
}

static int note_place(const char *path, const struct stat *, int type,
		      struct FTW *)
{
	string s = path, name = s.substr(s.rfind('/') + 1);

	if (type == FTW_D && is_bdf(name)) {
		places[name] = s;
	}
	return 0;
}

static string text_of(const string &path)
{
	FILE *f = __real_fopen((root + path).c_str(), "r");
	string s;
	int c;

	while (f != NULL && (c = fgetc(f)) != EOF) {
		s += (char)c;
	}
	if (f != NULL) {
		fclose(f);
	}
	return s;
}

static string word_of(const string &path)
{
	string s = text_of(path);

	return s.substr(0, s.find('\n'));
}

/** "NAME=" of the nccl.conf. */
static string setting(const string &name, const string &otherwise)
{
	string s = "\n" + text_of("/etc/nccl.conf");
	size_t at = s.find("\n" + name + "=");

	if (at == string::npos) {
		return otherwise;
	}
	at += name.size() + 2;
	return s.substr(at, s.find('\n', at) - at);
}

/* ---- GPUs ---------------------------------------------------------------- */

struct gpu {
	string bus, name;
	bool hidden;
};
static std::vector<gpu> gpus;

static string member(const string &s, size_t at, const string &key)
{
	size_t from = s.find("\"" + key + "\":\"", at) + key.size() + 4;

	return s.substr(from, s.find('"', from) - from);
}

static void read_gpus()
{
	string s = word_of("/nvml");

	for (size_t at = 0; (at = s.find("\"uuid\"", at)) != string::npos;) {
		size_t end = s.find('}', at);
		string one = s.substr(at, end - at);
		gpu g = { member(s, at, "bus"), member(s, at, "name"),
			  one.find("\"hidden\":true") != string::npos };

		gpus.push_back(g);
		at = end;
	}
}

static gpu &of(nvmlDevice_t device)
{
	return gpus[(size_t)device - 1];
}

int ncclNvmlDeviceCount = 0;
ncclNvmlDeviceInfo ncclNvmlDevices[ncclNvmlMaxDevices];
ncclNvmlDevicePairInfo ncclNvmlDevicePairs[ncclNvmlMaxDevices]
					  [ncclNvmlMaxDevices];

ncclResult_t ncclNvmlEnsureInitialized()
{
	return ncclSuccess;
}

ncclResult_t ncclNvmlDeviceGetHandleByPciBusId(const char *bus,
					       nvmlDevice_t *device)
{
	for (size_t i = 0; i < gpus.size(); i++) {
		if (strcasecmp(gpus[i].bus.c_str(), bus) == 0) {
			*device = (nvmlDevice_t)(i + 1);
			return ncclSuccess;
		}
	}
	return ncclSystemError;
}

ncclResult_t ncclNvmlDeviceGetIndex(nvmlDevice_t device, unsigned *index)
{
	*index = (unsigned)((size_t)device - 1);
	return ncclSuccess;
}

ncclResult_t ncclNvmlDeviceGetPciInfo(nvmlDevice_t, nvmlPciInfo_t *info)
{
	memset(info, 0, sizeof(*info));
	return ncclSuccess;
}

/* What a busy GPU has: the most that it and its port can. */
static double least(const string &bus, const char *file)
{
	double best = 0;

	if (!places.count(bus)) {
		return 0;
	}
	string dir = places[bus].substr(root.size());
	for (auto at : { "/", "/../" }) {
		double is = strtod(word_of(dir + at + file).c_str(), NULL);

		best = is > 0 && (best == 0 || is < best) ? is : best;
	}
	return best;
}

ncclResult_t ncclNvmlDeviceGetCurrPcieLinkGeneration(nvmlDevice_t device,
						     unsigned *gen)
{
	double speed = least(of(device).bus, "max_link_speed");

	*gen = speed >= 64 ? 6 : speed >= 32 ? 5 : speed >= 16 ? 4 :
	       speed >= 8 ? 3 : speed >= 5 ? 2 : speed > 0 ? 1 : 0;
	return ncclSuccess;
}

ncclResult_t ncclNvmlDeviceGetCurrPcieLinkWidth(nvmlDevice_t device,
						unsigned *width)
{
	*width = (unsigned)least(of(device).bus, "max_link_width");
	return ncclSuccess;
}

static bool on_c2c(nvmlDevice_t device)
{
	const string &name = of(device).name;

	return name.find("GB200") != string::npos ||
	       name.find("GB300") != string::npos ||
	       name.find("GH200") != string::npos;
}

ncclResult_t ncclNvmlDeviceGetCudaComputeCapability(nvmlDevice_t, int *major,
						    int *minor)
{
	*major = 9;
	*minor = 0;
	return ncclSuccess;
}

ncclResult_t ncclNvmlDeviceGetFieldValues(nvmlDevice_t device, int n,
					  nvmlFieldValue_t *values)
{
	for (int i = 0; i < n; i++) {
		values[i].nvmlReturn = NVML_SUCCESS;
		values[i].value.uiVal =
			!on_c2c(device) ? 0 :
			values[i].fieldId == NVML_FI_DEV_C2C_LINK_COUNT ? 10 :
			values[i].fieldId ==
				NVML_FI_DEV_C2C_LINK_GET_STATUS ? 1 : 44712;
	}
	return ncclSuccess;
}

ncclResult_t ncclNvmlDeviceGetNvLinkCapability(nvmlDevice_t, unsigned,
					       nvmlNvLinkCapability_t,
					       unsigned *)
{
	return ncclSystemError;
}

ncclResult_t ncclNvmlDeviceGetNvLinkState(nvmlDevice_t, unsigned,
					  nvmlEnableState_t *)
{
	return ncclSystemError;
}

ncclResult_t ncclNvmlDeviceGetNvLinkRemotePciInfo(nvmlDevice_t, unsigned,
						  nvmlPciInfo_t *)
{
	return ncclSystemError;
}

/* ---- NICs ---------------------------------------------------------------- */

struct nic {
	string name, path, link;
	int speed, port;
	ncclNetVDeviceProps_t of;
};
static std::vector<nic> nics;
static size_t physical;
static bool gdr, efa;

static int64_t number_of(const string &path)
{
	string s;

	for (char c : path.substr(path.rfind('/') + 1)) {
		s += isxdigit(c) ? string(1, c) : "";
	}
	return strtoll(s.c_str(), NULL, 16);
}

static void add_port(const string &hca, const string &port)
{
	string dir = "/sys/class/infiniband/" + hca, at = dir + "/ports/" + port;
	char *path = __real_realpath((root + dir + "/device").c_str(), NULL);
	nic n = { hca, path != NULL ? path : "", word_of(at + "/link_layer"),
		  atoi(word_of(at + "/rate").c_str()) * 1000,
		  atoi(port.c_str()), {} };

	free(path);
	efa |= n.link != "InfiniBand" && n.link != "Ethernet";
	if (word_of(at + "/state").find("ACTIVE") != string::npos) {
		nics.push_back(n);
	}
}

static bool chosen(const nic &n)
{
	string list = setting("NCCL_IB_HCA", "");
	bool no = list[0] == '^', exact = list[no ? 1 : 0] == '=';
	struct netIf ifs[64];
	int count = parseStringList(list.c_str() + no + exact, ifs, 64);

	return matchIfList(n.name.c_str(), n.port, ifs, count, exact) ^ no;
}

static void read_nics()
{
	string base = root + "/sys/class/infiniband";
	bool vfs = setting("NCCL_IB_MERGE_VFS", "1") != "0";
	string facts = text_of("/nvml");
	struct dirent **list, **ports;
	int n = scandir(base.c_str(), &list, NULL, alphasort);
	string module = word_of("/proc/driver/nvidia/version");

	gdr = module == "" || module.find("Open Kernel") != string::npos ||
	      word_of("/sys/module/nvidia_peermem/version") != "";
	for (int i = 0; i < n; i++) {
		string hca = list[i]->d_name;
		int k = scandir((base + "/" + hca + "/ports").c_str(), &ports,
				NULL, alphasort);

		for (int p = 0; hca[0] != '.' && p < k; p++) {
			if (ports[p]->d_name[0] != '.') {
				add_port(hca, ports[p]->d_name);
			}
		}
	}
	nics.erase(std::remove_if(nics.begin(), nics.end(),
				  [](const nic &x) { return !chosen(x); }),
		   nics.end());
	std::stable_sort(nics.begin(), nics.end(),
			 [](const nic &a, const nic &b) {
		return number_of(a.path) < number_of(b.path);
	});
	for (auto &x : nics) {
		size_t len = x.path.size();
		size_t at = facts.find("\"scope\":\"" + x.name +
				       "\",\"fact\":\"data_direct\"");
		string dma = at == string::npos ? "" :
						  member(facts, at, "value");

		if (dma != "") {
			x.path = root + "/sys" + dma;
		} else if (!efa && len > 4) {
			x.path[len - 1] = '0';
			if (vfs) {
				x.path[len - 3] = x.path[len - 4] = '0';
			}
		}
		/* as strncmp() of the paths in ncclIbGetRealPort() */
		for (auto &y : nics) {
			if (&y == &x) {
				break;
			}
			x.port += y.path == x.path;
		}
	}
	physical = nics.size();
}

static ncclResult_t net_count(int, int *phys, int *virt)
{
	*phys = (int)physical;
	*virt = nics.size() > physical ? (int)(nics.size() - physical) :
					 NCCL_UNDEF_DEV_COUNT;
	return ncclSuccess;
}

static ncclResult_t net_set_count(int, int)
{
	return ncclSuccess;
}

static ncclResult_t net_devices(int *n)
{
	*n = (int)nics.size();
	return ncclSuccess;
}

static ncclResult_t net_properties(int dev, ncclNetProperties_t *props)
{
	nic &n = nics[(size_t)dev];

	memset(props, 0, sizeof(*props));
	props->name = (char *)n.name.c_str();
	props->pciPath = n.path != "" ? (char *)n.path.c_str() : NULL;
	props->guid = (uint64_t)dev + 1;
	props->ptrSupport = NCCL_PTR_HOST | (gdr ? NCCL_PTR_CUDA : 0);
	props->speed = n.speed;
	props->port = n.port;
	props->maxComms = 1 << 16;
	props->vProps = n.of;
	props->railId = props->planeId = NCCL_NET_ID_UNDEF;
	return ncclSuccess;
}

static ncclResult_t net_merge(int *dev, ncclNetVDeviceProps_t *props)
{
	nic n = nics[(size_t)props->devs[0]];

	if (setting("NCCL_IB_MERGE_NICS", "1") == "0") {
		return ncclInvalidUsage;
	}
	n.of = *props;
	for (int i = 1; i < props->ndevs; i++) {
		nic &one = nics[(size_t)props->devs[i]];

		n.name += "+" + one.name;
		n.speed += one.speed;
		if (one.link != n.link) {
			return ncclInvalidUsage;
		}
	}
	*dev = (int)nics.size();
	nics.push_back(n);
	return ncclSuccess;
}

/* ---- the rest of NCCL ---------------------------------------------------- */

static ncclResult_t never_can(int *can, struct ncclComm *,
			      struct ncclTopoGraph *, struct ncclPeerInfo *,
			      struct ncclPeerInfo *)
{
	*can = 0;
	return ncclSuccess;
}

struct ncclTransport fakeTransport = { "none", never_can };
struct ncclTransport *ncclTransports[NTRANSPORTS] = { &fakeTransport,
						      &fakeTransport };
thread_local int ncclDebugNoWarn;
int ncclDebugLevel;
uint64_t ncclDebugMask;

ncclResult_t ncclInitEnv()
{
	return ncclSuccess;
}

const char *ncclEnvPluginGetEnv(const char *name)
{
	return getenv(name);
}

extern "C" bool ncclParamIsCacheDisabled(const char *)
{
	return false;
}

void ncclDebugLogInternal(ncclDebugLogLevel level, unsigned long, const char *,
			  const char *, int, const char *fmt, ...)
{
	va_list args;

	if (level != NCCL_LOG_WARN || ncclDebugNoWarn != 0) {
		return;
	}
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
}

/* ---- one machine --------------------------------------------------------- */

/** CPUs that no topology file describes are those of ROOT, not ours. */
static void set_cpus(struct ncclXml *xml, int from_file)
{
	string info = text_of("/proc/cpuinfo");
	auto field = [&](const string &key) -> string {
		size_t at = info.find("\n" + key);

		at = at == string::npos ? at : info.find(": ", at);
		return at == string::npos ? "" :
			info.substr(at + 2, info.find('\n', at) - at - 2);
	};
	for (int i = 0; i < xml->maxIndex; i++) {
		struct ncclXmlNode *n = &xml->nodes[i];
		string vendor = field("vendor_id");

		if (strcmp(n->name, "cpu") != 0 || i < from_file) {
			continue;
		}
		xmlSetAttr(n, "arch", vendor != "" ? "x86_64" : "arm64");
		xmlSetAttr(n, "vendor", vendor.c_str());
		xmlSetAttr(n, "familyid", field("cpu family").c_str());
		xmlSetAttr(n, "modelid", field("model\t").c_str());
	}
}

static void must(ncclResult_t rc, const char *what)
{
	if (rc != ncclSuccess) {
		fprintf(stderr, "%s: error %d\n", what, rc);
		exit(1);
	}
}

static struct ncclXml *read_xml(const gpu &g, int rank, const string &file)
{
	struct ncclTopoNetInfo net = {};
	struct ncclXmlNode *node;
	struct ncclXml *xml;
	int from_file;

	must(xmlAlloc(&xml, NCCL_TOPO_XML_MAX_NODES), "memory");
	must(ncclTopoGetXmlFromFile(file.c_str(), xml, 1), "topology file");
	from_file = xml->maxIndex;
	if (from_file == 0) {
		xmlAddNode(xml, NULL, "system", &node);
		xmlSetAttrInt(node, "version", NCCL_TOPO_XML_VERSION);
	}
	for (int i = 0; i < from_file; i++) {
		if (strcmp(xml->nodes[i].name, "cpu") == 0) {
			xmlSetAttrLong(&xml->nodes[i], "host_hash",
				       (int64_t)getHostHash());
		}
	}
	must(ncclTopoFillGpu(xml, g.bus.c_str(), &node), "GPU");
	xmlSetAttrInt(node, "keep", 1);
	xmlSetAttrInt(node, "rank", rank);
	xmlSetAttrIfUnset(node, "gdr", "1");
	xmlSetAttrInt(node, "mlopart", NCCL_TOPO_UNDEF);
	net.net = 1;
	net.maxDevsPerNic = NCCL_NET_MAX_DEVS_PER_NIC;
	net.getDevCount = net_count;
	net.setVirtDevCount = net_set_count;
	net.name = "IB";
	net.getProperties = net_properties;
	net.makeVDevice = efa ? NULL : net_merge;
	net.devices = net_devices;
	net.mergeLevel = PATH_PORT;
	if (setting("NCCL_NET_MERGE_LEVEL", "") == "LOC") {
		net.mergeLevel = PATH_LOC;
	}
	nics.resize(physical);
	must(ncclTopoProcessNet(xml, NULL, &net), "NICs");
	must(ncclTopoTrimXml(xml), "trim");
	set_cpus(xml, from_file);
	return xml;
}

/** The NICs of GPU @only, or of all (-1), a line each. */
static std::vector<string> ask(int only, const string &file)
{
	std::vector<string> lines;
	struct ncclTopoSystem *system;
	struct ncclXml *all = NULL;
	int ranks = 0;

	for (size_t i = 0; i < gpus.size(); i++) {
		if (gpus[i].hidden || (only >= 0 && (int)i != only)) {
			continue;
		}
		struct ncclXml *one = read_xml(gpus[i], ranks++, file);

		if (all == NULL) {
			must(xmlAlloc(&all, NCCL_TOPO_XML_MAX_NODES), "memory");
		}
		must(ncclTopoFuseXml(all, one), "fuse");
		free(one);
	}
	must(ncclTopoGetSystemFromXml(all, &system, getHostHash()), "system");
	must(ncclTopoComputePaths(system, NULL), "paths");
	for (int rank = 0; rank < ranks; rank++) {
		std::vector<int64_t> seen;
		string line;

		for (int c = 0; c < MAXCHANNELS; c++) {
			int dev;
			int64_t id;

			must(ncclTopoGetLocalNet(system, rank, c, &id, &dev),
			     "local NIC");
			if (std::count(seen.begin(), seen.end(), id)) {
				break;
			}
			seen.push_back(id);
			line += (c > 0 ? "," : "") + nics[(size_t)dev].name;
		}
		lines.push_back(line);
	}
	free(all);
	return lines;
}

int main(int argc, char **argv)
{
	char *path = argc == 2 ? __real_realpath(argv[1], NULL) : NULL;
	string file = setting("NCCL_TOPO_FILE",
			      "/var/run/nvidia-topologyd/virtualTopology.xml");
	int shown = 0;

	if (path == NULL) {
		fprintf(stderr, "usage: oracle ROOT\n");
		return 2;
	}
	root = path;
	setenv("NCCL_PXN_DISABLE", "1", 1);
	nftw((root + "/sys/devices").c_str(), note_place, 16, FTW_PHYS);
	file = setting("NCCL_TOPO_FILE", file);
	read_gpus();
	read_nics();
	if (gpus.empty() || nics.empty()) {
		fprintf(stderr, "%s has no GPUs or no NICs\n", argv[1]);
		return 1;
	}
	std::vector<string> whole = ask(-1, file);

	for (size_t i = 0; i < gpus.size(); i++) {
		if (!gpus[i].hidden) {
			printf("%zu %s %s\n", i, whole[(size_t)shown++].c_str(),
			       ask((int)i, file)[0].c_str());
		}
	}
	return 0;
}
