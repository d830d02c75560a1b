/* SPDX-License-Identifier: BSD-3-Clause */
/* A fake: what is broken at present, by a file that is read as it changes. */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/fake/verbs/fake.h"

#define LOOK_NS (5 * FV_MS)

struct rule {
	enum fv_fault fault;
	char from[FV_ID], to[FV_ID];	/* patterns of ids, both ways */
	double value;			/* 0: none */
	int gid;			/* -1: any */
	unsigned int mask, port;	/* of UDP source ports; mask 0: all */
	int percent;			/* of packets; 0: all */
	long long after_B;		/* through the port that comes first */
	double for_s;			/* 0: for ever */
};

struct rules {
	int n;
	struct rule rule[FV_RULES];
};

static const char *const names[FV_FAULTS] = {
	[FV_CUT] = "cut", [FV_LOST] = "lost", [FV_DOWN] = "down",
	[FV_SLOW] = "slow", [FV_CORRUPT] = "corrupt", [FV_MEMLOCK] = "memlock",
};

static bool read_option(struct rule *r, const char *word)
{
	return sscanf(word, "factor=%lf", &r->value) == 1 ||
	       sscanf(word, "bytes=%lf", &r->value) == 1 ||
	       sscanf(word, "gid=%d", &r->gid) == 1 ||
	       sscanf(word, "port&%u=%u", &r->mask, &r->port) == 2 ||
	       sscanf(word, "percent=%d", &r->percent) == 1 ||
	       sscanf(word, "after=%lld", &r->after_B) == 1 ||
	       sscanf(word, "for=%lf", &r->for_s) == 1;
}

/* "cut n0/mlx5_0 n1/mlx5_1 after=1000000 for=0.5"; false: not ours. */
static bool read_rule(struct rules *rules, char *line)
{
	struct rule *r = &rules->rule[rules->n];
	char *rest = NULL, *word = strtok_r(line, " \t\n", &rest);
	int places = 0;

	if (word == NULL || word[0] == '#') {
		return true;
	}
	*r = (struct rule){ .fault = FV_FAULTS, .to = "*", .gid = -1 };
	for (int i = 0; i < FV_FAULTS; i++) {
		if (strcmp(word, names[i]) == 0) {
			r->fault = (enum fv_fault)i;
		}
	}
	while ((word = strtok_r(NULL, " \t\n", &rest)) != NULL) {
		if (strchr(word, '=') != NULL) {
			if (!read_option(r, word)) {
				return false;
			}
		} else if (++places > 2) {
			return false;
		} else {
			snprintf(places == 1 ? r->from : r->to, FV_ID, "%s",
				 word);
		}
	}
	rules->n++;
	return r->fault < FV_FAULTS && places > 0;
}

static struct rules *read_rules(FILE *f)
{
	struct rules *rules = calloc(1, sizeof(*rules));
	char line[512];

	while (rules != NULL && rules->n < FV_RULES &&
	       fgets(line, sizeof(line), f) != NULL) {
		char copy[512];

		memcpy(copy, line, sizeof(copy));
		if (!read_rule(rules, line)) {
			fprintf(stderr, "fake verbs: wrong fault: %s", copy);
			rules->n = 0;
			break;
		}
	}
	return rules;
}

/* The rules of now.  Others may still read those of before, which stay: a file
 * changes a few times. */
static const struct rules *rules_now(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static struct rules none, *rules = &none;
	static int64_t looked_ns;
	static struct stat last;
	const char *folder = getenv("FAKE_VERBS");
	const struct rules *now;
	char path[4096];
	struct stat st;
	FILE *f;

	pthread_mutex_lock(&lock);
	if (fv_now_ns() - looked_ns > LOOK_NS) {
		snprintf(path, sizeof(path), "%s/faults",
			 folder != NULL ? folder : "");
		if (stat(path, &st) < 0) {
			rules = &none;
			memset(&last, 0, sizeof(last));
		} else if ((st.st_mtim.tv_nsec != last.st_mtim.tv_nsec ||
			    st.st_mtim.tv_sec != last.st_mtim.tv_sec ||
			    st.st_ino != last.st_ino ||
			    st.st_size != last.st_size) &&
			   (f = fopen(path, "r")) != NULL) {
			struct rules *read = read_rules(f);

			fclose(f);
			rules = read != NULL ? read : rules;
			last = st;
		}
		looked_ns = fv_now_ns();
	}
	now = rules;
	pthread_mutex_unlock(&lock);
	return now;
}

/* A rule with "after" or "for" begins for all processes at once. */
static bool is_on(const struct rule *r, int place, int port)
{
	struct fv_wire *w = fv_wire();
	long long begun, unset = 0;

	if (r->after_B == 0 && r->for_s <= 0) {
		return true;
	}
	begun = w->begun_ns[place];
	if (begun == 0) {
		if (w->ports[port].moved_B < r->after_B) {
			return false;
		}
		begun = fv_now_ns();
		if (!atomic_compare_exchange_strong(&w->begun_ns[place],
						    &unset, begun)) {
			begun = unset;
		}
	}
	return r->for_s <= 0 ||
	       (double)(fv_now_ns() - begun) < r->for_s * FV_S;
}

static bool fits(const char *pattern, int port)
{
	return port < 0 ? strcmp(pattern, "*") == 0 :
			  fnmatch(pattern, fv_ports[port].id, 0) == 0;
}

static bool is_between(const struct rule *r, int place, int from, int to)
{
	bool ahead = fits(r->from, from) && fits(r->to, to);

	return (ahead || (to >= 0 && fits(r->from, to) && fits(r->to, from))) &&
	       is_on(r, place, ahead ? from : to);
}

bool fv_flow_lost(int from, int to, uint32_t label)
{
	/* rdma_flow_label_to_udp_sport() of Linux, which for label 0 makes up
	 * one by the numbers of both queues */
	unsigned int port = 0xc000 | ((label & 0x3fff) ^ (label >> 14));
	const struct rules *rules = rules_now();

	for (int i = 0; label != 0 && i < rules->n; i++) {
		const struct rule *r = &rules->rule[i];

		if (r->fault == FV_LOST && r->mask != 0 &&
		    (port & r->mask) == r->port && is_between(r, i, from, to) &&
		    (r->percent == 0 || rand() % 100 < r->percent)) {
			return true;
		}
	}
	return false;
}

bool fv_faulty(enum fv_fault fault, int from, int to, int gid, double *value)
{
	const struct rules *rules = rules_now();

	for (int i = 0; i < rules->n; i++) {
		const struct rule *r = &rules->rule[i];

		if (r->fault == fault && r->mask == 0 &&
		    (r->gid < 0 || gid < 0 || r->gid == gid) &&
		    is_between(r, i, from, to)) {
			if (value != NULL) {
				*value = r->value;
			}
			return true;
		}
	}
	return false;
}

bool fv_port_down(int port)
{
	return fv_ports[port].down || fv_faulty(FV_DOWN, port, -1, -1, NULL);
}
