/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "lib/base/clock.h"
#include "lib/base/hash.h"
#include "lib/base/limit.h"
#include "lib/base/net.h"
#include "lib/data/json.h"
#include "lib/data/rundir.h"
#include "sbatch/launcher.h"

/**
 * Machines without a batch system: the coordinator runs here, an agent on each
 * machine is started by ssh and calls back.  What ssh carries on stdin, the
 * token and where it is wanted this very program, is on no command line.
 */
#define TOKEN_BYTES 32
/** More words of an agent than this tell no reason. */
#define LOG_MAX (64 * 1024)

/* A machine may die without a word, and its ssh would wait for ever: beyond
 * what an agent needs to end after the coordinator has, they are ended, and
 * with them agents that have not found the coordinator yet. */
#define LINGER_NS (5 * NS_PER_S)
#define LINGER_HARD_NS (10 * NS_PER_S)
/* A coordinator without an agent has no more to do than to say so. */
#define ALONE_NS (30 * NS_PER_S)

struct launch {
	struct launch_child coordinator;
	struct hosts hosts;
	struct {		/* one a host */
		struct launch_child child;
		bool told;	/* that it has ended, and why */
	} *agents;
	int material;		/* what each gets on stdin */
	int news;		/* the coordinator's stdin: agents that will not
				 * connect */
	char dir[PATH_MAX];
	int64_t over_ns;	/* when the coordinator was seen to have ended,
				 * 0 = not yet */
	int64_t alone_ns;	/* when no agent was left to it, 0 = not yet */
};

static int ssh_hosts(const struct spec *s, struct hosts *h, struct err *e)
{
	const bool bare = !s->ssh[0] || strcmp(s->ssh, "-") == 0;

	return hosts_read(!bare	      ? s->ssh :
			  s->hosts[0] ? s->hosts : s->nodelist, h, e);
}

/** " NAME='value'" for the shell over there. */
static void add_variable(const char *name, const char *value, struct str *out)
{
	str_addf(out, " %s=", name);
	str_add_quoted(out, value);
}

/**
 * Add the script that the remote shell runs: the agent calls back the machine
 * from which ssh came, and the copied program is removed when the agent ends.
 */
static void add_script(const struct launch_request *r,
		       const struct hosts *hosts, size_t rank, uint16_t port,
		       struct str *out)
{
	const char *name = hosts_name(hosts->names[rank]);
	struct stat own;
	struct ip_addr ip;
	struct str text = STR_INIT;
	json_t *json;

	str_addf(out,
		 "IFS= read -r GPUCHECK_TOKEN; a=${SSH_CONNECTION%%%% *}; "
		 "case $a in *:*) a=\"[$a]\";; esac; "
		 "export GPUCHECK_TOKEN GPUCHECK_MASTER=\"$a:%u\" "
		 "GPUCHECK_BOOT=guest GPUCHECK_BOOT_RANK=%zu "
		 "GPUCHECK_BOOT_SIZE=%zu", port, rank, hosts->n);
	/* called as it was typed, unless that was no name */
	if (ip_parse(name, &ip, NULL) < 0) {
		add_variable("GPUCHECK_HOST", name, out);
	}
	/* add the user's options, for agents that cannot read the run
	 * directory */
	json = spec_json(r->spec);
	json_add(json, JSON_COMPACT, &text);
	out->failed |= text.failed;
	add_variable("GPUCHECK_BOOT_OPTIONS", str_text(&text), out);
	str_release(&text);
	json_decref(json);
	/* settings of NCCL and where its library is are meant for the agents,
	 * as Slurm would hand them on */
	for (char **at = environ; *at; at++) {
		const size_t n = strspn(*at, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_"
					     "0123456789");

		if ((*at)[n] == '=' &&
		    (str_starts(*at, "NCCL_") ||
		     (str_starts(*at, "GPUCHECK_") &&
		      str_starts(*at + n - 4, "_LIB=")))) {
			str_addf(out, " %.*s=", (int)n, *at);
			str_add_quoted(out, *at + n + 1);
		}
	}
	if (r->spec->ssh_path[0]) {
		str_add(out, "; exec ");
		str_add_quoted(out, r->spec->ssh_path);
	} else {
		str_addf(out, "; umask 077; d=$(mktemp -d) || exit; "
			 "trap 'rm -rf \"$d\"' EXIT; "
			 "trap 'exit 1' HUP INT TERM; "
			 "head -c %lld >\"$d/gpucheck\" && "
			 "chmod 700 \"$d/gpucheck\" && \"$d/gpucheck\"",
			 stat(r->self, &own) == 0 ? (long long)own.st_size : 0);
	}
	str_add(out, " agent ");
	str_add_quoted(out, r->dir);
	str_add(out, " </dev/null");
}

