/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/nccl/log.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/str.h"
#include "lib/base/units.h"
#include "lib/data/rundir.h"

/* ---- network ------------------------------------------------------------- */

/* Reasons why NCCL does not use RDMA, the most specific first: after one part
 * failed, others report that nothing was found. */
static const char *const reasons[] = {
	"NCCL_IB_DISABLE set by environment to 1",
	"NCCL_NET set by environment to ",
	"NCCL_NET set to ",
	"Failed to open libibverbs",
	"NET/IB : Unable to open device",
	"NET/IB : Unable to query",
	"Call to ibv_",
	"NET/OFI No eligible providers",
	"NET/OFI Failed",
	"libfabric",
	"NET/IB : No IP interface",
	"NET/IB : No device found",
	"Failed to initialize NET plugin",
	"NET/Plugin: Could not find",
	"NET/Plugin : No plugin found",
	NULL
};

/* How telling @line is, 0 the most; all there are when it says nothing. */
static int rank_of(const char *line)
{
	int i = 0;

	while (reasons[i] != NULL && strstr(line, reasons[i]) == NULL) {
		i++;
	}
	return i;
}

bool nccl_network_find(const char *text, size_t len, struct nccl_network *n)
{
	static const char using[] = "Using network ";
	char line[NCCL_LINE];
	int best = (int)(sizeof(reasons) / sizeof(reasons[0])) - 1;

	memset(n, 0, sizeof(*n));
	while (nccl_line_next(&text, &len, line)) {
		const char *words;
		const char *at;

		/* behind "host:1:2 [0] NCCL INFO ", NULL where that is not
		 * there */
		at = strstr(line, " NCCL ");
		at = at != NULL ? at + strlen(" NCCL ") : NULL;
		words = at != NULL && (str_starts(at, "INFO ") ||
				      str_starts(at, "WARN ")) ?
			       at + strlen("INFO ") :
			       NULL;
		if (words == NULL) {
			continue;
		}
		if (str_starts(words, using)) {
			STR_COPY(n->name, words + strlen(using));
		} else if (str_starts(words, "NVLS multicast support is not") ||
			   strstr(words, "NVLink SHARP (NVLS) Multicast")) {
			STR_COPY(n->nvls, words);
		} else if (rank_of(words) < best) {
			best = rank_of(words);
			STR_COPY(n->why, words);
		}
	}
	if (strcmp(n->name, "Socket") != 0) {
		n->why[0] = '\0';
	}
	return n->name[0] != '\0';
}

/* ---- chosen -------------------------------------------------------------- */

/** Return true if the line, up to its arrow, names @function, or no
 *  function. */
static bool is_about(const char *line, const char *function)
{
	const char *info = strstr(line, "NCCL INFO ");
	size_t len = strlen(function);

	if (info == NULL) {
		return false;
	}
	info += 10;
	if (isdigit((unsigned char)*info)) {
		return true;
	}
	return strncasecmp(info, function, len) == 0 &&
	       !isalnum((unsigned char)info[len]);
}

bool nccl_chosen_find(const char *text, size_t len, const char *function,
		      char algo[NCCL_CHOSEN_ALGO],
		      char proto[NCCL_CHOSEN_PROTO])
{
	char line[NCCL_LINE];
	bool found = false;

	while (nccl_line_next(&text, &len, line)) {
		char a[NCCL_CHOSEN_ALGO], p[NCCL_CHOSEN_PROTO];

		if (is_about(line, function) &&
		    nccl_choice_parse(line, a, p) >= 0) {
			str_copy(algo, NCCL_CHOSEN_ALGO, a);
			str_copy(proto, NCCL_CHOSEN_PROTO, p);
			found = true;
		}
	}
	return found;
}

/* ---- log ----------------------------------------------------------------- */

/* More than the pairs of a wave write; of a longer log the end is kept. */
#define LOG_KEEP_BYTES (1 << 20)

static const char warn_mark[] = "NCCL WARN ";

/* Warnings that only follow from an earlier one, here or at the peer. */
static const char *const follow_ups[] = {
	"ncclAsyncJobComplete: ", "[Service thread] ", "[Proxy Service",
	"socketProgress: Connection closed by remote peer",
};

int nccl_log_open(struct err *e)
{
	int log = memfd_create("nccl-log", MFD_CLOEXEC);

	if (log < 0) {
		err_set(e, errno, "cannot create a file for NCCL's log");
	}
	return log;
}

void nccl_log_clear(int *log)
{
	if (*log >= 0 && ftruncate(*log, 0) < 0) {
		close(*log);	/* rather none than a stranger's */
		*log = -1;
	}
}

const char *nccl_log_path(int log, char *buf, size_t size)
{
	snprintf(buf, size, "/proc/self/fd/%d", log);
	return buf;
}

off_t nccl_log_end(int log)
{
	struct stat st;

	return log >= 0 && fstat(log, &st) == 0 ? st.st_size : 0;
}

