# ptsort: parallel tuplesort and btree builds for PostgreSQL
#
#   make, make install, make installcheck   as with every PGXS module (PG_CONFIG=...); installcheck needs contrib/ptsort_test installed as well
#   make check    install missing packages, build, run all tests on a private server
#   make check-locales   run the test of sort orders in every UTF-8 locale, not just in a sample of locales
#   make crash    crash a server under a workload of builds, CYCLES times (SEED=s repeats a run)
#   make check-asserts [VERSION=15]   run all tests and the server's own suites on a server with assertions
#   make check-18, make check-19   run all tests on PostgreSQL 18 or 19, in a root directory of Debian's unstable; SHORT=1 runs only what depends on the version
#   make check-arch ARCH=s390x [SHORT=1]   run tests on another processor (s390x or arm64) under emulation
#   make check-valgrind, make check-sanitizers, make check-static   see contrib/dev/check-*.sh
#   make check-indent   check the layout of the C sources; make indent fixes it
#   make typedefs       update typedefs.list, which check-indent uses
#   make check-package  build the Debian packages, install, use and remove them
#   make check-rpm      build an RPM package of the release archive, install, use and remove it
#   make demo     time index builds by the server and by ptsort, in turn
#   make bench    time more index builds, with statistics and a chart; see contrib/bench/bench.sh
#   make bench-text   time index builds on text found on this machine; see contrib/bench/bench-text.sh
#   make bench-sort   time the server's tuplesort and ptsort's sort on the same rows; see contrib/bench/bench-sort.sh
#   make sortbench   run the sort benchmark, which sorts files, with ptsort and with other programs; see contrib/bench/bench-file.sh
#   make bench-query   time queries sorted by the server and by ptsort; see contrib/bench/bench-query.sh
#   make bench-gist   time GiST and GIN builds by the server and by ptsort, and count the blocks that queries read; see contrib/bench/bench-gist.sh
#   make fuzz SECONDS=n SEED=s   compare random indexes with the server's; CASE=n runs only one case
#   make dist     make the release archive for PGXN
#
# All goals except make, make install and make installcheck report missing
# distribution packages.  If root runs make, these goals also install the
# packages, unless NO_INSTALL=1 is set.

EXTENSION = ptsort
EXTVERSION := $(shell sed -n "s/^default_version *= *'\(.*\)'/\1/p" ptsort.control)

# These goals need no pg_config: they find or install a server, then call make.
ALONE = check check-locales crash demo bench bench-text bench-sort bench-query bench-gist sortbench dist \
	check-asserts check-18 check-19 check-arch check-valgrind check-sanitizers check-static check-indent \
	indent typedefs check-package check-rpm fuzz

ifneq ($(filter $(ALONE),$(MAKECMDGOALS)),)

.PHONY: $(MAKECMDGOALS)

check:
	@contrib/dev/check.sh

check-locales:
	@PTSORT_LOCALES=all TAP_ONLY=1 TESTS=t/040_locales.pl contrib/dev/check.sh

crash:
	@PTSORT_CRASH_CYCLES=$(or $(CYCLES),200) PTSORT_SEED=$(SEED) TAP_ONLY=1 \
		TESTS=t/060_crash_cycles.pl contrib/dev/check.sh

check-asserts:
	@contrib/dev/check-asserts.sh $(VERSION)

check-18 check-19:
	@contrib/dev/check-root.sh $(@:check-%=%)

check-arch:
	@contrib/dev/check-arch.sh $(ARCH)

check-valgrind:
	@contrib/dev/check-valgrind.sh $(VERSION)

check-sanitizers:
	@contrib/dev/check-sanitizers.sh $(VERSION)

check-static:
	@contrib/dev/check-static.sh

check-indent:
	@contrib/dev/check-indent.sh

check-package:
	@contrib/dev/check-package.sh

check-rpm:
	@contrib/dev/check-rpm.sh

indent:
	@contrib/dev/check-indent.sh --write

demo:
	@contrib/dev/demo.sh

bench:
	@contrib/bench/bench.sh

bench-text:
	@contrib/bench/bench-text.sh

bench-sort:
	@contrib/bench/bench-sort.sh

bench-query:
	@contrib/bench/bench-query.sh

bench-gist:
	@contrib/bench/bench-gist.sh

sortbench:
	@contrib/bench/bench-file.sh

fuzz:
	@FUZZ_SECONDS="$(SECONDS)" FUZZ_SEED="$(SEED)" FUZZ_CASE="$(CASE)" \
		contrib/fuzz/fuzz.sh

typedefs:
	@contrib/dev/typedefs.sh >typedefs.new && mv typedefs.new typedefs.list || \
		{ rm -f typedefs.new; false; }

dist:
	git archive --format zip --prefix=$(EXTENSION)-$(EXTVERSION)/ \
		--output $(EXTENSION)-$(EXTVERSION).zip HEAD

