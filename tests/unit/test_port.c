/* SPDX-License-Identifier: BSD-3-Clause */
/* What ports say below a --sysroot: trees in the form of the kernel's. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/base/str.h"
#include "lib/data/hosts.h"
#include "probes/host/interface.h"
#include "probes/host/port.h"

#define IB "sys/class/infiniband/"

struct file {
	const char *path, *text;
};

/* An InfiniBand HCA in a slot that is too narrow for it and one with a lane
 * too few; a RoCE port that is down; a driver that plays an HCA. */
static const struct file files[] = {
	{ IB "mlx5_0/fw_ver", "28.39.1002\n" },
	{ IB "mlx5_0/board_id", "MT_0000000838\n" },
	{ IB "mlx5_0/ports/1/state", "4: ACTIVE\n" },
	{ IB "mlx5_0/ports/1/phys_state", "5: LinkUp\n" },
	{ IB "mlx5_0/ports/1/link_layer", "InfiniBand\n" },
	{ IB "mlx5_0/ports/1/rate", "200 Gb/sec (4X HDR)\n" },
	{ IB "mlx5_0/ports/1/gids/0",
	  "fec0:0000:0000:0001:b83f:d203:0058:1d2e\n" },
	{ IB "mlx5_0/ports/1/pkeys/0", "0x7fff\n" },
	{ IB "mlx5_0/ports/1/pkeys/2", "0x8001\n" },
	{ IB "mlx5_0/ports/1/counters/symbol_error", "3\n" },
	{ IB "mlx5_0/ports/1/counters/link_downed", "no number\n" },
	{ IB "mlx5_0/ports/1/counters/port_xmit_data", "1000\n" },
	{ IB "mlx5_0/ports/1/counters/port_rcv_data", "500\n" },
	{ IB "mlx5_0/ports/1/hw_counters/packet_seq_err", "17\n" },
	{ "sys/devices/pci0/max_link_speed", "16.0 GT/s PCIe\n" },
	{ "sys/devices/pci0/max_link_width", "16\n" },
	{ "sys/devices/pci0/hca/current_link_speed", "16.0 GT/s PCIe\n" },
	{ "sys/devices/pci0/hca/current_link_width", "8\n" },
	{ "sys/devices/pci0/hca/max_link_speed", "32.0 GT/s PCIe\n" },
	{ "sys/devices/pci0/hca/max_link_width", "16\n" },
	{ "sys/devices/pci0/hca/numa_node", "1\n" },
	{ "sys/devices/pci0/hca/hwmon/hwmon5/temp2_label", "asic\n" },
	{ "sys/devices/pci0/hca/hwmon/hwmon5/temp2_input", "71000\n" },
	{ "sys/devices/pci0/hca/hwmon/hwmon5/temp1_label", "Module0\n" },
	{ "sys/devices/pci0/hca/hwmon/hwmon5/temp1_input", "54600\n" },
	{ "sys/devices/pci0/hca/aer_dev_correctable",
	  "RxErr 2\nBadTLP 0\nTOTAL_ERR_COR 2\n" },
	{ "sys/devices/pci0/hca/aer_dev_fatal", "Undefined 0\nDLP 7\n" },
	{ IB "mlx5_1/ports/1/state", "1: DOWN\n" },
	{ IB "mlx5_1/ports/1/phys_state", "3: Disabled\n" },
	{ IB "mlx5_1/ports/1/link_layer", "Ethernet\n" },
	{ IB "mlx5_1/ports/1/rate", "40 Gb/sec (4X QDR)\n" },
	{ IB "mlx5_1/ports/1/gids/0",
	  "fe80:0000:0000:0000:b83f:d2ff:fe58:1d2e\n" },
	{ IB "mlx5_1/ports/1/gid_attrs/ndevs/0", "ens1np0\n" },
	{ IB "mlx5_1/ports/1/gid_attrs/types/0", "IB/RoCE v1\n" },
	{ IB "mlx5_1/ports/1/gid_attrs/types/3", "RoCE v2\n" },
	{ IB "mlx5_1/ports/1/gid_attrs/types/4", "RoCE v2\n" },
	{ IB "mlx5_1/ports/1/gid_attrs/types/5", "RoCE v2\n" },
	{ IB "mlx5_1/ports/1/gids/3",
	  "0000:0000:0000:0000:0000:ffff:0a07:0001\n" },
	{ IB "mlx5_1/ports/1/gids/4",
	  "fd00:0007:0000:0000:0000:0000:0000:0001\n" },
	{ IB "mlx5_1/ports/1/gids/5",
	  "0000:0000:0000:0000:0000:0000:0000:0000\n" },
	{ IB "mlx5_1/device/current_link_width", "63\n" },
	{ "sys/class/net/ens1np0/carrier_changes", "9\n" },
	{ "sys/class/net/ens1np0/speed", "25000\n" },
	{ "sys/class/net/ens1np0/ecn/roce_np/enable/3", "1\n" },
	{ "sys/class/net/ens1np0/ecn/roce_np/enable/4", "0\n" },
	{ "sys/kernel/config/rdma_cm/mlx5_1/ports/1/default_roce_tos",
	  "106\n" },
	{ "ethtool/ens1np0", "NIC statistics:\n"
	  "Active FEC encoding: RS\nPFC priorities: 3 4 \n"
	  "DSCP priorities: 126=1 0=0 26=3 \n" },
	{ "etc/nccl.conf", "NCCL_IB_TC=106\nNCCL_IB_SL=4\n" },
	{ "sys/class/net/ens1np0/type", "1\n" },
	{ "sys/class/net/ib0/speed", "-1\n" },
	{ "sys/class/net/ib0/type", "32\n" },
	{ "sys/class/net/veth0/speed", "4294967295\n" },
	/* two hours after the boot: links that come up with the machine, one
	 * that was away for 9.3 s, one that went six times, one that is
	 * away */
	{ "proc/uptime", "7200.50 900.00\n" },
	{ "dev/kmsg",
	  "6,901,8000000,-;mlx5_core 0000:1b:00.0 ens1np0: Link down\n"
	  "6,902,50000000,-;mlx5_core 0000:1b:00.0 ens1np0: Link up\n"
	  " SUBSYSTEM=pci\n"
	  "6,903,3600000000,-;mlx5_core 0000:1b:00.0 ens1np0: Link down\n"
	  "6,904,3601000000,-;mlx5_core 0000:1b:00.0 ens1np0: Link down\n"
	  "4,905,3602000000,-;nfs: server store not responding\n"
	  "6,906,3609300000,-;mlx5_core 0000:1b:00.0 ens1np0: Link up\n"
	  "6,907,3700000000,-;bnxt_en 0000:1c:00.0 eth0: NIC Link is Down\n"
	  "6,908,3701000000,-;bnxt_en 0000:1c:00.0 eth0: NIC Link is Up, "
	  "100000 Mbps (NRZ) full duplex\n"
	  "6,909,3702000000,-;bnxt_en 0000:1c:00.0 eth0: NIC Link is Down\n"
	  "6,910,3702500000,-;bnxt_en 0000:1c:00.0 eth0: NIC Link is Up, "
	  "100000 Mbps (NRZ) full duplex\n"
	  "6,911,7000000000,-;mlx5_core 0000:1d:00.0 ens2np0: Link down\n" },
	{ IB "rxe0/ports/1/state", "4: ACTIVE\n" },
	{ IB "rxe0/ports/1/rate", "2.5 Gb/sec (1X SDR)\n" },
	{ IB "rxe0/ports/2/state", "4: ACTIVE\n" },
};

