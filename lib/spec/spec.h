/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIB_SPEC_SPEC_H
#define LIB_SPEC_SPEC_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "lib/base/err.h"
#include "lib/base/net.h"
#include "lib/base/str.h"

/**
 * The command line after parsing: the one struct that options fill in, that
 * run.json keeps and that the coordinator obeys. Zero and "" mean the default
 * where the comment says so.
 */
/** NICs of a pair: those of the plan, or all that NCCL takes. */
enum spec_nic_choice { NIC_CHOICE_PLAN, NIC_CHOICE_NCCL };
enum spec_schedule { SCHEDULE_NIC, SCHEDULE_PARALLEL, SCHEDULE_SERIAL };
enum spec_contrast { CONTRAST_NONE, CONTRAST_SCHEDULE, CONTRAST_PXN,
		     CONTRAST_MEMORY, CONTRAST_PARALLEL, CONTRAST_FAILOVER };
enum spec_fabric { FABRIC_AUTO, FABRIC_ANY, FABRIC_RAIL_ONLY };
enum spec_when { WHEN_AUTO, WHEN_ALWAYS, WHEN_NEVER };
enum spec_op { OP_WRITE, OP_SEND, OP_READ };
enum spec_memory { MEMORY_HOST, MEMORY_GPU };
/** Layer that a simulated run stands for; the others are those of a drill. */
enum spec_layer { LAYER_AUTO, LAYER_TCP };
enum spec_jobs { JOBS_ONE, JOBS_PAIRS };
enum spec_stat { STAT_BEST, STAT_MIN, STAT_AVG, STAT_MAX };
enum spec_register { REGISTER_NONE, REGISTER_SYMMETRIC };

#define SPEC_PAIRS_MAX 16384
/** The text of the longest value of an option. */
#define SPEC_VALUE_MAX SPEC_PAIRS_MAX
#define SPEC_LIST_MAX  4096
#define SPEC_MAX_NODES 4096
/** Largest number of ranks of a run: no report could read more. */
#define SPEC_MAX_RANKS 32768
/** Largest number of ranks of a run of all pairs: 40 bytes a cell. */
#define SPEC_MAX_SQUARE 8192
#define SPEC_MAX_GPUS  64	/* a node */
/** Largest number of model nodes that are a process each. */
#define SPEC_MODEL_ALONE 32
/** Largest number of processes for model nodes beyond that: each is several
 *  nodes. */
#define SPEC_MODEL_AGENTS 16
#define SPEC_MAX_SAMPLE 4096
#define SPEC_MAX_SIZES 64	/* of one run */

