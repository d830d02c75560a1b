# SPDX-License-Identifier: BSD-3-Clause
#
# make            build ./gpucheck (names what is missing)
# make deps       install what Debian has of it (as root)
# make demo       tcp between local ranks, then a drill with a dead GPU
# make check      all tests, in every build; the last line has the totals
# make check-all  what takes longer as well; make mutants is a part of it
# make unit cli lint fuzz cluster security ...   one of tests/*/run
# make chaos      N=500 SEED=1: kill, stop and starve runs at random moments
# make gpu-check  tests on real GPUs; make gpu-bench: figures beside a peer's
# make install    PREFIX=/usr/local DESTDIR= (make uninstall takes it away)
# make release    tarballs for x86-64 and aarch64; make deb, make rpm: packages
#
# V=1             show the commands
# DEV=1           warnings are errors
# SAN=LIST        -fsanitize=LIST, built into build-san
# CC=clang        the other compiler; B=DIR another build folder
# HAVE_VERBS=0 HAVE_CUDA=0 HAVE_NCCL=0   build as if the header were missing

SHELL := /bin/bash
.DELETE_ON_ERROR:
MAKEFLAGS += -rR
.DEFAULT_GOAL := all

VERSION := 0.1.0
CC ?= gcc
ifeq ($(origin CC),default)
CC := gcc
endif
AR ?= ar
ifeq ($(origin AR),default)
AR := ar
endif
# Many projects call it prefix; unheard, that would install to /usr/local.
ifeq ($(origin prefix),command line)
PREFIX := $(prefix)
endif
PREFIX ?= /usr/local
hash := \#

B ?= $(if $(SAN),build-san,build)$(if $(filter-out gcc,$(CC)),-$(notdir $(firstword $(CC))))
Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-7s %s\n' $(1) $(2))

CUDA_HOME ?= /usr/local/cuda
CFLAGS ?= $(if $(SAN),-O0 -g1,-O2 -g)
std := -std=c11 -D_GNU_SOURCE -I. -pthread
warn := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
	-Wformat=2 -Wwrite-strings -Wvla $(if $(DEV),-Werror)
san := $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer \
	-fno-sanitize-recover=all)
# A hundred programs are linked: by the linker that takes half the time.
fast_ld := $(if $(and $(SAN),$(filter clang,$(CC)),$(shell command -v ld.lld)),-fuse-ld=lld)
link = $(CC) $(CFLAGS) $(LDFLAGS) $(san) $(fast_ld)
headers := $(if $(wildcard $(CUDA_HOME)/include/cuda.h),-isystem $(CUDA_HOME)/include)

# Features are found by compiling, once; each can be set by hand.
probe = $(shell printf '$(hash)include <%s>\nint main(void){return 0;}\n' $(1) | \
	$(CC) $(headers) -x c -fsyntax-only - >/dev/null 2>&1 && echo 1 || echo 0)
ifndef HAVE_CUDA
HAVE_CUDA := $(call probe,cuda.h)
endif
ifndef HAVE_NCCL
HAVE_NCCL := $(call probe,nccl.h)
endif
ifndef HAVE_VERBS
HAVE_VERBS := $(call probe,infiniband/verbs.h)
endif
defs := -DGPUCHECK_VERSION='"$(VERSION)"' -DHAVE_CUDA=$(HAVE_CUDA) \
	-DHAVE_NCCL=$(HAVE_NCCL) -DHAVE_VERBS=$(HAVE_VERBS)
all_cflags := $(std) $(defs) $(headers) $(CPPFLAGS) $(CFLAGS) $(warn) $(san) \
	-include lib/base/banned.h -MMD -MP

# Static where the archive is there, so that the binary needs libc alone.
libdirs := $(shell $(CC) -print-search-dirs 2>/dev/null | sed -n 's/^libraries: =//p' | tr : ' ')
static = $(firstword $(wildcard $(addsuffix /lib$(1).a,$(libdirs) \
	/usr/lib/x86_64-linux-gnu /usr/lib64 /usr/lib)) $(2))
LIBS := $(call static,uv_a,$(call static,uv,-luv)) \
	$(call static,jansson,-ljansson) $(call static,inih,-linih) \
	$(call static,popt,-lpopt) $(call static,sodium,-lsodium) \
	$(call static,z,-lz) -lm -ldl -lrt -pthread

