/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of the judges: methods, and the findings that they add. */
#ifndef REPORT_JUDGE_FINDINGS_H
#define REPORT_JUDGE_FINDINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/judge/verdict.h"
#include "report/model/part.h"
#include "report/model/run.h"
#include "report/model/sweep.h"

/** Returns true if the row *@p of a curve, which has a neighbour on either
 *  side, is off: the next size takes less time, or the rate falls and rises
 *  again.  A step in the curve does neither. */
bool sweep_row_is_off(const struct collective_row *const *p);

/* ---- explained ----------------------------------------------------------- */

/** Bits that the judges of pairs set for a cell; later judges skip explained
 *  cells. */
enum explained {
	EXPLAINED = 1,		/* why it failed, or is slow */
	EXPLAINED_FLAKY = 2,	/* why it failed first, and passed later */
	COVERED = 4,		/* a part of it is bad: does not count for
				 * small effects */
	SPARED = 8,		/* slow by parts that are a little slow */
	SAID = 16,		/* slow, which has been judged */
	NAMED = 32,		/* a finding has it among its bad tests */
	BY_CHANCE = 64,		/* slow by chance, or fast when repeated */
	BUILT_SO = 128,		/* slow, as all tests of its kind */
};

/* ---- notes --------------------------------------------------------------- */

/** Returns true if the test of the cell at @at failed or is slow, and by the
 *  bits @explained is neither in a finding nor forgiven. */
bool account_is_open(const struct run *run, const uint8_t *explained,
		     size_t at);
/** Sets v->account, and adds a note to v->notes for each rule that forgives bad
 *  tests.  Findings that an accepted run has were dropped before. */
void account_close(const struct run *run, const uint8_t *explained,
		   struct verdict *v);
/** Returns true if no pair between rails was planned because rails are not
 *  connected, only a typed list has some; sets *@n to their number, 0 for a
 *  sample, where it is not known. */
bool rails_left_out(const struct run *run, size_t *n);
/** Adds a note to v->notes if pairs between rails would have been planned if
 *  rails were connected. */
void rails_note(const struct run *run, struct verdict *v);
/** Returns how many queue pairs of other flows ib had at once, with the median
 *  of what they gained in *@gain, 0: none.  *@clear: that is more than noise,
 *  and more than the run and NCCL's jobs have now. */
int flows_gain(const struct run *run, double *gain, bool *clear);
/** Adds a note to v->notes if that is so. */
void flows_note(const struct run *run, struct verdict *v);

/* ---- gone ---------------------------------------------------------------- */

/**
 * Parts that dropped out by their own report (facts.csv), even if no cell shows
 * it.  A node that lost every GPU is one part, and hides its GPUs.  Pure.
 */
struct gone {
	struct part part;
	const char *code;	/* gpu_missing, agent_lost, memlock ... */
	const char *says;	/* the code that this is a case of */
	const char *detail;	/* the node's own message; "" = none */
};

struct gone_list {
	struct gone *list;
	size_t n;
};

/** Parts that are inside one node. */
#define KINDS_IN_NODE \
	(KIND(NODE) | KIND(INTRA_NODE) | KIND(NODE_NETWORK) | KIND(SOCKET) | \
	 KIND(CABLE_SWAP) | KIND(NIC) | KIND(GPU) | KIND(GPU_NVLINK))

#define GONE_OPEN_FAILED "open_failed"
/** Not gone, but cut off from most others: cut_findings(). */
#define GONE_CUT "coordinator_cut"
/** ... of the run: the launcher ended the agents. */
#define GONE_ENDED "agents_ended"

/** A code by which a part drops out of the run, or that says why it did. */
struct gone_code {
	const char *code, *text;	/* text: what the part did, or NULL */
	const char *state;	/* the fact "state" of it; NULL: called as it */
	unsigned kinds;		/* of parts, with that state */
	bool vague;		/* the fact "state_code" says it better */
	bool set_up;		/* by how a part was started or installed:
				 * excluding its node does not help */
	bool accuses;		/* a part is at fault for a cell that was
				 * skipped with it */
	bool silence;		/* nothing was heard of a part; its node did not
				 * report it */
	bool unstarted;		/* the launcher could not start an agent */
};

/** Returns what is known of @code; of another one a code without a text. */
const struct gone_code *gone_code(const char *code);

/** 0, or -1 when memory runs out.  Text is borrowed from @run. */
int gone_find(const struct run *run, struct gone_list *out);
/** Adds nodes that no fact reports as lost, such as when a run continued with
 *  them and was cut, but that a cell not @explained does; events.csv says which
 *  end it was.  Returns 0, or -1 when memory runs out. */