struct spec {
	/* where */
	bool local;		/* --local given: no Slurm */
	int64_t local_nodes;	/* --local=NxG; 0 = 1 */
	int64_t local_gpus;	/* 0 = this machine's GPUs, 8 if it has none */
	int64_t nodes;		/* -N; 0 = the launcher's default */
	int64_t gpus_per_node;	/* -G; 0 = find out */
	int64_t nics;		/* --nics a node; 0 = one a GPU */
	char launcher[16];	/* "", or one of spec_launcher */
	char ssh[SPEC_LIST_MAX];	/* file or host list; "-" = hosts or
					 * nodelist has it; "" = not by ssh */
	char hosts[SPEC_LIST_MAX];	/* the same, as ping first had it */
	char ssh_path[PATH_MAX];	/* of gpucheck there; "" = copied */
	char nodelist[SPEC_LIST_MAX];	/* host list: these alone; "" = any */
	char exclude[SPEC_LIST_MAX];	/* host list: none of these */
	char srun_args[SPEC_LIST_MAX];	/* words for srun: spec_words() */
	int64_t jobs;		/* enum spec_jobs */
	int64_t max_jobs;	/* of JOBS_PAIRS, at a time; 1000 */
	int64_t deadline_ns;	/* for these jobs to start; 0 = none */
	bool dry_run;
	bool no_wait;
	/* what */
	char transport[16];	/* auto or one of xports[] */
	char pairs[SPEC_PAIRS_MAX];	/* as pairs_parse() has it */
	int64_t sample;		/* partners a rank; 0 = as pairs say */
	int64_t schedule;	/* enum spec_schedule */
	int64_t contrast;	/* enum spec_contrast */
	int64_t fabric;		/* enum spec_fabric: what it connects */
	int64_t size_begin_B;	/* -b; 0 = the transport's default size */
	int64_t size_end_B;	/* -e; 0 = same as -b */
	int64_t size_factor;	/* -f; 2 */
	int64_t iters;		/* -n; 0 = until steady */
	int64_t warmup;		/* -w */
	bool check;		/* -c 0|1 */
	bool force_net;		/* inside a node as between nodes */
	int64_t nic_choice;	/* enum spec_nic_choice */
	bool pxn;		/* NCCL may go by way of another GPU */
	int64_t layer;		/* enum spec_layer; of sim */
	bool no_follow_up;	/* leave open what all tests leave open */
	bool diagnose;		/* test the layers of failed pairs */
	bool production_settings;	/* NCCL's own patience with the dead */
	int64_t timeout_ns;	/* a task; 0 = the transport's default */
	int64_t max_time_ns;	/* the run; 0 = no limit */
	int64_t budget_ns;	/* it is planned to fit; 0 = none */
	int64_t gentle_B;	/* a second between leaves; 0 = any */
	int64_t boot_timeout_ns;	/* 0: see spec_boot_ns() */
	int64_t start_timeout_ns;	/* 0: see spec_boot_first_ns() */
	char port_range[16];	/* "" = any */
	int64_t silence_ns;	/* 15 s: how long a process may say nothing
				 * before its node is asked.  One that shares
				 * a core with 200 others says something
				 * every few seconds. */
	char switches[PATH_MAX]; /* topology.conf, ibnetdiscover; "" = none */
	char faults[PATH_MAX];	/* drill file as typed, "" = none */
	int64_t seed;		/* 1 */
	bool follow;		/* status: until the run ends */
	bool strict;
	int64_t slow_percent;	/* that make a slow part a fault; 0 = 10, or as
				 * the run had it */
	bool quick;		/* a minute's worth */
	bool deep;		/* of all: more than the links of GPUs */
	char resume[PATH_MAX];
	char retest[PATH_MAX];	/* what this run has found */
	/* memlock */
	bool node;		/* this node only; kept only where -o says */
	int64_t need_B;		/* of locked memory; 0 = estimated */
	/* ib */
	int64_t op;		/* enum spec_op */
	bool bidi;
	int64_t memory;		/* enum spec_memory */
	char hca[256];		/* as NCCL_IB_HCA; "" = all */
	int64_t gid_index;	/* -1 = as NCCL chooses */
	bool rdma_cm;
	int64_t qps;		/* -1 = as NCCL, else 1 */
	int64_t tx_depth;	/* 128 */
	int64_t traffic_class;	/* -1 = NCCL_IB_TC, else 0 */
	int64_t service_level;	/* -1 = NCCL_IB_SL, else 0 */
	int64_t pkey_index;	/* -1 = NCCL_IB_PKEY, else 0 */
	int64_t qp_timeout;	/* 14: 4.096 us x 2^14 */
	int64_t qp_retries;	/* 7 */
	/* allreduce and its kin */
	char dtype[16];		/* of the elements; float */
	char redop[16];		/* sum */
	char algo[256];		/* NCCL_ALGO, one after the other:
				 * "Ring,Tree" */
	char proto[64];		/* NCCL_PROTO, the same */
	char nccl_libs[SPEC_LIST_MAX];	/* lines */
	char env[SPEC_LIST_MAX];	/* NAME=A,B; lines */
	char variants[SPEC_LIST_MAX];	/* NAME:VAR=VALUE,...; lines */
	int64_t reg;		/* enum spec_register: of the buffers */
	bool bisect;		/* look for the smallest set that is bad */
	int64_t verify;		/* operations a size whose result is checked;
				 * 0 = none but those of check */
	/* ping */
	bool cross;		/* between segments too */
	bool all_pairs;		/* of nodes, however many there are */
	bool stale;		/* the nodes tested together least recently */
	char method[16];	/* auto icmp icmp_raw udp */
	char tcp[16];		/* port, or auto; "" = no TCP */
	int64_t count;		/* probes a path; 0 = 5, of TCP 1 */
	int64_t flows;		/* UDP source ports per path; 0 = 1 */
	int64_t interval_ns;	/* between two of them */
	int64_t size_B;		/* of the data in a probe; 56 */
	bool df;		/* find the largest whole packet */
	char ifname[256];	/* as NCCL_SOCKET_IFNAME; "" = all */
	char subnet[512];	/* only these; "" = all */
	char skip[512];		/* interfaces, addresses, subnets */
	/* ib, memlock */
	char sysroot[PATH_MAX];	/* /sys, /proc are read below it; "" = / */
	/* gpu */
	int64_t compute_ns;	/* of arithmetic a GPU; 2 s */
	bool explain_nics;	/* why each GPU here has its NIC */
	bool far;		/* by memory of the other socket, too */
	int64_t soak_ns;	/* again and again; 0 = once */
	bool dcgm;		/* what dcgmi diag finds, too */
	/* hang */
	int64_t pid;		/* this process and those below it; 0 = all of
				 * the job */
	bool watch;		/* look until somebody is named */
	bool stacks;		/* stop processes to see where they are */
	/* info */
	char record[PATH_MAX];	/* a folder a node into this one; "" = none */
	/* node */
	int64_t expect_gpus;	/* 0 = as Slurm's files say */
	char fail_on[1024];	/* codes that make exit 1, and no others;
				 * "" = by the verdict */
	/* import */
	char machine[40];	/* section of expected.ini; "" = not known */
	char rails[24];		/* "8x400G"; "" = as the machine has them */
	/* report, collectives */
	char reference[PATH_MAX];	/* "" = none */
	char accept[PATH_MAX];	/* file of expectations; "" = none */
	char junit[PATH_MAX];	/* file to write; "" = none */
	int64_t stat;		/* enum spec_stat: of comparison tables */
	/* diff */
	bool force;
	/* history */
	char history[PATH_MAX];	/* its directory; "-" = the usual one, "" =
				 * none is kept */
	int64_t last;		/* so many runs of it; 100 */
	bool drills;		/* with those that say nothing of machines */
	bool coverage;		/* which pairs of nodes were tested when */
	char convert[PATH_MAX];	/* history of an earlier version; "" = none */
	char metrics[PATH_MAX];	/* file for the monitoring; "-" = stdout */
	/* watch */
	int64_t every_ns;	/* from run to run */
	int64_t runs;		/* at most; 0 = any number */
	int64_t lasting_ns;	/* no run begins later; 720 h */
	char systemd[PATH_MAX];	/* folder of its units; "-" = stdout, "" =
				 * cron or scrontab */
	char show[PATH_MAX];	/* the watch whose entry to print; "-" = that
				 * of the options, "" = none */
	bool list;		/* entries of all watches */
	char remove[PATH_MAX];	/* the watch to lose its entry; "" = none */
	char stop[PATH_MAX];	/* the watch to end; "" = none */
	/* out */
	char out[PATH_MAX];	/* -o */
	int64_t json;		/* enum spec_json */
	bool csv, quiet;
	bool share;		/* names and identifiers are replaced */
	int64_t verbose;
	int64_t color, progress, map;	/* enum spec_when */
	bool log_scale;		/* curves of bandwidth */
	/* no option: whose words are offered where one is wrong, a mask of enum
	 * spec_command; 0 = anybody's */
	unsigned commands;
};

