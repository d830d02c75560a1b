/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/explain/explain.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/base/str.h"

/** A longer line is cut; the rest names no part. */
#define LINE_MAX_LEN 511
/** A time stands in front. */
#define TIME_MAX     128

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

/** The number behind the first @key, blanks and colons between; @none. */
static long number_behind(const char *line, const char *key, long none)
{
	const char *at = strstr(line, key);

	if (!at) {
		return none;
	}
	at += strlen(key);
	at += strspn(at, " \t:=");
	return isdigit((unsigned char)*at) && strspn(at, "0123456789") < 10 ?
		       strtol(at, NULL, 10) : none;
}

/** The word behind the first @key, when @end follows it ("": anything). */
static void word_behind(const char *line, const char *key, const char *end,
			char *to, size_t size)
{
	const char *at = strstr(line, key), *from;

	if (!at || *to) {
		return;
	}
	from = at + strlen(key);
	from += strspn(from, " \t:");
	for (at = from; is_word(*at); at++) {
		/* to its end */
	}
	if (isalnum((unsigned char)*from) && (size_t)(at - from) < size &&
	    str_starts(at, end)) {
		memcpy(to, from, (size_t)(at - from));
		to[at - from] = '\0';
	}
}

/* ---- time --------------------------------------------------------- */

struct when {
	struct tm tm;
	double fraction;
	bool no_year;
};

static const char *const months[] = {
	"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct",
	"Nov", "Dec", NULL
};

/** "18:37:03.25" */
static bool take_clock(const char *at, struct when *w)
{
	int len = 0;

	if (sscanf(at, "%2d:%2d:%2d%n", &w->tm.tm_hour, &w->tm.tm_min,
		   &w->tm.tm_sec, &len) != 3 || len < 5) {
		return false;
	}
	if ((at[len] == '.' || at[len] == ',') &&
	    isdigit((unsigned char)at[len + 1])) {
		char digits[16] = "0.";

		for (size_t i = 2; i + 1 < sizeof(digits) &&
		     isdigit((unsigned char)at[len + i - 1]); i++) {
			digits[i] = at[len + (int)i - 1];
		}
		w->fraction = strtod(digits, NULL);
	}
	return true;
}

/** 2025-02-16 22:31:34, with any character between */
static bool take_iso(const char *at, struct when *w)
{
	int len = 0;

	return sscanf(at, "%4d-%2d-%2d%n", &w->tm.tm_year, &w->tm.tm_mon,
		      &w->tm.tm_mday, &len) == 3 && len == 10 && at[len] &&
	       w->tm.tm_year >= 1971 && w->tm.tm_year <= 2200 &&
	       take_clock(at + len + 1, w);
}

/** 04-26 01:59:07 */
static bool take_day(const char *at, struct when *w)
{
	int len = 0;

	w->no_year = true;
	return sscanf(at, "%2d-%2d%n", &w->tm.tm_mon, &w->tm.tm_mday, &len) ==
		       2 && len == 5 && at[len] == ' ' &&
	       take_clock(at + len + 1, w);
}

/** E0626 05:06:30.929, and E626 of PyTorch */
static bool take_glog(const char *at, struct when *w)
{
	int day, len = 0;

	if (!strchr("EWIF", *at) || sscanf(at + 1, "%4d%n", &day, &len) != 1 ||
	    len < 3 || at[1 + len] != ' ') {
		return false;
	}
	w->no_year = true;
	w->tm.tm_mon = day / 100;
	w->tm.tm_mday = day % 100;
	return take_clock(at + len + 2, w);
}

/** Sep 23 18:37:03, and a year behind it in the times of dmesg -T */
static bool take_syslog(const char *at, struct when *w)
{
	char month[4];
	int len = 0;

	if (sscanf(at, "%3[A-Za-z] %2d %n", month, &w->tm.tm_mday, &len) !=
		    2 ||
	    len < 6 || str_index(months, month) < 0 ||
	    !take_clock(at + len, w)) {
		return false;
	}
	w->tm.tm_mon = str_index(months, month) + 1;
	w->no_year = sscanf(at + len + 8, " %4d", &w->tm.tm_year) != 1 ||
		     w->tm.tm_year < 1971 || w->tm.tm_year > 2200;
	return true;
}

