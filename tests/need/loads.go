package need

import "os"

// A load is the amount of work of a test: on each push, and in make test-full.
type load struct {
	push, full int
	what       string
}

// These two tables list what is reduced on each push, so that make test takes ten minutes.
// scripts/test full runs everything that is listed here, and searches that make test has never had.
var loads = map[string]load{
	"litmus":             {1_000, 100_000, "rounds of tests/c/litmus.c on one node, and between two hosts"},
	"litmus/GPU":         {150, 1_000, "the same between hosts, from GPU to GPU"},
	"eager/GPU":          {60, 300, "eager tokens of each round of tests/c/eager.c between hosts, from GPU to GPU"},
	"fences":             {8, 20, "runs without a fence, with chaos and with both (tests/run, TestMissingFence)"},
	"standstill":         {12, 100, "percent of the puts of each run (tests/run, TestStandstill)"},
	"ordering":           {5_000, 100_000, "rounds of tests/c/ordering.c on one node, and between two hosts"},
	"ordering/chaos":     {2_500, 40_000, "rounds of tests/c/ordering.c on a network with chaos"},
	"experts":            {12_000, 1_000_000, "messages that are counted and not signalled, on each of two networks without order (tests/examples, TestExperts)"},
	"collectives":        {60, 1_000, "collective calls of random kinds, sizes and teams (tests/c/collectives.c)"},
	"collectives/pieces": {240, 1_000, "the same where more calls are needed, for broadcasts of several pieces and sums of the last team"},
	"fill":               {32, 1_200, "pages of 64 KiB that each of four clients gets in a round (tests/examples, TestPagedFill)"},
	"cells":              {100, 300, "cells that a kernel puts over each network, by each kind of GPU (runtime/proxy, TestPlayedCells)"},
	"operations":         {200_000, 10_000_000, "operations of random programs on simulated networks (runtime/proxy, TestSimOrder)"},
	"paths":              {50, 1000, "orders of events that are tried for each small program (runtime/proxy, TestSimExplore)"},
	"memory":             {700, 5_000, "rounds in which 1 MiB of a heap of 1 GiB is allocated and freed (tests/c/memory.c)"},
	"tokens":             {2_500, 1_000_000, "eager tokens on each of three simulated networks (runtime/proxy, TestSimTokens)"},
	"trace":              {20_000, 10_000_000, "events of a trace that a report reads (cmd/internal/tracereport, TestMany)"},
	"unread":             {600, 2_000, "writes to an end that reads nothing (fabric/fabrictest)"},
	"sleep":              {150, 400, "milliseconds in which nothing comes and the processor must rest (fabric/fabrictest)"},
	"losses":             {4, 10, "seeds for a NIC that is lost (fabric/rail, TestPlayedLoss)"},
	"twins":              {30_000, 5_000_000, "messages that two engines of equal state send, one in C and one in Go (runtime/proxy, TestPlayedTwins)"},
	"senders":            {50, 200, "PEs that send to one (runtime/proxy, TestSimPressure)"},
	"senders/each":       {900, 1_200, "operations of each of them"},
	"messages":           {2_500, 1_000_000, "two-sided messages of each PE by order, and of its threads, on one node (tests/c/sendrecv.c)"},
	"messages/hosts":     {1_000, 1_000_000, "the same between two hosts"},
	"messages/sim":       {6_000, 1_000_000, "two-sided messages over ten simulated networks, most of which lose NICs (runtime/proxy, TestSimMessages)"},
	"NICs":               {5, 40, "seeds for programs that lose a NIC (runtime/proxy, TestSimLostNIC)"},
	"rates":              {60, 120, "operations of 1 MiB for each of 32 NICs, whose rate in virtual time is compared with the line's (fabric/rail, TestRates)"},
	"mutations":          {200, 100_000, "changed inputs of each reader of traces, machines and messages of launchers (tests/mutate)"},
	"frames":             {10_000, 100_000, "frames that were changed at random (runtime/proxy, TestSimFrames)"},
	"teams":              {9, 60, "teams at once whose collectives kernels call as threads of the host (tests/device, TestTeams)"},
	"ring":               {500, 2000, "rounds of host threads that push into rings (tests/ring, TestThreads)"},
	"ring/rate":          {1, 5, "millions of operations whose rate is in the log (tests/ring, TestRate)"},
	"bench/ring":         {500, 5_000, "operations whose rate and whose way is measured for each consumer (bench/ring, TestRing)"},
	"preload":            {150_000, 10_000_000, "calls of two threads that are traced (tests/preload, TestCalls)"},
	"experiments":        {3, 100, "seeds for each program without a fault (tests/experiments, TestSilent)"},
	"members":            {1000, 10_000, "members of a job whose root's memory is measured (runtime/bootstrap/uid, TestRootMemory)"},
	"pair":               {600, 100_000, "seeds for each search of the orders in which two or three endpoints connect (fabric/ofi/pair)"},
	"requests":           {540, 10_800, "connection requests of a stranger, before, while and after PEs connect (fabric/ofi, TestForeignRequests)"},
	"connections":        {20, 1_000, "endpoints of a process that connect with one (fabric/ofi, TestManyConnections)"},
	"wire":               {20, 5_000, "changes of a bit on the wire, in handshakes and in what goes by a connection (fabric/ofi, TestChangedHandshake and TestChangedBytes)"},
	"attacks":            {2, 300, "attacks on jobs by root on the wire, for each of four providers (tests/wire, TestAttacks)"},
	"late pods":          {1, 30, "seconds by which a pod comes late (tests/pods)"},
	"hosts":              {2, 8, "hosts with an sshd each, on which shmemrun starts PEs (tests/hosts)"},
	"PEs":                {100, 1000, "PEs of a job on a simulated network (runtime/proxy, TestSimScale)"},
}