enum spec_type {
	SPEC_FLAG,	/* bool; on the command line without value */
	SPEC_BOOL,	/* bool; on the command line with 0 or 1 */
	SPEC_COUNT,	/* int64_t, every -v adds one */
	SPEC_INT,	/* int64_t in [min, max] */
	SPEC_SIZE,	/* int64_t bytes in [min, max] */
	SPEC_DURATION,	/* int64_t ns in [min, max] */
	SPEC_TEXT,	/* char[size] */
	SPEC_LIST,	/* char[size]; each time a line more; not from the
			 * environment */
	SPEC_CHOICE,	/* int64_t: index into words[] */
	SPEC_WORD,	/* char[size]: one of words[] */
	SPEC_NODES,	/* char[size]: a host list */
	SPEC_PORTS,	/* char[size]: as net_ports_parse() takes it */
	SPEC_LOCAL,	/* --local[=NxG], fills in local, local_nodes, _gpus */
};

/** --json: how much of {run, verdict, rows}. */
enum spec_json {
	SPEC_JSON_NONE, SPEC_JSON_ALL, SPEC_JSON_VERDICT
};

/** Which commands take an option: a mask in spec_option.commands. */
enum spec_command {
	SPEC_CMD_P2P	= 1 << 0,
	SPEC_CMD_NODE	= 1 << 24,
	SPEC_CMD_REPORT	= 1 << 1,
	SPEC_CMD_INNER	= 1 << 2,	/* agent, coordinator, worker */
	SPEC_CMD_PLAIN	= 1 << 3,	/* help, version */
	SPEC_CMD_IB	= 1 << 4,
	SPEC_CMD_MEMLOCK = 1 << 5,
	SPEC_CMD_COLLECTIVE = 1 << 8,
	SPEC_CMD_EXPLAIN = 1 << 12,
	SPEC_CMD_IMPORT	= 1 << 13,
	SPEC_CMD_DIFF	= 1 << 14,
	SPEC_CMD_PING	= 1 << 6,
	SPEC_CMD_ALL	= 1 << 7,
	SPEC_CMD_INFO	= 1 << 10,
	SPEC_CMD_HANG	= 1 << 11,
	SPEC_CMD_GPU	= 1 << 18,
	SPEC_CMD_PLAN	= 1 << 9,	/* those that change a plan most */
	SPEC_CMD_STATUS	= 1 << 17,
	SPEC_CMD_ATTACH	= 1 << 15,
	SPEC_CMD_BUNDLE	= 1 << 16,
	SPEC_CMD_VERSION = 1 << 30,
	SPEC_CMD_HISTORY = 1 << 21,
	SPEC_CMD_WATCH	= 1 << 22,
	/* those that end with a verdict on a run */
	SPEC_CMD_JUDGES	= SPEC_CMD_P2P | SPEC_CMD_REPORT | SPEC_CMD_IB |
			  SPEC_CMD_MEMLOCK | SPEC_CMD_COLLECTIVE |
			  SPEC_CMD_PING | SPEC_CMD_ALL | SPEC_CMD_INFO |
			  SPEC_CMD_HANG | SPEC_CMD_GPU | SPEC_CMD_ATTACH |
			  SPEC_CMD_NODE,
};