/** The command that starts the agent of host @k. */
static void compose(const struct launch_request *r, const struct hosts *hosts,
		    size_t k, uint16_t port, struct args *args)
{
	struct str script = STR_INIT, remote = STR_INIT;

	add_script(r, hosts, k, port, &script);
	str_add(&remote, "exec /bin/sh -c ");
	str_add_quoted(&remote, str_text(&script));
	args_words(args, "ssh -T -oBatchMode=yes -oForwardAgent=no "
			 "-oForwardX11=no -oClearAllForwardings=yes "
			 "-oConnectTimeout=10 -oServerAliveInterval=5 "
			 "-oServerAliveCountMax=3");
	args_add_all(args, r->extra);
	args_add(args, "--");
	args_add(args, hosts->names[k]);
	args_add(args, str_text(&remote));
	args->failed |= script.failed || remote.failed;
	str_release(&script);
	str_release(&remote);
}

static int ssh_describe(const struct launch_request *r, struct str *out,
			struct err *e)
{
	struct hosts hosts;

	if (launcher_hosts(&launcher_ssh, r->spec, &hosts, e) < 0) {
		return -1;
	}
	if (hosts.n > 0) {
		struct args args = { 0 };

		/* the port is chosen when it begins */
		compose(r, &hosts, 0, 0, &args);
		args_line(&args, out);
		str_addch(out, '\n');
		args_release(&args);
	}
	if (hosts.n > 1) {
		str_addf(out, "# and %zu more, which differ in host and rank\n",
			 hosts.n - 1);
	}
	hosts_release(&hosts);
	return 0;
}

/* ---- what goes along ----------------------------------------------------- */

/** A file in memory: the token's line, then the program. */
static int make_material(const struct launch_request *r, const char *token,
			 struct err *e)
{
	const bool copied = !r->spec->ssh_path[0];
	int fd = memfd_create("gpucheck", MFD_CLOEXEC);
	int in = copied ? open(r->self, O_RDONLY | O_CLOEXEC) : -1;
	ssize_t n = fd < 0 || (copied && in < 0) ? -1 :
		    dprintf(fd, "%s\n", token);

	while (copied && n > 0) {
		n = sendfile(fd, in, NULL, 1 << 20);
	}
	if (n < 0) {
		err_set(e, errno, "no memory for the command of ssh");
	}
	if (in >= 0) {
		close(in);
	}
	if (n < 0 && fd >= 0) {
		close(fd);
	}
	return n < 0 ? -1 : fd;
}

/* ---- start --------------------------------------------------------------- */

/** Name the log of ssh and the agent of host @k; returns @buf. */
static const char *log_name(const struct launch *l, size_t k,
			    char buf[NAME_MAX])
{
	snprintf(buf, NAME_MAX, "%s/ssh-%.200s.txt", RUN_LOGS,
		 hosts_name(l->hosts.names[k]));
	return buf;
}

static int start_coordinator(struct launch *l, const struct launch_request *r,
			     const char *token, int listener, struct err *e)
{
	struct args a = { 0 }, env = { 0 };
	struct str nodes = STR_INIT;
	int rc;

	/* how machines are called that never answer */
	for (size_t k = 0; k < l->hosts.n; k++) {
		str_addf(&nodes, "%s%s", k ? "," : "",
			 hosts_name(l->hosts.names[k]));
	}
	args_addf(&env, "GPUCHECK_NODELIST=%s", str_text(&nodes));
	args_addf(&env, "GPUCHECK_MASTER=0.0.0.0:%u", net_port(listener));
	args_addf(&env, "GPUCHECK_LISTEN_FD=%d", listener);
	args_addf(&env, "GPUCHECK_TOKEN=%s", token);
	args_addf(&env, "GPUCHECK_COORDINATOR_SIZE=%zu", l->hosts.n);
	env.failed |= nodes.failed;
	args_add(&a, r->self);
	args_add(&a, "coordinator");
	args_add(&a, r->dir);
	fcntl(listener, F_SETFD, 0);
	/* it says the token on stdout, which is for an agent, not for a file */
	rc = launch_child_start(&l->coordinator, &a, &env, l->news,
				NULL, NULL, e);
	args_release(&a);
	args_release(&env);
	str_release(&nodes);
	return rc;
}

static void signal_agents(struct launch *l, int sig)
{
	for (size_t k = 0; k < l->hosts.n; k++) {
		launch_child_signal(&l->agents[k].child, sig);
	}
}

static void ssh_stop(struct launch *l, bool hard)
{
	launch_child_signal(&l->coordinator, hard ? SIGKILL : SIGTERM);
	if (hard) {
		signal_agents(l, SIGTERM);
	}
}

static void ssh_release(struct launch *l)
{
	for (size_t k = 0; l->agents && k < l->hosts.n; k++) {
		launch_child_end(&l->agents[k].child);
	}
	launch_child_end(&l->coordinator);
	if (l->material >= 0) {
		close(l->material);
	}
	if (l->news >= 0) {
		close(l->news);
	}
	hosts_release(&l->hosts);
	free(l->agents);
}

static int ssh_start(struct launch *l, const struct launch_request *r,
		     struct err *e)
{
	unsigned char token[TOKEN_BYTES];
	char hex[2 * TOKEN_BYTES + 1], log[NAME_MAX];
	uint16_t port;
	int fd, rc;