static char root[] = "/tmp/gpucheck-port.XXXXXX";

static void make_folders(char *path)
{
	for (char *c = path + sizeof(root); *c; c++) {
		if (*c == '/') {
			*c = '\0';
			mkdir(path, 0755);
			*c = '/';
		}
	}
}

static int make_tree(void **state)
{
	char path[512];

	(void)state;
	if (!mkdtemp(root)) {
		return -1;
	}
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		FILE *f;

		snprintf(path, sizeof(path), "%s/%s", root, files[i].path);
		make_folders(path);
		f = fopen(path, "we");
		if (!f || fputs(files[i].text, f) < 0 || fclose(f) != 0) {
			return -1;
		}
	}
	snprintf(path, sizeof(path), "%s/%s", root, IB "mlx5_0/device");
	return symlink("../../../devices/pci0/hca", path);
}

static int remove_tree(void **state)
{
	char command[600];
	pid_t pid = fork();

	(void)state;
	snprintf(command, sizeof(command), "%s", root);
	if (pid == 0) {
		execlp("rm", "rm", "-rf", command, (char *)NULL);
		_exit(127);
	}
	return pid > 0 ? 0 : -1;
}

static const struct port *find(const struct port *ports, size_t n,
			       const char *name)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(ports[i].name, name) == 0) {
			return &ports[i];
		}
	}
	fail_msg("there is no port %s", name);
	return NULL;
}