needed := uv.h jansson.h ini.h popt.h sodium.h zlib.h
missing = $(foreach h,$(needed),$(if $(filter 0,$(call probe,$(h))),$(h)))

folders := cli report sbatch probes lib
objs = $(patsubst %.c,$(B)/%.o,$(shell find $(1) -name '*.c'))
archives := $(patsubst %,$(B)/%.a,$(folders))

.PHONY: all deps demo unit_programs units fuzzers fuzz_syntax gpu_programs \
	install clean needs
all: gpucheck

needs:
	@command -v $(firstword $(CC)) >/dev/null || { \
	echo 'gpucheck needs a C compiler, and $(CC) is not here' >&2; \
	echo 'hint: "make deps" as root installs what Debian has' >&2; exit 1; }
	@test -z '$(strip $(missing))' || { \
	echo 'gpucheck needs headers that are not here: $(missing)' >&2; \
	echo 'hint: "make deps" as root installs what Debian has' >&2; exit 1; }

# Where nothing is optimised, half of the time goes into headers of the system.
pch := $(if $(and $(SAN),$(filter clang,$(CC))),$(B)/system.pch)
$(B)/system.pch: tests/system.h Makefile | needs
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(patsubst -MMD,-MD,$(all_cflags)) \
		-Xclang -fno-pch-timestamp -x c-header -o $@ $<

$(B)/%.o: %.c Makefile $(pch) | needs
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(addprefix -include-pch ,$(pch)) $(all_cflags) $(cflags_here) \
		-c -o $@ $<

# Files of different folders may have one name, so none replaces another (q).
define archive_rule
$(B)/$(1).a: $$(call objs,$(1))
	$$(call say,AR,$$@)
	$$(Q)rm -f $$@ && $(AR) qcs $$@ $$^
endef
$(foreach f,$(folders),$(eval $(call archive_rule,$(f))))

