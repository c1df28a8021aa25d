package run

import (
	"strconv"
	"time"

	"libshmem/fabric/ofi/stub"
	"libshmem/tests/need"
)

// A configuration is a way to run every program.
type configuration struct {
	name string
	// args go to shmemrun.
	args []string
	// build is the directory below the build directory with bin and tests: "" or a sanitizer's.
	build string
	// namespaces: it makes network namespaces.
	namespaces bool
	// gpu: PEs have their heaps in the memory of a fake GPU: the CPU reaches it, but the library
	// follows the driver.
	gpu bool
	// nic is how a NIC of the stub reaches those heaps, as in SHMEM_GPU_NET; "": none does.
	nic string
	// network is a network of NICs that this machine does not have; nil: its own.
	network *stub.Network
	// many: there are more PEs than write to each other directly in a small reduction; for the
	// programs that ask for it.
	many bool
}

// onTCP pins the provider, so that the same route is tested on every machine. The run between
// network namespaces leaves the choice to the library.
var onTCP = []string{"-x", "SHMEM_PROVIDER=tcp"}

func rounds(load string) string { return strconv.Itoa(need.Load(load)) }

func on(pes string, args ...string) []string { return append([]string{"-n", pes}, args...) }

// gpuNIC is over the newest of the stub's networks.
var gpuNIC = configuration{name: "gpu-nic-4", args: on("4", "--hosts", "2"), gpu: true, nic: "dmabuf", network: &stub.Networks(false)[0]}

var configurations = []configuration{
	{name: "node-1", args: on("1")},
	{name: "node-2", args: on("2")},
	{name: "node-3", args: on("3")},
	{name: "node-4", args: on("4")},
	{name: "node-8", args: on("8")},
	{name: "hosts-2", args: on("2", append(onTCP, "--hosts", "2")...)},
	{name: "hosts-4", args: on("4", append(onTCP, "--hosts", "2")...)},
	{name: "hosts-3-1", args: on("4", append(onTCP, "--hosts", "3,1", "--map", "cyclic")...)},
	// Collective calls as the model does not choose them.
	{name: "flat-4", args: on("4", append(onTCP, "--hosts", "2", "-x", "SHMEM_COLLECTIVES=flat")...)},
	{name: "forced-8", args: on("8", append(onTCP, "--hosts", "4", "-x", "SHMEM_COLLECTIVES=owners,chain,apart,steps")...)},
	{name: "forced-5", args: on("5", append(onTCP, "--hosts", "3,1,1", "-x", "SHMEM_COLLECTIVES=pairs,wide,packed")...)},
	{name: "forced-6", args: on("6", append(onTCP, "--hosts", "2,1,1,1,1", "-x", "SHMEM_COLLECTIVES=halves")...)},
	// 16 and 3 beyond.
	{name: "node-19", args: on("19"), many: true},
	{name: "hosts-19", args: on("19", append(onTCP, "--hosts", "19")...), many: true},
	// Rings, and their operations, spread over two proxy threads.
	{name: "proxies-2", args: on("4", append(onTCP, "--hosts", "2", "-x", "SHMEM_PROXY_THREADS=2")...)},
	// All PEs over a network with chaos.
	{name: "chaos-3", args: on("3", append(onTCP, "--chaos", "7,delay=300us")...)},
	{name: "netns-2", args: on("2", "--hosts", "2", "--host-netns"), namespaces: true},
	// All PEs over two networks at once.
	{name: "links-3", args: on("3", "--hosts", "3", "--host-netns", "--links", "2", "-x", "SHMEM_NIC_POLICY=split"), namespaces: true},
	{name: "gpu-node-3", args: on("3"), gpu: true},
	{name: "gpu-hosts-4", args: on("4", append(onTCP, "--hosts", "2")...), gpu: true},
	gpuNIC,
	{name: "asan-node-2", args: on("2"), build: "asan"},
	{name: "asan-hosts-2", args: on("2", append(onTCP, "--hosts", "2")...), build: "asan"},
	{name: "tsan-node-2", args: on("2"), build: "tsan"},
	{name: "tsan-hosts-2", args: on("2", append(onTCP, "--hosts", "2")...), build: "tsan"},
}