$(filter-out $(ALONE),$(MAKECMDGOALS)):
	@$(MAKE) --no-print-directory $@

else

MODULE_big = ptsort
DATA = $(wildcard ptsort--*.sql)

# The sources in layer order, bottom to top.  A file includes only headers of
# files that precede it in this list.
# The files in src/ itself are the lowest layer.
LAYERS = \
	util owner stamp segment debug \
	$(addprefix model/, \
		cost size work left space) \
	throttle/throttle \
	$(addprefix text/, \
		text_table text_pass text_icu text_unit text_rank text_digest text_model text_symbol text_code) \
	$(addprefix key/, \
		key_pack key_column key) \
	$(addprefix order/, \
		sortextras order) \
	$(addprefix tape/, \
		tape tapefile frame run) \
	$(addprefix memory/, \
		entrysort radix tournament tiesort memsort) \
	$(addprefix sort/, \
		shared tuplesort merge slices sortruns sortread learning sortput) \
	$(addprefix variant/, \
		ginrecord variants variant_index variant_heap variant_datum variant_tuple variant_gist variant_gin) \
	$(addprefix team/, \
		pageread marks heapjudge heapread heapscan team build parallel) \
	validate/validate \
	$(addprefix write/, \
		pagewrite slicelist buildreport indexbuild) \
	$(addprefix btree/, \
		btpage btbuild btload siblings) \
	$(addprefix gist/, \
		gist gistload gistbuild) \
	$(addprefix gin/, \
		gin ginpage ginposting gincollect ginload ginbuild) \
	$(addprefix copy/, \
		copy copyscan copywrite tablecopy) \
	$(addprefix check/, \
		check checkread checkpage checkcompare checkorder checklinks \
		checkfind checkrows checkbtree checkgist checkgistwalk checkgin \
		checkgintids checkginlinks checkginrows checkexclusion checkindex \
		checkone checkmany) \
	$(addprefix forecast/, \
		forecast newindex sample keycount indexsize ginsize) \
	query/sortnode \
	$(addprefix hook/, \
		hook utility planworkers ambuild validation redirect cluster module) \
	$(addprefix function/, \
		internals api last check brokenrows progress forecaststatement \
		forecast)
OBJS = $(foreach f,$(LAYERS),$(if $(wildcard src/$(f).c),src/$(f).o))
HEADERS_ptsort = $(wildcard include/*.h)

REGRESS := setup $(sort $(filter-out setup,$(patsubst sql/%.sql,%,$(wildcard sql/*.sql))))

PG_CFLAGS = -fvisibility=hidden -Wall -Wextra -Wno-unused-parameter \
	-Wno-sign-compare -Wno-missing-field-initializers
PG_CPPFLAGS = -I$(CURDIR)/include -I$(CURDIR)/src

# ptsort gains nothing from the server's JIT, and building bitcode requires
# clang.
override with_llvm := no

PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs)
ifeq ($(PGXS),)
$(error $(PG_CONFIG) does not run: install postgresql-server-dev-NN, or set PG_CONFIG=/path/to/pg_config; "make check" installs a server for you)
endif
include $(PGXS)
include contrib/server.mk

# PGXS removes the headers, but not the directory that PGXS made for them.  PGXS
# also made the parent directory, unless another extension had headers there.
uninstall: uninstall-directories
uninstall-directories: headers := $(DESTDIR)$(includedir_server)/extension
uninstall-directories:
	rm -f $(addprefix '$(headers)/ptsort'/, $(notdir $(HEADERS_ptsort)))
	for dir in '$(headers)/ptsort' '$(headers)'; do \
		test ! -d "$$dir" || rmdir --ignore-fail-on-non-empty "$$dir"; \
	done

.PHONY: uninstall-directories

# The tests force rare code paths with settings that only contrib/ptsort_test
# has.
installcheck: installcheck-settings
installcheck-settings:
	@test -f '$(DESTDIR)$(pkglibdir)/ptsort_test$(DLSUFFIX)' || { \
		echo "installcheck needs ptsort_test: make -C contrib/ptsort_test install"; exit 1; }

.PHONY: installcheck-settings

# Distributions build PostgreSQL without automatic dependency tracking, so PGXS
# does not know that objects depend on headers.
$(OBJS): $(wildcard src/*.h src/*/*.h include/*.h)

# The library's stamp depends only on the sources, not on the directory of the
# build.
STAMP := $(shell cat $(sort $(wildcard src/*.[ch] src/*/*.[ch] include/*.h)) | cksum | cut -d' ' -f1)
src/stamp.o: override CPPFLAGS += -DPTSORT_STAMP='"$(STAMP)"'
src/stamp.o: $(wildcard src/*.c src/*/*.c)

# pg_get_loaded_modules() of PostgreSQL 18 and later shows this version.
src/hook/module.o: override CPPFLAGS += -DPTSORT_VERSION='"$(EXTVERSION)"'
src/hook/module.o: ptsort.control

endif
