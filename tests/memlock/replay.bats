#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# Recorded machines: /proc, /sys and /etc below tests/fixtures/sysroot.

load helper

replay()
{
	local code=$1 machine=$2
	shift 2
	look "$code" --node "--sysroot=$machines/$machine" "$@"
}

codes()
{
	is '[.verdict.findings[] | select(.severity == "fail") | .code]' "$1"
}

@test "a healthy node passes, and its unit is named" {
	replay 0 hgx-healthy
	says '^PASS '
	says '^  slurmd +unlimited +unlimited +yes .*slurmd.service:7$'
	replay 0 hgx-healthy --json
	is .verdict.status pass
	is '[.rows[] | select(.outcome == "error")] | length' 0
	is '.rows[] | select(.check == "systemd_unit") | .source' \
		/usr/lib/systemd/system/slurmd.service:7
	# two HCAs
	is '[.rows[] | select(.context == "slurmd") | .needed_B // empty] | max' \
		$((66 << 20))
}

@test "slurmd at the 8 MiB of systemd: fault, unit without a limit, fix" {
	replay 1 node-8mib
	says 'slurmd.service sets no LimitMEMLOCK'
	says 'LimitMEMLOCK=infinity'
	replay 1 node-8mib --json
	codes '["memlock_slurmd"]'
}

@test "every neighbour can be wrong, and is a warning" {
	replay 1 node-8mib --json
	is '[.verdict.findings[] | select(.severity == "warn") | .code] | sort |
		join(" ")' \
		"acs_on fabricmanager_down gpudirect_missing iommu_translates \
map_count_low nofile_low overcommit_strict shm_small shmmax_low stack_unlimited"
	# with enough locked memory they do not decide ...
	cp -r "$machines/node-8mib" machine
	cp "$machines/hgx-healthy/proc/2411/limits" machine/proc/998/limits
	look 0 --node --sysroot=machine
	says '^WARN '
	# ... but when told to
	look 1 --node --sysroot=machine --strict
}

@test "folders of the driver are no NVSwitch" {
	cp -r "$machines/node-8mib" machine
	rm -r machine/proc/driver/nvidia-nvswitch/devices/*
	look 1 --node --sysroot=machine --json
	is '[.verdict.findings[].code] | index("fabricmanager_down")' null
}

@test "a drop-in that is not in force" {
	replay 1 drop-in-not-restarted
	says 'it was not restarted'
	says 'memlock.conf:2: the limit of'
	says '^  slurmd .* an earlier unit$'
}

# drop_in LINE...: slurmd at the default of systemd, and a file that should help.
drop_in()
{
	cp -r "$machines/drop-in-not-restarted" machine
	cp "$machines/node-8mib/proc/998/limits" machine/proc/77/limits
	printf '%s\n' "$@" \
		>machine/etc/systemd/system/slurmd.service.d/memlock.conf
}

@test "a word that systemd does not know: the line is named" {
	drop_in '[Service]' LimitMEMLOCK=infinty
	look 1 --node --sysroot=machine
	says 'slurmd is limited to 8 MiB'
	says 'slurmd.service.d/memlock.conf:2:$'
	says '"LimitMEMLOCK=infinty" is neither'
	look 1 --node --sysroot=machine --json
	codes '["memlock_unit_ignored"]'
}

@test "a key in the wrong section: the line is named" {
	drop_in '[Unit]' LimitMEMLOCK=infinity
	look 1 --node --sysroot=machine
	says 'section \[Service\]'
	look 1 --node --sysroot=machine --json
	codes '["memlock_unit_ignored"]'
	is '.rows[] | select(.check == "systemd_unit") | .detail |
		test("memlock.conf:2: .LimitMEMLOCK=infinity. is in the wrong")' \
		true
}

# login LINE: a user at 64 KiB on a machine whose slurmd has no limit, where
# Slurm takes all limits along but those of LINE.
login()
{
	cp -r "$machines/hgx-healthy" machine
	cp "$machines/login-limits-conf/proc/self/"{limits,status} \
		machine/proc/self
	printf '%s\n' 'PropagateResourceLimits = ALL' "$1" \
		>machine/scontrol-show-config
}

@test "a login shell whose limit Slurm carries into jobs" {
	login 'PropagateResourceLimitsExcept = (null)'
	look 1 --node --sysroot=machine
	says 'jobs are limited to 64 KiB .*: Slurm propagates the$'
	says 'PropagateResourceLimitsExcept=MEMLOCK'
	look 1 --node --sysroot=machine --json
	codes '["memlock_propagated"]'
}

@test "the same shell is no fault of jobs where Slurm leaves its limit behind" {
	login 'PropagateResourceLimitsExcept = MEMLOCK'
	look 0 --node --sysroot=machine
	says '^PASS '
	says '^  here +64 KiB '
}

@test "a slurmd that systemd did not start: the unit explains nothing" {
	cp -r "$machines/drop-in-not-restarted" machine
	echo 0::/user.slice/session-4.scope >machine/proc/77/cgroup
	look 1 --node --sysroot=machine
	says "outside systemd: the unit's limits do not"
	says '^ +ulimit -l unlimited && slurmd'
	says '^  slurmd +64 KiB +64 KiB +yes +[^ ]+$'
	look 1 --node --sysroot=machine --json
	codes '["memlock_slurmd_outside"]'
}

@test "a drop-in of /etc hides the one of that name below /usr" {
	cp -r "$machines/hgx-healthy" machine
	mkdir -p machine/{etc,usr/lib}/systemd/system/slurmd.service.d
	printf '[Service]\nLimitMEMLOCK=1M\n' \
		>machine/usr/lib/systemd/system/slurmd.service.d/a.conf
	look 0 --node --sysroot=machine --json
	is '.rows[] | select(.check == "systemd_unit") | .limit_B' 1048576
	printf '# nothing\n' \
		>machine/etc/systemd/system/slurmd.service.d/a.conf
	look 0 --node --sysroot=machine --json
	is '.rows[] | select(.check == "systemd_unit") | .source' \
		/usr/lib/systemd/system/slurmd.service:7
}

@test "no line of limits.conf applies: a default" {
	cp -r "$machines/login-limits-conf" machine
	sed -i 's/^\*/eve/' machine/etc/security/limits.d/90-site.conf
	look 1 --node --sysroot=machine
	says '^  here .* a default$'
	look 1 --node --sysroot=machine --json
	codes '["memlock_shell"]'
}