static bool when_is_valid(const struct when *w)
{
	const struct tm *t = &w->tm;

	return t->tm_mon >= 1 && t->tm_mon <= 12 && t->tm_mday >= 1 &&
	       t->tm_mday <= 31 && t->tm_hour >= 0 && t->tm_hour <= 23 &&
	       t->tm_min >= 0 && t->tm_min <= 59 && t->tm_sec >= 0 &&
	       t->tm_sec <= 60;
}

/** How a time is written, and what tells it from other words at a glance. */
static const struct {
	bool (*take)(const char *at, struct when *w);
	const char *looks;	/* 0: a digit, A and a: a letter */
} forms[] = {
	{ take_iso, "0000-" }, { take_glog, "A000" }, { take_day, "00-00 " },
	{ take_syslog, "Aaa " },
};

static bool looks_like(const char *at, const char *looks)
{
	for (; *looks; looks++, at++) {
		if (*looks == '0' ? !isdigit((unsigned char)*at) :
		    *looks == 'A' ? !isupper((unsigned char)*at) :
		    *looks == 'a' ? !islower((unsigned char)*at) :
				    *at != *looks) {
			return false;
		}
	}
	return true;
}

static bool take_time(const char *at, struct about *a)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		struct when w = { .fraction = 0 };

		if (looks_like(at, forms[i].looks) && forms[i].take(at, &w) &&
		    when_is_valid(&w)) {
			w.tm.tm_year = w.no_year ? 72 : w.tm.tm_year - 1900;
			w.tm.tm_mon--;
			a->no_year = w.no_year;
			a->time = (double)timegm(&w.tm) + w.fraction;
			return true;
		}
	}
	return false;
}

static void find_time(const char *line, struct about *a)
{
	bool in_word = false;

	for (const char *at = line; *at && at < line + TIME_MAX; at++) {
		bool word = isalnum((unsigned char)*at);

		if (word && !in_word && take_time(at, a)) {
			return;
		}
		in_word = word;
	}
}

/* ---- devices ------------------------------------------------------ */

/** 0000:9b:00 at @at, its domain of four or eight digits. */
static bool take_bus(const char *at, char bus[16])
{
	static const char form[] = "xxxx:xx:xx";

	for (size_t i = 0; form[i]; i++) {
		if (form[i] == 'x' ? !isxdigit((unsigned char)at[i]) :
				     at[i] != form[i]) {
			return false;
		}
	}
	if (isxdigit((unsigned char)at[sizeof(form) - 1]) ||
	    at[sizeof(form) - 1] == ':') {
		return false;
	}
	for (size_t i = 0; form[i]; i++) {
		bus[i] = (char)tolower((unsigned char)at[i]);
	}
	bus[sizeof(form) - 1] = '\0';
	return true;
}

/** "mlx5_0:1" at @at, of which the driver's part has @n bytes. */
static void take_hca(const char *at, size_t n, struct about *a)
{
	size_t len = n;

	if (!isdigit((unsigned char)at[n]) && !str_starts(at + n, "bond")) {
		return;
	}
	while (isalnum((unsigned char)at[len]) || at[len] == '_') {
		len++;
	}
	if (len < sizeof(a->hca)) {
		memcpy(a->hca, at, len);
		a->hca[len] = '\0';
		if (at[len] == ':' && isdigit((unsigned char)at[len + 1])) {
			a->port = at[len + 1] - '0';
		}
	}
}