static const struct port_counter *counter(const char *name, size_t *i)
{
	for (*i = 0; strcmp(port_counter_defs[*i].name, name) != 0; ++*i) {
	}
	return &port_counter_defs[*i];
}

static void interfaces_say_what_they_carry(void **state)
{
	static const struct {
		const char *name;
		double GB_s;
		bool ipoib;
	} interfaces[] = {
		{ "ens1np0", 3.125, false },
		{ "ib0", NAN, true },
		{ "veth0", NAN, false },
		{ "none", NAN, false },
	};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		const char *name = interfaces[i].name;
		double GB_s = interface_line_GB_s(root, name);

		assert_true(isnan(GB_s) == isnan(interfaces[i].GB_s) &&
			    !(fabs(GB_s - interfaces[i].GB_s) > 1e-9));
		assert_int_equal(interface_is_ipoib(root, name),
				 interfaces[i].ipoib);
	}
}

static void a_tree_is_read(void **state)
{
	struct port ports[PORT_MAX];
	size_t n = port_list(root, ports, PORT_MAX), at;
	const struct port *p;

	(void)state;
	assert_int_equal(n, 4);
	p = find(ports, n, "mlx5_0");
	assert_string_equal(p->state, "ACTIVE");
	assert_string_equal(p->phys_state, "LinkUp");
	assert_string_equal(p->width, "4X HDR");
	assert_string_equal(p->firmware, "28.39.1002");
	assert_string_equal(p->subnet, "fec0:0000:0000:0001");
	assert_int_equal(p->n_pkeys, 3);
	assert_int_equal(p->pkeys[0], 0x7fff);
	assert_int_equal(p->pkeys[1], 0);
	assert_int_equal(p->pkeys[2], 0x8001);
	assert_int_equal(p->numa, 1);
	assert_int_equal(p->module_C, 55);
	assert_false(p->software);
	assert_true(p->rate_Gb_s == 200);
	assert_true(p->link.speed_GT_s == 16 && p->link.width == 8);
	/* the card could do 32 GT/s, its slot cannot */
	assert_true(p->most.speed_GT_s == 16 && p->most.width == 16);
	counter("symbol_error", &at);
	assert_true(p->has_counter[at] && p->counters[at] == 3);
	counter("packet_seq_err", &at);
	assert_true(p->has_counter[at] && p->counters[at] == 17);
	counter("aer_dev_correctable", &at);
	assert_true(p->has_counter[at] && p->counters[at] == 2);
	counter("aer_dev_fatal", &at);
	assert_false(p->has_counter[at]);	/* no total */
	counter("link_downed", &at);
	assert_false(p->has_counter[at]);

	p = find(ports, n, "mlx5_1");
	assert_string_equal(p->state, "DOWN");
	assert_string_equal(p->netdev, "ens1np0");
	assert_string_equal(p->fec, "RS");
	assert_string_equal(p->pfc, "3 4");
	assert_string_equal(p->trust, "dscp");
	assert_string_equal(p->ecn, "3-");
	assert_string_equal(p->cm_tos, "106");
	assert_int_equal(p->priority, 3);	/* 106 / 4 is DSCP 26 */
	assert_string_equal(p->gids, "0:v1 3:v2 4:v2 5:v2");
	assert_string_equal(p->gid_kinds, "0:link 3:IPv4 4:IPv6");
	assert_string_equal(p->subnet, "");	/* that of no subnet manager */
	assert_int_equal(p->link.width, 0);
	assert_int_equal(p->numa, -1);
	counter("carrier_changes", &at);
	assert_true(p->has_counter[at] && p->counters[at] == 9);

	p = find(ports, n, "rxe0:2");
	assert_int_equal(p->number, 2);
	assert_true(p->software);
	assert_true(isnan(p->rate_Gb_s));
}

