# The front door. CMake does the work; see CMakePresets.json for dev, clang, asan, tsan and coverage.
#
#   make              build the library and the command: build/heatball
#   make deps         install the Debian packages that building and testing need
#   make demo         install what is missing, build, reproduce the paper's studies (short form)
#   make test         install what is missing, build, run all tests (a few minutes)
#   make test MODULE=walk  the tests of one module alone, in C and Python: a directory of tests/
#   make quick        build; checks of the tree and tests in C of the modules with changed files (under a minute)
#   make test-long    the long statistical tests as well
#   make docs         the documentation as a site with a search: build/site/index.html
#   make wheel        one file for pip, with all that the package and the command need: build/wheel/*.whl
#   make wheel-check  install that wheel in a minimal Debian (debootstrap, root) and use it there
#   make bench        speed against NumPy and against the library's own limits
#   make install      into PREFIX (default /usr/local)
#   make format       format the C sources
#   make clean        remove build/

PREFIX ?= /usr/local
PYTHON ?= /usr/bin/python3
DEMO   ?= heatball-demo

.PHONY: all deps deps-build demo test quick test-long bench docs wheel wheel-check install format clean
all: build/build.ninja
	@cmake --build build --target heatball_command heatball_user

build/build.ninja: CMakeLists.txt CMakePresets.json
	@cmake --preset release -DCMAKE_INSTALL_PREFIX=$(PREFIX) > build-configure.log 2>&1 \
	  && rm -f build-configure.log \
	  || { cat build-configure.log; rm -f build-configure.log; \
	       echo "heatball: configuring failed; 'make deps' installs the packages it needs" >&2; exit 1; }

deps:
	@sh tools/install-packages build test docs
deps-build:
	@sh tools/install-packages build

demo: deps-build
	@$(MAKE) --no-print-directory all
	build/heatball reproduce --quick -o $(DEMO)

# run.py makes the release build too, with warnings as errors; for one module it takes the build that is there.
ifdef MODULE
test: all
	@$(PYTHON) tests/run.py --module $(MODULE)
else
test: deps
	@$(PYTHON) tests/run.py
endif
quick: all
	@$(PYTHON) tests/run.py --quick
test-long: deps
	@$(PYTHON) tests/run.py --long

bench: deps
	@$(MAKE) --no-print-directory all
	@cmake --build build --target all
	@$(PYTHON) bench/compare.py

docs:
	@sh tools/install-packages docs
	@$(PYTHON) tools/make_site.py

wheel: all
	@$(PYTHON) tools/make_wheel.py
wheel-check: wheel
	@sh tools/try_wheel.sh build/wheel/heatball-*.whl

install: all
	@cmake --install build --prefix $(PREFIX)

format:
	@clang-format -i $$(git ls-files '*.c' '*.h')

clean:
	rm -rf build