void nccl_log_forget(int log)
{
	off_t end = nccl_log_end(log);

	if (end > 0) {
		/* NCCL goes on writing at its own offset: leave a hole */
		fallocate(log, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
			  end);
	}
}

char *nccl_log_since(int log, off_t from, size_t *len)
{
	off_t end = nccl_log_end(log);
	char *text;
	ssize_t n;

	if (end - from > LOG_KEEP_BYTES) {
		from = end - LOG_KEEP_BYTES;
	}
	if (end <= from) {
		return NULL;
	}
	text = malloc((size_t)(end - from));
	if (text == NULL) {
		return NULL;
	}
	n = pread(log, text, (size_t)(end - from), from);
	if (n <= 0) {
		free(text);
		return NULL;
	}
	*len = (size_t)n;
	return text;
}

bool nccl_line_next(const char **text, size_t *len, char line[NCCL_LINE])
{
	const char *stop;
	size_t whole, n;

	if (*len == 0) {
		return false;
	}
	stop = memchr(*text, '\n', *len);
	whole = stop != NULL ? (size_t)(stop - *text) : *len;
	n = whole < NCCL_LINE ? whole : NCCL_LINE - 1;
	for (size_t i = 0; i < n; i++) {
		line[i] = isprint((unsigned char)(*text)[i]) ? (*text)[i] : '?';
	}
	line[n] = '\0';
	whole += stop != NULL;
	*text += whole;
	*len -= whole;
	return true;
}

static bool is_follow_up(const char *line, size_t len)
{
	const size_t n = sizeof(follow_ups) / sizeof(follow_ups[0]);
	size_t i = 0;

	while (i < n && (len < strlen(follow_ups[i]) ||
			 memcmp(line, follow_ups[i], strlen(follow_ups[i])))) {
		i++;
	}
	return i < n;
}

bool nccl_log_find_warning(const char *text, size_t len, char *buf,
			   size_t size)
{
	const size_t mark_len = sizeof(warn_mark) - 1;
	const char *found = NULL, *at = text, *end = text + len;
	bool follows = true;
	char line[512];

	while (at < end &&
	       (at = memmem(at, (size_t)(end - at), warn_mark, mark_len))) {
		at += mark_len;
		if (follows || !is_follow_up(at, (size_t)(end - at))) {
			follows = is_follow_up(at, (size_t)(end - at));
			found = at;
		}
	}
	if (found == NULL) {
		return false;
	}
	at = memchr(found, '\n', (size_t)(end - found));
	snprintf(line, sizeof(line), "%.*s",
		 (int)((at != NULL ? at : end) - found), found);
	str_copy(buf, size, line);
	return true;
}

bool nccl_log_find_failover(const char *text, size_t len, char *buf,
			    size_t size)
{
	char line[NCCL_LINE];

	while (nccl_line_next(&text, &len, line)) {
		const char *at = strstr(line, warn_mark);

		if (at != NULL && strstr(at, "NET/IB: Device") != NULL &&
		    strstr(at, "marked as failed") != NULL) {
			str_copy(buf, size, at + sizeof(warn_mark) - 1);
			return true;
		}
	}
	return false;
}

bool nccl_log_last_warning(int log, off_t from, char *buf, size_t size)
{
	size_t len = 0;
	char *text = nccl_log_since(log, from, &len);
	bool found = text != NULL &&
		     nccl_log_find_warning(text, len, buf, size);

	free(text);
	return found;
}

int nccl_log_save(int log, off_t from, const char *path, struct err *e)
{
	char dir[PATH_MAX], name[NAME_MAX + 1];
	const char *slash = strrchr(path, '/');
	size_t len = 0;
	char *text = nccl_log_since(log, from, &len);
	int fd, rc = 0;
	FILE *f;

	if (text == NULL || slash == NULL) {
		free(text);
		return 0;
	}
	snprintf(name, sizeof(name), RUN_LOGS "%s", slash);
	snprintf(dir, sizeof(dir), "%.*s",
		 (int)(slash - path - (int)strlen("/" RUN_LOGS)), path);
	fd = rundir_check_own(dir, e) < 0 ? -1 :
	     rundir_open_fd(dir, name, O_WRONLY | O_CREAT | O_TRUNC, e);
	f = fd < 0 ? NULL : fdopen(fd, "w");
	if (f == NULL) {
		rc = -1;
	} else {
		bool written = fwrite(text, 1, len, f) == len;

		if (fclose(f) != 0 || !written) {
			rc = err_set(e, errno, "cannot write '%s'", path);
		}
	}
	free(text);
	return rc;
}

void nccl_log_explain(int log, off_t from, const char *path,
		      char says[NCCL_LOG_SAYS])
{
	char warning[160];

	says[0] = '\0';
	if (nccl_log_last_warning(log, from, warning, sizeof(warning))) {
		snprintf(says, NCCL_LOG_SAYS, "; NCCL: %s", warning);
	}
	if (path[0] != '\0') {
		nccl_log_save(log, from, path, NULL);
	}
}