/** 8 lanes of 16 GT/s carry less than a line of 200 Gb/s. */
static void the_slower_of_line_and_pcie_counts(void **state)
{
	struct port ports[PORT_MAX];
	size_t n = port_list(root, ports, PORT_MAX);
	double pcie = 16.0 * 8 * 128 / 130 / 8;

	(void)state;
	assert_true(fabs(port_line_GB_s(find(ports, n, "mlx5_0")) - pcie) <
		    1e-9);
	assert_true(port_line_GB_s(find(ports, n, "mlx5_1")) == 40.0 / 8);
	assert_true(isnan(port_line_GB_s(find(ports, n, "rxe0:1"))));
}

static void nothing_there_is_no_port(void **state)
{
	struct port ports[PORT_MAX];

	(void)state;
	assert_int_equal(port_list("/nowhere", ports, PORT_MAX), 0);
	assert_int_equal(port_list(root, ports, 1), 1);
}

static void texts_of_the_kernel(void **state)
{
	static const struct {
		const char *text;
		double rate;
		const char *width;
	} rates[] = {
		{ "400 Gb/sec (4X NDR)", 400, "4X NDR" },
		{ "2.5 Gb/sec (1X SDR)", 2.5, "1X SDR" },
		{ "0 Gb/sec", NAN, "" },
		{ "-1 Gb/sec (", NAN, "" },
		{ "inf", NAN, "" },
		{ "1e99 Gb/sec", NAN, "" },
		{ "", NAN, "" },
	};
	char buf[16];

	(void)state;
	for (size_t i = 0; i < sizeof(rates) / sizeof(*rates); i++) {
		double rate = port_parse_rate(rates[i].text, buf, sizeof(buf));

		assert_true(isnan(rates[i].rate) ? isnan(rate) :
						   rate == rates[i].rate);
		assert_string_equal(buf, rates[i].width);
	}
	assert_true(port_parse_speed("8 GT/s") == 8);
	assert_true(port_parse_speed("16.0 GT/s PCIe") == 16);
	assert_true(isnan(port_parse_speed("Unknown speed")));
	assert_int_equal(port_parse_pkey("0xffff"), 0xffff);
	assert_int_equal(port_parse_pkey("0x0000"), 0);
	assert_int_equal(port_parse_pkey("0x1ffff"), 0);
	assert_int_equal(port_parse_pkey("0x7ffg"), 0);
	assert_int_equal(port_parse_pkey("0x"), 0);
	assert_int_equal(port_parse_pkey("7fff"), 0);
	port_parse_state("4: ACTIVE", buf, sizeof(buf));
	assert_string_equal(buf, "ACTIVE");
	port_parse_state("odd", buf, sizeof(buf));
	assert_string_equal(buf, "odd");
}

