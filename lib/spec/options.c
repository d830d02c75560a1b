/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/spec/spec.h"

#include <string.h>

#include "lib/base/clock.h"

/**
 * The table of all options.  To add one: a field in struct spec, a row here,
 * its default in spec_init(), and a paragraph in the manual page of each
 * command that takes it; tests/cli/agree.bats fails until they agree.
 */

#define FIELD(f) \
	.offset = offsetof(struct spec, f), \
	.size = sizeof(((struct spec *)0)->f)

#define PROBE	(SPEC_CMD_P2P | SPEC_CMD_IB)
#define SWEEP	(PROBE | SPEC_CMD_COLLECTIVE)
#define WHERE	(SWEEP | SPEC_CMD_MEMLOCK | SPEC_CMD_PING | SPEC_CMD_INFO | \
		 SPEC_CMD_GPU | SPEC_CMD_HANG | SPEC_CMD_ALL)
#define READS	(SPEC_CMD_REPORT | SPEC_CMD_EXPLAIN | SPEC_CMD_IMPORT | \
		 SPEC_CMD_DIFF | SPEC_CMD_ATTACH | SPEC_CMD_HISTORY)
#define OUTPUT	(WHERE | READS)
#define NODE	SPEC_CMD_NODE
#define TELLS	(OUTPUT | SPEC_CMD_STATUS | NODE)
#define PLAN	SPEC_CMD_PLAN	/* which takes all of its command's */

#define MAX_SIZE_B   (INT64_C(1) << 40)
#define MAX_TASK_NS  (INT64_C(3600) * NS_PER_S)
#define MAX_COMPUTE_NS (INT64_C(300) * NS_PER_S)
#define MAX_RUN_NS   (INT64_C(100) * 24 * 3600 * NS_PER_S)

#define WORD(text) { .name = text }
/** A word that only some of the commands with the option take, and plan. */
#define WORD_OF(mask, text) { .name = text, .commands = (mask) | PLAN }
#define WORDS_END { .name = NULL }

static const struct spec_word launcher_words[] = {
	{ .name = "local", .flags = LAUNCHER_PRETENDS },
	{ .name = "ssh", .flags = LAUNCHER_HOSTS },
	{ .name = "srun", .flags = LAUNCHER_SLURM },
	{ .name = "sbatch", .flags = LAUNCHER_SLURM | LAUNCHER_JOB },
	{ .name = "env", .flags = LAUNCHER_JOB | LAUNCHER_ONCE,
	  .commands = (WHERE & ~(unsigned)SPEC_CMD_ALL) | PLAN },
	WORDS_END
};
#define BY_GPU (SPEC_CMD_P2P | SPEC_CMD_ALL)
static const struct spec_word transport_words[] = {
	WORD("auto"),
	{ .name = "nccl",
	  .flags = XPORT_GPU | XPORT_DEAD_IS_SILENT | XPORT_SETTINGS,
	  .commands = BY_GPU | SPEC_CMD_COLLECTIVE | PLAN },
	{ .name = "cuda",
	  .flags = XPORT_GPU | XPORT_ONE_NODE,
	  .commands = BY_GPU | PLAN },
	{ .name = "tcp",
	  .flags = XPORT_SHARED_CORES | XPORT_SOCKETS,
	  .commands = BY_GPU | PLAN },
	{ .name = "verbs", .flags = XPORT_PORT | XPORT_DEAD_IS_SILENT,
	  .commands = SPEC_CMD_IB | PLAN },
	{ .name = "sim", .flags = XPORT_MODEL },
	WORDS_END
};
static const struct spec_word jobs_words[] = {
	[JOBS_ONE] = WORD("one"),
	[JOBS_PAIRS] = WORD("pairs"),
	WORDS_END
};
static const struct spec_word schedule_words[] = {
	[SCHEDULE_NIC] = WORD("nic"),
	[SCHEDULE_PARALLEL] = WORD("parallel"),
	[SCHEDULE_SERIAL] = WORD("serial"),
	WORDS_END
};
static const struct spec_word contrast_words[] = {
	[CONTRAST_NONE] = WORD("none"),
	[CONTRAST_SCHEDULE] = WORD_OF(PROBE, "schedule"),
	[CONTRAST_PXN] = WORD_OF(SPEC_CMD_P2P, "pxn"),
	[CONTRAST_MEMORY] = WORD_OF(SPEC_CMD_IB, "memory"),
	[CONTRAST_PARALLEL] = WORD_OF(SPEC_CMD_GPU, "parallel"),
	WORDS_END
};
static const struct spec_word fabric_words[] = {
	[FABRIC_AUTO] = WORD("auto"),
	[FABRIC_ANY] = WORD("any"),
	[FABRIC_RAIL_ONLY] = WORD("rail-only"),
	WORDS_END
};
static const struct spec_word op_words[] = {
	[OP_WRITE] = WORD("write"),
	[OP_SEND] = WORD("send"),
	[OP_READ] = WORD("read"),
	WORDS_END
};
static const struct spec_word memory_words[] = {
	[MEMORY_HOST] = WORD("host"),
	[MEMORY_GPU] = WORD("gpu"),
	WORDS_END
};
/* As in dtypes and redops of probes/collective/collective.c. */
static const struct spec_word dtype_words[] = {
	WORD("int8"), WORD("uint8"), WORD("int32"), WORD("uint32"),
	WORD("int64"), WORD("uint64"), WORD("half"), WORD("float"),
	WORD("double"), WORD("bfloat16"), WORD("f8e4m3"), WORD("f8e5m2"),
	WORDS_END
};
static const struct spec_word redop_words[] = {
	WORD("sum"), WORD("prod"), WORD("max"), WORD("min"), WORD("avg"),
	WORDS_END
};
static const struct spec_word method_words[] = {
	WORD("auto"), WORD("icmp"), WORD("icmp_raw"), WORD("udp"), WORDS_END
};
static const struct spec_word when_words[] = {
	[WHEN_AUTO] = WORD("auto"),
	[WHEN_ALWAYS] = WORD("always"),
	[WHEN_NEVER] = WORD("never"),
	WORDS_END
};