/** One of the words that an option can be set to, or a text of its help. */
struct spec_word {
	const char *name;
	unsigned commands;	/* that take it, of those that take the option;
				 * 0 = all */
	unsigned flags;		/* of a launcher: enum spec_launcher, of a
				 * transport: enum xport_caps */
};

/** Properties of a launcher, so that callers need not know it by name. */
enum spec_launcher {
	LAUNCHER_PRETENDS = 1 << 0,	/* its nodes are all this machine */
	LAUNCHER_SLURM	= 1 << 1,	/* its nodes belong to Slurm */
	LAUNCHER_JOB	= 1 << 2,	/* goes on when the front leaves */
	LAUNCHER_ONCE	= 1 << 3,	/* for one probe, not for several in
					 * turn */
	LAUNCHER_HOSTS	= 1 << 4,	/* the user names its nodes */
};

/** Properties of a transport, so that callers need not know it by name. */
enum xport_caps {
	XPORT_GPU	= 1 << 0,	/* a rank owns a GPU */
	XPORT_MODEL	= 1 << 1,	/* nothing is moved, ranks are states
					 * of the agent; never automatic */
	XPORT_SHARED_CORES = 1 << 2,	/* CPU-bound: local ranks disturb each
					 * other, "slow" is at most a warning */
	XPORT_DEAD_IS_SILENT = 1 << 3,	/* an end that stays away is noticed
					 * by nobody until the deadline */
	XPORT_ONE_NODE	= 1 << 4,	/* reaches no other node */
	XPORT_PORT	= 1 << 5,	/* a rank owns an HCA port */
	XPORT_SOCKETS	= 1 << 6,	/* by the sockets of the host: touches
					 * no GPU */
	XPORT_SETTINGS	= 1 << 7,	/* does what is said to NCCL */
};