	l->material = l->news = -1;
	snprintf(l->dir, sizeof(l->dir), "%s", r->dir);
	if (launcher_hosts(&launcher_ssh, r->spec, &l->hosts, e) < 0) {
		return -1;
	}
	l->agents = calloc(l->hosts.n, sizeof(*l->agents));
	l->news = memfd_create("news", MFD_CLOEXEC);
	if (!l->agents || l->news < 0 ||
	    hash_random(token, sizeof(token)) < 0) {
		return err_set(e, errno, "cannot start");
	}
	hash_hex(token, sizeof(token), hex);
	l->material = make_material(r, hex, e);
	fd = l->material < 0 ? -1 : net_listen(false, spec_ports(r->spec), e);
	if (fd < 0) {
		return -1;
	}
	port = net_port(fd);
	rc = start_coordinator(l, r, hex, fd, e);
	explicit_bzero(hex, sizeof(hex));
	close(fd);	/* the coordinator has it */
	if (rc < 0) {
		return -1;
	}
	for (size_t k = 0; k < l->hosts.n && rc == 0; k++) {
		struct args args = { 0 };

		compose(r, &l->hosts, k, port, &args);
		rc = launch_child_start(&l->agents[k].child, &args, NULL,
					l->material, r->dir,
					log_name(l, k, log), e);
		args_release(&args);
	}
	if (rc < 0) {
		ssh_stop(l, true);
	}
	return rc;
}

/* ---- agents that have ended ---------------------------------------------- */

/** Messages of OpenSSH when it cannot start a command; the last row matches
 *  any. */
static const struct {
	const char *says, *code;
} refusals[] = {
	{ "Host key verification failed", "ssh_host_key" },
	{ "IDENTIFICATION HAS CHANGED", "ssh_host_key" },
	{ "Permission denied (", "ssh_login" },
	{ "Too many authentication failures", "ssh_login" },
	{ "", "ssh_unreachable" },
};

/** Host @k has no agent any more: say so to the coordinator, which asks no
 *  other machine why it does not come. */
static void tell_end(struct launch *l, size_t k)
{
	const int exit_code = l->agents[k].child.exit_code;
	char log[NAME_MAX], path[PATH_MAX], *text, *next, *line;
	const char *code, *last = "";
	size_t i = 0;

	l->agents[k].told = true;
	text = rundir_read_text(l->dir, log_name(l, k, log), LOG_MAX, NULL,
				NULL);
	if (exit_code != 0) {
		code = limit_in_text(text ? text : "");
		if (exit_code == 255) {		/* ssh's own */
			while (!strstr(text ? text : "", refusals[i].says)) {
				i++;
			}
			code = refusals[i].code;
		} else if (!code) {
			code = exit_code == 126 || exit_code == 127 ?
				       "ssh_program" : "agent_missing";
		}
		/* the last line that says something */
		next = text;
		while ((line = strsep(&next, "\r\n"))) {
			if (line[0] && !str_starts(line, "hint: ")) {
				last = line;
			}
		}
		run_absent_tell(l->news, &(struct run_entry){ RUN_ENTRY_NONE,
				.node = hosts_name(l->hosts.names[k]),
				.code = code, .source = "ssh",
				.detail = text ? last : log });
	} else if (text && !text[0] &&
		   rundir_path(l->dir, log, path, NULL) == 0) {
		unlink(path);
	}
	free(text);
}

static int ssh_poll(struct launch *l, struct launch_state *st, struct err *e)
{
	const int64_t now_ns = clock_now_ns();
	size_t running = 0;

	(void)e;
	for (size_t k = 0; k < l->hosts.n; k++) {
		if (!launch_child_ended(&l->agents[k].child)) {
			running++;
		} else if (!l->agents[k].told) {
			tell_end(l, k);
		}
	}
	launch_say(st, LAUNCH_RUNNING, -1, "%zu of %zu agents are running",
		   running, l->hosts.n);
	if (launch_child_ended(&l->coordinator)) {
		/* no agent is needed any more */
		if (!l->over_ns) {
			l->over_ns = now_ns;
		} else if (now_ns - l->over_ns > LINGER_HARD_NS) {
			signal_agents(l, SIGKILL);
		} else if (now_ns - l->over_ns > LINGER_NS) {
			signal_agents(l, SIGTERM);
		}
		st->phase = running ? LAUNCH_RUNNING : LAUNCH_ENDED;
		st->exit_code = l->coordinator.exit_code;
	} else if (!running) {
		if (!l->alone_ns) {
			l->alone_ns = now_ns;
		} else if (now_ns - l->alone_ns > ALONE_NS) {
			launch_child_signal(&l->coordinator, SIGKILL);
		}
	}
	return 0;
}

const struct launcher_ops launcher_ssh = {
	.name = "ssh",
	.size = sizeof(struct launch),
	.program = "ssh",
	.hosts = ssh_hosts,
	.describe = ssh_describe,
	.start = ssh_start,
	.poll = ssh_poll,
	.stop = ssh_stop,
	.chosen = "with ssh (--ssh)",
	.option = "ssh",
	.release = ssh_release,
};
