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

static const char *const months[] = {
	"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct",
	"Nov", "Dec", NULL
};

/** "18:37:03.25": into @tm and @fraction. */
static bool take_clock(const char *at, struct tm *tm, double *fraction)
{
	int len = 0;

	if (sscanf(at, "%2d:%2d:%2d%n", &tm->tm_hour, &tm->tm_min, &tm->tm_sec,
		   &len) != 3 || len < 5) {
		return false;
	}
	if ((at[len] == '.' || at[len] == ',') &&
	    isdigit((unsigned char)at[len + 1])) {
		char digits[16] = "0.";

		for (size_t i = 2; i + 1 < sizeof(digits) &&
		     isdigit((unsigned char)at[len + i - 1]); i++) {
			digits[i] = at[len + (int)i - 1];
		}
		*fraction = strtod(digits, NULL);
	}
	return tm->tm_hour >= 0 && tm->tm_hour <= 23 && tm->tm_min >= 0 &&
	       tm->tm_min <= 59 && tm->tm_sec >= 0 && tm->tm_sec <= 60;
}

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
	struct tm tm = { .tm_year = 0 };
	const char *clock;
	double fraction = 0;
	char month[4];
	int len = 0, n = 0;

	/* looks_like() tells times from other words at a glance */
	if (looks_like(at, "0000-")) {	/* 2025-02-16 22:31:34, any T between */
		n = sscanf(at, "%4d-%2d-%2d%n", &tm.tm_year, &tm.tm_mon,
			   &tm.tm_mday, &len);
		if (n != 3 || len != 10 || !at[len] || tm.tm_year < 1971 ||
		    tm.tm_year > 2200) {
			return false;
		}
		clock = at + len + 1;
	} else if (looks_like(at, "A000")) {	/* E0626 05:06:30, PyTorch's
						 * E626 */
		n = sscanf(at + 1, "%4d%n", &tm.tm_mday, &len);
		if (!strchr("EWIF", *at) || n != 1 || len < 3 ||
		    at[1 + len] != ' ') {
			return false;
		}
		tm.tm_mon = tm.tm_mday / 100;
		tm.tm_mday %= 100;
		clock = at + len + 2;
	} else if (looks_like(at, "00-00 ")) {	/* 04-26 01:59:07 */
		sscanf(at, "%2d-%2d", &tm.tm_mon, &tm.tm_mday);
		clock = at + 6;
	} else if (looks_like(at, "Aaa ")) {
		/* Sep 23 18:37:03, dmesg -T with a year behind it */
		n = sscanf(at, "%3[A-Za-z] %2d %n", month, &tm.tm_mday, &len);
		if (n != 2 || len < 6 || str_index(months, month) < 0) {
			return false;
		}
		tm.tm_mon = str_index(months, month) + 1;
		clock = at + len;
		n = sscanf(clock, "%*2d:%*2d:%*2d %4d", &tm.tm_year);
		if (n != 1 || tm.tm_year < 1971 || tm.tm_year > 2200) {
			tm.tm_year = 0;
		}
	} else {
		return false;
	}
	if (!take_clock(clock, &tm, &fraction) || tm.tm_mon < 1 ||
	    tm.tm_mon > 12 || tm.tm_mday < 1 || tm.tm_mday > 31) {
		return false;
	}
	a->no_year = tm.tm_year == 0;
	tm.tm_year = a->no_year ? 72 : tm.tm_year - 1900;
	tm.tm_mon--;
	a->time = (double)timegm(&tm) + fraction;
	return true;
}

static void find_time(const char *line, struct about *a)
{
	bool in_word = false;

	for (const char *at = line; *at && at < line + TIME_MAX; at++) {
		bool word = isalnum((unsigned char)*at);

		if (word && !in_word && !islower((unsigned char)*at) &&
		    take_time(at, a)) {
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

/* ---- processes ---------------------------------------------------- */

/** Return true if the @len bytes of @name are a file of a program's source, as
 *  in "[launch.py:71:main]". */
static bool is_source(const char *name, size_t len)
{
	static const char *const ends[] = {
		".py", ".pyx", ".c", ".cc", ".cpp", ".cu", ".cuh", ".h", ".rs",
		".go", NULL
	};

	for (size_t i = 0; ends[i]; i++) {
		size_t n = strlen(ends[i]);

		if (len > n && memcmp(name + len - n, ends[i], n) == 0) {
			return true;
		}
	}
	return false;
}

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
	    is_source(from, len) ||
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
	/* [n0:19546 of UCX and Open MPI */
	for (const char *at = strchr(line, '['); at && !a->host[0];
	     at = strchr(at, '[')) {
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

void about_copy(const char *line, size_t len, char nul, char *to, size_t size)
{
	char *at = to;

	len = len < size ? len : size - 1;
	memcpy(to, line, len);
	to[len] = '\0';
	while (nul && (at = memchr(at, '\0', (size_t)(to + len - at)))) {
		*at = nul;
	}
}

void about_line(const char *line, size_t len, struct about *a)
{
	static const char *const pids[] = {
		"pid=", "(pid", " PID ", "subprocess ", NULL
	};
	char copy[LINE_MAX_LEN + 1];
	long gpu;
	const char *at;

	*a = (struct about){ .rank = -1, .gpu = -1 };
	about_copy(line, len, ' ', copy, sizeof(copy));
	find_time(copy, a);
	find_host(copy, a);
	find_rank(copy, a);
	for (size_t i = 0; pids[i] && a->pid == 0; i++) {
		a->pid = number_behind(copy, pids[i], 0);
	}
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
	about_copy(line, len, ' ', copy, sizeof(copy));
	find_nccl(copy, a);
}

void about_exit(const char *text, const char *line, struct about *a)
{
	const char *from = line;

	for (int i = 0; i < 5 && from > text; i++) {
		const char *before = memrchr(text, '\n',
					     (size_t)(from - 1 - text));
		char copy[LINE_MAX_LEN + 1];
		const char *start = before ? before + 1 : text;

		about_copy(start, (size_t)(from - 1 - start), ' ', copy,
			   sizeof(copy));
		from = start;
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