@test "a line of limits.d is named" {
	replay 1 login-limits-conf
	says '/etc/security/limits.d/90-site.conf:2$'
	replay 1 login-limits-conf --json
	codes '["memlock_limits_conf"]'
}

@test "a container of docker" {
	replay 1 docker-64k
	says 'docker run --ulimit memlock=-1:-1'
	replay 1 docker-64k --json
	codes '["memlock_container"]'
}

@test "a container is blamed by its own evidence alone" {
	# its first process has enough: who logged in there has not
	cp -r "$machines/docker-64k" machine
	mkdir machine/proc/1
	cp machine/proc/self/{cgroup,status} machine/proc/1
	sed 's/65536 65536/unlimited unlimited/' machine/proc/self/limits \
		>machine/proc/1/limits
	look 1 --node --sysroot=machine --json
	codes '["memlock_shell"]'
	is '.rows[] | select(.context == "container" and
		.check == "memlock_soft") | .source' /proc/1/limits
	# the first process of all, and not the container's
	echo 0::/init.scope >machine/proc/1/cgroup
	look 1 --node --sysroot=machine --json
	codes '["memlock_container"]'
	# a line of a file says who it was
	cp -r "$machines/login-limits-conf/etc" machine
	cp "$machines/login-limits-conf/proc/self/"{limits,status} \
		machine/proc/self
	look 1 --node --sysroot=machine --json
	codes '["memlock_limits_conf"]'
	# apptainer takes the limit of who starts it along
	cp -r "$machines/docker-64k" apptainer
	echo 0::/user.slice >apptainer/proc/self/cgroup
	mkdir apptainer/.singularity.d
	look 1 --node --sysroot=apptainer --json
	codes '["memlock_shell"]'
}

@test "Slurm propagates, or does not, as recorded" {
	replay 1 node-8mib --json
	is '.rows[] | select(.check == "propagation") | .code' not_propagated
	replay 0 hgx-healthy --json
	is '.rows[] | select(.check == "propagation") | .code' propagated
}

@test "what may not be read is unknown, never pass" {
	[ "$(id -u)" = 0 ] || skip "needs root to become another user"
	cp -r "$machines/hgx-healthy" machine
	chmod 755 . "$BATS_RUN_TMPDIR"
	chmod 0 machine/proc/2411/limits
	cp "$GPUCHECK" gpucheck
	run setpriv --reuid=65534 --regid=65534 --clear-groups \
		./gpucheck memlock --node --sysroot=machine --json
	[ "$status" -eq 3 ]
	echo "$output" >out
	is .verdict.status unknown
	is '.rows[] | select(.context == "slurmd" and .check == "memlock_soft") |
		"\(.outcome) \(.code) \(.limit_B)"' "not_run unknown null"
	says '/proc/2411/limits.*Permission denied'
	# root may read it: the same machine passes
	look 0 --node --sysroot=machine --quiet
}

@test "a file that makes no sense is unknown, and named" {
	cp -r "$machines/hgx-healthy" machine
	echo nonsense >machine/proc/2411/limits
	look 3 --node --sysroot=machine
	says '^  slurmd +unknown .*no line .Max locked memory'
	printf '[Service]\nLimitMEMLOCK=plenty\n' \
		>machine/usr/lib/systemd/system/slurmd.service
	look 3 --node --sysroot=machine --json
	says 'slurmd.service:2'
}

@test "a recorded machine proves nothing" {
	replay 0 hgx-healthy --json
	is '.rows[] | select(.check == "mlock") | .outcome' skipped
}

@test "a folder that is no machine" {
	look 3 --node --sysroot=/nonexistent
	says unknown
}