/** As NCCL_IB_HCA: prefixes, = exact, ^ all others. */
static void filters(void **state)
{
	static const struct {
		const char *filter, *name;
		bool match;
	} cases[] = {
		{ "", "mlx5_0", true },		{ "mlx5", "mlx5_0", true },
		{ "mlx5_1", "mlx5_10", true },	{ "=mlx5_1", "mlx5_10", false },
		{ "=mlx5_1", "mlx5_1", true },	{ "^mlx5_1", "mlx5_0", true },
		{ "^mlx5_1", "mlx5_10", false },
		{ "^=mlx5_1", "mlx5_10", true },
		{ "rxe0,rxe2", "rxe2", true },	{ "rxe0,rxe2", "rxe1", false },
		{ ",,", "rxe1", false },	{ "=", "rxe1", false },
		/* a port of it, and any */
		{ "=mlx5_1:1", "mlx5_1", true },
		{ "=mlx5_1:2", "mlx5_1", false },
		{ "mlx5_1:2", "mlx5_1:2", true },
		{ "=mlx5_1", "mlx5_1:2", true },
		{ "^=mlx5_1:2", "mlx5_1:1", true },
		{ "=:1", "mlx5_1", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_int_equal(port_matches(cases[i].filter, cases[i].name),
				 cases[i].match);
	}
}

static const char *fact_of(const json_t *facts, const char *name)
{
	const json_t *f;
	size_t i;

	json_array_foreach(facts, i, f) {
		if (strcmp(json_string_value(json_object_get(f, "fact")),
			   name) == 0) {
			return json_string_value(json_object_get(f, "value"));
		}
	}
	return "";
}

static void growth_is_a_fact(void **state)
{
	struct port before[PORT_MAX], after[PORT_MAX];
	json_t *facts = json_array();
	size_t symbols, packets;

	(void)state;
	port_list(root, before, PORT_MAX);
	memcpy(after, before, sizeof(after));
	memset(after[0].counters, 0, sizeof(after[0].counters));
	after[0].moved_B = 7;
	after[0].state[0] = '\0';
	port_read_again(root, &after[0]);
	assert_memory_equal(&after[0], &before[0], sizeof(after[0]));
	counter("symbol_error", &symbols);
	counter("packet_seq_err", &packets);
	after[0].counters[symbols] += 4;
	after[0].counters[packets] = 0;		/* was reset */
	assert_int_equal(before[0].moved_B, 6000);
	assert_int_equal(before[1].moved_B, -1);
	after[0].moved_B += 80;
	port_growth_facts(&before[1], &after[1], facts);
	assert_string_equal(fact_of(facts, "data_moved"), "");
	json_array_clear(facts);
	port_growth_facts(&before[0], &after[0], facts);
	assert_string_equal(fact_of(facts, "data_moved"), "80");
	assert_string_equal(fact_of(facts, "symbol_error_growth"), "4");
	assert_string_equal(fact_of(facts, "packet_seq_err_growth"), "");
	assert_string_equal(fact_of(facts, "port_state_after"), "ACTIVE");
	json_decref(facts);
}

static const char *about(const json_t *facts, const char *scope,
			 const char *name)
{
	const char *of, *fact, *value = "";
	size_t i;
	json_t *f;

	json_array_foreach(facts, i, f) {
		if (json_unpack(f, "{s:s, s:s}", "scope", &of, "fact",
				&fact) == 0 &&
		    strcmp(of, scope) == 0 && strcmp(fact, name) == 0) {
			json_unpack(f, "{s:s}", "value", &value);
		}
	}
	return value;
}

static void links_that_went_and_came_back(void **state)
{
	json_t *facts = json_array();

	(void)state;
	link_away_facts(root, 0, facts);
	assert_string_equal(about(facts, "ens1np0", LINK_AWAY), "9.3");
	assert_string_equal(about(facts, "ens1np0", LINK_AWAY_AGO), "3591");
	assert_string_equal(about(facts, "ens1np0", LINK_FLAPS), "1");
	assert_string_equal(about(facts, "eth0", LINK_AWAY), "1.0");
	assert_string_equal(about(facts, "eth0", LINK_FLAPS), "2");
	assert_string_equal(about(facts, "ens2np0", LINK_AWAY), "");
	json_array_clear(facts);
	link_away_facts("/nonexistent", 0, facts);
	assert_int_equal(json_array_size(facts), 0);
	json_decref(facts);
}

/* Messages of drivers as the kernel and the journal have them. */
static void drivers_say_that_a_link_went(void **state)
{
	static const struct {
		const char *text, *name;
		bool up;
	} cases[] = {
		{ "mlx5_core 0000:9c:00.0 ens1f0np0: Link down", "ens1f0np0",
		  false },
		{ "[36214.118472] gpu7 kernel: mlx5_core 0000:5e:00.1 eth2: "
		  "Link up", "eth2", true },
		{ "ice 0000:31:00.0 ens1: NIC Link is up 100 Gbps Full Duplex",
		  "ens1", true },
		{ "igb 0000:01:00.0 eno1: igb: eno1 NIC Link is Down", "eno1",
		  false },
		{ "tg3 0000:02:00.0 eno2: Link is down", "eno2", false },
		{ "r8169 0000:03:00.0 eth0: Link is Up - 1Gbps/Full", "eth0",
		  true },
		{ "Link down", NULL, false },
		{ "IPv6: ADDRCONF(NETDEV_CHANGE): ib0: link becomes ready",
		  NULL, false },
		{ "ata1: SATA link up 6.0 Gbps (SStatus 133)", NULL, false },
		{ "mlx5_core 0000:9c:00.0: Port module event: module 0, Cable "
		  "unplugged", NULL, false },
		{ "bond0: (slave eth1): link status down", NULL, false },
		{ "pcieport 0000:00:1c.0: pciehp: Slot(0): Link Down", NULL,
		  false },
		{ "eth0: link uplink", NULL, false }, { "link ", NULL, false },
		{ " link is", NULL, false },
	};
	char name[IF_NAMESIZE];
	bool up;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const bool found = link_log_parse(cases[i].text, name, &up);

		assert_string_equal(found ? name : "none",
				    cases[i].name ? cases[i].name : "none");
		assert_int_equal(found && up, cases[i].up);
	}
}

