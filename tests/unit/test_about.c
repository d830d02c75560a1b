/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "report/explain/explain.h"

/** Lines of logs, and what they are about. */
static const struct {
	const char *line, *host, *bus, *hca;
	int port, rank, gpu;
	long pid;
	double time;	/* of the day, s */
} lines[] = {
	{ "n0:95209:95228 [3] init.cc:416 NCCL WARN Cuda failure",
	  "n0", "", "", 0, -1, 3, 95209, 0 },
	{ "[2025-11-24 11:20:21] n-0.a [5] misc/socket.cc:46 NCCL WARN x",
	  "n-0.a", "", "", 0, -1, 5, 0, 40821 },
	{ "[rank7]:[E626 05:14:36.393067540 ProcessGroupNCCL.cpp:1743] [PG ID "
	  "0 PG GUID 0(default_pg) Rank 3] stuck", "", "", "", 0, 7, -1, 0,
	  18876.393067540 },
	{ "(Worker pid=4009) [Rank 1] Watchdog", "", "", "", 0, 1, -1, 4009,
	  0 },
	{ "26: slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT "
	  "2021-08-17T15:09:00 DUE TO TIME LIMIT ***", "n1", "", "", 0, 26, -1,
	  0, 54540 },
	{ "srun: error: n12: tasks 2,4-5,7: Killed", "n12", "", "", 0, -1, -1,
	  0, 0 },
	{ "srun: error: n12: task 3: Killed", "n12", "", "", 0, 3, -1, 0, 0 },
	{ "srun: error: Task launch for StepId=1.0 failed on node n2: "
	  "Communication connection failure", "n2", "", "", 0, -1, -1, 0, 0 },
	{ "slurmstepd-n2: error: execve(): /opt/x: No such file or directory",
	  "n2", "", "", 0, -1, -1, 0, 0 },
	{ "[1,26]<stdout>:n4:8716:9558 [2] NCCL INFO x", "n4", "", "", 0, 26,
	  2, 8716, 0 },
	{ "Sep 23 18:37:03 n0 kernel: [   34.1] NVRM: Xid (PCI:0000:9B:00): "
	  "79, pid=4711, GPU has", "n0", "0000:9b:00", "", 0, -1, -1, 4711,
	  67023 },
	{ "[Fri Aug 30 11:43:09 2024] NVRM: Xid (PCI:0000:cb:00): 13, x", "",
	  "0000:cb:00", "", 0, -1, -1, 0, 42189 },
	{ "NCCL WARN failed with 110, on dev mlx5_1:1, curr state INIT", "",
	  "", "mlx5_1", 1, -1, -1, 0, 0 },
	{ "mlx5_core 0000:5e:00.0 ens1np0: Link down", "", "0000:5e:00", "",
	  0, -1, -1, 0, 0 },
	{ "[n1:2330856:0:2330856] ib_mlx5_log.c:177  Transport retry count "
	  "exceeded on mlx5_0:1/IB", "n1", "", "mlx5_0", 1, -1, -1, 2330856,
	  0 },
	{ "CUDA out of memory. GPU 3 has a total capacity of 21.96 GiB", "",
	  "", "", 0, -1, 3, 0, 0 },
	{ "ERROR 04-26 01:59:07 worker_base.py:157] x", "", "", "", 0, -1, -1,
	  0, 7147 },
	/* nothing of it */
	{ "mlx5_core is a driver, fd00:1148:9000:5000:4 an address at 12:30",
	  "", "", "", 0, -1, -1, 0, 0 },
	{ "2025-99-99 10:00:00 rank x GPU x [] [] NCCL", "", "", "", 0, -1,
	  -1, 0, 0 },
	{ "", "", "", "", 0, -1, -1, 0, 0 },
};

static void a_line_says_whom_it_is_about(void **state)
{
	struct about a;

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		double day;

		about_line(lines[i].line, strlen(lines[i].line), &a);
		day = a.time - 86400.0 * (double)(int)(a.time / 86400);
		if (strcmp(a.host, lines[i].host) != 0 ||
		    strcmp(a.bus, lines[i].bus) != 0 ||
		    strcmp(a.hca, lines[i].hca) != 0 ||
		    a.port != lines[i].port || a.rank != lines[i].rank ||
		    a.gpu != lines[i].gpu || a.pid != lines[i].pid ||
		    day - lines[i].time > 1e-6 ||
		    lines[i].time - day > 1e-6) {
			fail_msg("%s\n%s %s %s:%d rank %d gpu %d pid %ld %f",
				 lines[i].line, a.host, a.bus, a.hca, a.port,
				 a.rank, a.gpu, a.pid, day);
		}
	}
}

static void torchrun_says_it_in_the_lines_before(void **state)
{
	const char text[] = "[0]:\n  rank      : 9 (local_rank: 1)\n[1]:\n"
			    "  time      : 2025-05-21_15:43:03\n"
			    "  host      : n7\n"
			    "  rank      : 3 (local_rank: 1)\n"
			    "  exitcode  : -9 (pid: 14750)\n";
	const char *line = strstr(text, "  exitcode");
	struct about a;

	(void)state;
	about_line(line, strlen(line) - 1, &a);
	about_exit(text, line, &a);
	assert_int_equal(a.rank, 3);
	assert_int_equal(a.pid, 14750);
	assert_string_equal(a.host, "n7");
	assert_true(a.time > 1747842182 && a.time < 1747842184);
	about_line(line, strlen(line) - 1, &a);
	about_exit(line, line, &a);
	assert_int_equal(a.rank, -1);
}

static void files_have_ranks(void **state)
{
	(void)state;
	assert_int_equal(about_file("logs/rank_604.s12.log"), 604);
	assert_int_equal(about_file("rank3.err"), 3);
	assert_int_equal(about_file("/tmp/x/attempt_0/7/stderr.log"), 7);
	assert_int_equal(about_file("train-1234.err"), -1);
	assert_int_equal(about_file("rank_12345678"), -1);
	assert_int_equal(about_file("stderr.log"), -1);
	assert_int_equal(about_file(""), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_says_whom_it_is_about),
		cmocka_unit_test(torchrun_says_it_in_the_lines_before),
		cmocka_unit_test(files_have_ranks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
