package seeded

// What a build makes, and what it says meanwhile.
var setupDefects = []defect{
	{
		id: "setup/kernels-in-every-build", file: "device/rules.mk",
		was:  "KERNELS_OF_BUILD   := $(if $(CUDA_FOUND),$(KERNEL_FILE),without-kernels)",
		is:   "KERNELS_OF_BUILD   := $(KERNEL_FILE)",
		user: "make build fetches CUDA's compiler and runs it for minutes on a machine that has no GPU",
		by:   unit("./tests/setup", "^TestKernelsWhereCUDAIs$"), says: `no CUDA: <nil>, and make build would compile the kernels`,
	},
	{
		id: "setup/install-as-build", file: "device/rules.mk",
		was:  "without-kernels)\nKERNELS_OF_INSTALL := $(KERNEL_FILE)",
		is:   "without-kernels)\nKERNELS_OF_INSTALL := $(KERNELS_OF_BUILD)",
		user: "a library that was installed where no GPU is cannot run a barrier on a stream",
		by:   unit("./tests/setup", "^TestKernelsInEveryInstallation$"), says: `make install: .*it would not compile the kernels or get the compiler`,
	},
	{
		id: "setup/demo-of-everything", file: "Makefile",
		was:  "$(PARALLEL) $(DEMO)",
		is:   "$(PARALLEL) $(DEMO) build",
		user: "make demo takes twice as long as it has to",
		by:   unit("./tests/setup", "^TestDemoBuilds$"), says: `make demo has "./cmd/shmem-"`,
	},
	{
		id: "setup/model-in-set-up", file: "scripts/setup",
		was:  "model)\n    wheels+=",
		is:   "demo | model)\n    wheels+=",
		user: "make demo fetches its model before it builds, and takes longer where the network is slow",
		by:   unit("./tests/setup", "^TestModel$"), says: `demo: .*minilm`,
	},
	{
		id: "setup/status-of-the-ticker", file: "scripts/step",
		was:  "exit \"$status\"",
		is:   "exit 0",
		user: "make demo goes on after a build that has failed",
		by:   unit("./tests/setup", "^TestStep$"), says: `<nil>, output \["out"\], errors "who: failed with status 3`,
	},
	{
		id: "setup/clang-that-only-warns", file: "scripts/clang",
		was:  "-Wall -Wextra -Werror -ferror-limit=0",
		is:   "-Wall -Wextra -ferror-limit=0",
		user: "make check passes whatever clang says about C",
		by:   unit("./tests/repo", "^TestClang$"), says: `no "c.c:5:9: error: variable 'b' is used uninitialized" in`,
	},
	{
		id: "setup/headers-as-older-cxx", file: "scripts/clang",
		was:  "for std in c11 c17 c++11 ",
		is:   "for std in c11 c17 c++14 ",
		user: "a header that C++11 does not take is released",
		by:   unit("./tests/repo", "^TestClang$"), says: `no "cxx11.h:2:2: error: wrong" in`,
	},
}