/** A folder for the HCA without a good value, and none. */
static void tos_of_rdma_cm(void **state)
{
	static const char *const paths[] = { "/ports/1/default_roce_tos",
					     "/ports/1", "/ports", "" };
	struct port ports[PORT_MAX];
	char path[PATH_MAX];
	FILE *f;

	(void)state;
	snprintf(path, sizeof(path), "%s/sys/kernel/config/rdma_cm/mlx5_1%s",
		 root, paths[0]);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs("256\n", f);
	fclose(f);
	assert_string_equal(find(ports, port_list(root, ports, PORT_MAX),
				 "mlx5_1")->cm_tos, "");
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		snprintf(path, sizeof(path),
			 "%s/sys/kernel/config/rdma_cm/mlx5_1%s", root,
			 paths[i]);
		assert_int_equal(remove(path), 0);
	}
	assert_string_equal(find(ports, port_list(root, ports, PORT_MAX),
				 "mlx5_1")->cm_tos, "unset");
}

static const char *of_mlxlink(const char *text, const struct port *p,
			      const char *fact)
{
	static char value[400];
	json_t *facts = json_array();

	assert_int_equal(mlxlink_parse(text, strlen(text), p, facts), 0);
	STR_COPY(value, fact_of(facts, fact));
	json_decref(facts);
	return value;
}

#define MODULE_OF(state, key, value) "{\"result\": {\"output\": " \
	"{\"Operational Info\": {\"State\": \"" state "\"}, " \
	"\"Module Info\": {\"" key "\": " value "}}}}"