int gone_find_lost(const struct run *run, const uint8_t *explained,
		   struct gone_list *g);
void gone_release(struct gone_list *g);

/** Tests of a part, and how many of them count against it. */
struct tally {
	uint32_t tests, bad;
};

/* ---- suspect ------------------------------------------------------------- */

/**
 * The parts that may be to blame for bad cells, and the cost of blaming them.
 * Costs are in bits: the length of a message that tells a reader who knows the
 * cluster which cells are bad.  "GPU 4 of n1" is a short message.  If a part
 * fails in only some of its cells, the message also has to say in which: the
 * entropy of its share, and half of log2 n for the share itself.  The shortest
 * message is the best explanation (minimum description length: J.  Rissanen,
 * Automatica 14, 1978).
 */
enum mark { MARK_IGNORE, MARK_GOOD, MARK_BAD };

/** Conditions that parts must meet before they are blamed. */
struct suspect_need {
	unsigned percent;	/* of a part's cells must be bad */
	/** True if a part of @share bad @cells matters; NULL: any.  Without
	 *  such a part none is blamed. */
	bool (*matters)(double share, size_t cells);
	bool by_chance;		/* how many are bad says nothing of which */
	bool relative[PATH_CLASSES];	/* marks come from comparing cells */
};

struct suspect {
	struct part part;
	size_t id;		/* in the part index */
	size_t good, bad;	/* cells that touch it and count */
	double share;		/* of its cells that are bad */
	bool lone;		/* two nodes that a sample tested with a
				 * single pair of GPUs: the node pair
				 * explains no more than the pair, and is no
				 * cheaper to name */
	unsigned percent;	/* of them that must be */
	double name_bits;	/* to say which part it is */
	double cell_bits;	/* picked: what one more of its own costs */
	size_t covers;		/* blame_cover() */
};

/** A bad cell. */
struct suspect_cell {
	uint32_t at;		/* place in the matrix */
	uint32_t owner;		/* number in list[] of the suspect blamed */
	uint32_t second;	/* next one if that is dropped */
	uint32_t first;		/* of those in touching[] that touch it */
	uint8_t n;		/* how many */
	bool both_ways;		/* the way back is bad too */
};

#define SUSPECT_NONE UINT32_MAX

/* ---- blame --------------------------------------------------------------- */

/**
 * Finds the suspects to blame: the set with the shortest message, see above.
 *
 * A cell belongs to the picked suspect with the largest share of bad cells;
 * cells that belong to none are listed one by one.  Suspects are picked
 * greedily, the one that saves most bits first; then those that the others make
 * unnecessary are dropped.  Greedy search can fail in several ways, so there
 * are several searches, and the shortest message wins: some pick parts that are
 * bad in all or most cells before parts that are bad in some (two dead NICs are
 * not a partly bad rail), another one picks parts in any order (a NIC that
 * fails sometimes is not a few dead paths).
 */

/** State of the search for one suspect: small, as each bad cell looks at all
 *  of those that touch it. */
struct blame_of {
	double share;		/* that of the suspect */
	double left_bits;	/* what those below cost without it */
	uint32_t left;		/* cells that are its own if it is picked */
	bool held;		/* not to be dropped before the next count */
};

struct blame {
	const struct run *run;
	const uint8_t *marks;
	struct part_index index;
	struct suspect *list;	/* in order of preference */
	size_t n;
	struct suspect_cell *bad;	/* all of them, by place */
	size_t n_bad;
	uint32_t *touching;	/* numbers in list[], cell by cell */
	double pair_bits;	/* to name one pair of GPUs */
	struct blame_of *of;	/* each of list[] */
	bool *picked;		/* each of list[] */
	struct blame_of *fresh;	/* the same before any is picked */
	bool plain;		/* a search picked in one round, in any order */
	uint32_t *rest;		/* cells that no suspect owns */
	size_t n_rest;
	double rest_bits;	/* to list them */
};

/** Finds the parts of @run to blame for the cells that @marks has as bad.
 *  Cells of a path class that are good throughout and all touch a part do not
 *  acquit it when the class is relative.  Returns 0, or -1 when memory runs
 *  out; blame_release() frees in both cases. */
int blame_find(const struct run *run, const uint8_t *marks,
	       const struct suspect_need *need, struct blame *b);
void blame_release(struct blame *b);