# What .incbin reads is not seen by -MMD.
$(B)/sbatch/launch_sbatch.o: sbatch/job.sbatch
$(B)/report/draw/heatmap.o: data/gnuplot/picture.gp
$(B)/report/draw/plot.o: data/gnuplot/curves.gp
$(B)/report/history/plot.o: data/gnuplot/history.gp
$(B)/report/history/plot.o: data/html/page.css
$(B)/report/model/sweep.o: $(wildcard data/reference/*.csv)
$(B)/report/symptoms/symptom.o: data/symptoms.ini
$(B)/report/symptoms/symptom.o: data/xids.txt
$(B)/report/model/expected.o: data/expected.ini
$(B)/report/show/html_page.o: data/html/page.css data/html/page.js

$(B)/gpucheck: $(archives)
	$(call say,LD,$@)
	$(Q)$(link) -o $@ $(archives) $(LIBS)

gpucheck: $(B)/gpucheck
	$(Q)cp $< $@.new && mv $@.new $@

# Unit tests: tests/unit/test_foo.c is one cmocka program.  unit_programs links
# them as one program with a name for each, which takes a tenth of the time.
unit_names := $(basename $(notdir $(wildcard tests/unit/test_*.c)))
units := $(addprefix $(B)/tests/unit/,$(unit_names))
$(B)/tests/unit/%.o: all_cflags += -DSANITIZED=$(if $(SAN),1,0)
$(B)/tests/unit/test_%.o: cflags_here = -Dmain=$(notdir $*)_main -Wno-missing-prototypes
$(B)/tests/unit/every.o: cflags_here = -DPROGRAMS='$(patsubst %,PROGRAM(%),$(unit_names))'
$(B)/tests/unit/every.o: $(wildcard tests/unit/test_*.c)
$(B)/tests/unit/test_%: $(B)/tests/unit/test_%.o $(archives)
	$(call say,LD,$@)
	$(Q)$(link) -Wl,--defsym=main=test_$*_main -o $@ $< $(archives) \
		$(LIBS) -lcmocka
$(B)/tests/unit/every: $(B)/tests/unit/every.o $(units:=.o) $(archives)
	$(call say,LD,$@)
	$(Q)$(link) -o $@ $(filter %.o,$^) $(archives) $(LIBS) -lcmocka
unit_programs: $(B)/tests/unit/every
	$(Q)for name in $(unit_names); do \
		[ $(<D)/$$name -ef $< ] || ln -f $< $(<D)/$$name; done
units: unit_programs $(B)/tests/verdict/property $(B)/tests/verdict/reach \
	$(B)/tests/verdict/kinds $(B)/tests/verdict/other $(B)/tests/verdict/sample \
	$(B)/tests/verdict/fleet $(B)/tests/verdict/ports

# The model and the verdict in one program, without processes and files.
$(B)/tests/verdict/%: $(B)/tests/verdict/%.o $(B)/tests/verdict/cluster.o \
		$(B)/tests/verdict/table.o $(archives)
	$(call say,LD,$@)
	$(Q)$(link) -o $@ $< $(B)/tests/verdict/cluster.o \
		$(B)/tests/verdict/table.o \
		$(archives) $(LIBS)

# Fuzz targets: tests/fuzz/fuzz_foo.c, for CC=clang SAN=fuzzer-no-link,...
# libFuzzer has no header to declare the entry.
$(B)/tests/fuzz/%.o: all_cflags += -Wno-missing-prototypes
fuzzers := $(patsubst tests/fuzz/%.c,$(B)/tests/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))
$(B)/tests/fuzz/%: $(B)/tests/fuzz/%.o $(archives)
	$(call say,LD,$@)
	$(Q)$(link) -fsanitize=fuzzer -o $@ $< \
		$(archives) $(LIBS)
fuzzers: $(fuzzers)
# Whether they compile; many changes of an interface break one.
fuzz_syntax:
	$(Q)$(CC) $(filter-out -MMD -MP,$(all_cflags)) -Wno-missing-prototypes \
		-fsyntax-only tests/fuzz/fuzz_*.c
# Objects of tests are kept, so that only what changed is compiled again.
.SECONDARY:

# Programs of tests/gpu, and a library that looks like an old NCCL.
$(B)/tests/gpu/%: $(B)/tests/gpu/%.o $(archives)
	$(call say,LD,$@)
	$(Q)$(link) -o $@ $< $(archives) $(LIBS)
$(B)/tests/gpu/libnccl_old.so: tests/gpu/old_nccl.c
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(all_cflags) -fPIC -shared -o $@ $< -ldl
# A driver with a fault; the real one is found when it is loaded.
$(B)/tests/gpu/liblost_flags.so: tests/gpu/lost_flags.c
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)/stub
	$(Q)$(CC) -shared -Wl,-soname,libcuda.so.1 -o $(@D)/stub/libcuda.so \
		-x c /dev/null
	$(Q)$(CC) $(all_cflags) -fPIC -shared -o $@ $< -Wl,--no-as-needed \
		-L$(@D)/stub -lcuda -ldl
gpu_programs: $(B)/tests/gpu/xport_pair $(B)/tests/gpu/bench/bare_p2p \
	$(B)/tests/gpu/bench/bare_copy $(B)/tests/gpu/bench/bare_host \
	$(B)/tests/gpu/bench/bare_collective \
	$(B)/tests/gpu/collective_data $(B)/tests/gpu/gpu_memory \
	$(B)/tests/gpu/libnccl_old.so $(B)/tests/gpu/liblost_flags.so \
	$(if $(filter 1,$(HAVE_VERBS)),$(B)/tests/fake/libibverbs.so.1)

# A driver and an NVML without a GPU, for tests/copies.
$(B)/tests/copies/lib%_fake.so: tests/copies/fake_%.c
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(filter-out $(san),$(all_cflags)) -fPIC -shared -o $@ $<

# An NCCL without either, as it is now and as it was before 2.13.
fake_nccl := tests/fake/nccl/nccl.c tests/fake/nccl/net.c
$(B)/tests/fake/libnccl_old.so: cflags_here := -DOLD_NCCL
$(B)/tests/fake/libnccl.so $(B)/tests/fake/libnccl_old.so: $(fake_nccl) \
	tests/fake/nccl/net.h
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(filter-out $(san),$(all_cflags)) $(cflags_here) -fPIC \
		-shared -o $@ $(fake_nccl)

# Containers as pyxis makes them, for a slurmd with these headers.
$(B)/tests/fake/container.so: tests/fake/spank/container.c
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(filter-out $(san),$(all_cflags)) -fPIC -shared -o $@ $<

# A librdmacm with strangers, where there is a real one.
rdmacm := $(firstword $(wildcard /usr/lib/*/librdmacm.so.1 /usr/lib64/librdmacm.so.1))
$(B)/tests/rdma/libstranger.so: tests/rdma/stranger.c tests/rdma/stranger.map
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(filter-out $(san),$(all_cflags)) -fPIC -shared -o $@ $< \
		-Wl,--version-script=tests/rdma/stranger.map $(rdmacm)