static void find_hca(const char *line, struct about *a)
{
	static const char *const drivers[] = {
		"mlx5_", "mlx4_", "bnxt_re", "hfi1_", "efa_", "irdma", "rocep",
		"qedr", NULL
	};

	for (size_t i = 0; drivers[i] && !a->hca[0]; i++) {
		const char *at = line;

		while (!a->hca[0] && (at = strstr(at, drivers[i]))) {
			if (at == line || !is_word(at[-1])) {
				take_hca(at, strlen(drivers[i]), a);
			}
			at++;
		}
	}
}

unsigned long about_bus_id(const char *bus)
{
	unsigned domain, number, device;

	return sscanf(bus, "%4x:%2x:%2x", &domain, &number, &device) == 3 ?
		       (unsigned long)domain << 20 |
		       (unsigned long)number << 12 | device << 4 : 0;
}

/* ---- processes ---------------------------------------------------- */

/** n0:95209:95228 or n0, up to @end: host and pid. */
static void take_host(const char *line, const char *end, struct about *a)
{
	const char *from = end;
	size_t len;

	while (from > line && !isspace((unsigned char)from[-1]) &&
	       !strchr("()[]<>", from[-1])) {
		from--;
	}
	from += *from == ':';
	for (len = 0; from + len < end && is_word(from[len]); len++) {
		/* the host */
	}
	if (!isalnum((unsigned char)*from) || len >= sizeof(a->host) ||
	    !strpbrk(from, "abcdefghijklmnopqrstuvwxyz"
			   "ABCDEFGHIJKLMNOPQRSTUVWXYZ")) {
		return;
	}
	memcpy(a->host, from, len);
	a->host[len] = '\0';
	if (from[len] == ':' && isdigit((unsigned char)from[len + 1]) &&
	    strspn(from + len + 1, "0123456789") < 10) {
		a->pid = strtol(from + len + 1, NULL, 10);
	}
}

/** n0:95209:95228 [0] init.cc:416 NCCL WARN: the last [0] before NCCL. */
static void find_nccl(const char *line, struct about *a)
{
	const char *nccl = strstr(line, "NCCL "), *at = line, *open = NULL;

	while (nccl && (at = strstr(at, " [")) && at < nccl) {
		size_t digits = strspn(at + 2, "0123456789");

		if (digits > 0 && digits < 4 && at[2 + digits] == ']') {
			open = at;
		}
		at++;
	}
	if (open) {
		a->gpu = (int)strtol(open + 2, NULL, 10);
		take_host(line, open, a);
	}
}

/** [n0:19546 of UCX and Open MPI */
static void find_bracket(const char *line, struct about *a)
{
	const char *at = line;

	while (!a->host[0] && (at = strchr(at, '['))) {
		const char *end = ++at;

		while (is_word(*end)) {
			end++;
		}
		if (isalpha((unsigned char)*at) && *end == ':' &&
		    isdigit((unsigned char)end[1])) {
			take_host(at, end + 1 + strspn(end + 1, "0123456789"),
				  a);
		}
	}
}

static void find_host(const char *line, struct about *a)
{
	static const struct {
		const char *key, *end;
	} words[] = {
		{ " ON ", " CANCELLED" }, { "on node ", "" },
		{ "srun: error: ", ": task" },
		{ "Node failure on ", "" },
		{ "slurmstepd-", ": error: " },
	};
	const char *kernel = strstr(line, " kernel: ");

	find_nccl(line, a);
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		word_behind(line, words[i].key, words[i].end, a->host,
			    sizeof(a->host));
	}
	if (kernel && kernel > line && !a->host[0]) {
		take_host(line, kernel, a);
	}
	find_bracket(line, a);
}