/**
 * Returns how many cells of @s no other suspect would own; sets covers of each
 * suspect to how many of these it touches.
 */
size_t blame_cover(struct blame *b, size_t s);

/** Bits by which the message is longer with @x in the place of @s, which it
 *  covers. */
double blame_excess(const struct blame *b, size_t s, size_t x);

/**
 * Returns how much shorter the message is by naming suspect @s than by naming
 * its cells without it: from 0, if a list of cells is as short, up to nearly 1,
 * if the name stands for many cells and few cells of the part are good.
 */
double blame_score(const struct blame *b, size_t s);

/* ---- attribute ----------------------------------------------------------- */

/**
 * From bad cells to the fewest parts that explain them: those that blame.h
 * finds, and what they leave as pairs.  Pure.
 */

/** Minimum percentage of bad cells of a part; less may be chance, and does not
 *  help to find the part. */
#define ATTRIBUTE_PERCENT 20
/** More lone pairs than this are one cause, with a list. */
#define ATTRIBUTE_MAX_PAIRS 10

struct cause {
	struct part part;
	size_t cells;		/* marked cells that touch the part */
	size_t explained;	/* the bad ones of them */
	double score;		/* blame_score(); of what no pattern explains
				 * 0 */
	struct part *or_parts;	/* that explain these cells as well, or
				 * nearly so */
	size_t n_or;
	uint32_t *rest;		/* bad cells that no part explains, if they
				 * are too many for a cause each; NULL: this
				 * is a part */
	size_t n_rest;
};

struct causes {
	struct cause *list;
	size_t n;
};

/**
 * @marks: an enum mark for each cell, src major.  Returns 0 with @out filled
 * (causes_release() frees), or -1 when memory runs out.
 */
int attribute(const struct run *run, const uint8_t *marks,
	      const struct suspect_need *need, struct causes *out);
/** Compares cell numbers, or bad cells, which begin with theirs. */
int attribute_order(const void *a, const void *b);
void causes_release(struct causes *c);

/* ---- chance -------------------------------------------------------------- */

/**
 * Drops lone pairs that are slow because of other activity, such as flows that
 * meet or a busy host.  Such activity makes a share of all first tests slow,
 * and at most the same share of repeated tests would be slow again.  If no more
 * are, no pair is to blame; in a quiet cluster hardly any repeated test is slow
 * by chance, so a slow pair is to blame there.  A pair is not to blame either
 * if it is as slow as its class (the same two GPU numbers at the same distance)
 * or as both of its ends: then it is slow by design.  The same applies to a
 * part whose slow tests are as fast as others of their class, or were fast when
 * repeated.  Pure.
 */

/** Drops those of @causes of slow cells that chance or design explains, and
 *  marks their cells in @explained as BY_CHANCE or BUILT_SO.  Slow cells of
 *  named parts do not count for pairs, and causes below their line rate are
 *  kept.  Returns 0, or -1 when memory runs out. */
int chance_drop(const struct run *run, uint8_t *explained,
		struct causes *causes);

/* ---- again --------------------------------------------------------------- */

/**
 * Compares a part that is slow in the main pass, where many tests run at the
 * same time, with the same tests in the follow-up, which runs them one by one:
 * flows that met on a link between switches do not meet there.  Pure.
 */

/** Number of repeated slow tests that confirm a part or not. */
#define AGAIN_TESTS 4

/** Returns true if most slow tests of @c passed when repeated, while others of
 *  its tests were good all the time.  Then the fault is not proved. */
bool again_doubts(const struct run *run, const struct cause *c);
/** Adds a line of evidence to @f: what the follow-up says of @p, if it does. */
void again_tell(const struct run *run, const struct part *p,
		struct finding *f);
/** Returns true if the follow-up refutes @c, a part between nodes: its slow
 *  tests are of flows that met in the network, which is no part's fault.  A
 *  part inside a node may sometimes be slow by itself.  Adds one warning of the
 *  network as a whole for all such parts. */
bool again_collided(const struct run *run, const struct cause *c,
		    struct verdict *v);

/* ---- leaves -------------------------------------------------------------- */

/**
 * Infers leaf switches from the bad cells if they are not known: bad cells of
 * one NIC index on several nodes, or from one set of nodes to another but not
 * inside either.  Sets the leaves of @run, named A, B, ..., and
 * leaves_inferred; nothing if the cells show no such pattern.  Cells must have
 * their classes.  Returns 0, or -1 when memory runs out.
 */
int leaves_infer(struct run *run);

/* ---- levels -------------------------------------------------------------- */

