package main

import (
	"cmp"
	"os"
	"strings"
	"time"
)

// Tests that count a second; nothing runs beside them.
const counted = "^Test(Standstill|StubStandstill|TwoLinks)$"

// forFull are tests that only make test-full runs, by their folders. No seeded defect needs them
// (TestForFull), and others on each push test the same code with less.
var forFull = map[string]string{
	"./abi/gen":             "Removal",
	"./capi/gen":            "Surface",
	"./fabric/ofi":          "WhatStandsStill",
	"./fabric/ofi/stub/...": "Sanitized",
	"./fabric/rail":         "OFI",
	"./tests/bad":           "FewDescriptorsForPEs",
	"./tests/device":        "GPUPrograms|Headers|Units",
	"./tests/experiments":   "Others|Sanitizers",
	"./tests/install":       "Spaces|Ways",
	"./tests/nvshmem":       "Called|DeviceLink|SameCode|ExpertsWithoutOrder|Headers|NVRTC|TileTypes|Triton",
	"./tests/perf":          "OSHMEM|Beside",
	"./tests/preload":       "Sanitizers",
	"./tests/ring":          "ThreadSanitizer",
	"./tests/run":           "MissingFence|StubStandstill|TwoLinks",
	"./tests/setup":         "BuildLacks",
	"./tests/wire":          "Attacks",
}