static void find_rank(const char *line, struct about *a)
{
	static const char *const keys[] = {
		"[rank", "[Rank ", " Rank ", " rank ", "rank:", "task", NULL
	};
	size_t digits = strspn(line, "0123456789");
	long rank = -1;

	for (size_t i = 0; keys[i] && rank < 0; i++) {
		rank = number_behind(line, keys[i], -1);
	}
	if (rank < 0 && digits > 0 && digits < 6 && line[digits] == ':' &&
	    line[digits + 1] == ' ') {	/* srun --label */
		rank = strtol(line, NULL, 10);
	}
	if (rank < 0 && sscanf(line, "[%*d,%6ld]<std", &rank) != 1) {
		rank = -1;		/* mpirun --tag-output */
	}
	a->rank = rank >= 0 && rank < 10000000 ? (int)rank : -1;
}

static void find_pid(const char *line, struct about *a)
{
	static const char *const keys[] = {
		"pid=", "(pid", " PID ", "subprocess ", NULL
	};

	for (size_t i = 0; keys[i] && a->pid == 0; i++) {
		a->pid = number_behind(line, keys[i], 0);
	}
}

static void copy_line(const char *line, size_t len,
		      char copy[LINE_MAX_LEN + 1])
{
	len = len < LINE_MAX_LEN ? len : LINE_MAX_LEN;
	for (size_t i = 0; i < len; i++) {
		copy[i] = line[i] ? line[i] : ' ';
	}
	copy[len] = '\0';
}

void about_line(const char *line, size_t len, struct about *a)
{
	char copy[LINE_MAX_LEN + 1];
	long gpu;
	const char *at;

	*a = (struct about){ .rank = -1, .gpu = -1 };
	copy_line(line, len, copy);
	find_time(copy, a);
	find_host(copy, a);
	find_rank(copy, a);
	find_pid(copy, a);
	at = copy;
	while (!a->bus[0] && (at = strchr(at, ':'))) {
		if (at - copy >= 4) {
			take_bus(at - 4, a->bus);
		}
		at++;
	}
	find_hca(copy, a);
	gpu = number_behind(copy, "GPU ", -1);
	gpu = gpu < 0 ? number_behind(copy, "response from GPU", -1) : gpu;
	if (gpu >= 0 && gpu < 1024 && !a->bus[0]) {
		a->gpu = (int)gpu;
	}
}

void about_nccl(const char *line, size_t len, struct about *a)
{
	char copy[LINE_MAX_LEN + 1];

	*a = (struct about){ .rank = -1, .gpu = -1 };
	copy_line(line, len, copy);
	find_nccl(copy, a);
}

void about_exit(const char *text, const char *line, struct about *a)
{
	const char *from = line;

	for (int i = 0; i < 5 && from > text; i++) {
		const char *before = memrchr(text, '\n',
					     (size_t)(from - 1 - text));
		char copy[LINE_MAX_LEN + 1];

		copy_line(before ? before + 1 : text,
			  (size_t)(from - 1 - (before ? before + 1 : text)),
			  copy);
		from = before ? before + 1 : text;
		if (copy[0] == '[') {
			break;		/* of another rank */
		}
		if (str_starts(copy + strspn(copy, " "), "rank ") &&
		    a->rank < 0) {
			a->rank = (int)number_behind(copy, "rank", -1);
		}
		if (str_starts(copy + strspn(copy, " "), "host ")) {
			word_behind(copy, "host", "", a->host,
				    sizeof(a->host));
		}
		if (str_starts(copy + strspn(copy, " "), "time ")) {
			find_time(copy, a);
		}
	}
}

int about_file(const char *name)
{
	const char *slash = strrchr(name, '/'), *at;
	const char *base = slash ? slash + 1 : name;
	long rank;

	at = strstr(base, "rank");
	if (at) {
		at += 4 + strspn(at + 4, "_-.");
	} else if (slash && (strcmp(base, "stderr.log") == 0 ||
			     strcmp(base, "stdout.log") == 0)) {
		for (at = slash; at > name && isdigit((unsigned char)at[-1]);
		     at--) {
			/* to its first digit */
		}
	}
	if (!at || !isdigit((unsigned char)*at) ||
	    strspn(at, "0123456789") > 6) {
		return -1;
	}
	rank = strtol(at, NULL, 10);
	return (int)rank;
}