/** A test below the share that its line should carry is within the noise of its
 *  class if the class reaches that share and the test is no more MADs (five
 *  standard deviations) below the median. */
#define LEVELS_NOISE_MADS 7.5

/**
 * Marks the cells that are slow compared with the median of their path class
 * (cells_mark_slow()), unless most cells of the class are slow: one slow node
 * of three touches two thirds of all cells between nodes, so the median is that
 * of slow cells; if nearly half are slow, the MAD is that of two levels, and
 * the limit is below both.  Therefore, if all other cells are much slower than
 * the fast ones, with nothing in between, the fast ones are taken for healthy
 * if a few parts explain all slow cells, without exception.  Otherwise the
 * difference is by design (an NVLink bridge between some GPUs).  Cells that are
 * below their line rate by no more than noise pass, unless most tests of their
 * sender or receiver are below it.  Sets class of the cells and @run->slow.
 * Returns 0, or -1 when memory runs out.
 */
int levels_mark_slow(struct run *run);
/**
 * The same for groups of units that are fast with each other and slow with all
 * others, when most pairs of units are slow: nodes, or NIC indexes.  One group
 * and single units: these are slow.  Several groups of nodes are leaf switches
 * that are connected at a lower rate: sets @run->oversubscribed, and the leaves
 * if they are not known.  The level of a pair is the median of its tests, so
 * that noise does not hide it.  Sets *@found if there are groups.  Returns 0,
 * or -1 when memory runs out.
 */
int groups_mark_slow(struct run *run, bool *found);
/** run_read(), and that. */
int levels_read(const char *dir, struct run *run, struct err *e);

/* ---- rates --------------------------------------------------------------- */

/**
 * Finds parts that fail sometimes.  Each part is judged by the share of its
 * first tests that failed, whatever the result of repeating them, compared with
 * the share that fails elsewhere.  Pure.
 *
 * It takes the part with the largest likelihood ratio (its tests fail at a rate
 * of their own, not at that of all others), less the logarithm of the number of
 * parts of its kind; then the next one by the tests that are left.  A part
 * counts if at the rate of the others so many failures are less likely than one
 * in two hundred for all parts together (C.  Bonferroni, 1936).  A part whose
 * tests fail as often when repeated, or more often than not, is broken rather
 * than unreliable: other judges handle its tests.
 */

/** As a rule, what fails elsewhere is not less than this. */
#define RATES_USUAL 0.001

struct rate {
	struct part part;
	struct part *or_parts;	/* that explain as much */
	size_t n_or;
	size_t failed, tests;	/* of its first tests */
	size_t again, again_failed;	/* of these, tests of the follow-up that
					 * are not their pair's only one */
	size_t passed;		/* of those that failed, when tried again */
	double nats;		/* logarithm of the likelihood ratio */
};

struct rates {
	struct rate *list;
	size_t n;
	size_t tests;		/* elsewhere, broken parts left out */
	uint32_t *rest;		/* cells of these that failed */
	size_t n_rest;
	size_t again, passed;	/* of them, tried again */
};

/** Returns true if the test of the cell at @at failed at first or finally. */
static inline bool rates_failed(const struct run *run, size_t at)
{
	const struct cell *c = &run->cells[at];

	return cells_failed(c->class) || (c->flaky && run_good(c->class));
}
/** Cells with EXPLAINED in @skip do not count.  0, or -1 when memory runs out;
 *  rates_release() frees. */
int rates_find(const struct run *run, const uint8_t *skip, struct rates *out);
void rates_release(struct rates *r);

/* ---- sweep findings ------------------------------------------------------ */

/**
 * Finds problems in the curves of @s that need no reference: a size that is off
 * between its neighbours, in place and out of place that differ, a bandwidth
 * that falls towards large sizes.  They are warnings that blame no part.
 * Without memory @v has failed.
 */
void sweep_findings(const struct sweep *s, struct verdict *v);

/* ---- skew ---------------------------------------------------------------- */

/** Returns the number of nodes that were not compared because there are more
 *  than RUN_MAX_FACTS facts; else 0. */
size_t skew_unheard(const struct run *run);

/* ---- witness ------------------------------------------------------------- */

/** Counts and messages of the cells of one part.  Pure. */