# A libibverbs without hardware.
fake_verbs := $(wildcard tests/fake/verbs/*.c)
$(B)/tests/fake/libibverbs.so.1: $(fake_verbs) tests/fake/verbs/fake.h \
		tests/fake/verbs/verbs.map
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(filter-out $(san),$(all_cflags)) -fPIC -shared -o $@ \
		$(fake_verbs) -Wl,-soname,$(@F) \
		-Wl,--version-script=tests/fake/verbs/verbs.map

# It drives NCCL's own transport over that.
$(B)/tests/fake/nccl_net: $(B)/tests/fake/verbs/drive/nccl_net.o
	$(call say,LD,$@)
	$(Q)$(link) -o $@ $< -ldl

# What suites load or start beside the program.
.PHONY: test_libraries test_programs
test_libraries: $(patsubst %,$(B)/tests/copies/lib%_fake.so,cuda nvml) \
	$(patsubst %,$(B)/tests/fake/lib%.so,nccl nccl_old) \
	$(if $(rdmacm),$(B)/tests/rdma/libstranger.so) \
	$(if $(filter 1,$(HAVE_VERBS)),$(B)/tests/fake/libibverbs.so.1)
test_programs: $(B)/tests/gpu/bench/bare_collective $(B)/tests/gpu/collective_data \
	$(B)/tests/fake/nccl_net

# On a machine with GPUs, with as many as it has; what is built already is
# taken as it is, so that both run where the libraries to build are missing.
.PHONY: gpu-check gpu-bench
gpu-check gpu-bench:
	@test -x gpucheck -a -x $(B)/tests/gpu/xport_pair || \
		$(MAKE) --no-print-directory gpucheck gpu_programs
	@B=$(B) tests/gpu/$(if $(filter %bench,$@),bench/)run

# A suite is tests/NAME/run, which prints TAP; tests/run has the steps of check.
suites := $(patsubst tests/%/run,%,$(wildcard tests/*/run))
.PHONY: $(suites)
$(suites):
	@tests/run build $@
.PHONY: check check-all mutants
check:
	@-.ci/deps $(deps_build) $(deps_check)
	@tests/run

# The same with more cases, in the builds that check does without, and whether
# the tests see one-line breaks.
check-all: export AGAIN := 0
check-all: check
	@$(MAKE) --no-print-directory DEV=1 units
	@-.ci/deps chromium poppler-utils
	@-$(MAKE) --no-print-directory deps-release
	@# the cases are those of verdict; what waits comes first
	@CASES=5000 tests/run lost packaging ssh image verdict hang page unit
	@$(MAKE) --no-print-directory DEV=1 SAN=address,undefined CC=clang \
		B=build-san units test_libraries test_programs
	@CASES=all COMMANDS=all tests/run cli@san copies@san cluster@san jobs@san robust@san \
		ssh@san ping@san drill@san security@san
	@tests/run verdict@san
	@CASES=all tests/run hostile rdma drill golden robust:place \
		robust:limits robust:history jobs cli:simulated ping:flows \
		cluster:recipes
	@GRID=all tests/run grid
	@IMAGE_S=40 tests/run cluster:boot
	@JOBS=200 tests/run cluster:hooks
	@$(MAKE) --no-print-directory chaos N=40 SEED=1
	@FUZZ_S=15 tests/run build@fuzz fuzz@fuzz
	@tests/mutants/mutate
mutants:
	@tests/mutants/mutate

.PHONY: chaos
chaos: gpucheck test_libraries
	@GPUCHECK=gpucheck \
		GPUCHECK_TEST_FAKE=$(CURDIR)/$(B)/tests/copies/libcuda_fake.so \
		GPUCHECK_TEST_FAKE_NCCL=$(CURDIR)/$(B)/tests/fake/libnccl.so \
		python3 -B tests/robust/chaos $(or $(N),20) $(SEED)