/** Meaning of an option for a run that is resumed. */
enum spec_resumed {
	SPEC_RUNS,	/* decides what is measured: as it was */
	SPEC_LIMITS,	/* typed again it counts from now on */
	SPEC_COMMANDS,	/* about one command only: what is said now */
};

/**
 * One option.  The table is the only list: the command line, --help, the
 * manual check, shell completion, GPUCHECK_<OPTION> and run.json come from it.
 */
struct spec_option {
	const char *name;	/* long name without dashes */
	const char *was;	/* earlier name, accepted silently; NULL */
	char letter;		/* 0 = none */
	enum spec_type type;
	unsigned commands;	/* mask of enum spec_command */
	size_t offset;
	size_t size;
	int64_t min, max;
	const struct spec_word *words;	/* a NULL name at the end */
	const char *argh;	/* what --help calls the value, where it is not
				 * as its type has it: spec_argh() */
	const char *help;	/* a sentence without its full stop */
	const struct spec_word *helps;	/* of commands in which it has another
					 * meaning: the first for a command
					 * counts; NULL */
	const struct spec_word *unset;	/* the default in words, where the
					 * program finds it later; NULL: that
					 * of spec_init(), if it has one */
	const char *hint;	/* to a value that it does not take, where the
				 * type has none; NULL */
	const char *heading;	/* of this and those below it, in --help */
	bool optional_value;	/* without one: of a text "-", of a choice the
				 * second word */
	unsigned brief;		/* the commands whose -h lists it; --help=all
				 * lists all options */
	bool once;		/* about one use of the command, or what a
				 * script reads of it: in no file of options */
	bool harmless;		/* nodes, pairs or sizes: taken from the run of
				 * another user, and printed of it */
	enum spec_resumed resumed;
};

extern const struct spec_option spec_options[];	/* closed by a NULL name */

/** The word of a choice of option @name: of an enum schedule as on the command
 *  line and in the rows. */
const char *spec_choice_name(const char *name, int64_t choice);

/** Return the name of the value in --help; NULL if the value is one of the
 *  option's words, or there is none. */
const char *spec_argh(const struct spec_option *o);
static inline bool spec_has_value(const struct spec_option *o)
{
	return o->type != SPEC_FLAG && o->type != SPEC_COUNT;
}

/** The word @text of @o; NULL when there is none. */
const struct spec_word *spec_word(const struct spec_option *o,
				  const char *text);
/** Return true if a command of the mask @commands accepts the word. */
static inline bool spec_word_of(const struct spec_word *w, unsigned commands)
{
	return w->commands == 0 || (w->commands & commands) != 0;
}

/** Return true if @name is a launcher with one of @flags; @name may be NULL or
 *  unknown. */
bool spec_launcher_is(const char *name, unsigned flags);

/** Return true if @name is a transport with one of @flags (enum xport_caps);
 *  @name may be unknown. */
bool spec_transport_is(const char *name, unsigned flags);
/** Return true if the run uses model nodes that share the GPUs of this
 *  machine. */
bool spec_is_shared(const struct spec *s);
/** Return the word for one rank of the transport: "GPU", "port", or "rank". */
const char *spec_transport_rank(const char *name);

/**
 * The words of @text, parted and quoted as in a shell: a NULL-ended array in
 * one piece, which free() frees, none of ""; or NULL: a quote is open, or no
 * memory.
 */
char **spec_words(const char *text);

/** Return true if --nodelist or --exclude leaves node @name out. */
bool spec_leaves_out(const struct spec *s, const char *name);
/** How many names of the host list @list (may be "") are not left out; @out,
 *  which may be NULL, gets them with commas between. */
int64_t spec_nodes_left(const struct spec *s, const char *list,
			struct str *out);

/** Return true if @name is the name of option @o, or its earlier name. */
bool spec_is_called(const struct spec_option *o, const char *name);
/** Return the option with the long or earlier name @name; NULL if there is
 *  none. */