struct witness {
	size_t cells[CELL_CLASSES];	/* of those that touch the part */
	size_t measured, good;		/* of these */
	size_t follow;			/* measured only by follow-up tests */
	size_t bad[CELL_CLASSES];	/* the ones that need explaining */
	size_t elsewhere;		/* measured, bad, and explained by
					 * another part */
	size_t corrupted;	/* of the flaky ones: data arrived changed */
	char code[48];		/* the most telling one of the bad cells */
	double slow_ratio;	/* mean share of the median, or of packets
				 * lost; NAN = none slow, or too few peers */
	size_t below_line;	/* slow cells below what their line carries */
	size_t by_section;	/* of these, by expected.ini */
	double line_ratio;	/* mean share of the expected value; NAN =
				 * none */
};

/** Which of the cells that touch the part are asked. */
enum witness_about { ABOUT_FAULTS, ABOUT_SLOW, ABOUT_FLAKY, ABOUT_RATE };

/** Returns true if the cell at @at is bad in the sense of @about. */
bool witness_is_bad(const struct run *run, enum witness_about about, size_t at);

/** Returns true if data arrived corrupted in a flaky cell before it passed. */
bool witness_corrupted(const struct run *run, size_t at);

/** Counts the cells that touch @p into @w and f->cells; takes some of their
 *  messages as evidence of @f, whose example is the first bad one.  Bad cells
 *  that another part explains only count as @w->elsewhere: @explained has
 *  EXPLAINED for each, or is NULL. */
void witness_hear(const struct run *run, const struct part *p,
		  enum witness_about about, const uint8_t *explained,
		  struct finding *f, struct witness *w);

/* ---- says ---------------------------------------------------------------- */

/**
 * The sentences of a finding: what is broken and how that is known (says), and
 * what to type next (do).  Pure; code, counts and alternatives are set before.
 */

/* ---- findings ------------------------------------------------------------ */

/* Codes of a GPU that processes hold: of no job, or of jobs. */
#define FINDING_GPU_BUSY   "gpu_busy"
#define FINDING_GPU_IN_USE "gpu_in_use"
#define FINDING_GPU_JOINED "gpu_joined"

/** Findings that no bad cell shows.  Without memory @v has failed. */

/** Finds settings in which nodes differ if bytes go another way than they come
 *  back, or straight from the GPU at one end only. */
void config_findings(const struct run *run, struct verdict *v);
/** Finds pairs of nodes that use TCP although both have a faster RDMA port,
 *  which is a fault unless the user asked for it, and that use host memory
 *  although a NIC could read the GPU. */
void network_findings(const struct run *run, struct verdict *v);
/** Return true if data of the pair of the cell at @at goes through host memory
 *  at an end whose NIC could read the GPU.  The finding gpudirect_missing needs
 *  that of both ends. */
bool network_bounces(const struct run *run, size_t at);
/** The first of these, of collectives between nodes. */
void collective_network_findings(const struct run *run, const struct sweep *s,
				 struct verdict *v);
/** Finds GPUs whose NVLink fabric is not ready or not healthy, and services of
 *  the fabric that are down or of another version; of runs that use GPUs. */
void fabric_findings(const struct run *run, struct verdict *v);
/** Finds collectives that reach, with large messages, a smaller share of the
 *  ceiling of their machine than healthy machines do. */
void ceiling_findings(const struct run *run, const struct sweep *s,
		      struct verdict *v);
/** Judges @run by run->accept: each test is kept in v->tests, and one that is
 *  not met or not measured is a fault.  @s: of collectives; NULL: of pairs. */
void accept_findings(const struct run *run, const struct sweep *s,
		     struct verdict *v);
/** Facts in which nodes differ that should be set up alike. */
void skew_findings(const struct run *run, struct verdict *v);
/** --compare=schedule and =memory: whole parts that lose when pairs run at the
 *  same time, or when data lies in GPU memory.  Not of ranks that share cores,
 *  which lose by that, whatever lies between them. */
void load_findings(const struct run *run, struct verdict *v);
/** --compare: cells that are good in the first pass and fail in the other. */
void contrast_findings(const struct run *run, struct verdict *v);
/** --compare=pxn: dead cells that PXN rescues; they are @explained by that. */
void pxn_findings(const struct run *run, uint8_t *explained,
		  struct verdict *v);
/** If ranks are HCA ports: finds PCIe links below their maximum, and an MTU
 *  or rate that differs from the other ports.  For info and node: only the
 *  links. */
void port_findings(const struct run *run, struct verdict *v);
/** Find legs of bonds that are down or outside of their aggregate. */
void bond_findings(const struct run *run, struct verdict *v);
/** For info and node: finds nodes with fewer GPUs than they should have. */
void info_findings(const struct run *run, struct verdict *v);
/** Say "n1 shows 7 of 8 GPUs" by the facts of @node, with the reason if the
 *  driver gave one; false if it shows no fewer than expected. */
