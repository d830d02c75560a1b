/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/data/hosts.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/data/hostlist.h"
#include "lib/base/input.h"
#include "lib/base/str.h"

#define LINE_SIZE 4096
#define BLANKS	  " \t\r"

void hosts_release(struct hosts *h)
{
	hostlist_free(h->names, h->n);
	*h = (struct hosts){ 0 };
}

const char *hosts_name(const char *host)
{
	const char *at = strrchr(host, '@');

	return at ? at + 1 : host;
}

static bool is_name(const char *name)
{
	for (const char *c = name; *c; c++) {
		if (!isalnum((unsigned char)*c) &&
		    (c == name || !strchr("._-@:%", *c))) {
			return false;
		}
	}
	return name[0] != '\0' && hosts_name(name)[0] != '\0' &&
	       hosts_name(name)[0] != '-';
}

/** Take over @names; -1 with @e, and then they are freed. */
static int add_names(struct hosts *h, char **names, size_t n, struct err *e)
{
	char **all = realloc(h->names, (h->n + n + 1) * sizeof(*all));

	for (size_t i = 0; all && i < n; i++) {
		if (!is_name(names[i]) || h->n + n > HOSTS_MAX) {
			err_set(e, 0, h->n + n > HOSTS_MAX ?
						   "too many hosts, at "
						   "'%.60s'" :
						   "'%.60s' is not a host name",
				names[i]);
			h->names = all;
			hostlist_free(names, n);
			return -1;
		}
	}
	if (!all) {
		hostlist_free(names, n);
		return err_set(e, ENOMEM, "no memory for the list of hosts");
	}
	memcpy(all + h->n, names, n * sizeof(*all));
	h->names = all;
	h->n += n;
	free(names);
	return 0;
}

static int add_list(struct hosts *h, const char *list, struct err *e)
{
	size_t n = 0;
	char **names = hostlist_expand(list, &n, e);

	return names ? add_names(h, names, n, e) : -1;
}

/** One line without its end: a list, with blanks and a comment around it. */
static int add_line(struct hosts *h, char *line, struct err *e)
{
	size_t end;

	line[strcspn(line, "#")] = '\0';
	line += strspn(line, BLANKS);
	end = strcspn(line, BLANKS);
	if (line[end + strspn(line + end, BLANKS)] == '\0') {
		line[end] = '\0';
	}
	return *line ? add_list(h, line, e) : 0;
}

int hosts_parse(const char *text, size_t len, struct hosts *h, struct err *e)
{
	const char *end = text + len;
	struct err why = { 0 };
	char line[LINE_SIZE];

	*h = (struct hosts){ 0 };
	for (int number = 1; text < end; number++) {
		const char *eol = memchr(text, '\n', (size_t)(end - text));
		size_t n = (size_t)((eol ? eol : end) - text);
		int rc;

		if (n >= sizeof(line) || memchr(text, '\0', n)) {
			rc = err_set(&why, 0, "not a line of host names");
		} else {
			memcpy(line, text, n);
			line[n] = '\0';
			rc = add_line(h, line, &why);
		}
		if (rc < 0) {
			hosts_release(h);
			err_set(e, 0, "line %d: %s", number, why.text);
			return err_hint(e, "write one host name or one list "
					   "such as gpu[01-16] per line, "
					   "without slots=");
		}
		text += n + (eol ? 1 : 0);
	}
	if (h->n == 0) {
		hosts_release(h);
		return err_set(e, 0, "no host is named");
	}
	return 0;
}

static int read_file(const char *path, struct hosts *h, struct err *e)
{
	struct str text = STR_INIT;
	struct err why = { 0 };
	struct stat st;
	int rc;

	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
		/* it is read once to check it, and again to use it */
		err_set(e, 0, "the list of hosts '%s' is not a file", path);
		return err_hint(e, "save it as a file, or write the list itself: "
				"--ssh='gpu[01-04]'");
	}
	rc = input_read(path, HOSTS_FILE_MAX, &text);
	if (rc != 0) {
		rc = err_set(e, rc, "cannot read '%s'", path);
	} else if (hosts_parse(text.data, text.len, h, &why) < 0) {
		rc = err_set(e, why.code, "%.160s: %.150s", path, why.text);
		err_hint(e, "%s", why.hint);
	}
	str_release(&text);
	return rc;
}

int hosts_read(const char *what, struct hosts *h, struct err *e)
{
	*h = (struct hosts){ 0 };
	if (access(what, F_OK) == 0) {
		return read_file(what, h, e);
	}
	if (add_list(h, what, e) < 0) {
		hosts_release(h);
		return err_hint(e, "there is no file of that name either");
	}
	return 0;
}

/** Mark the machines of @h that @list names. */
static int mark(const struct hosts *h, const char *list, const char *option,
		bool *marks, struct err *e)
{
	size_t n = 0, k;
	char **names = list[0] ? hostlist_expand(list, &n, e) : NULL;
	int rc = list[0] && !names ? -1 : 0;

	for (size_t i = 0; i < n && rc == 0; i++) {
		bool known = false;

		for (k = 0; k < h->n; k++) {
			if (strcmp(hosts_name(h->names[k]), names[i]) == 0) {
				marks[k] = known = true;
			}
		}
		if (!known) {
			/* a slip of the pen would be measured, or not */
			err_set(e, 0, "--%s: no node of this run is called "
				"'%.60s'", option, names[i]);
			rc = err_hint(e, "the first of %zu hosts is '%.60s'",
				      h->n, hosts_name(h->names[0]));
		}
	}
	hostlist_free(names, n);
	return rc;
}

int hosts_choose(struct hosts *h, const char *only, const char *without,
		 struct err *e)
{
	bool *in = calloc(2 * h->n + 1, sizeof(*in));
	bool *out = in ? in + h->n : NULL;
	size_t left = 0;
	int rc;

	rc = !in ? err_set(e, ENOMEM, "no memory for the list of hosts") :
		   mark(h, only, "nodelist", in, e) < 0 ||
				   mark(h, without, "exclude", out, e) < 0 ?
		   -1 : 0;
	for (size_t i = 0; rc == 0 && i < h->n; i++) {
		if ((only[0] && !in[i]) || out[i]) {
			free(h->names[i]);
		} else {
			h->names[left++] = h->names[i];
		}
	}
	if (rc == 0) {
		h->n = left;
		rc = left ? 0 : err_set(e, 0, "--exclude leaves no node");
	}
	free(in);
	return rc;
}
