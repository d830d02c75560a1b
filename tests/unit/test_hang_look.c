/* SPDX-License-Identifier: BSD-3-Clause */
/* What is seen of a job that hangs: RAS of NCCL, processes, stacks, messages of
 * the kernel. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/base/clock.h"
#include "lib/base/spawn.h"
#include "lib/data/record_rows.h"
#include "probes/hang/hang.h"
#include "probes/hang/procs.h"
#include "probes/hang/ras.h"
#include "probes/host/sysfile.h"

/* ---- what RAS says ------------------------------------------------------- */

static char file_text[65536];

static size_t read_file(const char *folder, const char *name)
{
	char path[128];
	size_t len;
	FILE *f;

	snprintf(path, sizeof(path), "tests/%s/%s", folder, name);
	f = fopen(path, "r");
	assert_non_null(f);
	len = fread(file_text, 1, sizeof(file_text) - 1, f);
	file_text[len] = '\0';
	fclose(f);
	return len;
}

static int read_answer(const char *name, struct ras_answer *a)
{
	size_t len = read_file("fixtures/ras", name);

	return ras_parse(file_text, len, a, NULL);
}

static void recorded_answers_are_read(void **state)
{
	static const struct {
		const char *name, *calls;
		bool missing;
	} cases[] = {
		{ .name = "healthy", .calls = "AllReduce 706" },
		{ .name = "late", .calls = "AllReduce 20" },
		{ .name = "other", .calls = "AllGather 1, AllReduce 20" },
		/* a comma is missing in these */
		{ .name = "stop", .missing = true },
		{ .name = "kill", .missing = true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ras_answer a;
		const struct ras_rank *r;

		assert_int_equal(read_answer(cases[i].name, &a), 0);
		assert_int_equal(a.n, 4);
		assert_string_equal(a.version, "2.28.9");
		r = &a.ranks[3];
		assert_int_equal(r->rank, 3);
		assert_int_equal(r->comm_size, 4);
		assert_int_equal(r->gpu, 1);
		assert_string_equal(r->host, "127.0.0.1");
		assert_int_equal(r->missing, cases[i].missing);
		assert_string_equal(r->calls, cases[i].missing ?
						      "" : cases[i].calls);
		ras_release(&a);
	}
}

/* Before 2.28 there are only words, and only about ranks that differ. */
static void words_are_read(void **state)
{
	static const struct {
		const char *name, *most, *last;
		size_t n;
	} cases[] = {
		{ "late.words", "AllReduce 21", "AllReduce 20", 4 },
		{ "other.words", "AllReduce 21", "AllGather 1, AllReduce 20",
		  4 },
		{ "healthy.words", "", "", 0 },
		{ "stop.words", "", "missing", 1 },
		/* one with an error, and one that does not answer */
		{ "kill.words", "AllReduce 21", "missing", 4 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct ras_rank *last;
		struct ras_answer a;

		assert_int_equal(read_answer(cases[i].name, &a), 0);
		assert_string_equal(a.version, "2.28.9");
		assert_true(a.words);
		assert_int_equal(a.n, cases[i].n);
		last = a.n ? &a.ranks[a.n - 1] : NULL;
		if (last) {
			assert_int_equal(last->rank, 3);
			assert_int_equal(last->comm_size, 4);
			assert_int_equal(last->gpu, 1);
			assert_true(last->pid > 0);
			assert_string_equal(last->host, "127.0.0.1");
			assert_string_equal(last->missing ? "missing" :
							    last->calls,
					    cases[i].last);
		}
		if (a.n > 1) {
			assert_string_equal(a.ranks[1].calls, cases[i].most);
			assert_int_equal(a.ranks[1].pid, 0);
			assert_true(a.ranks[1].told);
		}
		ras_release(&a);
	}
}

/* Two and two: neither are named, and nobody knows who is which. */
static void halves_are_not_told_apart(void **state)
{
	static const char words[] =
		"NCCL version 2.27.7 compiled with CUDA 12.9\n"
		"Group     Comms\n"
		"    0         1         1         4         4         4   RUN\n"
		"#0-0 (00000000000000a1) MISMATCH\n"
		"  Communicator ranks have different AllReduce operation counts\n"
		"  2 ranks have launched up to operation 21\n"
		"  2 ranks have launched up to operation 20\n";
	struct ras_answer a;

	(void)state;
	assert_int_equal(ras_parse(words, strlen(words), &a, NULL), 0);
	assert_int_equal(a.n, 0);
	ras_release(&a);
}

static void older_words_count_all_kinds_together(void **state)
{
	struct ras_answer a;

	(void)state;
	assert_int_equal(read_answer("counts.words", &a), 0);
	assert_int_equal(a.n, 8);
	assert_string_equal(a.ranks[0].calls, "Collective 6649");
	assert_string_equal(a.ranks[4].calls, "Collective 6650");
	assert_string_equal(a.ranks[5].calls, "Collective 6649");
	assert_string_equal(a.ranks[5].host, "172.16.64.211");
	assert_int_equal(a.ranks[5].gpu, 3);
	assert_int_equal(a.ranks[5].pid, 483077);
	assert_string_equal(a.ranks[5].comm, "0x27a079b828ff1a75");
	ras_release(&a);
}

static void counts_have_an_end(void **state)
{
	static const char words[] =
		"{\"communicators\": [{\"hash\": \"0x1\", \"size\": 1, "
		"\"ranks\": [{\"rank\": 0, \"host\": \"n0\", \"pid\": 7, "
		"\"status\": {}, \"collective_counts\": {"
		"\"AllReduce\": 9223372036854775807, "
		"\"AllGather\": 9223372036854775807}}]}]}";
	struct ras_answer a;

	(void)state;
	assert_int_equal(ras_parse(words, strlen(words), &a, NULL), 0);
	assert_int_equal(a.n, 1);
	assert_int_equal(a.ranks[0].total, INT64_MAX);
	ras_release(&a);
}

static void what_is_no_answer_is_said(void **state)
{
	static const char *const texts[] = {
		"", "OK\nERROR: unknown format\n", "OK\n{", "{\"communicators\":3}",
		"{\"communicators\": [{\"hash\": \"0x1\", \"size\": 0}]}",
		("{\"communicators\": [{\"hash\": \"0x1\", \"size\": 2, \"ranks\""
		 ": [{\"rank\": -1, \"host\": \"h\", \"pid\": 1}]}]}"),
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct ras_answer a;
		struct err e = { 0 };

		assert_int_equal(ras_parse(texts[i], strlen(texts[i]), &a, &e),
				 -1);
		assert_int_not_equal(e.text[0], '\0');
		ras_release(&a);
	}
}

/* ---- which processes ----------------------------------------------------- */

static char root[64];

/* The one of libc, but for one file, which does not open. */
int open(const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list ap;

	va_start(ap, flags);
	mode = flags & O_CREAT ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	while (root[0] && strstr(path, "/proc/7/maps")) {
		pause();
	}
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

static void make_process(int pid, const char *maps)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/proc/%d", root, pid);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/proc/%d/maps", root, pid);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(maps, f);
	fclose(f);
}

/* The kernel makes who reads the map of a process wait for it. */
static void processes_that_hang_are_not_waited_for(void **state)
{
	char *const remove[] = { (char *)"rm", (char *)"-r", root, NULL };
	struct spawn_status st;
	char path[128];
	struct procs p;

	(void)state;
	snprintf(root, sizeof(root), "/tmp/gpucheck-hang.XXXXXX");
	assert_non_null(mkdtemp(root));
	snprintf(path, sizeof(path), "%s/proc", root);
	assert_int_equal(mkdir(path, 0700), 0);
	make_process(7, "7f00 r-xp /usr/lib/libnccl.so.2\n");
	make_process(8, "7f00 r-xp /usr/lib/libnccl.so.2\n");
	make_process(9, "7f00 r-xp /usr/lib/libc.so.6\n");
	assert_int_equal(procs_find(root, "", 0, &p), 0);
	assert_int_equal(p.mute, 1);
	assert_int_equal(p.n, 1);
	assert_int_equal(p.list[0].pid, 8);
	procs_release(&p);
	assert_int_equal(spawn_capture(remove, NULL, NULL, 100,
				       clock_now_ns() + 30 * NS_PER_S, &st,
				       NULL), 0);
	assert_int_equal(st.exit_code, 0);
	root[0] = '\0';
}

/* ---- where they are ------------------------------------------------------ */

static void frames_are_of_the_main_thread(void **state)
{
	char stack[STACK_SIZE];

	(void)state;
	read_file("fuzz/corpus/stack", "py-spy");
	stack_parse(file_text, stack);
	assert_string_equal(stack, "_wait_for_tstate_lock < join < load < "
				   "<module>");
	read_file("fuzz/corpus/stack", "gdb");
	stack_parse(file_text, stack);
	assert_string_equal(stack, "clock_nanosleep < time_sleep < ??");
	stack_parse("#0  \033[31mred ()\n", stack);
	assert_string_equal(stack, "?[31mred");
	stack_parse("[<0>] pipe_read+0x1a/0x70\n[<0>] vfs_read+0xbb/0x360\n",
		    stack);
	assert_string_equal(stack, "pipe_read < vfs_read");
	stack_parse("ptrace: Operation not permitted.\n", stack);
	assert_string_equal(stack, "");
}

/* ---- what the kernel says ------------------------------------------------ */

static void messages_of_the_kernel_are_told_apart(void **state)
{
	static const struct {
		const char *text, *fact;
	} cases[] = {
		{ "NVRM: Xid (PCI:0000:1b:00): 79, pid=12, name=python",
		  HANG_KERNEL_XID },
		{ "Out of memory: Killed process 12 (python3) total-vm:1kB",
		  HANG_KERNEL_OOM },
		{ "Memory cgroup out of memory: Killed process 12 (python3)",
		  HANG_KERNEL_OOM },
		{ "mlx5_core 0000:0c:00.0 ib0: Link down", HANG_KERNEL_LINK },
		{ "INFO: task python3:12 blocked for more than 120 seconds.",
		  HANG_KERNEL_DISK },
		{ "nfs: server store not responding, still trying",
		  HANG_KERNEL_DISK },
		{ "mlx5_core 0000:0c:00.0 ib0: Link up", NULL },
		{ "e1000e 0000:00:1f.6 eth0: NIC Link is Down", NULL },
	};
	char record[] = "6,1234,98765,-;mlx5_core: Link down\n KEY=value\n";
	int64_t us;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *fact = hang_kernel_fact(cases[i].text);

		assert_string_equal(fact ? fact : "",
				    cases[i].fact ? cases[i].fact : "");
	}
	assert_string_equal(kernel_log_parse(record, &us),
			    "mlx5_core: Link down");
	assert_int_equal(us, 98765);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(recorded_answers_are_read),
		cmocka_unit_test(words_are_read),
		cmocka_unit_test(halves_are_not_told_apart),
		cmocka_unit_test(older_words_count_all_kinds_together),
		cmocka_unit_test(counts_have_an_end),
		cmocka_unit_test(what_is_no_answer_is_said),
		cmocka_unit_test(processes_that_hang_are_not_waited_for),
		cmocka_unit_test(frames_are_of_the_main_thread),
		cmocka_unit_test(messages_of_the_kernel_are_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