const struct spec_option *spec_find(const char *name);
/** More than there are in the table. */
#define SPEC_OPTIONS_MAX 160

/** The defaults of design section 4. */
void spec_init(struct spec *s);
/** Return true if option @o of @s has its default. */
bool spec_is_default(const struct spec *s, const struct spec_option *o);
/** Return true if option @o is the same in @a and @b. */
bool spec_same(const struct spec *a, const struct spec *b,
	       const struct spec_option *o);
/** Make it in @to as it is in @from. */
void spec_take(struct spec *to, const struct spec *from,
	       const struct spec_option *o);
/** Its value as text that would set it again, cut to @size. */
void spec_text(const struct spec *s, const struct spec_option *o, char *buf,
	       size_t size);
/**
 * Set option @o of @s from @text (NULL for a flag).  Returns 0, or -1 with @e
 * naming the option and the value, and @s untouched.
 */
int spec_set(struct spec *s, const struct spec_option *o, const char *text,
	     struct err *e);
/**
 * Values that do not go together, as far as options alone tell.  The table is
 * the only list: what was typed together is refused by it, and what comes from
 * the environment gives way by it.
 */
struct spec_clash {
	/** The last is set, and with it one of those before; the first gives
	 *  way where nobody typed any. */
	const char *options[7];
	const char *lacks;	/* and this one is not; NULL: it may be */
	int64_t contrast;	/* and it is this one; 0: any, or none */
	/** And the launcher has one of these flags, or none of those, and the
	 *  transport none; 0: any.  Options for NCCL need the transport nccl,
	 *  or auto, which may choose it. */
	unsigned launcher_is, launcher_lacks, transport_lacks;
	bool (*holds)(const struct spec *s);	/* and that; NULL: always */
	bool alone;		/* holds() decides, whichever are set */
	const char *text, *hint;	/* of the error, with {option} for its
					 * value; hint may be NULL */
};

extern const struct spec_clash spec_clashes[];	/* closed by a NULL text */

/** How many nodes of --local each agent is: 1, but of a large model of which no
 *  node is left out. */
int64_t spec_hosted(const struct spec *s);

/** Those of --port-range. */
struct net_ports spec_ports(const struct spec *s);
/** How long agents are waited for once one has come from another node, ns. */
int64_t spec_boot_ns(const struct spec *s);
/** ... and for that first one; @step: Slurm starts them, and may have to import
 *  an image on their nodes before. */
int64_t spec_boot_first_ns(const struct spec *s, bool step);

bool spec_clash_holds(const struct spec_clash *c, const struct spec *s);
/** Check that no two options contradict each other. Returns 0, or -1 with
 *  @e. */
int spec_check(const struct spec *s, struct err *e);
/** Check that the options ask for at least two ranks, as pairs need, and at
 *  most SPEC_MAX_RANKS, as far as they say. Returns 0, or -1 with @e. */
int spec_check_ranks(const struct spec *s, struct err *e);

/** All options that are not at their default, by long name. */
json_t *spec_json(const struct spec *s);
/** Option @o as well, where it is at its default; 0, or -1 without memory. */
int spec_json_put(json_t *json, const struct spec *s,
		  const struct spec_option *o);
/** @o by its value @value in such an object; 0, or -1 with @e. */
int spec_json_take(struct spec *s, const struct spec_option *o,
		   const json_t *value, struct err *e);
/** Return the value of @o in such an object, by its name or its earlier name;
 *  NULL if there is none.  Borrowed. */
json_t *spec_json_get(const json_t *json, const struct spec_option *o);
/** The other way; unknown keys and wrong types are errors. */
int spec_from_json(struct spec *s, const json_t *json, struct err *e);

/**
 * The sizes that @s asks for, rising, or those from @begin_B to @end_B where it
 * asks for none, into @sizes; from @begin_B on where it has an end alone, or
 * that end.  Returns how many, -1: more than fit.
 */
int spec_sizes(const struct spec *s, int64_t begin_B, int64_t end_B,
	       int64_t sizes[SPEC_MAX_SIZES]);

#endif