static const struct spec_word json_words[] = {
	[SPEC_JSON_NONE] = WORD("0"),
	[SPEC_JSON_ALL] = WORD("1"),
	[SPEC_JSON_VERDICT] = { .name = "verdict",
				.commands = SPEC_CMD_JUDGES | SPEC_CMD_IMPORT },
	WORDS_END
};

const struct spec_option spec_options[] = {
	{ .name = "local", .heading = "Where to run", .type = SPEC_LOCAL,
	  .commands = WHERE | PLAN, FIELD(local), .optional_value = true,
	  .once = true,
	  .help = "run here, as N nodes of G ranks (1 x its GPUs)" },
	{ .name = "nodes", .letter = 'N', .type = SPEC_INT,
	  .commands = WHERE | PLAN, FIELD(nodes), .min = 1,
	  .max = SPEC_MAX_NODES,
	  .harmless = true,
	  .help = "number of nodes (2)",
	  .hint = "names of nodes: --nodelist" },
	{ .name = "gpus-per-node", .letter = 'G', .type = SPEC_INT,
	  .commands = WHERE | PLAN, FIELD(gpus_per_node), .min = 1,
	  .max = SPEC_MAX_GPUS, .argh = "G",
	  .harmless = true,
	  .help = "GPUs or ranks per node (as Slurm reports)" },
	{ .name = "nics", .type = SPEC_INT,
	  .commands = SPEC_CMD_P2P | SPEC_CMD_ALL | PLAN, FIELD(nics), .min = 1,
	  .max = SPEC_MAX_GPUS,
	  .help = "NICs per node, if not detected (one per GPU)" },
	{ .name = "launcher", .type = SPEC_WORD, .commands = WHERE | PLAN,
	  FIELD(launcher), .words = launcher_words, .resumed = SPEC_LIMITS,
	  .help = "how to start processes on the nodes" },
	{ .name = "node", .type = SPEC_FLAG, .commands = SPEC_CMD_MEMLOCK,
	  FIELD(node),
	  .once = true,
	  .help = "check this node only, now; keep files only with -o" },
	{ .name = "ssh", .type = SPEC_TEXT, .commands = WHERE | PLAN,
	  FIELD(ssh), .optional_value = true, .argh = "HOSTFILE|LIST",
	  .help = "start on these hosts by ssh, without Slurm" },
	{ .name = "hosts", .type = SPEC_TEXT, .commands = WHERE | PLAN,
	  FIELD(hosts), .rare = true, .argh = "HOSTFILE|LIST",
	  .help = "hosts for --ssh or --launcher=ssh" },
	{ .name = "ssh-path", .type = SPEC_TEXT, .commands = WHERE,
	  FIELD(ssh_path), .rare = true, .argh = "PATH",
	  .help = "gpucheck on the hosts (a copy of this one)" },
	{ .name = "nodelist", .type = SPEC_NODES, .commands = WHERE | PLAN,
	  FIELD(nodelist),
	  .harmless = true,
	  .help = "use only these nodes, such as gpu[01-04]" },
	{ .name = "exclude", .letter = 'x', .type = SPEC_NODES,
	  .commands = WHERE | PLAN, FIELD(exclude),
	  .harmless = true,
	  .help = "do not use these nodes" },
	{ .name = "srun-args", .type = SPEC_TEXT, .commands = WHERE,
	  FIELD(srun_args), .rare = true, .argh = "WORDS",
	  .resumed = SPEC_LIMITS,
	  .help = "options for srun, of a container say, in a job too" },
	{ .name = "jobs", .type = SPEC_CHOICE, .commands = PROBE | PLAN,
	  FIELD(jobs), .words = jobs_words,
	  .help = "one job, or one for each two nodes as they get free" },
	{ .name = "max-jobs", .was = "lanes", .type = SPEC_INT,
	  .commands = PROBE | PLAN,
	  FIELD(max_jobs), .rare = true, .min = 1, .max = 5000,
	  .help = "of --jobs=pairs: jobs at a time (1000)" },
	{ .name = "deadline", .type = SPEC_DURATION, .commands = PROBE,
	  FIELD(deadline_ns), .rare = true, .min = NS_PER_S,
	  .max = MAX_RUN_NS, .resumed = SPEC_LIMITS,
	  .help = "end jobs of --jobs=pairs that wait longer" },
	{ .name = "dry-run", .type = SPEC_FLAG,
	  .commands = WHERE | SPEC_CMD_WATCH,
	  FIELD(dry_run), .resumed = SPEC_COMMANDS,
	  .once = true,
	  .help = "print what would be submitted or started" },
	{ .name = "no-wait", .type = SPEC_FLAG, .commands = WHERE,
	  FIELD(no_wait), .resumed = SPEC_COMMANDS,
	  .help = "submit, print run directory and job ID, then exit" },

	{ .name = "cross", .heading = "What to measure", .type = SPEC_FLAG,
	  .commands = SPEC_CMD_PING, FIELD(cross),
	  .help = "also test between different network segments" },
	{ .name = "all-pairs", .type = SPEC_FLAG, .commands = SPEC_CMD_PING,
	  FIELD(all_pairs),
	  .help = "every node to every node, of more than 32, too" },
	{ .name = "method", .type = SPEC_WORD, .commands = SPEC_CMD_PING,
	  FIELD(method), .words = method_words,
	  .help = "kind of packet that is sent (auto)" },
	{ .name = "tcp", .type = SPEC_TEXT, .commands = SPEC_CMD_PING,
	  FIELD(tcp), .argh = "PORT|auto",
	  .help = "open TCP connections; auto: to gpucheck's agents" },
	{ .name = "count", .type = SPEC_INT, .commands = SPEC_CMD_PING,
	  FIELD(count), .min = 1, .max = 1000,
	  .help = "packets or connections per test (5; TCP 1)" },
	{ .name = "interval", .type = SPEC_DURATION, .commands = SPEC_CMD_PING,
	  FIELD(interval_ns), .rare = true, .min = NS_PER_MS,
	  .max = MAX_TASK_NS,
	  .help = "time between two packets of a test (100ms)" },
	{ .name = "size", .type = SPEC_SIZE, .commands = SPEC_CMD_PING,
	  FIELD(size_B), .min = 44, .max = 65000,
	  .help = "bytes of data in a packet (56)" },
	{ .name = "find-mtu", .was = "df", .type = SPEC_FLAG,
	  .commands = SPEC_CMD_PING, FIELD(df),
	  .help = "find the largest packet that is not fragmented" },
	{ .name = "ifname", .type = SPEC_TEXT,
	  .commands = SPEC_CMD_PING | SPEC_CMD_ALL | NODE, FIELD(ifname),
	  .argh = "LIST",
	  .help = "interfaces, written as in NCCL_SOCKET_IFNAME (all)" },
	{ .name = "subnet", .type = SPEC_TEXT, .commands = SPEC_CMD_PING,
	  FIELD(subnet), .argh = "LIST",
	  .help = "use only these subnets: 10.1.0.0/16,fd00::/8" },
	{ .name = "skip", .type = SPEC_TEXT, .commands = SPEC_CMD_PING,
	  FIELD(skip), .argh = "LIST",
	  .help = "skip these interfaces, addresses or subnets" },
	{ .name = "transport", .type = SPEC_WORD,
	  .commands = SWEEP | SPEC_CMD_ALL | SPEC_CMD_GPU | PLAN,
	  FIELD(transport),
	  .words = transport_words,
	  .harmless = true,
	  .help = "how data is transferred (auto)" },
	{ .name = "pairs", .type = SPEC_TEXT, .commands = PROBE | PLAN,
	  FIELD(pairs), .argh = "all|nodes|inter|intra|rail|LIST",
	  .harmless = true,
	  .help = "pairs to test; LIST such as 0-9,n0:1-n1:*" },
	{ .name = "sample", .type = SPEC_INT, .commands = PROBE | PLAN,
	  FIELD(sample), .min = 1, .max = SPEC_MAX_SAMPLE, .argh = "K",
	  .harmless = true,
	  .help = "only K partners of each rank, of every sort of pair" },
	{ .name = "schedule", .type = SPEC_CHOICE, .commands = PROBE | PLAN,
	  FIELD(schedule), .words = schedule_words,
	  .help = "what concurrent pairs must not share (nic)" },
	{ .name = "compare", .was = "contrast", .type = SPEC_CHOICE,
	  .commands = PROBE | SPEC_CMD_GPU | PLAN,
	  FIELD(contrast), .words = contrast_words,
	  .help = "measure in two ways and show the ratio (none)" },
	{ .name = "fabric", .type = SPEC_CHOICE,
	  .commands = PROBE | SPEC_CMD_ALL | PLAN, FIELD(fabric),
	  .words = fabric_words,
	  .help = "rails that it is built to connect (auto)" },
	{ .name = "minbytes", .letter = 'b', .type = SPEC_SIZE,
	  .commands = SWEEP | PLAN, FIELD(size_begin_B), .min = 1,
	  .max = MAX_SIZE_B,
	  .harmless = true,
	  .help = "smallest size (p2p 64M, tcp 4M, ib 64K, else 8)" },
	{ .name = "maxbytes", .letter = 'e', .type = SPEC_SIZE,
	  .commands = SWEEP | PLAN, FIELD(size_end_B), .min = 1,
	  .max = MAX_SIZE_B,
	  .harmless = true,
	  .help = "largest size (same as the smallest)" },
	{ .name = "stepfactor", .letter = 'f', .type = SPEC_INT,
	  .commands = SWEEP | PLAN, FIELD(size_factor), .min = 2, .max = 1024,
	  .harmless = true,
	  .help = "factor from one size to the next (2)" },
	{ .name = "iters", .letter = 'n', .type = SPEC_INT,
	  .commands = SWEEP | PLAN, FIELD(iters), .min = 0, .max = 1000000,
	  .help = "timed iterations; 0: until the result is steady (0)" },
	{ .name = "warmup-iters", .was = "warmup_iters", .letter = 'w',
	  .type = SPEC_INT, .commands = SWEEP, FIELD(warmup), .min = 0,
	  .max = 1000000,
	  .help = "warm-up iterations, not timed (1)" },
	{ .name = "check", .letter = 'c', .type = SPEC_BOOL, .commands = SWEEP,
	  FIELD(check), .help = "verify the data that is received (1)" },
	{ .name = "verify", .type = SPEC_INT,
	  .commands = SPEC_CMD_COLLECTIVE | PLAN, FIELD(verify), .min = 0,
	  .max = 1000000,
	  .help = "check so many more operations of each size (0)" },
	{ .name = "bidi", .type = SPEC_FLAG, .commands = PROBE, FIELD(bidi),
	  .help = "both directions at once, each measured" },
	{ .name = "force-net", .type = SPEC_FLAG, .commands = SPEC_CMD_P2P,
	  FIELD(force_net), .help = "nccl: use the network within a node too" },
	{ .name = "pxn", .type = SPEC_FLAG, .commands = SPEC_CMD_P2P,
	  FIELD(pxn), .help = "nccl: allow PXN, the NIC of another GPU" },
	{ .name = "production-settings", .type = SPEC_FLAG,
	  .commands = SPEC_CMD_P2P, FIELD(production_settings), .rare = true,
	  .help = "keep NCCL's own timeouts and retries" },
	{ .name = "no-follow-up", .type = SPEC_FLAG,
	  .commands = SPEC_CMD_P2P | SPEC_CMD_IB | PLAN, FIELD(no_follow_up),
	  .resumed = SPEC_LIMITS,
	  .help = "no further tests to settle what all leave open" },
	{ .name = "diagnose", .type = SPEC_FLAG, .commands = SPEC_CMD_P2P,
	  FIELD(diagnose), .resumed = SPEC_LIMITS,
	  .help = "retest failed pairs layer by layer to find the cause" },
	{ .name = "test-timeout", .was = "timeout", .type = SPEC_DURATION,
	  .commands = SWEEP | SPEC_CMD_PING | SPEC_CMD_GPU | PLAN,
	  FIELD(timeout_ns),
	  .min = NS_PER_MS, .max = MAX_TASK_NS, .resumed = SPEC_LIMITS,
	  .help = "limit per pair (3s; tcp, ib 2s; ping 1s), size (60s)" },
	{ .name = "time-limit", .was = "max-time", .type = SPEC_DURATION,
	  .commands = WHERE | NODE, FIELD(max_time_ns), .min = NS_PER_S,
	  .max = MAX_RUN_NS,
	  .resumed = SPEC_LIMITS,
	  .help = "stop after TIME; remaining tests are marked not run" },
	{ .name = "time-budget", .was = "budget", .type = SPEC_DURATION,
	  .commands = WHERE | PLAN, FIELD(budget_ns), .min = NS_PER_S,
	  .max = MAX_RUN_NS,
	  .resumed = SPEC_LIMITS,
	  .help = "plan what fits into TIME, and end within it" },
	{ .name = "rate-limit", .was = "gentle", .type = SPEC_SIZE,
	  .commands = SWEEP | SPEC_CMD_ALL | PLAN, FIELD(gentle_B),
	  .min = 1 << 20, .max = MAX_SIZE_B, .resumed = SPEC_LIMITS,
	  .help = "at most so many bytes a second between leaves" },
	{ .name = "agent-timeout", .was = "boot-timeout",
	  .type = SPEC_DURATION, .commands = WHERE, FIELD(boot_timeout_ns),
	  .rare = true, .min = NS_PER_S,
	  .max = MAX_TASK_NS, .resumed = SPEC_LIMITS,
	  .help = "how long to wait for agents (30s from the first)" },
	{ .name = "start-timeout", .type = SPEC_DURATION, .commands = WHERE,
	  FIELD(start_timeout_ns), .rare = true, .min = NS_PER_S,
	  .max = MAX_TASK_NS, .resumed = SPEC_LIMITS,
	  .help = "how long to wait for that first one (Slurm 15m)" },
	{ .name = "port-range", .type = SPEC_PORTS, .commands = WHERE,
	  FIELD(port_range), .rare = true, .resumed = SPEC_LIMITS,
	  .help = "listen on these ports only (any)" },
	{ .name = "silence", .type = SPEC_DURATION, .commands = WHERE,
	  FIELD(silence_ns), .rare = true, .min = NS_PER_S,
	  .max = MAX_TASK_NS, .resumed = SPEC_LIMITS,
	  .help = "how long an agent may be silent (15s)" },
	{ .name = "inject", .was = "faults", .type = SPEC_TEXT,
	  .commands = SWEEP | SPEC_CMD_ALL | SPEC_CMD_GPU, FIELD(faults),
	  .argh = "FILE",
	  .once = true,
	  .help = "drill: inject the faults that FILE lists" },
	{ .name = "switches", .type = SPEC_TEXT,
	  .commands = SWEEP | SPEC_CMD_PING, FIELD(switches), .rare = true,
	  .argh = "FILE",
	  .help = "what is connected to which switch, for findings" },
	{ .name = "seed", .type = SPEC_INT,
	  .commands = SWEEP | SPEC_CMD_ALL | SPEC_CMD_PING | SPEC_CMD_GPU,
	  FIELD(seed),
	  .min = 0, .max = INT64_MAX,
	  .help = "random seed of data, drills, sim, samples (1)" },
	{ .name = "strict", .type = SPEC_FLAG, .commands = WHERE | NODE,
	  FIELD(strict),
	  .resumed = SPEC_LIMITS,
	  .help = "treat warnings as faults: exit code 1" },
	{ .name = "slow", .type = SPEC_INT,
	  .commands = PROBE | SPEC_CMD_ALL | SPEC_CMD_REPORT | SPEC_CMD_GPU,
	  FIELD(slow_percent), .min = 1, .max = 99, .argh = "PERCENT",
	  .resumed = SPEC_LIMITS,
	  .help = "a part slower by that is a fault, not a warning (10)" },
	{ .name = "quick", .type = SPEC_FLAG,
	  .commands = SPEC_CMD_ALL | PROBE | SPEC_CMD_GPU | PLAN, FIELD(quick),
	  .help = "for a first look: pairs --sample=3, links of GPUs" },
	{ .name = "deep", .type = SPEC_FLAG, .commands = SPEC_CMD_ALL | PLAN,
	  FIELD(deep), .help = "test memory and arithmetic of the GPUs, too" },
	{ .name = "resume", .type = SPEC_TEXT,
	  .commands = PROBE | SPEC_CMD_ALL, FIELD(resume), .argh = "DIR",
	  .resumed = SPEC_COMMANDS, .once = true,
	  .help = "continue an unfinished run" },
	{ .name = "retest", .type = SPEC_TEXT, .commands = SWEEP, FIELD(retest),
	  .argh = "DIR", .resumed = SPEC_COMMANDS, .once = true,
	  .help = "after a repair: only what the run in DIR has found" },
	{ .name = "need", .type = SPEC_SIZE,
	  .commands = SPEC_CMD_MEMLOCK | NODE, FIELD(need_B), .min = 4096,
	  .max = MAX_SIZE_B,
	  .help = "locked memory that a process needs (33M per HCA)" },
	{ .name = "sysroot", .type = SPEC_TEXT,
	  .commands = SPEC_CMD_IB | SPEC_CMD_MEMLOCK | SPEC_CMD_INFO |
		      SPEC_CMD_P2P | NODE,
	  FIELD(sysroot), .argh = "DIR",
	  .once = true,
	  .help = "read /sys and /proc below DIR (/)" },
	{ .name = "expect-gpus", .type = SPEC_INT, .commands = NODE,
	  FIELD(expect_gpus), .min = 1, .max = SPEC_MAX_GPUS,
	  .help = "GPUs that the node should have (as in slurm.conf)" },
	{ .name = "fail-on", .type = SPEC_TEXT, .commands = NODE,
	  FIELD(fail_on), .argh = "CODE,...",
	  .help = "exit 1 for these codes alone, and 0 for all else" },
	{ .name = "compute", .type = SPEC_DURATION, .commands = SPEC_CMD_GPU,
	  FIELD(compute_ns), .max = MAX_COMPUTE_NS,
	  .help = "how long to check the arithmetic of a GPU (2s)" },
	{ .name = "far", .type = SPEC_FLAG, .commands = SPEC_CMD_GPU,
	  FIELD(far), .help = "by memory of the other socket, too" },
	{ .name = "soak", .type = SPEC_DURATION, .commands = SPEC_CMD_GPU,
	  FIELD(soak_ns), .min = NS_PER_S, .max = MAX_RUN_NS,
	  .help = "all tests again and again, and what changes" },
	{ .name = "dcgm", .type = SPEC_FLAG,
	  .commands = SPEC_CMD_GPU | SPEC_CMD_ALL, FIELD(dcgm),
	  .help = "what dcgmi diag -r 1 finds, too, where it is there" },
	{ .name = "pid", .type = SPEC_INT, .commands = SPEC_CMD_HANG,
	  FIELD(pid), .min = 1, .max = INT32_MAX,
	  .once = true,
	  .help = "watch this process and those that it started" },
	{ .name = "watch", .type = SPEC_FLAG, .commands = SPEC_CMD_HANG,
	  FIELD(watch),
	  .help = "look again until a rank is named or the job ends" },
	{ .name = "stacks", .type = SPEC_FLAG, .commands = SPEC_CMD_HANG,
	  FIELD(stacks),
	  .once = true,
	  .help = "stop the processes shortly, to see where they are" },
	{ .name = "record", .type = SPEC_TEXT, .commands = SPEC_CMD_INFO,
	  FIELD(record), .argh = "DIR",
	  .once = true,
	  .help = "record each node, without secrets, into the new DIR" },
	{ .name = "reference", .type = SPEC_TEXT,
	  .commands = SPEC_CMD_REPORT | SPEC_CMD_COLLECTIVE | SPEC_CMD_P2P |
		      SPEC_CMD_IB | SPEC_CMD_ALL,
	  FIELD(reference), .argh = "NAME|FILE|DIR",
	  .help = "an earlier run whose levels count as usual" },

	{ .name = "every", .type = SPEC_DURATION, .commands = SPEC_CMD_WATCH,
	  FIELD(every_ns), .min = NS_PER_S, .max = MAX_RUN_NS,
	  .help = "from the start of a run to that of the next" },
	{ .name = "runs", .type = SPEC_INT, .commands = SPEC_CMD_WATCH,
	  FIELD(runs), .min = 1, .max = 9999,
	  .help = "so many, then no more (any number)" },
	{ .name = "for", .type = SPEC_DURATION, .commands = SPEC_CMD_WATCH,
	  FIELD(lasting_ns), .min = NS_PER_S, .max = MAX_RUN_NS,
	  .help = "no run begins later than that from now (720h)" },
	{ .name = "systemd", .type = SPEC_TEXT, .commands = SPEC_CMD_WATCH,
	  FIELD(systemd), .argh = "DIR", .optional_value = true,
	  .once = true,
	  .help = "a timer for this node: write units there, or print" },
	{ .name = "show", .type = SPEC_TEXT, .commands = SPEC_CMD_WATCH,
	  FIELD(show), .argh = "DIR", .optional_value = true, .once = true,
	  .help = "print the entry, of the watch of DIR; write none" },
	{ .name = "list", .type = SPEC_FLAG, .commands = SPEC_CMD_WATCH,
	  FIELD(list), .once = true,
	  .help = "list entries in crontab, scrontab and systemd" },
	{ .name = "remove", .type = SPEC_TEXT, .commands = SPEC_CMD_WATCH,
	  FIELD(remove), .argh = "DIR", .once = true,
	  .help = "take away the entry of that directory" },
	{ .name = "stop", .type = SPEC_TEXT, .commands = SPEC_CMD_WATCH,
	  FIELD(stop), .argh = "DIR", .once = true,
	  .help = "the same, and no run starts by hand either" },
	{ .name = "last", .type = SPEC_INT, .commands = SPEC_CMD_HISTORY,
	  FIELD(last), .min = 1, .max = 100000,
	  .help = "the newest runs that count, at most (100)" },
	{ .name = "convert", .type = SPEC_TEXT, .commands = SPEC_CMD_HISTORY,
	  FIELD(convert), .argh = "DIR", .once = true,
	  .help = "take in the history of an earlier version" },
	{ .name = "drills", .type = SPEC_FLAG, .commands = SPEC_CMD_HISTORY,
	  FIELD(drills),
	  .help = "count drills and runs of the model cluster, too" },

	{ .name = "dtype", .heading = "What to compare", .type = SPEC_WORD,
	  .commands = SPEC_CMD_COLLECTIVE, FIELD(dtype), .words = dtype_words,
	  .argh = "TYPE", .help = "data type of the elements (float)" },
	{ .name = "redop", .type = SPEC_WORD, .commands = SPEC_CMD_COLLECTIVE,
	  FIELD(redop), .words = redop_words,
	  .help = "reduction operation (sum)" },
	{ .name = "algo", .type = SPEC_TEXT, .commands = SPEC_CMD_COLLECTIVE,
	  FIELD(algo), .argh = "LIST",
	  .help = "compare NCCL's algorithms, such as Ring,Tree" },
	{ .name = "proto", .type = SPEC_TEXT, .commands = SPEC_CMD_COLLECTIVE,
	  FIELD(proto), .argh = "LIST",
	  .help = "compare NCCL's protocols: Simple,LL,LL128" },
	{ .name = "nccl-lib", .type = SPEC_LIST,
	  .commands = SPEC_CMD_P2P | SPEC_CMD_COLLECTIVE, FIELD(nccl_libs),
	  .argh = "PATH|torch",
	  .help = "NCCL to use; collectives compare several" },
	{ .name = "env", .type = SPEC_LIST, .commands = SPEC_CMD_COLLECTIVE,
	  FIELD(env), .argh = "NAME=A,B",
	  .help = "compare values of a variable; may be repeated" },
	{ .name = "bisect", .type = SPEC_FLAG, .commands = SPEC_CMD_COLLECTIVE,
	  FIELD(bisect), .help = "find the smallest failing set by halving" },

	{ .name = "op", .heading = "How RDMA is used", .type = SPEC_CHOICE,
	  .commands = SPEC_CMD_IB, FIELD(op), .words = op_words,
	  .help = "RDMA operation (write)" },
	{ .name = "memory", .type = SPEC_CHOICE, .commands = SPEC_CMD_IB,
	  FIELD(memory), .words = memory_words,
	  .help = "memory that holds the buffers (host)" },
	{ .name = "hca", .type = SPEC_TEXT,
	  .commands = SPEC_CMD_IB | SPEC_CMD_ALL | NODE, FIELD(hca),
	  .argh = "LIST",
	  .help = "HCAs, written as in NCCL_IB_HCA (all)" },
	{ .name = "gid-index", .type = SPEC_INT, .commands = SPEC_CMD_IB,
	  FIELD(gid_index), .min = 0, .max = 4095,
	  .help = "GID index for RoCE (as NCCL chooses)" },
	{ .name = "qps", .type = SPEC_INT, .commands = SPEC_CMD_IB, FIELD(qps),
	  .rare = true, .min = 1, .max = 16,
	  .help = "queue pairs a test is spread over (1)" },
	{ .name = "rdma-cm", .type = SPEC_FLAG, .commands = SPEC_CMD_IB,
	  FIELD(rdma_cm), .rare = true,
	  .help = "connect by rdma_cm, as ib_send_bw -R does" },
	{ .name = "tx-depth", .type = SPEC_INT, .commands = SPEC_CMD_IB,
	  FIELD(tx_depth), .rare = true, .min = 1, .max = 8192,
	  .help = "outstanding messages at a time (128)" },
	{ .name = "tc", .type = SPEC_INT, .commands = SPEC_CMD_IB,
	  FIELD(traffic_class), .rare = true, .min = 0, .max = 255,
	  .help = "traffic class (NCCL_IB_TC, 0)" },
	{ .name = "sl", .type = SPEC_INT, .commands = SPEC_CMD_IB,
	  FIELD(service_level), .rare = true, .min = 0, .max = 15,
	  .help = "service level (NCCL_IB_SL, 0)" },
	{ .name = "pkey-index", .type = SPEC_INT, .commands = SPEC_CMD_IB,
	  FIELD(pkey_index), .rare = true, .min = 0, .max = 65535,
	  .help = "index of the partition key (NCCL_IB_PKEY, 0)" },
	{ .name = "qp-timeout", .type = SPEC_INT, .commands = SPEC_CMD_IB,
	  FIELD(qp_timeout), .rare = true, .min = 1, .max = 31,
	  .help = "resend a packet after 4.096 us x 2^N (14)" },
	{ .name = "qp-retries", .type = SPEC_INT, .commands = SPEC_CMD_IB,
	  FIELD(qp_retries), .rare = true, .min = 0, .max = 7,
	  .help = "retries of a packet before the pair fails (7)" },

	{ .name = "out", .heading = "What to print and keep", .letter = 'o',
	  .type = SPEC_TEXT,
	  .commands = WHERE | SPEC_CMD_IMPORT | SPEC_CMD_DIFF |
		      SPEC_CMD_REPORT | SPEC_CMD_WATCH | SPEC_CMD_HISTORY,
	  FIELD(out),
	  .argh = "DIR", .resumed = SPEC_COMMANDS,
	  .once = true,
	  .help = "run directory (gpucheck-<command>-<UTC>-<id>)" },
	{ .name = "out", .letter = 'o', .type = SPEC_TEXT,
	  .commands = SPEC_CMD_BUNDLE, FIELD(out), .argh = "FILE",
	  .resumed = SPEC_COMMANDS,
	  .once = true,
	  .help = "the archive (the directory's name and .tar)" },
	{ .name = "anonymous", .type = SPEC_FLAG, .commands = SPEC_CMD_BUNDLE,
	  FIELD(anonymous), .resumed = SPEC_COMMANDS,
	  .help = "hosts and users become node1, user1" },
	{ .name = "history", .type = SPEC_TEXT,
	  .commands = WHERE | SPEC_CMD_REPORT | SPEC_CMD_ATTACH |
		      SPEC_CMD_HISTORY, FIELD(history),
	  .argh = "DIR", .optional_value = true, .resumed = SPEC_COMMANDS,
	  .help = "add each run to the history there (~/.local/share)" },
	{ .name = "metrics", .type = SPEC_TEXT,
	  .commands = WHERE | SPEC_CMD_REPORT | SPEC_CMD_ATTACH,
	  FIELD(metrics), .argh = "FILE|-", .resumed = SPEC_COMMANDS,
	  .help = "write OpenMetrics of the run, for node_exporter" },
	{ .name = "follow", .type = SPEC_FLAG, .commands = SPEC_CMD_STATUS,
	  FIELD(follow), .once = true,
	  .help = "follow the run until it ends, then print its report" },
	{ .name = "json", .type = SPEC_CHOICE, .commands = TELLS | PLAN,
	  FIELD(json), .words = json_words, .optional_value = true,
	  .resumed = SPEC_COMMANDS,
	  .once = true,
	  .help = "print {run, verdict, rows}; verdict: without rows" },
	{ .name = "csv", .type = SPEC_FLAG, .commands = OUTPUT, FIELD(csv),
	  .resumed = SPEC_COMMANDS,
	  .once = true,
	  .help = "print the rows; of each pair the one that counts" },
	{ .name = "force", .type = SPEC_FLAG, .commands = SPEC_CMD_DIFF,
	  FIELD(force),
	  .once = true,
	  .help = "compare runs of different transports or sizes" },
	{ .name = "quiet", .letter = 'q', .type = SPEC_FLAG,
	  .commands = TELLS | SPEC_CMD_BUNDLE | SPEC_CMD_WATCH, FIELD(quiet),
	  .resumed = SPEC_COMMANDS,
	  .help = "print errors only; the exit code is the result" },
	{ .name = "verbose", .letter = 'v', .type = SPEC_COUNT,
	  .commands = OUTPUT | PLAN | SPEC_CMD_VERSION | NODE, FIELD(verbose),
	  .max = 3, .resumed = SPEC_COMMANDS,
	  .help = "print more; twice: still more" },
	{ .name = "color", .type = SPEC_CHOICE,
	  .commands = TELLS & ~(unsigned)NODE,
	  FIELD(color), .words = when_words, .resumed = SPEC_COMMANDS,
	  .help = "colour (auto: on a terminal, without NO_COLOR)" },
	{ .name = "map", .type = SPEC_CHOICE,
	  .commands = SPEC_CMD_P2P | SPEC_CMD_IB | SPEC_CMD_PING |
		      SPEC_CMD_REPORT,
	  FIELD(map), .words = when_words, .resumed = SPEC_COMMANDS,
	  .help = "map of the pairs (auto: up to 16 ranks or if bad)" },
	{ .name = "progress", .type = SPEC_CHOICE,
	  .commands = WHERE | SPEC_CMD_ATTACH, FIELD(progress),
	  .words = when_words, .resumed = SPEC_COMMANDS,
	  .help = "show progress on stderr (auto: after a second)" },
	{ 0 }
};