bool shown_say(const struct run *run, int node, struct finding *f);
/** For every probe of GPUs, called last: if no node shows a GPU, replaces other
 *  findings with one about the set-up for all nodes that report the same. */
void bare_findings(const struct run *run, struct verdict *v);
/** Most agents fell silent at once: it is the coordinator that was cut off; or
 *  hung up at once: they were ended.  Their nodes go from @gone, and their
 *  cells are @explained.  In a run that broke off, cells of agents that were
 *  lost last are @explained by that. */
void cut_findings(const struct run *run, struct gone_list *gone,
		  uint8_t *explained, struct verdict *v);
/** Adds a finding for tests that were not measured because their processes had
 *  no CPU, which no test can blame on a part.  Removes nodes that are gone for
 *  that reason from @gone, and marks their cells as @explained. */
void starved_findings(const struct run *run, struct gone_list *gone,
		      uint8_t *explained, struct verdict *v);
/** If most tests were lost for lack of CPU and none passed, turns faults from
 *  the tests that failed into warnings. */
void starved_excuse(const struct run *run, struct verdict *v);
/** For ping: finds what the addresses show.  Cells of an address that two
 *  machines have become @explained. */
void mesh_findings(const struct run *run, uint8_t *explained,
		   struct verdict *v);
/** For ping: finds what nodes report about themselves: a filter or routing
 *  table that keeps packets from leaving, and swapped rails. */
void own_findings(const struct run *run, uint8_t *explained,
		  struct verdict *v);
/** For ping: merges findings about one interface that is bad by IPv4 and by
 *  IPv6. */
void mesh_merge(const struct run *run, struct verdict *v);
/** GPUs that have no way to the others of their node that most of these have to
 *  each other. */
void peer_findings(const struct run *run, struct verdict *v);
/** Leaf switches that are connected at a lower rate, all alike: one finding. */
void oversubscribed_findings(const struct run *run, uint8_t *explained,
			     struct verdict *v);
/** Slow tests that are forgiven, judged last: more than chance and collisions
 *  make, or that are built so although no topology says it, are one warning for
 *  each path class. */
void leftover_findings(const struct run *run, uint8_t *explained,
		       struct verdict *v);
/** Pairs of one kind at two levels, neither of which is known to be a fault. */
void level_findings(const struct run *run, struct verdict *v);
/** Finds parts that fail sometimes, by all of their tests.  Cells of failed
 *  tests become EXPLAINED, those that passed when repeated only
 *  EXPLAINED_FLAKY. */
void rate_findings(const struct run *run, uint8_t *explained,
		   struct verdict *v);
/** Marks slow cells as SPARED if parts that are slightly slow explain them, for
 *  example where two such parts meet. */
void effects_spare(const struct run *run, uint8_t *explained,
		   struct verdict *v);
/** Finds nodes, NICs and GPUs that are slightly slow or late in all of their
 *  tests: faults if nearly all of the interval is slow enough and the follow-up
 *  confirms it.  The slow cells that they explain stay SPARED. */
void effect_findings(const struct run *run, uint8_t *explained,
		     struct verdict *v);
/** Finds NICs of GPUs, and networks of nodes, that are slow by themselves
 *  although the GPU or the node is slow as well. */
void depth_findings(const struct run *run, struct verdict *v);
/** Finds GPUs of the job that are not ranks although the user did not ask for
 *  fewer. */
void untested_findings(const struct run *run, struct verdict *v);
/** Takes counters of a GPU that grew during the test, and processes that use
 *  it, as evidence for an existing finding, else as a warning.  Findings about
 *  GPUs that others use are judged as in held_findings(). */
void growth_findings(const struct run *run, struct verdict *v);
/** Sets whether findings about GPUs that other processes hold are faults:
 *  FINDING_GPU_BUSY is one only inside a Slurm job, FINDING_GPU_IN_USE
 *  never. */
void held_findings(const struct run *run, struct verdict *v);
/** The code of what @f says has grown during the run, and *@text for it; NULL:
 *  it says nothing of that kind. */
const char *growth_code(const struct run *run, const struct fact_row *f,
			const char **text);
/** Ping: tables of neighbours that are too small for what was planned. */
void neighbour_findings(const struct run *run, struct verdict *v);
/** --flows: paths of which some UDP ports lose packets. */
void flow_findings(const struct run *run, struct verdict *v);

#endif