# What Debian calls it.
deps_build := gcc libc6-dev libuv1-dev libjansson-dev libinih-dev libpopt-dev \
	libsodium-dev zlib1g-dev libibverbs-dev gnuplot-nox
deps_check := clang lld libclang-rt-dev libcmocka-dev bats shellcheck mandoc \
	bsdextrautils jq git zsh procps iproute2 nftables slurmctld slurmd \
	slurm-client libslurm-dev munge libpmi2-0 libpmix-dev fping \
	openssh-client openssh-server openmpi-bin python3 python3-jsonschema \
	python3-yaml libfaketime ibverbs-providers qemu-system-x86 busybox-static \
	cpio kmod
deps_release := gcc-aarch64-linux-gnu libc6-dev:arm64 $(addsuffix :arm64, \
	libuv1-dev libjansson-dev libinih-dev libpopt-dev libsodium-dev \
	zlib1g-dev libibverbs-dev libcmocka-dev) \
	qemu-user-static rpm dpkg-dev debhelper fakeroot debootstrap pkgconf \
	lowdown lintian rpmlint mmdebstrap umoci crun environment-modules man-db
deps:
	@.ci/deps $(deps_build) $(deps_check)

# The features are looked for anew once the packages are there.
demo:
	@-.ci/deps $(deps_build)
	@$(MAKE) --no-print-directory -j"$$(nproc)" gpucheck
	./gpucheck p2p --local=2x8 --transport=tcp
	@printf '\nA drill: the same with a dead GPU, in a simulated cluster.\n\n'
	@echo 'dead gpu=1:4' >$(B)/demo.drill
	./gpucheck p2p --local=2x8 --transport=sim --faults=$(B)/demo.drill || \
		[ $$? = 1 ]

# Where each file goes, and what it is made from.
dest := $(DESTDIR)$(PREFIX)
PROGRAM ?= gpucheck
bash_completion := $(dest)/share/bash-completion/completions/gpucheck
zsh_completion := $(dest)/share/zsh/site-functions/_gpucheck
doc := $(dest)/share/doc/gpucheck
share := $(dest)/share/gpucheck
site := $(share)/site
site_scripts := $(addprefix data/site/,prolog epilog healthcheck \
	every-rank)
install: $(PROGRAM)
	install -D -m 755 $(PROGRAM) $(dest)/bin/gpucheck
	for s in 1 5 7; do \
		install -d $(dest)/share/man/man$$s; \
		install -m 644 cli/man/*.$$s $(dest)/share/man/man$$s; \
	done
	install -D -m 644 cli/completion/gpucheck.bash $(bash_completion)
	install -D -m 644 cli/completion/_gpucheck $(zsh_completion)
	install -d $(doc)/docs/dev
	install -m 644 docs/*.md $(doc)/docs
	install -m 644 docs/dev/*.md $(doc)/docs/dev
	install -m 644 README.md SECURITY.md $(doc)
	install -d $(site)
	install -m 755 $(site_scripts) $(site)
	install -m 644 $(filter-out $(site_scripts),$(wildcard data/site/*)) $(site)
	install -d $(share)/accept
	install -m 644 data/accept/* $(share)/accept
# What a site has made of its hooks and limits is the site's.
uninstall:
	rm -f $(dest)/bin/gpucheck $(bash_completion) $(zsh_completion) \
		$(foreach s,1 5 7,$(patsubst cli/man/%,$(dest)/share/man/man$s/%, \
		$(wildcard cli/man/*.$s)))
	rm -rf $(doc)
	@for f in data/site/* data/accept/*; do \
		g=$(share)/$${f#data/}; \
		if [ -e $$g ] && ! cmp -s $$f $$g; then \
			echo "kept, as it was changed: $$g"; \
		else rm -f $$g; fi; \
	done
	@rmdir -p --ignore-fail-on-non-empty $(site) $(share)/accept \
		2>/dev/null || true

# Packages are built from what git has of the tree, in build-release.
.PHONY: version release deb rpm deps-release uninstall
version:
	@echo $(VERSION)
release:
	@packaging/release
deb rpm:
	@packaging/$@/build
deps-release:
	@dpkg --add-architecture arm64
	@.ci/deps $(deps_build) $(deps_check) $(deps_release)

clean:
	rm -rf build build-* gpucheck

-include $(shell find $(B) -name '*.d' 2>/dev/null)