static void what_mlxlink_prints(void **state)
{
	const struct port p = { .name = "mlx5_0" };
	const struct port known = { .name = "mlx5_0", .fec = "RS",
				    .module_C = 60 };
	static const char *const cases[][2] = {
		{ MODULE_OF("Active", "Temperature [C]", "\"81 [-10..80]\""),
		  "Temperature of lane 0 is 81 C, not -10 to 80" },
		{ MODULE_OF("Active", "Temperature [C]", "\"80 [-10..80]\""),
		  "" },
		{ MODULE_OF("Polling", "Temperature [C]", "\"81 [-10..80]\""),
		  "" },
		{ MODULE_OF("Active", "Rx Power Current [dBm]",
			    "\"1,-12.1,2 [-9.9..6]\""),
		  "Rx Power Current of lane 1 is -12.1 dBm, not -9.9 to 6" },
		{ MODULE_OF("Active", "Rx Power Current [dBm]",
			    "\"N/A [-9.9..6]\""), "" },
		{ MODULE_OF("Active", "Rx Power Current [dBm]", "\"-99\""),
		  "" },
		{ MODULE_OF("Active", "Rx LOS [per lane]",
			    "{\"values\": [\"0\", \"1\"]}"),
		  "Rx LOS [per lane]" },
		{ MODULE_OF("Active", "Module FW Fault", "\"1\""),
		  "Module FW Fault" },
	};
	json_t *facts = json_array();

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_string_equal(of_mlxlink(cases[i][0], &p, "module_alarm"),
				    cases[i][1]);
	}
	assert_string_equal(of_mlxlink(cases[0][0], &p, "module_temp"), "81");
	assert_string_equal(of_mlxlink(cases[0][0], &known, "module_temp"),
			    "");
	assert_int_equal(mlxlink_parse("-E- Failed", 10, &p, facts), -1);
	assert_int_equal(mlxlink_parse("{}", 2, &p, facts), -1);
	assert_int_equal(json_array_size(facts), 0);
	json_decref(facts);
}

#define RIGHT "OK\tACS for grace_rp 0000:00:00.0 has correct values 1 = x\n"
#define WRONG "FAIL\tACS for cx_switch 0000:01:00.0 has incorrect values\n"

static void what_rdma_topo_prints(void **state)
{
	static const struct {
		const char *text, *check, *wrong;
	} cases[] = {
		{ RIGHT, "right", "" },
		{ RIGHT WRONG RIGHT WRONG, "wrong",
		  "cx_switch 0000:01:00.0 has incorrect values; "
		  "cx_switch 0000:01:00.0 has incorrect values" },
		{ RIGHT "FAIL\tCould not read ACS control register for x\n",
		  "", "" },
		{ "OK\tAll ConnectX DMA functions\n", "", "" },
		{ "Unsupported topology", "", "" },
		{ "FAIL\tACS for ", "", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		json_t *facts = json_array();

		rdma_topo_parse(cases[i].text, facts);
		assert_string_equal(fact_of(facts, "acs_wrong"),
				    cases[i].wrong);
		assert_string_equal(fact_of(facts, "acs_check"),
				    cases[i].check);
		json_decref(facts);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tree_is_read),
		cmocka_unit_test(interfaces_say_what_they_carry),
		cmocka_unit_test(the_slower_of_line_and_pcie_counts),
		cmocka_unit_test(nothing_there_is_no_port),
		cmocka_unit_test(texts_of_the_kernel),
		cmocka_unit_test(filters),
		cmocka_unit_test(links_that_went_and_came_back),
		cmocka_unit_test(drivers_say_that_a_link_went),
		cmocka_unit_test(growth_is_a_fact),
		cmocka_unit_test(tos_of_rdma_cm),
		cmocka_unit_test(what_mlxlink_prints),
		cmocka_unit_test(what_rdma_topo_prints),
	};

	return cmocka_run_group_tests(tests, make_tree, remove_tree);
}