// onPush are the configurations in which each push runs a program; "" is for programs without a row.
// They are one of each kind of route, those that a seeded defect needs (tests/seeded), and those of
// which the program has more than others. make test-full has all.
var onPush = map[string][]string{
	"":               {"node-3", "hosts-3-1", "chaos-3", "gpu-node-3"},
	"activesets":     {"node-8", "node-19", "hosts-3-1"},
	"collectives":    {"node-3", "hosts-4", "hosts-3-1", "flat-4", "forced-8", "forced-5", "forced-6", "hosts-19", "chaos-3", "gpu-hosts-4", "asan-hosts-2"},
	"contexts":       {"node-4", "hosts-3-1", "gpu-node-3"},
	"contexts_apart": {"hosts-4", "links-3"},
	"deprecated":     {"node-3"},
	"eager":          {"node-2", "hosts-4", "gpu-node-3", "gpu-hosts-4"},
	"edges":          {"node-3", "chaos-3"},
	"growth":         {"node-2", "gpu-hosts-4", "gpu-nic-4"},
	"large":          {"node-2", "hosts-2"},
	"lent":           {"gpu-node-3", "gpu-hosts-4", "gpu-nic-4"},
	"lifecycle":      {"node-3", "hosts-3-1", "links-3", "gpu-node-3", "gpu-nic-4"},
	"litmus":         {"node-2", "hosts-2", "chaos-3", "gpu-hosts-4", "gpu-nic-4"},
	"locks":          {"node-2", "chaos-3", "gpu-node-3"},
	"memory":         {"node-2", "hosts-3-1", "gpu-node-3", "asan-hosts-2"},
	"mesh":           {"node-3", "asan-node-2"},
	"messages":       {"node-3", "node-19", "hosts-3-1", "chaos-3", "asan-hosts-2"},
	"notify":         {"node-3", "hosts-4", "chaos-3", "gpu-node-3", "gpu-nic-4", "asan-hosts-2"},
	"ordering":       {"node-2", "hosts-2", "chaos-3"},
	"rings":          {"node-3", "hosts-3-1", "proxies-2", "asan-hosts-2"},
	"sendrecv":       {"node-1", "node-2", "hosts-3-1", "chaos-3", "asan-node-2"},
	"sizes":          {"hosts-2", "gpu-nic-4"},
	"standstill":     {"node-2", "proxies-2"},
	"statics":        {"node-2", "hosts-3-1", "netns-2", "gpu-node-3", "gpu-nic-4", "asan-hosts-2"},
	"steps":          {"node-8", "node-19", "hosts-3-1"},
	"sync":           {"node-2", "hosts-3-1", "gpu-node-3"},
	"teams":          {"node-3", "node-4", "hosts-3-1", "gpu-node-3"},
	"threads":        {"node-2", "hosts-3-1", "chaos-3", "gpu-node-3"},
	// Of the generated ones scripts/test builds none with a sanitizer, and of the others those above
	// (ASAN_ON_PUSH in the Makefile).
	"zz_activesets":  {"node-3", "node-8", "hosts-3-1", "forced-8"},
	"zz_atomics":     {"node-2", "hosts-2"},
	"zz_collectives": {"node-3", "hosts-3-1", "chaos-3", "gpu-node-3"},
	"zz_deprecated":  {"node-3"},
	"zz_generic":     {"node-1"},
	"zz_reduce":      {"node-2", "node-3", "node-19", "hosts-3-1", "forced-8"},
	"zz_rma":         {"node-2", "chaos-3", "gpu-node-3"},
	"zz_signal":      {"node-3", "hosts-3-1", "gpu-node-3"},
	"zz_strided":     {"node-2", "hosts-2"},
	"zz_wait":        {"node-2", "hosts-2"},
}

// wholeConfigurations are for -whole: 1 to 8 PEs on one node, on two and on three simulated hosts,
// and over a network with chaos.
func wholeConfigurations() []configuration {
	var out []configuration
	add := func(kind string, pes int, args ...string) {
		n := strconv.Itoa(pes)
		out = append(out, configuration{name: kind + "-" + n, args: on(n, args...)})
	}
	for pes := 1; pes <= 8; pes++ {
		add("node", pes)
	}
	for hosts := 2; hosts <= 3; hosts++ {
		for pes := hosts; pes <= 8; pes++ {
			h := strconv.Itoa(hosts)
			add("hosts-"+h, pes, append(onTCP, "--hosts", h)...)
		}
	}
	for seed, pes := range []int{2, 3, 5, 8} {
		add("chaos", pes, append(onTCP, "--chaos", strconv.Itoa(seed)+",delay=300us")...)
	}
	return out
}

// aPart returns the argument of a generated program with which it has the calls with some text in
// their names; in make test-full it has all.
func aPart(text string) []string {
	if need.Left("configurations") {
		return []string{text}
	}
	return nil
}

// unsignedIn returns the arguments of a generated program that has the calls of unsigned types
// alone in some configurations on each push: uint8 to uint64 have elements of 1 to 8 bytes.
func unsignedIn(names ...string) map[string][]string {
	out := map[string][]string{}
	for _, name := range names {
		out[name] = aPart("uint")
	}
	return out
}

