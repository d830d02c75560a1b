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
/* -h of these has room for more options of all commands */
#define LOOKS	(SPEC_CMD_INFO | SPEC_CMD_MEMLOCK | SPEC_CMD_HANG)
#define PLAN	SPEC_CMD_PLAN	/* which takes all of its command's */

#define MAX_SIZE_B   (INT64_C(1) << 40)
#define MAX_TASK_NS  (INT64_C(3600) * NS_PER_S)
#define MAX_COMPUTE_NS (INT64_C(300) * NS_PER_S)
#define MAX_RUN_NS   (INT64_C(100) * 24 * 3600 * NS_PER_S)

#define WORD(text) { .name = text }
/** A word that only some of the commands with the option take, and plan. */
#define WORD_OF(mask, text) { .name = text, .commands = (mask) | PLAN }
#define WORDS_END { .name = NULL }
/** A text of an option in help: of all commands, or of each one the first that
 *  is for it. */
#define TEXT(text) TEXTS({ .name = text })
#define TEXTS(...) (const struct spec_word[]) { __VA_ARGS__, WORDS_END }
#define FOR(mask, text) { .commands = (mask), .name = text }

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
static const struct spec_word nic_choice_words[] = {
	[NIC_CHOICE_PLAN] = WORD("plan"),
	[NIC_CHOICE_NCCL] = WORD("nccl"),
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
	[CONTRAST_FAILOVER] = WORD_OF(SPEC_CMD_P2P, "failover"),
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
static const struct spec_word layer_words[] = {
	[LAYER_AUTO] = WORD("auto"),
	[LAYER_TCP] = WORD("tcp"),
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

static const struct spec_word stat_words[] = {
	[STAT_BEST] = WORD("best"), [STAT_MIN] = WORD("min"),
	[STAT_AVG] = WORD("avg"), [STAT_MAX] = WORD("max"), WORDS_END
};
static const struct spec_word register_words[] = {
	[REGISTER_NONE] = WORD("none"),
	[REGISTER_SYMMETRIC] = WORD("symmetric"),
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
	{ .name = "local", .heading = "Nodes", .type = SPEC_LOCAL,
	  .commands = WHERE | PLAN, FIELD(local), .optional_value = true,
	  .once = true,
	  .brief = WHERE | PLAN,
	  .help = "Run on this machine, as N nodes of G ranks" },
	{ .name = "nodes", .letter = 'N', .type = SPEC_INT,
	  .commands = WHERE | PLAN, FIELD(nodes), .min = 1,
	  .max = SPEC_MAX_NODES,
	  .harmless = true,
	  .brief = WHERE | PLAN,
	  .helps = TEXTS(
		FOR(SPEC_CMD_HANG, "Nodes of the job to observe")),
	  .unset = TEXTS(
		FOR(SPEC_CMD_HANG, "all"),
		FOR(WHERE, "2, or all nodes of the allocation")),
	  .help = "Number of nodes",
	  .hint = "names of nodes: --nodelist" },
	{ .name = "gpus-per-node", .letter = 'G', .type = SPEC_INT,
	  .commands = WHERE | PLAN, FIELD(gpus_per_node), .min = 1,
	  .max = SPEC_MAX_GPUS, .argh = "G",
	  .harmless = true,
	  .brief = SPEC_CMD_INFO | PLAN,
	  .unset = TEXTS(
		FOR(SPEC_CMD_HANG, "all"),
		FOR(WHERE, "the number that Slurm reports")),
	  .help = "GPUs or ranks per node" },
	{ .name = "nics", .type = SPEC_INT,
	  .commands = SPEC_CMD_P2P | SPEC_CMD_ALL | PLAN, FIELD(nics), .min = 1,
	  .max = SPEC_MAX_GPUS,
	  .unset = TEXTS(
		FOR(SPEC_CMD_P2P, "each GPU has the NIC that NCCL gives it"),
		{ .name = "one for each GPU" }),
	  .help = "NICs per node, if they cannot be detected" },
	{ .name = "launcher", .type = SPEC_WORD, .commands = WHERE | PLAN,
	  FIELD(launcher), .words = launcher_words, .resumed = SPEC_LIMITS,
	  .brief = LOOKS,
	  .unset = TEXTS(FOR(WHERE, "chosen from what is available")),
	  .help = "How to start processes on the nodes" },
	{ .name = "node", .type = SPEC_FLAG, .commands = SPEC_CMD_MEMLOCK,
	  FIELD(node),
	  .once = true,
	  .brief = SPEC_CMD_MEMLOCK,
	  .help = "Check this node only, without a job" },
	{ .name = "ssh", .type = SPEC_TEXT, .commands = WHERE | PLAN,
	  FIELD(ssh), .optional_value = true, .argh = "HOSTFILE|LIST",
	  .brief = WHERE,
	  .help = "Start on these hosts by ssh, without Slurm" },
	{ .name = "hosts", .type = SPEC_TEXT, .commands = WHERE | PLAN,
	  FIELD(hosts), .argh = "HOSTFILE|LIST",
	  .help = "Hosts for --ssh or --launcher=ssh" },
	{ .name = "ssh-path", .type = SPEC_TEXT, .commands = WHERE,
	  FIELD(ssh_path), .argh = "PATH",
	  .unset = TEXT("a copy of this program"),
	  .help = "Path of gpucheck on these hosts" },
	{ .name = "nodelist", .type = SPEC_NODES,
	  .commands = WHERE | PLAN | SPEC_CMD_HISTORY, FIELD(nodelist),
	  .harmless = true,
	  .brief = WHERE | PLAN,
	  .helps = TEXTS(
		FOR(SPEC_CMD_HISTORY, "Nodes of --coverage")),
	  .help = "Use only these nodes, such as gpu[01-04]" },
	{ .name = "exclude", .letter = 'x', .type = SPEC_NODES,
	  .commands = WHERE | PLAN, FIELD(exclude),
	  .harmless = true,
	  .brief = WHERE | PLAN,
	  .help = "Do not use these nodes" },
	{ .name = "srun-args", .type = SPEC_TEXT, .commands = WHERE,
	  FIELD(srun_args), .argh = "WORDS",
	  .resumed = SPEC_LIMITS,
	  .help = "Options for srun, such as those of a container" },
	{ .name = "jobs", .type = SPEC_CHOICE, .commands = PROBE | PLAN,
	  FIELD(jobs), .words = jobs_words,
	  .brief = PLAN,
	  .help = "One job for all nodes, or one per pair of nodes" },
	{ .name = "max-jobs", .was = "lanes", .type = SPEC_INT,
	  .commands = PROBE | PLAN,
	  FIELD(max_jobs), .min = 1, .max = 5000,
	  .help = "With --jobs=pairs, maximum number of jobs at a time" },
	{ .name = "deadline", .type = SPEC_DURATION, .commands = PROBE,
	  FIELD(deadline_ns), .min = NS_PER_S,
	  .max = MAX_RUN_NS, .resumed = SPEC_LIMITS,
	  .help = "With --jobs=pairs, remove jobs not started after TIME" },
	{ .name = "stale", .type = SPEC_FLAG, .commands = PROBE | PLAN,
	  FIELD(stale), .once = true,
	  .help = "Take the -N idle nodes not tested together for longest" },
	{ .name = "dry-run", .type = SPEC_FLAG,
	  .commands = WHERE | SPEC_CMD_WATCH,
	  FIELD(dry_run), .resumed = SPEC_COMMANDS,
	  .once = true,
	  .brief = WHERE,
	  .helps = TEXTS(
		FOR(SPEC_CMD_WATCH, "Print the entry, and create nothing")),
	  .help = "Print what would be submitted or started, and exit" },
	{ .name = "no-wait", .type = SPEC_FLAG, .commands = WHERE,
	  FIELD(no_wait), .resumed = SPEC_COMMANDS,
	  .brief = WHERE,
	  .help = "Submit, print run directory and job ID, and exit" },

	{ .name = "cross", .heading = "Tests", .type = SPEC_FLAG,
	  .commands = SPEC_CMD_PING, FIELD(cross),
	  .brief = SPEC_CMD_PING,
	  .help = "Also ping between different network segments" },
	{ .name = "all-pairs", .type = SPEC_FLAG, .commands = SPEC_CMD_PING,
	  FIELD(all_pairs),
	  .brief = SPEC_CMD_PING,
	  .help = "Ping every pair of nodes even above 32 nodes" },
	{ .name = "method", .type = SPEC_WORD, .commands = SPEC_CMD_PING,
	  FIELD(method), .words = method_words,
	  .brief = SPEC_CMD_PING,
	  .help = "How to ping" },
	{ .name = "tcp", .type = SPEC_TEXT, .commands = SPEC_CMD_PING,
	  FIELD(tcp), .argh = "PORT|auto",
	  .brief = SPEC_CMD_PING,
	  .help = "Open TCP connections to PORT; auto: to its own processes" },
	{ .name = "count", .type = SPEC_INT, .commands = SPEC_CMD_PING,
	  FIELD(count), .min = 1, .max = 1000,
	  .brief = SPEC_CMD_PING,
	  .unset = TEXT("5; 1 with TCP"),
	  .help = "Packets or connections per test" },
	{ .name = "flows", .type = SPEC_INT,
	  .commands = SPEC_CMD_PING | SPEC_CMD_IB,
	  FIELD(flows), .min = 1, .max = 1000,
	  .unset = TEXT("1"),
	  .help = "UDP source ports per path, to use each of several links" },
	{ .name = "interval", .type = SPEC_DURATION, .commands = SPEC_CMD_PING,
	  FIELD(interval_ns), .min = NS_PER_MS,
	  .max = MAX_TASK_NS,
	  .help = "Time between two packets of a test" },
	{ .name = "size", .type = SPEC_SIZE, .commands = SPEC_CMD_PING,
	  FIELD(size_B), .min = 44, .max = 65000,
	  .help = "Bytes of data in a packet" },
	{ .name = "find-mtu", .was = "df", .type = SPEC_FLAG,
	  .commands = SPEC_CMD_PING, FIELD(df),
	  .brief = SPEC_CMD_PING,
	  .help = "Find the largest packet that is not fragmented" },
	{ .name = "ifname", .type = SPEC_TEXT,
	  .commands = SPEC_CMD_PING | SPEC_CMD_ALL | NODE, FIELD(ifname),
	  .argh = "LIST",
	  .brief = SPEC_CMD_PING,
	  .unset = TEXT("all"),
	  .help = "Interfaces, written as in NCCL_SOCKET_IFNAME" },
	{ .name = "subnet", .type = SPEC_TEXT, .commands = SPEC_CMD_PING,
	  FIELD(subnet), .argh = "LIST",
	  .help = "Use only these subnets, such as 10.1.0.0/16,fd00::/8" },
	{ .name = "skip", .type = SPEC_TEXT, .commands = SPEC_CMD_PING,
	  FIELD(skip), .argh = "LIST",
	  .brief = SPEC_CMD_PING,
	  .help = "Skip these interfaces, addresses or subnets" },
	{ .name = "transport", .type = SPEC_WORD,
	  .commands = SWEEP | SPEC_CMD_ALL | SPEC_CMD_GPU | PLAN,
	  FIELD(transport),
	  .words = transport_words,
	  .harmless = true,
	  .brief = SPEC_CMD_P2P | SPEC_CMD_ALL | PLAN,
	  .help = "How data is transferred" },
	{ .name = "pairs", .type = SPEC_TEXT, .commands = PROBE | PLAN,
	  FIELD(pairs), .argh = "all|nodes|inter|intra|rail|LIST",
	  .harmless = true,
	  .brief = PROBE | PLAN,
	  .unset = TEXTS(
		FOR(SPEC_CMD_P2P,
		    "all up to 1024 ranks, and --sample=12 above"),
		FOR(SPEC_CMD_IB, "auto")),
	  .helps = TEXTS(
		FOR(SPEC_CMD_IB,
		    "Pairs to test; auto: rail, or intra on a single node")),
	  .help = "Pairs to test; LIST is such as 0-9,n0:1-n1:*" },
	{ .name = "sample", .type = SPEC_INT, .commands = PROBE | PLAN,
	  FIELD(sample), .min = 1, .max = SPEC_MAX_SAMPLE, .argh = "K",
	  .harmless = true,
	  .brief = PLAN,
	  .help = "Test only K partners of each rank, of all path types" },
	{ .name = "schedule", .type = SPEC_CHOICE, .commands = PROBE | PLAN,
	  FIELD(schedule), .words = schedule_words,
	  .help = "Parts that concurrent pairs must not share" },
	{ .name = "compare", .was = "contrast", .type = SPEC_CHOICE,
	  .commands = PROBE | SPEC_CMD_GPU | PLAN,
	  FIELD(contrast), .words = contrast_words,
	  .brief = SPEC_CMD_GPU | PLAN,
	  .help = "Measure in two ways, and show the ratio" },
	{ .name = "fabric", .type = SPEC_CHOICE,
	  .commands = PROBE | SPEC_CMD_ALL | PLAN, FIELD(fabric),
	  .words = fabric_words,
	  .help = "Rails that the fabric is built to connect" },
	{ .name = "minbytes", .letter = 'b', .type = SPEC_SIZE,
	  .commands = SWEEP | PLAN, FIELD(size_begin_B), .min = 1,
	  .max = MAX_SIZE_B,
	  .harmless = true,
	  .brief = SWEEP | PLAN,
	  .unset = TEXTS(
		FOR(SPEC_CMD_P2P, "4M with tcp, 64M with nccl and cuda"),
		FOR(SPEC_CMD_IB, "64K"),
		FOR(SPEC_CMD_COLLECTIVE, "8")),
	  .help = "Smallest size" },
	{ .name = "maxbytes", .letter = 'e', .type = SPEC_SIZE,
	  .commands = SWEEP | PLAN, FIELD(size_end_B), .min = 1,
	  .max = MAX_SIZE_B,
	  .harmless = true,
	  .brief = SPEC_CMD_IB | SPEC_CMD_COLLECTIVE | PLAN,
	  .unset = TEXTS(
		FOR(SPEC_CMD_COLLECTIVE,
		    "that of -b, or 8G if neither is given"),
		FOR(PROBE, "the smallest size")),
	  .help = "Largest size" },
	{ .name = "stepfactor", .letter = 'f', .type = SPEC_INT,
	  .commands = SWEEP | PLAN, FIELD(size_factor), .min = 2, .max = 1024,
	  .harmless = true,
	  .help = "Factor from one size to the next" },
	{ .name = "iters", .letter = 'n', .type = SPEC_INT,
	  .commands = SWEEP | PLAN, FIELD(iters), .min = 0, .max = 1000000,
	  .brief = PLAN,
	  .help = "Timed iterations; 0 repeats until the result is stable" },
	{ .name = "warmup-iters", .was = "warmup_iters", .letter = 'w',
	  .type = SPEC_INT, .commands = SWEEP, FIELD(warmup), .min = 0,
	  .max = 1000000,
	  .help = "Warm-up iterations, which are not timed" },
	{ .name = "check", .letter = 'c', .type = SPEC_BOOL, .commands = SWEEP,
	  FIELD(check),
	  .help = "Check the received data" },
	{ .name = "verify", .type = SPEC_INT,
	  .commands = SPEC_CMD_COLLECTIVE | PLAN, FIELD(verify), .min = 0,
	  .max = 1000000,
	  .brief = SPEC_CMD_COLLECTIVE,
	  .help = "Check the results of N operations per size" },
	{ .name = "bidi", .type = SPEC_FLAG, .commands = PROBE, FIELD(bidi),
	  .help = "Load both directions at once, and measure each" },
	{ .name = "force-net", .type = SPEC_FLAG, .commands = SPEC_CMD_P2P,
	  FIELD(force_net),
	  .help = "nccl: use the network within a node too" },
	{ .name = "nic-choice", .type = SPEC_CHOICE, .commands = SPEC_CMD_P2P,
	  FIELD(nic_choice), .words = nic_choice_words,
	  .help = "nccl: NICs of a pair, those of the plan or all that NCCL takes" },
	{ .name = "pxn", .type = SPEC_FLAG, .commands = SPEC_CMD_P2P,
	  FIELD(pxn),
	  .help = "nccl: allow PXN, sending through the NIC of another GPU" },
	{ .name = "production-settings", .type = SPEC_FLAG,
	  .commands = SPEC_CMD_P2P, FIELD(production_settings),
	  .help = "nccl: keep NCCL's own timeouts and retries" },
	{ .name = "no-follow-up", .type = SPEC_FLAG,
	  .commands = SPEC_CMD_P2P | SPEC_CMD_IB | PLAN, FIELD(no_follow_up),
	  .resumed = SPEC_LIMITS,
	  .help = "Skip the extra tests that resolve ambiguous findings" },
	{ .name = "diagnose", .type = SPEC_FLAG, .commands = SPEC_CMD_P2P,
	  FIELD(diagnose), .resumed = SPEC_LIMITS,
	  .brief = SPEC_CMD_P2P,
	  .help = "Retest failed and slow pairs layer by layer" },
	{ .name = "test-timeout", .heading = "Limits and scope",
	  .was = "timeout", .type = SPEC_DURATION,
	  .commands = SWEEP | SPEC_CMD_PING | SPEC_CMD_GPU | PLAN,
	  FIELD(timeout_ns),
	  .min = NS_PER_MS, .max = MAX_TASK_NS, .resumed = SPEC_LIMITS,
	  .unset = TEXTS(
		FOR(SPEC_CMD_P2P, "2s with tcp; 3s with nccl and cuda"),
		FOR(SPEC_CMD_IB, "2s"),
		FOR(SPEC_CMD_PING, "1s"),
		FOR(SPEC_CMD_COLLECTIVE,
		    "60s for a size, and 90s for a communicator"),
		FOR(SPEC_CMD_GPU, "10s for the link, 30s for the memory")),
	  .help = "Timeout of one test" },
	{ .name = "time-limit", .was = "max-time", .type = SPEC_DURATION,
	  .commands = WHERE | NODE, FIELD(max_time_ns), .min = NS_PER_S,
	  .max = MAX_RUN_NS,
	  .resumed = SPEC_LIMITS,
	  .brief = SPEC_CMD_ALL | LOOKS,
	  .helps = TEXTS(
		FOR(NODE, "End after TIME")),
	  .unset = TEXTS(
		FOR(NODE, "4.5s")),
	  .help = "Stop after TIME; mark the remaining tests as not run" },
	{ .name = "time-budget", .was = "budget", .type = SPEC_DURATION,
	  .commands = WHERE | PLAN, FIELD(budget_ns), .min = NS_PER_S,
	  .max = MAX_RUN_NS,
	  .resumed = SPEC_LIMITS,
	  .brief = SPEC_CMD_P2P | SPEC_CMD_ALL | PLAN,
	  .helps = TEXTS(
		FOR(WHERE & ~(unsigned)(SWEEP | SPEC_CMD_ALL),
		    "End within TIME")),
	  .help = "Reduce the plan until it fits into TIME" },
	{ .name = "rate-limit", .was = "gentle", .type = SPEC_SIZE,
	  .commands = SWEEP | SPEC_CMD_ALL | PLAN, FIELD(gentle_B),
	  .min = 1 << 20, .max = MAX_SIZE_B, .resumed = SPEC_LIMITS,
	  .brief = PLAN,
	  .help = "Limit traffic between leaf switches to SIZE/s" },
	{ .name = "agent-timeout", .was = "boot-timeout",
	  .type = SPEC_DURATION, .commands = WHERE, FIELD(boot_timeout_ns),
	  .min = NS_PER_S,
	  .max = MAX_TASK_NS, .resumed = SPEC_LIMITS,
	  .unset = TEXT("30s"),
	  .help = "How long to wait for agents after the first one" },
	{ .name = "start-timeout", .type = SPEC_DURATION, .commands = WHERE,
	  FIELD(start_timeout_ns), .min = NS_PER_S,
	  .max = MAX_TASK_NS, .resumed = SPEC_LIMITS,
	  .unset = TEXT("the same as --agent-timeout; 15m with Slurm"),
	  .help = "How long to wait for the first agent" },
	{ .name = "port-range", .type = SPEC_PORTS, .commands = WHERE,
	  FIELD(port_range), .resumed = SPEC_LIMITS,
	  .unset = TEXT("any port"),
	  .help = "Listen only on these TCP ports" },
	{ .name = "silence", .type = SPEC_DURATION, .commands = WHERE,
	  FIELD(silence_ns), .min = NS_PER_S,
	  .max = MAX_TASK_NS, .resumed = SPEC_LIMITS,
	  .help = "Silence of an agent after which its node is checked" },
	{ .name = "inject", .was = "faults", .type = SPEC_TEXT,
	  .commands = SWEEP | SPEC_CMD_ALL | SPEC_CMD_GPU, FIELD(faults),
	  .argh = "FILE",
	  .once = true,
	  .brief = SPEC_CMD_P2P | SPEC_CMD_ALL | SPEC_CMD_GPU,
	  .help = "Practice run (drill): inject the faults that FILE lists" },
	{ .name = "switches", .type = SPEC_TEXT,
	  .commands = SWEEP | SPEC_CMD_PING, FIELD(switches),
	  .argh = "FILE",
	  .help = "Topology of the switches, for names in findings" },
	{ .name = "seed", .type = SPEC_INT,
	  .commands = SWEEP | SPEC_CMD_ALL | SPEC_CMD_PING | SPEC_CMD_GPU,
	  FIELD(seed),
	  .min = 0, .max = INT64_MAX,
	  .help = "Random seed of data, samples and simulated clusters" },
	{ .name = "layer", .type = SPEC_CHOICE, .commands = SPEC_CMD_P2P,
	  FIELD(layer), .words = layer_words,
	  .help = "Layer that the simulated pairs are: tcp, or what jobs use" },
	{ .name = "strict", .type = SPEC_FLAG, .commands = WHERE | NODE,
	  FIELD(strict),
	  .resumed = SPEC_LIMITS,
	  .brief = SPEC_CMD_ALL | SPEC_CMD_INFO | SPEC_CMD_MEMLOCK,
	  .help = "Exit 1 for warnings too" },
	{ .name = "slow", .type = SPEC_INT,
	  .commands = PROBE | SPEC_CMD_ALL | SPEC_CMD_REPORT | SPEC_CMD_GPU,
	  FIELD(slow_percent), .min = 1, .max = 99, .argh = "PERCENT",
	  .resumed = SPEC_LIMITS,
	  .unset = TEXTS(
		FOR(SPEC_CMD_REPORT, "the value of the run, otherwise 10"),
		{ .name = "10" }),
	  .help = "Slowdown of a part that is a fault, not a warning" },
	{ .name = "quick", .type = SPEC_FLAG,
	  .commands = SPEC_CMD_ALL | PROBE | SPEC_CMD_GPU | PLAN, FIELD(quick),
	  .brief = SPEC_CMD_P2P | SPEC_CMD_ALL | SPEC_CMD_GPU | PLAN,
	  .helps = TEXTS(
		FOR(SPEC_CMD_ALL,
		    "First look: fewer pairs, sizes and iterations"),
		FOR(SPEC_CMD_GPU,
		    "First look: test only the links to the host")),
	  .help = "First look: a sample of 3 partners per rank" },
	{ .name = "deep", .type = SPEC_FLAG, .commands = SPEC_CMD_ALL | PLAN,
	  FIELD(deep),
	  .brief = SPEC_CMD_ALL | PLAN,
	  .help = "Test memory and arithmetic of the GPUs too" },
	{ .name = "resume", .type = SPEC_TEXT,
	  .commands = PROBE | SPEC_CMD_ALL, FIELD(resume), .argh = "DIR",
	  .resumed = SPEC_COMMANDS, .once = true,
	  .brief = PROBE | SPEC_CMD_ALL,
	  .help = "Continue the unfinished run in DIR" },
	{ .name = "retest", .type = SPEC_TEXT, .commands = SWEEP, FIELD(retest),
	  .argh = "DIR", .resumed = SPEC_COMMANDS, .once = true,
	  .brief = PROBE,
	  .help = "After a repair: test only what failed in DIR" },
	{ .name = "need", .type = SPEC_SIZE,
	  .commands = SPEC_CMD_MEMLOCK | NODE, FIELD(need_B), .min = 4096,
	  .max = MAX_SIZE_B,
	  .brief = SPEC_CMD_MEMLOCK,
	  .unset = TEXT("33 MiB per HCA"),
	  .help = "Locked memory that a process needs" },
	{ .name = "sysroot", .type = SPEC_TEXT,
	  .commands = SPEC_CMD_IB | SPEC_CMD_MEMLOCK | SPEC_CMD_INFO |
		      SPEC_CMD_P2P | NODE,
	  FIELD(sysroot), .argh = "DIR",
	  .once = true,
	  .help = "Read /sys and /proc below DIR" },
	{ .name = "explain-nics", .type = SPEC_FLAG, .commands = SPEC_CMD_P2P,
	  FIELD(explain_nics), .once = true,
	  .help = "Say why NCCL takes which NIC for each GPU here" },
	{ .name = "expect-gpus", .type = SPEC_INT, .commands = NODE,
	  FIELD(expect_gpus), .min = 1, .max = SPEC_MAX_GPUS,
	  .unset = TEXT("the number in slurm.conf"),
	  .help = "GPUs that the node should have" },
	{ .name = "fail-on", .type = SPEC_TEXT, .commands = NODE,
	  FIELD(fail_on), .argh = "CODE,...",
	  .help = "Exit 1 only for these codes" },
	{ .name = "compute", .type = SPEC_DURATION, .commands = SPEC_CMD_GPU,
	  FIELD(compute_ns), .max = MAX_COMPUTE_NS,
	  .brief = SPEC_CMD_GPU,
	  .help = "How long to check the arithmetic of each GPU" },
	{ .name = "far", .type = SPEC_FLAG, .commands = SPEC_CMD_GPU,
	  FIELD(far),
	  .brief = SPEC_CMD_GPU,
	  .help = "Test host memory of the other CPU socket too" },
	{ .name = "soak", .type = SPEC_DURATION, .commands = SPEC_CMD_GPU,
	  FIELD(soak_ns), .min = NS_PER_S, .max = MAX_RUN_NS,
	  .brief = SPEC_CMD_GPU,
	  .help = "Repeat all tests for TIME and report drift" },
	{ .name = "dcgm", .type = SPEC_FLAG,
	  .commands = SPEC_CMD_GPU | SPEC_CMD_ALL, FIELD(dcgm),
	  .brief = SPEC_CMD_GPU,
	  .help = "Run \"dcgmi diag -r 1\" too, if it is installed" },
	{ .name = "pid", .type = SPEC_INT, .commands = SPEC_CMD_HANG,
	  FIELD(pid), .min = 1, .max = INT32_MAX,
	  .once = true,
	  .brief = SPEC_CMD_HANG,
	  .help = "Observe only this process and its descendants" },
	{ .name = "watch", .type = SPEC_FLAG, .commands = SPEC_CMD_HANG,
	  FIELD(watch),
	  .brief = SPEC_CMD_HANG,
	  .help = "Repeat until a rank is named or the job has ended" },
	{ .name = "stacks", .type = SPEC_FLAG, .commands = SPEC_CMD_HANG,
	  FIELD(stacks),
	  .once = true,
	  .brief = SPEC_CMD_HANG,
	  .help = "Briefly pause the processes to read their stacks" },
	{ .name = "record", .type = SPEC_TEXT, .commands = SPEC_CMD_INFO,
	  FIELD(record), .argh = "DIR",
	  .once = true,
	  .brief = SPEC_CMD_INFO,
	  .help = "Record each node, without secrets, in the new DIR" },
	{ .name = "reference", .type = SPEC_TEXT,
	  .commands = SPEC_CMD_REPORT | SPEC_CMD_COLLECTIVE | SPEC_CMD_P2P |
		      SPEC_CMD_IB | SPEC_CMD_ALL,
	  FIELD(reference), .argh = "NAME|FILE|DIR",
	  .brief = SPEC_CMD_ALL,
	  .helps = TEXTS(
		FOR(SPEC_CMD_COLLECTIVE,
		    "Earlier run or table to compare with"),
		FOR(SPEC_CMD_REPORT, "Earlier run or table to compare with")),
	  .help = "Earlier run that is normal: no findings for what it has" },
	{ .name = "accept", .type = SPEC_TEXT,
	  .commands = SPEC_CMD_REPORT | SPEC_CMD_COLLECTIVE | SPEC_CMD_P2P |
		      SPEC_CMD_ALL,
	  FIELD(accept), .argh = "FILE", .once = true,
	  .help = "Acceptance tests: each line is a limit to reach" },
	{ .name = "machine", .type = SPEC_TEXT, .commands = SPEC_CMD_IMPORT,
	  FIELD(machine), .argh = "NAME", .harmless = true,
	  .help = "Machine that the log is from, such as dgx-h100" },
	{ .name = "rails", .type = SPEC_TEXT, .commands = SPEC_CMD_IMPORT,
	  FIELD(rails), .argh = "KxRATE", .harmless = true,
	  .help = "NICs of a node and Gb/s of each, such as 8x400G" },

	{ .name = "every", .heading = "Schedule", .type = SPEC_DURATION,
	  .commands = SPEC_CMD_WATCH,
	  FIELD(every_ns), .min = NS_PER_S, .max = MAX_RUN_NS,
	  .help = "Interval from the start of a run to the next start" },
	{ .name = "runs", .type = SPEC_INT, .commands = SPEC_CMD_WATCH,
	  FIELD(runs), .min = 1, .max = 9999,
	  .unset = TEXT("no limit"),
	  .help = "Stop after N runs" },
	{ .name = "for", .type = SPEC_DURATION, .commands = SPEC_CMD_WATCH,
	  FIELD(lasting_ns), .min = NS_PER_S, .max = MAX_RUN_NS,
	  .help = "Start no new runs after TIME" },
	{ .name = "systemd", .type = SPEC_TEXT, .commands = SPEC_CMD_WATCH,
	  FIELD(systemd), .argh = "DIR", .optional_value = true,
	  .once = true,
	  .help = "Write a service and a timer to DIR, or print them" },
	{ .name = "show", .type = SPEC_TEXT, .commands = SPEC_CMD_WATCH,
	  FIELD(show), .argh = "DIR", .optional_value = true, .once = true,
	  .help = "Print the entry, or that of the watch in DIR; write none" },
	{ .name = "list", .type = SPEC_FLAG, .commands = SPEC_CMD_WATCH,
	  FIELD(list), .once = true,
	  .help = "List the entries in crontab, scrontab and systemd" },
	{ .name = "remove", .type = SPEC_TEXT, .commands = SPEC_CMD_WATCH,
	  FIELD(remove), .argh = "DIR", .once = true,
	  .help = "Remove the entry of the watch in DIR" },
	{ .name = "stop", .type = SPEC_TEXT, .commands = SPEC_CMD_WATCH,
	  FIELD(stop), .argh = "DIR", .once = true,
	  .help = "Remove the entry, and start no new run even by hand" },
	{ .name = "last", .heading = "History", .type = SPEC_INT,
	  .commands = SPEC_CMD_HISTORY,
	  FIELD(last), .min = 1, .max = 100000,
	  .help = "Use the newest N runs that count" },
	{ .name = "convert", .type = SPEC_TEXT, .commands = SPEC_CMD_HISTORY,
	  FIELD(convert), .argh = "DIR", .once = true,
	  .help = "Add the history in DIR that an earlier version wrote" },
	{ .name = "coverage", .type = SPEC_FLAG, .commands = SPEC_CMD_HISTORY,
	  FIELD(coverage),
	  .help = "Show when each pair of nodes was last tested" },
	{ .name = "drills", .type = SPEC_FLAG, .commands = SPEC_CMD_HISTORY,
	  FIELD(drills),
	  .help = "Count drills and runs on a simulated cluster too" },

	{ .name = "dtype", .heading = "Collectives and NCCL", .type = SPEC_WORD,
	  .commands = SPEC_CMD_COLLECTIVE, FIELD(dtype), .words = dtype_words,
	  .argh = "TYPE",
	  .brief = SPEC_CMD_COLLECTIVE,
	  .help = "Data type of the elements" },
	{ .name = "redop", .type = SPEC_WORD, .commands = SPEC_CMD_COLLECTIVE,
	  FIELD(redop), .words = redop_words,
	  .help = "Reduction" },
	{ .name = "algo", .type = SPEC_TEXT, .commands = SPEC_CMD_COLLECTIVE,
	  FIELD(algo), .argh = "LIST",
	  .brief = SPEC_CMD_COLLECTIVE,
	  .unset = TEXT("chosen by NCCL"),
	  .help = "NCCL algorithms to compare, such as Ring,Tree" },
	{ .name = "proto", .type = SPEC_TEXT, .commands = SPEC_CMD_COLLECTIVE,
	  FIELD(proto), .argh = "LIST",
	  .brief = SPEC_CMD_COLLECTIVE,
	  .unset = TEXT("chosen by NCCL"),
	  .help = "NCCL protocols to compare: Simple,LL,LL128" },
	{ .name = "nccl-lib", .type = SPEC_LIST,
	  .commands = SPEC_CMD_P2P | SPEC_CMD_COLLECTIVE, FIELD(nccl_libs),
	  .argh = "PATH|torch",
	  .brief = SPEC_CMD_COLLECTIVE,
	  .helps = TEXTS(
		FOR(SPEC_CMD_COLLECTIVE,
		    "NCCL library to use; give several to compare them")),
	  .help = "NCCL library to use" },
	{ .name = "env", .type = SPEC_LIST, .commands = SPEC_CMD_COLLECTIVE,
	  FIELD(env), .argh = "NAME=A,B",
	  .brief = SPEC_CMD_COLLECTIVE,
	  .help = "Compare values of an environment variable; repeatable" },
	{ .name = "variant", .type = SPEC_LIST,
	  .commands = SPEC_CMD_COLLECTIVE, FIELD(variants),
	  .argh = "NAME:VAR=VALUE,...",
	  .help = "Compare named sets of variables; may be repeated" },
	{ .name = "stat", .type = SPEC_CHOICE,
	  .commands = SPEC_CMD_COLLECTIVE | SPEC_CMD_REPORT, FIELD(stat),
	  .words = stat_words, .resumed = SPEC_COMMANDS,
	  .help = "Statistic of comparison tables" },
	{ .name = "register", .type = SPEC_CHOICE,
	  .commands = SPEC_CMD_COLLECTIVE, FIELD(reg),
	  .words = register_words,
	  .help = "Compare plain buffers with registered ones" },
	{ .name = "bisect", .type = SPEC_FLAG, .commands = SPEC_CMD_COLLECTIVE,
	  FIELD(bisect),
	  .brief = SPEC_CMD_COLLECTIVE,
	  .help = "Search for the smallest set of nodes that fails" },

	{ .name = "op", .heading = "RDMA", .type = SPEC_CHOICE,
	  .commands = SPEC_CMD_IB, FIELD(op), .words = op_words,
	  .brief = SPEC_CMD_IB,
	  .help = "RDMA operation to measure" },
	{ .name = "memory", .type = SPEC_CHOICE, .commands = SPEC_CMD_IB,
	  FIELD(memory), .words = memory_words,
	  .brief = SPEC_CMD_IB,
	  .help = "Memory that holds the buffers" },
	{ .name = "hca", .type = SPEC_TEXT,
	  .commands = SPEC_CMD_IB | SPEC_CMD_ALL | NODE, FIELD(hca),
	  .argh = "LIST",
	  .brief = SPEC_CMD_IB,
	  .unset = TEXTS(
		FOR(SPEC_CMD_IB, "NCCL_IB_HCA of each node"),
		{ .name = "all" }),
	  .help = "HCAs, written as in NCCL_IB_HCA" },
	{ .name = "gid-index", .type = SPEC_INT, .commands = SPEC_CMD_IB,
	  FIELD(gid_index), .min = 0, .max = 4095,
	  .brief = SPEC_CMD_IB,
	  .unset = TEXT("NCCL_IB_GID_INDEX"),
	  .help = "GID index of a RoCE port" },
	{ .name = "qps", .type = SPEC_INT, .commands = SPEC_CMD_IB, FIELD(qps),
	  .min = 1, .max = 16,
	  .unset = TEXT("NCCL_IB_QPS_PER_CONNECTION, otherwise 1"),
	  .help = "Queue pairs over which each test is spread" },
	{ .name = "rdma-cm", .type = SPEC_FLAG, .commands = SPEC_CMD_IB,
	  FIELD(rdma_cm),
	  .help = "Connect by rdma_cm, as ib_send_bw -R does" },
	{ .name = "tx-depth", .type = SPEC_INT, .commands = SPEC_CMD_IB,
	  FIELD(tx_depth), .min = 1, .max = 8192,
	  .help = "Messages in flight on each queue pair" },
	{ .name = "tc", .type = SPEC_INT, .commands = SPEC_CMD_IB,
	  FIELD(traffic_class), .min = 0, .max = 255,
	  .unset = TEXT("NCCL_IB_TC, otherwise 0"),
	  .help = "Traffic class" },
	{ .name = "sl", .type = SPEC_INT, .commands = SPEC_CMD_IB,
	  FIELD(service_level), .min = 0, .max = 15,
	  .unset = TEXT("NCCL_IB_SL, otherwise 0"),
	  .help = "Service level" },
	{ .name = "pkey-index", .type = SPEC_INT, .commands = SPEC_CMD_IB,
	  FIELD(pkey_index), .min = 0, .max = 65535,
	  .unset = TEXT("NCCL_IB_PKEY, otherwise 0"),
	  .help = "Index of the partition key" },
	{ .name = "qp-timeout", .type = SPEC_INT, .commands = SPEC_CMD_IB,
	  FIELD(qp_timeout), .min = 1, .max = 31,
	  .help = "Send a packet again after 4.096 us x 2^N" },
	{ .name = "qp-retries", .type = SPEC_INT, .commands = SPEC_CMD_IB,
	  FIELD(qp_retries), .min = 0, .max = 7,
	  .help = "Retries of a packet before the pair fails" },

	{ .name = "out", .heading = "Output", .letter = 'o',
	  .type = SPEC_TEXT,
	  .commands = WHERE | SPEC_CMD_IMPORT | SPEC_CMD_DIFF |
		      SPEC_CMD_REPORT | SPEC_CMD_WATCH | SPEC_CMD_HISTORY,
	  FIELD(out),
	  .argh = "DIR", .resumed = SPEC_COMMANDS,
	  .once = true,
	  .brief = WHERE,
	  .helps = TEXTS(
		FOR(SPEC_CMD_IMPORT,
		    "Create a run directory, and print its report"),
		FOR(SPEC_CMD_DIFF, "Write diff.json and a picture to DIR"),
		FOR(SPEC_CMD_REPORT, "Write the files to the new DIR"),
		FOR(SPEC_CMD_WATCH, "Directory of the watch"),
		FOR(SPEC_CMD_HISTORY,
		    "Write a page and a picture to the new DIR")),
	  .unset = TEXTS(
		FOR(WHERE, "gpucheck-<command>-<UTC>-<id>"),
		FOR(SPEC_CMD_WATCH, "gpucheck-watch-<UTC>-<id>")),
	  .help = "Run directory to create" },
	{ .name = "out", .letter = 'o', .type = SPEC_TEXT,
	  .commands = SPEC_CMD_BUNDLE, FIELD(out), .argh = "FILE",
	  .resumed = SPEC_COMMANDS,
	  .once = true,
	  .unset = TEXT("the name of the directory and .tar"),
	  .help = "Archive to create" },
	{ .name = "share", .was = "anonymous", .type = SPEC_FLAG,
	  .commands = SPEC_CMD_BUNDLE, FIELD(share), .resumed = SPEC_COMMANDS,
	  .help = "Replace names, addresses, GUIDs, serial numbers" },
	{ .name = "history", .type = SPEC_TEXT,
	  .commands = WHERE | SPEC_CMD_REPORT | SPEC_CMD_ATTACH |
		      SPEC_CMD_HISTORY, FIELD(history),
	  .argh = "DIR", .optional_value = true, .resumed = SPEC_COMMANDS,
	  .brief = LOOKS,
	  .helps = TEXTS(
		FOR(SPEC_CMD_HISTORY, "Directory of the history")),
	  .unset = TEXTS(
		FOR(SPEC_CMD_HISTORY, "~/.local/share/gpucheck/history")),
	  .help = "Add the run to the history in DIR" },
	{ .name = "metrics", .type = SPEC_TEXT,
	  .commands = WHERE | SPEC_CMD_REPORT | SPEC_CMD_ATTACH,
	  FIELD(metrics), .argh = "FILE|-", .resumed = SPEC_COMMANDS,
	  .brief = LOOKS,
	  .help = "Write OpenMetrics to FILE, for node_exporter" },
	{ .name = "junit", .type = SPEC_TEXT,
	  .commands = WHERE | SPEC_CMD_REPORT | SPEC_CMD_ATTACH | NODE,
	  FIELD(junit), .argh = "FILE", .resumed = SPEC_COMMANDS,
	  .once = true,
	  .help = "Write the verdict as JUnit XML, for CI systems" },
	{ .name = "follow", .type = SPEC_FLAG, .commands = SPEC_CMD_STATUS,
	  FIELD(follow), .once = true,
	  .help = "Follow the run until it ends, then print its report" },
	{ .name = "json", .type = SPEC_CHOICE, .commands = TELLS | PLAN,
	  FIELD(json), .words = json_words, .optional_value = true,
	  .resumed = SPEC_COMMANDS,
	  .once = true,
	  .brief = WHERE | PLAN,
	  .helps = TEXTS(
		FOR(SPEC_CMD_INFO,
		    "Print {run, verdict, facts, rows} as JSON; verdict: "
		    "neither rows nor facts"),
		FOR(NODE,
		    "Print {run, verdict, facts, rows} as JSON; verdict: "
		    "neither rows nor facts"),
		FOR(SPEC_CMD_STATUS, "Print the state of the run as JSON"),
		FOR(SPEC_CMD_EXPLAIN,
		    "Print the codes, with their lines and files, as JSON"),
		FOR(SPEC_CMD_IMPORT,
		    "Print {rows, lines, unknown}, or with -o the report, as "
		    "JSON"),
		FOR(SPEC_CMD_DIFF, "Print the changes as JSON"),
		FOR(SPEC_CMD_HISTORY,
		    "Print all parts as JSON, with each of their runs"),
		FOR(PLAN, "Print the plan as JSON")),
	  .help = "Print {run, verdict, rows} as JSON; verdict: no rows" },
	{ .name = "csv", .type = SPEC_FLAG, .commands = OUTPUT, FIELD(csv),
	  .resumed = SPEC_COMMANDS,
	  .once = true,
	  .brief = WHERE,
	  .helps = TEXTS(
		FOR(PROBE,
		    "Print results-final.csv: one line per ordered pair"),
		FOR(SPEC_CMD_ALL, "Print results.csv: one line per probe"),
		FOR(SPEC_CMD_COLLECTIVE,
		    "Print results.csv: one line per size and variant"),
		FOR(SPEC_CMD_MEMLOCK,
		    "Print results.csv: one line per limit and call"),
		FOR(SPEC_CMD_PING, "Print results.csv: one line per path"),
		FOR(SPEC_CMD_GPU,
		    "Print results.csv: one line per test of a GPU"),
		FOR(SPEC_CMD_HANG,
		    "Print results.csv: one line per process and communicator"),
		FOR(SPEC_CMD_INFO,
		    "Print facts.csv: one line per fact of a node"),
		FOR(SPEC_CMD_REPORT | SPEC_CMD_ATTACH,
		    "Print results-final.csv: one line per ordered pair; "
		    "without pairs, what the command of the run prints"),
		FOR(SPEC_CMD_EXPLAIN, "Print one line per code and part"),
		FOR(SPEC_CMD_IMPORT,
		    "Print the rows as CSV, which is the default without -o"),
		FOR(SPEC_CMD_DIFF,
		    "Print one line per changed pair, or per compared size"),
		FOR(SPEC_CMD_HISTORY, "Print one line per part")),
	  .help = "Print results.csv" },
	{ .name = "force", .type = SPEC_FLAG, .commands = SPEC_CMD_DIFF,
	  FIELD(force),
	  .once = true,
	  .help = "Compare runs of different transports or sizes" },
	{ .name = "quiet", .letter = 'q', .type = SPEC_FLAG,
	  .commands = TELLS | SPEC_CMD_BUNDLE | SPEC_CMD_WATCH, FIELD(quiet),
	  .resumed = SPEC_COMMANDS,
	  .brief = LOOKS | SPEC_CMD_GPU,
	  .help = "Print errors only; the exit code is the result" },
	{ .name = "verbose", .letter = 'v', .type = SPEC_COUNT,
	  .commands = OUTPUT | PLAN | SPEC_CMD_VERSION | NODE, FIELD(verbose),
	  .max = 3, .resumed = SPEC_COMMANDS,
	  .brief = LOOKS | SPEC_CMD_GPU | PLAN,
	  .helps = TEXTS(
		FOR(SPEC_CMD_INFO | SPEC_CMD_GPU | SPEC_CMD_HANG,
		    "Show all evidence"),
		FOR(NODE,
		    "Print each finding with its evidence, and every fact"),
		FOR(SPEC_CMD_IMPORT, "Show the lines that were not understood"),
		FOR(SPEC_CMD_HISTORY,
		    "Show all parts, including those without findings")),
	  .help = "Print more; give it twice for even more" },
	{ .name = "color", .type = SPEC_CHOICE,
	  .commands = TELLS & ~(unsigned)NODE,
	  FIELD(color), .words = when_words, .resumed = SPEC_COMMANDS,
	  .help = "Use colour" },
	{ .name = "map", .type = SPEC_CHOICE,
	  .commands = SPEC_CMD_P2P | SPEC_CMD_IB | SPEC_CMD_PING |
		      SPEC_CMD_REPORT,
	  FIELD(map), .words = when_words, .resumed = SPEC_COMMANDS,
	  .brief = SPEC_CMD_PING,
	  .help = "Draw a map of the pairs" },
	{ .name = "log-scale", .type = SPEC_FLAG,
	  .commands = SPEC_CMD_REPORT | SPEC_CMD_DIFF, FIELD(log_scale),
	  .help = "Draw curves with a logarithmic axis" },
	{ .name = "progress", .type = SPEC_CHOICE,
	  .commands = WHERE | SPEC_CMD_ATTACH, FIELD(progress),
	  .words = when_words, .resumed = SPEC_COMMANDS,
	  .help = "Show progress on standard error" },
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
