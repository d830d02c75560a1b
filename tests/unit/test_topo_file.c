/* SPDX-License-Identifier: BSD-3-Clause */
/* Places of PCI devices by a file in NCCL's format. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/str.h"
#include "probes/host/port.h"

static const char two_sockets[] =
	"<?xml version=\"1.0\"?>\n"
	"<!-- <pci busid=\"0009:00:00.0\"/> -->\n"
	"<system version=\"1\">\n"
	" <cpu numaid=\"0\" arch=\"x86_64\">\n"
	"  <pci busid=\"ffff:ff:01.0\" class=\"0x060400\">\n"
	"   <pci busid=\"0001:00:00.0\"/>\n"
	"   <pci busid=\"0101:00:00.0\"><nic><net name=\"a\"/></nic></pci>\n"
	"  </pci>\n"
	"  <pci busid=\"0002:00:00.0\"/>\n"
	" </cpu>\n"
	" <cpu numaid=\"1\">\n"
	"  <pci class=\"0x030200\" busid=\"000A:00:00.0\"></pci>\n"
	" </cpu>\n"
	"</system>\n";

static void finds_what_is_below_what(void **state)
{
	static const struct {
		const char *bus, *path;
		int numa;
	} cases[] = {
		{ "0001:00:00.0", "cpu0/ffff:ff:01.0/0001:00:00.0", 0 },
		{ "0101:00:00.0", "cpu0/ffff:ff:01.0/0101:00:00.0", 0 },
		{ "0002:00:00.0", "cpu0/0002:00:00.0", 0 },
		{ "000a:00:00.0", "cpu1/000A:00:00.0", 1 },
	};
	struct pcie_place p[4];

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		assert_true(topo_file_find(two_sockets, cases[i].bus, &p[i]));
		assert_string_equal(p[i].path, cases[i].path);
		assert_int_equal(p[i].numa, cases[i].numa);
	}
	assert_string_equal(pcie_class(&p[0], &p[1]), "PIX");
	assert_string_equal(pcie_class(&p[0], &p[2]), "PHB");
	assert_string_equal(pcie_class(&p[0], &p[3]), "SYS");
}

static void leaves_others_as_they_were(void **state)
{
	static const char *const texts[] = {
		two_sockets, "", "<", "<pci", "<!-- <pci busid=\"0009:00:00.0\"/>",
		"<pci busid=\"0009:00:00.0", "</a></b><pci busid='0009:00:00.0'/>",
		"<pci  busid=0009:00:00.0 />", "<a><a><a><a><a><a><a><a><a><a><a>"
		"<a><a><a><a><a><pci busid=\"0009:00:00.0\"/>",
	};
	struct pcie_place p = { .path = "pci0000:00/0009:00:00.0", .numa = 7 };

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		assert_false(topo_file_find(texts[i], "0009:00:00.0", &p));
		assert_false(topo_file_find(texts[i], "", &p));
		assert_string_equal(p.path, "pci0000:00/0009:00:00.0");
		assert_int_equal(p.numa, 7);
	}
}

/** What a recorded machine may be given away with finds the same. */
static void no_secret_is_plain(void **state)
{
	static const char text[] =
		"<?xml version=\"1.0\"?>\n<!-- of alice -->\n"
		"<system version=\"1\">alice\n"
		"<cpu host_hash=\"0x1234\" numaid=\"0\">\n"
		"<pci busid=\"0001:00:00.0\" sn=\"77\"><net guid=\"0x12\"/></pci>"
		"<></cpu></system>\n<pci";
	struct pcie_place p = { .numa = 7 };
	struct str out = STR_INIT;

	(void)state;
	topo_file_plain(text, &out);
	assert_string_equal(str_text(&out),
			    "<system version=\"1\">\n<cpu numaid=\"0\">\n"
			    "<pci busid=\"0001:00:00.0\">\n<net/>\n</pci>\n"
			    "<>\n</cpu>\n</system>\n");
	str_reset(&out);
	topo_file_plain(two_sockets, &out);
	assert_true(topo_file_find(str_text(&out), "000a:00:00.0", &p));
	assert_string_equal(p.path, "cpu1/000A:00:00.0");
	assert_int_equal(p.numa, 1);
	str_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_what_is_below_what),
		cmocka_unit_test(leaves_others_as_they_were),
		cmocka_unit_test(no_secret_is_plain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