// onOneNIC returns the sizes on one NIC of the stub: on each push to 1 MiB, since four NICs have
// more.
func onOneNIC() []string {
	if need.Left("configurations") {
		return []string{"1048576", "7"}
	}
	return someTo64M
}

// A program differs from the rule by the fields here. The rule: a program runs without arguments in
// every configuration, ends with status 0, and prints a line with the number of its checks.
type program struct {
	// only names the configurations; none means all.
	only []string
	args []string
	// argsIn are the arguments in some configurations, in place of args.
	argsIn map[string][]string
	// whole are the arguments with -whole, for programs with such a run: the conformance suite.
	whole []string
	// many: it runs in the configurations of many PEs too.
	many bool
	// hostOnly: it tests heaps in main memory.
	hostOnly bool
	// limit is the longest a run may take; 0 means the default.
	limit time.Duration
}

var (
	whole  = []string{"whole"}
	asItIs = []string{}
	to64M  = []string{"67108864"}
	// The same sizes but for six of seven to 16 KiB.
	someTo64M = []string{"67108864", "7"}
	// Elsewhere the same code serves the heap's edges.
	onHeapEdges = []string{"node-1", "node-3", "hosts-4", "chaos-3"}
)

var programs = map[string]program{
	// With ten teams more than it uses those that it does have small rounds, and with 42 none.
	"collectives": {args: []string{rounds("collectives")}, argsIn: map[string][]string{
		"forced-8": {rounds("collectives/pieces")}, "hosts-3-1": {rounds("collectives"), "1", "10"}, "hosts-4": {rounds("collectives/pieces"), "1", "42"},
	}, many: true},
	// Bytes of GPU memory use other messages.
	"counters": {hostOnly: true},
	// Many rounds of all checks on the node and between two hosts, few where proxies copy; elsewhere
	// the program's own number, between the two.
	"litmus": {
		argsIn: map[string][]string{
			"node-2": {rounds("litmus"), rounds("litmus")}, "hosts-2": {rounds("litmus"), rounds("litmus")},
			"gpu-hosts-4": {rounds("litmus/GPU")}, "gpu-nic-4": {rounds("litmus/GPU")},
		},
		limit: 15 * time.Minute,
	},
	"memory": {args: []string{rounds("memory")}},
	// Many rounds on the node and between two hosts, and under chaos of three pairs of PEs
	// together. Atomic operations of C do not reach a GPU.
	"ordering": {
		only:   []string{"node-1", "node-2", "node-4", "hosts-2", "hosts-4", "chaos-3"},
		argsIn: map[string][]string{"node-2": {rounds("ordering")}, "hosts-2": {rounds("ordering")}, "chaos-3": {rounds("ordering/chaos")}},
		limit:  15 * time.Minute,
	},
	// TestStandstill tests its limits of time; here sanitizers slow it down.
	"standstill": {
		only: []string{"node-2", "proxies-2", "asan-hosts-2", "tsan-hosts-2"},
		args: []string{"200", "60"},
	},
	"messages": {many: true, hostOnly: true},
	"notify": {argsIn: map[string][]string{
		stub.Newest: {"carried"}, stub.Newest + "-nics-4": {"carried"}, "hosts-2": {"ordered"}, "hosts-4": {"ordered"},
	}},
	// Many messages on the node and between two hosts; the paths are those of messages and writes.
	"sendrecv": {
		only: []string{
			"node-1", "node-2", "node-8", "hosts-2", "hosts-3-1", "chaos-3", "links-3", "gpu-node-3", "gpu-hosts-4", "asan-node-2",
			"asan-hosts-2", "tsan-node-2", "tsan-hosts-2",
		},
		argsIn: map[string][]string{"node-2": {rounds("messages")}, "hosts-2": {rounds("messages/hosts")}, stub.Newest: {"100"}},
		args:   []string{"600"},
		limit:  10 * time.Minute,
	},
	"edges": {only: onHeapEdges, whole: asItIs},
	// A call of each type is tested on the node; the network sees the sizes of elements alone.
	"zz_rma":         {whole: whole, argsIn: unsignedIn("chaos-3")},
	"zz_atomics":     {whole: whole, argsIn: unsignedIn("hosts-2")},
	"zz_signal":      {whole: whole, argsIn: unsignedIn("hosts-3-1")},
	"zz_collectives": {whole: whole, argsIn: unsignedIn("hosts-3-1", "chaos-3")},
	"zz_wait":        {whole: whole, argsIn: unsignedIn("hosts-2")},
	// Types differ in what combines two elements, and not in the steps of many PEs.
	"zz_reduce": {many: true, limit: 5 * time.Minute, whole: whole, argsIn: map[string][]string{
		"node-19": aPart("sum_to_all"), "hosts-3-1": aPart("uint"), "forced-8": aPart("short_sum_to_all"),
	}},
	// Teams of one to 19 PEs on a node; elsewhere other programs have these calls.
	"steps": {only: []string{"node-8", "node-19", "hosts-3-1", "gpu-node-3"}, many: true},
	// Meshes have a network of their own, whatever the job's is.
	"mesh": {only: []string{"node-1", "node-3", "node-8", "hosts-2", "asan-node-2"}},
	// Up to 64 MiB over tcp and over NICs of the stub; elsewhere to 1 MiB, and in the memory of a
	// GPU, where 32,000 puts take 7 s, one size of seven.
	"sizes": {
		only:   []string{"node-2", "hosts-2", "links-3", "gpu-nic-4", "asan-hosts-2"},
		argsIn: map[string][]string{"hosts-2": to64M, stub.Newest: onOneNIC(), stub.Newest + "-nics-4": someTo64M, "gpu-nic-4": {"1048576", "7"}},
	},
	// The routes are within the node, by a network with and without order, and to a GPU.
	"eager": {
		only: []string{
			"node-1", "node-2", "node-4", "hosts-4", "chaos-3", "gpu-node-3", "gpu-hosts-4", "asan-node-2", "tsan-node-2", "tsan-hosts-2",
		},
		argsIn: map[string][]string{"node-2": {"300", "4096", "4096"}, "hosts-4": {"300", "0", "0"}, "gpu-hosts-4": {rounds("eager/GPU")}},
	},
	// Configurations in which heaps are allocated part by part, on one node and over a network.
	"growth": {only: []string{"node-2", "hosts-4", "gpu-node-3", "gpu-hosts-4", "gpu-nic-4"}},
	// An operation between hosts is cut into parts of 64 MiB.
	"large": {only: []string{"node-2", "hosts-2", "chaos-3"}, hostOnly: true},
	// Copies of single elements to GPU memory are slow, and slower still with the fake driver; one
	// configuration of the network has them.
	"zz_strided": {whole: whole, argsIn: unsignedIn("hosts-2", stub.Newest), only: []string{
		"node-1", "node-2", "node-3", "node-8", "hosts-2", "hosts-4", "hosts-3-1", "chaos-3", "netns-2",
		"gpu-node-3", "gpu-hosts-4", "asan-hosts-2", "tsan-hosts-2",
	}},
	// Of the collectives on active sets only the count of messages differs.
	"activesets": {many: true, only: []string{
		"node-1", "node-3", "node-8", "hosts-4", "hosts-3-1", "node-19", "hosts-19", "chaos-3", "gpu-node-3", "gpu-hosts-4",
		"asan-hosts-2", "tsan-node-2", "tsan-hosts-2",
	}},
	"zz_activesets": {
		whole: whole, argsIn: map[string][]string{"forced-8": aPart("broadcast")},
		only: []string{"node-1", "node-3", "node-8", "hosts-4", "hosts-3-1", "forced-8", "chaos-3", "gpu-hosts-4"},
	},
	// Other names of functions that other programs test everywhere.
	"deprecated":    {only: []string{"node-1", "node-3", "hosts-4", "gpu-node-3"}},
	"zz_deprecated": {only: []string{"node-1", "node-3", "hosts-2", "gpu-node-3"}, argsIn: unsignedIn(stub.Newest)},
	// The program stops a PE that another reaches over the network, beside a second one. With a
	// GPU's copies in between all contexts wait for each other.
	"contexts_apart": {only: []string{"hosts-4", "chaos-3", "links-3"}},
	// The routes are those of the heap; every kind of them once.
	"statics": {only: []string{
		"node-1", "node-2", "node-8", "hosts-2", "hosts-3-1", "proxies-2", "chaos-3", "netns-2",
		"gpu-node-3", "gpu-hosts-4", "gpu-nic-4", "asan-node-2", "asan-hosts-2", "tsan-node-2", "tsan-hosts-2",
	}},
	// Heaps in the memory of a GPU use no main memory; tests/bad covers them.
	"buffers": {hostOnly: true},
	"lent":    {only: []string{"gpu-node-3", "gpu-hosts-4", "gpu-nic-4"}},
	// The compiler's choice is the same everywhere.
	"zz_generic": {only: []string{"node-1"}},
	// Host threads store to their neighbours' heaps directly.
	"rings": {hostOnly: true},
	// The fake GPU runs none of the library's kernels, so no PE may be elsewhere.
	"stream": {only: []string{"gpu-node-3"}},
}