var left = map[string]string{
	"columns":              "reductions between 4 and 16 hosts of the models of EFA are compared; in make test-full between 64 and 128, too (runtime/proxy, TestSimColumns)",
	"experiments":          "programs with a fault run on libshmem, and two right programs of Open MPI under the modes; in make test-full the ones with a fault run on Open MPI, too, and five right ones, and the modes run under sanitizers (tests/experiments)",
	"architectures":        "kernels are judged for sm_90 and compiled for sm_75, too, and the library's own are PTX for sm_90; in make test-full they are judged for five architectures, and assembled (tests/device, KERNEL_ARCHS and KERNEL_PTX in device/rules.mk)",
	"emulated":             "kernels that run as threads of the host call each name in one type of each kind and size, those of NVSHMEM on one node; in make test-full in every type, and between hosts (tests/device, tests/nvshmem). nvcc compiles what they call (device/rules.mk)",
	"kernels":              "the device linker's report is read of one call of each family of shmem, for sm_90, and of a put by a block alone, for sm_120; in make test-full of calls of both surfaces in each kind and size of type, for five architectures, with -rdc=true and without (tests/device, TestLinked), and of a call of each family of shmem that NVRTC compiles, instead of three",
	"headers":              "headers of the device interface are compiled alone as C99 and C++11, and those for nvcc by nvcc; in make test-full each as C11, as C++17 and by nvcc, too (tests/device)",
	"programs":             "programs for machines with a GPU are compiled to PTX, several as one text with the headers before all of them (scripts/together), which reads their host part, too, and two are linked, and one of NVSHMEM by -rdc=true; in make test-full each is built by itself, and that without, too (tests/device, tests/nvshmem)",
	"engines":              "up to 128 engines are one job within a process, and jobs of 8 and 33 PEs have one or four NICs of one fabric; in make test-full 256 engines, too, and both fabrics (tests/efa)",
	"bad calls":            "calls with bad arguments that end the job run on one node; in make test-full between two hosts, too (tests/bad)",
	"browser":              "a browser opens the page of a report where one is installed; make test-full installs chromium (cmd/internal/tracereport, TestPage)",
	"lost nodes":           "pods end before all have come, with a word of their kernel; in make test-full without one, too (tests/pods)",
	"causes between hosts": "six causes of a bad network between hosts are played; in make test-full eleven (tests/doctor, TestCauses)",
	"installed examples":   "two installed examples are built with the installed Makefile; in make test-full all (tests/install, TestWays)",
	"core":                 "eight programs run under AddressSanitizer, and have the library's calls in it but for generated ones, and a core without; in make test-full all C (ASAN_CORE in the Makefile)",
	"dispatch":             "kernels that dispatch to 64 experts run in five ways; in make test-full in ten, and those that dispatch to 8, too (tests/nvshmem, TestExperts)",
	"stub":                 "the stub runs under AddressSanitizer as one of its providers; in make test-full as all, and with all that breaks its rules there (fabric/ofi/stub)",
	"suites":               "the suite of networks runs over simulated networks of each kind, rough or read late, over two plans of chaos, and over six sets of NICs; in make test-full over each kind both ways, three plans and 16 sets (fabric/sim, fabric/chaos, fabric/rail)",
	"real programs":        "gups, pagerank and halo3d run on one node and between two hosts; in make test-full under chaos, too, and with one to eight PEs (tests/examples, TestRealPrograms)",
	"two links":            "the rate of two real links, shaped to 200 Mb/s, is measured in make test-full alone; what spreads bytes over NICs is simulated (tests/run, TestTwoLinks)",
	"standstills":          "jobs whose data must not stand still run in nine ways; in make test-full in twenty, and over NICs of the stub, whose sleeping PEs each push has in fabric/fabrictest alone (tests/run, TestStandstill and TestStubStandstill)",
	"peers":                "a window is proved for 1,000 PEs, and rates are measured with up to 8 peers; in make test-full for 4,096 PEs, and with 64 peers (runtime/proxy, TestSimOpensLarge and TestSimRates)",
	"refused providers":    "make test-full alone runs a program on providers that the library refuses, which stands still on them (fabric/ofi, TestWhatStandsStill)",
	"strangers":            "endpoints of a stranger connect with PEs over tcp; in make test-full over net and tcp;ofi_rxm, too (tests/failure, TestStrangerEndpoints)",
	"providers":            "the suite of networks runs on six providers, one of them with completions at the target; in make test-full on all (fabric/ofi, TestProviders)",
	"networks":             "the suite of networks runs on one version of each of the stub's providers and fabrics; in make test-full on all (fabric/ofi/stub, TestSuite)",
	"notifications":        "kernels with the state of a fake GPU notify directly, by copies and between hosts; in make test-full through the ring on one node and with full checks, too (tests/device, TestNotifications)",
	"early messages":       "256 and 1,000 simulated PEs use all of their credit while the first message of each is late, with messages of 136 bytes and of 4 KiB; in make test-full 16 and 10,000, too, and messages of four other sizes (runtime/proxy, TestEarlyMemory)",
	"eager":                "kernels with the state of a fake GPU pass eager tokens with notifications between hosts, and others of every third size on one node, and between NICs tokens of 2 MiB in 4 of 16 slots; in make test-full all tokens in all slots, also directly, by copies, in main memory and through the ring on one node (tests/device, TestEager)",
	"window rates":         "the rate by window is that of jobs of 32, 33, 256, 4,096 and 33,000 PEs; in make test-full of 64 and 1,000, too (runtime/proxy, TestSimWindowRates)",
	"preload":              "programs call one function of each family, form and kind of element through the shim; in make test-full they call every function, 1,100 threads call at once, and it runs under ThreadSanitizer and AddressSanitizer, too (tests/preload)",
	"python":               "the package's tests run as PEs alone and as three on two hosts, those of torch in the latter way, torch's launcher starts a job, once, and PEs end without finalize on one host after two calls of init, and on two after one; in make test-full in eight and four, it starts four, PEs end so in four ways, and tests that are marked full run, which import torch in many processes (python/tests)",
	"detector":             "the engine and packages that start goroutines run with the race detector, but for four whose tests run in one goroutine or beside one watch; in make test-full every package whose memory goroutines share runs with the detector, with all of its networks, and so do bench and the stub's own tests, and tests that leave it out check pointers of C as it does (tests/all)",
	"configurations":       "a program runs in one of each kind of route, and in what seeded defects of it need, which is 3 to 6 of 21 ways; generated ones without AddressSanitizer, between hosts mostly with unsigned types alone, and none under ThreadSanitizer; on four NICs of the stub only sizes runs, there and on one NIC with one size of seven to 16 KiB, on one NIC to 1 MiB; eager tokens in tiles go by one version of efa; in make test-full each runs in all ways and with all types, and sizes with each size (tests/run, onPush). of what threads do, Go's own detector sees its part; tests/ring has the ring under ThreadSanitizer in make test-full",
	"stub's NICs":          "four programs run on NICs of the stub with heaps in main memory; in make test-full all that run between hosts and have no row for GPUs there (tests/run, TestStubNICs)",
	"scopes":               "a command that stands for nvcc builds what shmem-perf starts for GPUs and for NVSHMEM; in make test-full nvcc builds it (tests/perf, TestNVCC)",
	"wheels":               "the surface of NVSHMEM is compared with committed facts; in make test-full these are made anew from NVIDIA's wheels, which pip fetches (tests/nvshmem)",
}

// Full reports whether tests run in full: scripts/test full sets TESTS=full.
func Full() bool { return os.Getenv("TESTS") == "full" }

// Load returns the amount of a test's work, by its name in the table.
func Load(name string) int {
	l, ok := loads[name]
	switch {
	case !ok:
		panic("load " + name + ": tests/need/loads.go has none of this name")
	case Full():
		return l.full
	}
	return l.push
}

// Left reports whether a test leaves a part to make test-full, by its name in the table.
func Left(name string) bool {
	if left[name] == "" {
		panic("left " + name + ": tests/need/loads.go has none of this name")
	}
	return !Full()
}