// table returns the stages in the order in which they begin, for each push or in full. What takes
// long comes first. The loads are those of two idle processors.
func table(full bool) ([]stage, error) {
	goCommand := cmp.Or(os.Getenv("GO"), "go")
	tested, err := packages(goCommand, full)
	if err != nil {
		return nil, err
	}
	limit := "25m"
	if full {
		limit = "60m"
	}
	// Go's compilers end before their garbage matters: without collecting it they take a quarter less,
	// and 0.9 GB at most.
	const compilers = "GOGC=off GOMEMLIMIT=1GiB"
	goTest := goCommand + " test -vet=off -toolexec 'env " + compilers + "' -timeout " + limit // make check runs vet
	// Collecting garbage less often saves a tenth of the time of tests, none of which uses much memory.
	// Builds with the race detector need no debug information. Without inlining their compiler takes a
	// third less, 58 s of a processor for 85, and the tests run for 9 s more.
	race := "GOGC=400 " + goTest + " -race -buildmode=exe '-gcflags=all=-dwarf=false -l' "
	plain := "GOGC=400 " + goTest + " "
	// In full also with the detector's checks of pointers, for which packages are compiled anew.
	pointers := plain
	if full {
		pointers += "-gcflags=-d=checkptr "
	}
	// Tests with stages of their own.
	const leaves = "-skip '^Test(Sim|Played)[A-Z]' "
	// Go's cache does not know the programs under test.
	programs := goTest + " -count=1 -p 1 "
	// PEs that wait for each other come before compilers.
	pes := programs + "-exec $PWD/scripts/prompt "

	// in is the tests of a folder but for those that are for make test-full or have another stage.
	in := func(folder string, elsewhere ...string) string {
		if names := forFull[folder]; names != "" && !full {
			elsewhere = append(elsewhere, "^Test("+names+")$")
		}
		if len(elsewhere) == 0 {
			return folder
		}
		return "-skip '" + strings.Join(elsewhere, "|") + "' " + folder
	}

	rows := []stage{
		{"build", "", 2, minutes(10), compilers + " make --no-print-directory -s -j$(nproc) build examples tests " + sanitized(full)},

		{"device code", "build", 1, minutes(25), programs + in("./tests/device")},
		{"programs", "build", 1, minutes(25), pes + "-parallel 1 " + in("./tests/run", counted, "^TestIdle$")},
		{"race detector", "build", 1, minutes(25), race + "-p 2 " + leaves + strings.Join(tested.threads, " ")},
		{"surface of NVSHMEM", "build", 1, minutes(15), programs + in("./tests/nvshmem")},
		{"python", "build", .5, minutes(15), python(full)},
		{"losses", "build", .3, minutes(15), pes + in("./tests/wire") + " && " + pes + "./tests/failure"},
		{"ring", "build", .8, minutes(15), pes + in("./tests/ring")},
		{"EFA", "build", .5, minutes(15), pes + "./tests/efa"},
		{"launchers", "build", .3, minutes(15), pes + "./tests/launchers ./tests/hosts"},
		{"simulated jobs", "build", 1, minutes(15), plain + "./runtime/proxy -run '^TestSim[A-Z]'"},
		{"played jobs", "build", 1, minutes(15), pointers + "./runtime/proxy ./queue -run '^TestPlayed[A-Z]'"},
		{"rails", "build", 1, minutes(15), pointers + in("./fabric/rail")},
		{"rules of networks", "build", 1, minutes(15), pointers + in("./fabric/ofi")},
		{"networks", "build", 1, minutes(15), plain + "./fabric/chaos ./fabric/sim"},
		{"replay", "build", 1, minutes(15), pointers + "./cmd/internal/replay"},
		{"no threads", "build", 1, minutes(15), plain + leaves + strings.Join(tested.others, " ")},
		{"generators", "build", 1, minutes(15), plain + in("./abi/gen") + " && " + plain + in("./capi/gen")},
		{"simulated libfabric", "build", 1, minutes(15), plain + in("./fabric/ofi/stub/...")},
		{"bench", "build", 1, minutes(15), plain + "./bench/... && timeout 1m python3 -m unittest discover -q -s bench"},
		{"set-up", "build", .8, minutes(15), programs + in("./tests/setup")},
		{"installation", "build", .8, minutes(15), programs + in("./tests/install")},
		{"layouts", "build", .8, minutes(15), programs + "./tests/abi"},
		{"starts", "build", .5, minutes(15), pes + "./tests/start ./tests/pods"},
		{"doctor", "build", .5, minutes(15), pes + "./tests/doctor"},
		{"examples", "build", .5, minutes(15), pes + "./tests/examples"},
		{"daemons", "build", .5, minutes(15), pes + "./tests/daemons"},
		{"bad calls", "build", .5, minutes(15), pes + in("./tests/bad")},
		{"measuring", "build", .5, minutes(15), pes + in("./tests/perf")},
		{"trace", "build", .5, minutes(15), pes + in("./tests/preload")},
		{"redirect", "build", .5, minutes(15), pes + "./tests/redirect"},
		{"experiments", "build", .5, minutes(15), pes + in("./tests/experiments")},
		{"seeded defects", "build", .5, minutes(15), pes + "./tests/seeded"},
		{"front", "build", .5, minutes(15), pes + "./tests/front"},
		{"ordinary programs", "build", .5, minutes(15), pes + "./tests/ordinary"},
		{"other programs", "build", .5, minutes(15), pes + "./tests/nvtx ./tests/rma ./tests/statics ./tests/stats"},
		{"idle", "build", .1, minutes(5), pes + "./tests/run -run '^TestIdle$'"},

		{"alone", "build", alone, minutes(5), programs + "-run '" + counted + "' " + in("./tests/run")},
	}
	if full {
		// Programs in C, tests of the stub, and tests that spin.
		rows = append(rows, stage{"race detector, more", "build", 2, minutes(60), race + "./fabric/ofi/stub/... ./bench/..."})
		rows = append(rows, searches(goTest)...)
	}
	return rows, nil
}

// sanitized returns the target of make with the programs under sanitizers. Each push has the longest
// ones, under AddressSanitizer.
func sanitized(full bool) string {
	if full {
		return "tests-asan tests-tsan"
	}
	return "tests-asan-on-push"
}

// python runs the package's tests as PEs in several configurations, and without a launcher.
func python(full bool) string {
	less := " -m 'not full'"
	if full {
		less = ""
	}
	// numpy starts a thread for each processor when it is imported, in each of 300 processes.
	return "OPENBLAS_NUM_THREADS=1 PYTHONPATH=$(realpath $(scripts/setup --tool python))/lib scripts/prompt python3 -m pytest -c python/pyproject.toml python/tests" + less
}

func minutes(n int) time.Duration { return time.Duration(n) * time.Minute }