_Static_assert(sizeof(spec_options) / sizeof(spec_options[0]) <=
		       SPEC_OPTIONS_MAX, "more options than can be marked");

static unsigned flags_of(const struct spec_word *w, const char *name)
{
	while (name && w->name &&
	       (w->name[0] != name[0] || strcmp(w->name, name) != 0)) {
		w++;
	}
	return name ? w->flags : 0;
}

bool spec_launcher_is(const char *name, unsigned flags)
{
	return (flags_of(launcher_words, name) & flags) != 0;
}

bool spec_transport_is(const char *name, unsigned flags)
{
	return (flags_of(transport_words, name) & flags) != 0;
}

bool spec_is_shared(const struct spec *s)
{
	return s->local && s->local_nodes > 1 &&
	       !spec_transport_is(s->transport, XPORT_MODEL);
}

const char *spec_transport_rank(const char *name)
{
	return spec_transport_is(name, XPORT_GPU)  ? "GPU" :
	       spec_transport_is(name, XPORT_PORT) ? "port" :
						     "rank";
}

const char *spec_choice_name(const char *name, int64_t choice)
{
	return spec_find(name)->words[choice].name;
}

bool spec_is_called(const struct spec_option *o, const char *name)
{
	return strcmp(o->name, name) == 0 ||
	       (o->was && strcmp(o->was, name) == 0);
}

const struct spec_option *spec_find(const char *name)
{
	for (const struct spec_option *o = spec_options; o->name; o++) {
		if (spec_is_called(o, name)) {
			return o;
		}
	}
	return NULL;
}
