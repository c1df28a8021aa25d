package repo

import (
	"path"
	"strconv"
	"strings"
	"testing"
)

const module = "libshmem"

// graph lists the packages of the module that each package may import, except in tests.
// A name that ends in /... stands for a package and those below it. A package without a row
// fails, so a new one needs its own row and reason.
//
//	package: allowed imports
//	    # why no others
const graph = `
.:
    # has what every part shares, so it imports nothing

abi/table:
    # a table of layouts, below everything: generators and tests read it
abi/gen: abi/table internal/generated
    # runs when the library is built, as capi/gen
internal/generated:
    # files and their texts, whatever they are made of

capi/spec:
    # a table of data; the generator and tests read it, nothing is behind it
capi/gen: capi/spec internal/generated runtime/config
    # runs when the library is built: what it imported of the runtime would
    # have to be built before the files that it generates. The table of settings is data, too
capi/core/library: capi/core
    # what is linked; package core has C in it, and a package with C that is
    # linked as a library is slow to link
capi/core: fabric fabric/chaos queue queue/channel runtime/bootstrap/uid runtime/config runtime/gpu/cuda runtime/gpu/gpudirect runtime/guard runtime/heap runtime/statuspage runtime/nvtx runtime/onstream runtime/job runtime/job/area runtime/job/place runtime/job/device runtime/job/meet runtime/job/watch runtime/mesh runtime/proxy runtime/proxy/fastpath runtime/rma runtime/shmerr runtime/stats runtime/topo
    # translates the C function table into calls and decides nothing, so that
    # the runtime can be tested without C. It names the types of those calls;
    # what is behind them is picked in runtime/job. It marks its own calls of the driver

cmd/shmemrun: cmd/internal/... fabric/chaos runtime/bootstrap/launch runtime/bootstrap/launch/hostlist runtime/bootstrap/launch/ssh runtime/config runtime/shmerr
    # flags and printing; what a launch is belongs to the package
cmd/shmem-info: . cmd/internal/... fabric runtime/statuspage runtime/mrcache/memmonitor runtime/stats runtime/config runtime/gpu runtime/gpu/cuda runtime/heap/... runtime/job/area runtime/job/place runtime/shmerr runtime/topo fabric/ofi fabric/rail runtime/proxy
    # asks the packages what they are and prints it
cmd/shmem-doctor: . cmd/internal/... fabric fabric/ofi fabric/selftest runtime/bootstrap runtime/config runtime/doctor runtime/doctor/program runtime/gpu runtime/gpu/cuda runtime/job/place runtime/mrcache/memmonitor runtime/shmerr runtime/topo runtime/topo/hwloc
    # as shmem-info, for what is wrong
cmd/internal/options:
    # words about command lines; of what the options mean it knows nothing
cmd/internal/manual:
    # a command's own words, as help, manual page and completion
cmd/internal/manual/write: . cmd/internal/manual
    # asks the built commands for their words, and writes files
cmd/internal/tracefile: . runtime/shmerr
    # reads files of traces, whoever wrote them, and so shares nothing with the writers
cmd/internal/tracefile/sample:
    # writes traces with known answers, by the description of the form: what it shared with the
    # reader, tests of the reader could not find wrong
cmd/internal/tracereport: cmd/internal/tracefile runtime/shmerr
    # adds up events and draws; how files are read is below it
cmd/shmem-trace: . cmd/internal/... runtime/shmerr
    # flags and files; it needs no library, and no network but a simulated one
cmd/internal/perf: . cmd/internal/facts cmd/internal/figure cmd/internal/manual cmd/internal/options runtime/shmerr
    # starts shmemrun and a program of C, as a user does, so that it needs neither library nor launch
cmd/internal/figure: cmd/internal/facts
    # lines, files and arithmetic; it starts nothing
cmd/internal/facts: .
    # files below a root that a test can make, and limits that the kernel knows
cmd/internal/tracereplay: cmd/internal/replay cmd/internal/replay/program cmd/internal/tracefile fabric/sim runtime/shmerr
    # from files to programs of PEs, and words; what a network does is the replay's concern
cmd/internal/replay: . cmd/internal/replay/program fabric fabric/faults fabric/sim runtime/job/area runtime/proxy runtime/proxy/collective runtime/proxy/layout runtime/proxy/mem runtime/proxy/wake runtime/shmerr
    # engines and a simulated network, as in the tests of runtime/proxy; files are its caller's
cmd/internal/replay/program: runtime/shmerr
    # names and times of calls; how they travel is not its concern
cmd/internal/poller: runtime/shmerr
    # asks the kernel alone, before anything else runs

runtime/guard:
    # whatever panics, and whatever then ends the process
runtime/shmerr:
    # everybody returns its errors, so an import here would be a cycle
runtime/shmlog: runtime/config runtime/shmerr
    # the log of every package, set up from the settings
runtime/config: runtime/shmerr
    # settings are read before anything else exists
runtime/config/gendoc: internal/generated runtime/config
    # writes the documentation of the table
runtime/bootstrap: runtime/bootstrap/secret runtime/shmerr
    # bytes and ranks; it knows of no fabric, or a new network would mean a new
    # way to launch
runtime/bootstrap/secret:
    # bytes and proofs, for whoever listens
runtime/bootstrap/...: runtime/bootstrap/... runtime/guard runtime/shmerr
    # as above
runtime/bootstrap/launch: runtime/bootstrap/launch/... runtime/bootstrap/launcher runtime/bootstrap/rendezvous runtime/bootstrap/secret runtime/bootstrap/wire runtime/shmerr runtime/topo
    # as above, and the processors of PEs
runtime/topo: runtime/shmerr
    # pure assignment of NICs and cores, tested on described machines
runtime/topo/hwloc: runtime/topo runtime/shmerr
    # the reader of the machine
runtime/doctor: runtime/bootstrap runtime/config runtime/shmerr runtime/topo
    # what files show of a machine, below a root that a test can make, and what PEs
    # find between them: it asks no library and no driver
runtime/doctor/program: runtime/doctor
    # what the file of a built program shows: of the machine it knows folders alone
runtime/heap: runtime/shmerr
    # arithmetic on offsets: it must not touch memory, so that a random test
    # can run it a million times
runtime/heap/hostmem: runtime/bootstrap/secret runtime/heap runtime/heap/fdpass runtime/shmerr
    # maps memory and hands descriptors over a socket; bytes of no meaning
runtime/heap/fdpass: runtime/bootstrap/secret runtime/shmerr
    # sockets and descriptors of any kind, and the processes that may receive them
runtime/heap/devmem: runtime/bootstrap/secret runtime/gpu runtime/heap/fdpass runtime/shmerr
    # heaps of a device that is handed to it, so that a test can give it another
runtime/gpu: runtime/shmerr
    # memory for rings, of a device that is handed to it: which driver, or that
    # of a test, is picked above
runtime/gpu/gputest: fabric runtime/gpu runtime/shmerr
    # a GPU for tests, with the errors of a driver and the operations of atomics
runtime/gpu/cuda: runtime/gpu runtime/shmerr
    # the door to NVIDIA's driver; what a ring needs it leaves to the package
    # above
runtime/gpu/gpudirect: fabric runtime/config runtime/gpu runtime/shmerr
    # what a GPU and a provider say about NICs' access to memory: the registration is the caller's,
    # a job's or a mesh's
runtime/gpu/amo: runtime/gpu runtime/gpu/cuda
    # a kernel and a stream of the driver's, for the host's atomics
runtime/gpu/cuda/cudatest: tests/cc tests/need
    # builds C for the tests of others
runtime/onstream: queue runtime/gpu runtime/shmerr
    # which operation of a stream or kernel does a call: the driver is handed to
    # it, so that a test can record what it is asked
runtime/sequence:
    # numbers, and what follows from them
runtime/proxy/wait:
    # C for an idle proxy: words and a function, so that it needs nothing
runtime/proxy/fastpath: fabric
    # the proxy's inner loop in C: words and functions, as above, and completions
    # that it leaves to Go
runtime/proxy/fastpath/fastpathtest: fabric runtime/proxy/fastpath
    # providers in C, for tests and benchmarks of what is in C
runtime/proxy/mailboxtest:
    # the front's mailboxes for tests: memory and numbers
runtime/mrcache: fabric runtime/mrcache/memmonitor runtime/shmerr
    # which memory is registered, and for how long; its caller passes the function that registers
runtime/procmaps:
    # the kernel's list of mappings, whatever they are for
runtime/mrcache/memmonitor: runtime/procmaps runtime/shmerr
    # what the kernel says of this process's memory, whatever it is used for
runtime/mrcache/pinned: fabric
    # a NIC for tests
runtime/proxy/clock: runtime/statuspage
    # a number from the processor: what the time is for is not its concern
runtime/proxy/fifo:
    # a queue, of whatever
runtime/proxy/layout: fabric runtime/sequence
    # what C and Go of an engine share in memory, and rules that look at one of its structs alone
runtime/proxy/wake: runtime/proxy/wait
    # words by which threads wait for each other, whatever for
runtime/proxy/early:
    # messages that are kept: bytes with a sender and a number
runtime/proxy/mem: fabric runtime/proxy/layout
    # bytes and elements of the symmetric segment, which a caller or a message's header names
runtime/proxy/flight: fabric runtime/statuspage runtime/proxy/clock runtime/proxy/layout
    # rings of events in a page that is handed to it
runtime/proxy/backlog: fabric
    # names and texts for work that a GPU was given: whose streams have it is not its concern
runtime/proxy/call:
    # a request, its status and a ticket, below the packages that make requests and serve them
runtime/proxy/loop: fabric queue runtime/procmaps runtime/proxy/call runtime/proxy/clock runtime/proxy/fastpath runtime/proxy/wait runtime/trace
    # drives an engine that it knows by two interfaces of its own: what the engine does with an
    # operation is not its concern
runtime/proxy/gpustage/stream/streamtest: fabric runtime/proxy/gpustage/stream runtime/proxy/layout runtime/proxy/mem
    # a GPU for tests of the parts above, without a driver
runtime/proxy/gpustage/stream: fabric runtime/proxy/backlog runtime/proxy/fifo runtime/proxy/layout runtime/proxy/mem runtime/statuspage
    # queues of a GPU and marks in them; what follows a mark is done by its caller
runtime/proxy/gpustage: fabric runtime/gpu runtime/guard runtime/proxy/backlog runtime/proxy/call runtime/proxy/early runtime/proxy/fifo runtime/proxy/gpustage/... runtime/proxy/gpustage/stream runtime/proxy/layout runtime/proxy/mem runtime/shmerr
    # moves GPU memory for an engine that it knows by an interface of its own, on a GPU that is
    # handed to it, so that a test needs neither: the protocol is not its concern
runtime/proxy: fabric runtime/mrcache runtime/proxy/backlog runtime/proxy/call runtime/proxy/clock runtime/proxy/early runtime/proxy/fastpath runtime/proxy/flight runtime/proxy/gpustage runtime/proxy/gpustage/stream runtime/proxy/layout runtime/proxy/mem runtime/proxy/wake runtime/sequence runtime/statuspage
    # the protocol over the fabric, in one package: an operation is read in it from end to end. It gets
    # its provider from runtime/job, so that a test can give it another; it knows neither its thread nor
    # the producers of rings
runtime/proxy/collective:
    # the order of messages between members that are numbers
runtime/stats: fabric runtime/statuspage runtime/proxy/flight runtime/proxy/layout runtime/mrcache runtime/proxy
    # names and tables of what others count
runtime/pathmap: runtime/shmerr runtime/topo
    # letters and a table of what each PE says of itself
runtime/trace/tracetest:
    # reads what runtime/trace writes, and so shares nothing with it
runtime/nvtx: fabric
    # stands between the proxy and its network, as runtime/trace does
runtime/trace: fabric runtime/shmerr
    # a file of events, and a provider around another that makes them
runtime/statuspage: runtime/shmerr
    # pages and how they are found; what an endpoint shows in its own is the
    # proxy's concern
runtime/mesh: fabric fabric/chaos fabric/ofi runtime/bootstrap/secret runtime/gpu runtime/gpu/cuda runtime/gpu/gpudirect runtime/guard runtime/mrcache runtime/mrcache/memmonitor runtime/proxy runtime/proxy/call runtime/proxy/fifo runtime/proxy/gpustage runtime/proxy/gpustage/stream runtime/proxy/loop runtime/proxy/mem runtime/proxy/wait runtime/proxy/wake runtime/shmerr
    # an engine without a job: it reads no setting and has no launcher, so that a process may have
    # several, and a job besides
runtime/rma: fabric/chaos fabric/ofi runtime/bootstrap/uid runtime/mesh runtime/shmerr
    # a mesh whose members meet by a unique id, as the PEs of a job do, and register memory together
runtime/job/area: queue
    # offsets and sizes, and the numbers that kernels know, too
runtime/job/device: fabric queue queue/channel runtime/config runtime/gpu runtime/gpu/amo runtime/gpu/cuda runtime/gpu/gpudirect runtime/guard runtime/heap runtime/heap/devmem runtime/heap/hostmem runtime/job/area runtime/job/meet runtime/job/network runtime/job/watch runtime/onstream runtime/proxy runtime/proxy/call runtime/proxy/gpustage runtime/proxy/wait runtime/shmerr
    # the driver's GPU and the heaps in its reach, and what runs there: it joins kernels, rings and
    # streams with the network that it is given. What learns of loans is an interface of its own.
    # A thread of its own pauses as those of proxies do
runtime/job/network: fabric fabric/chaos fabric/ofi fabric/rail queue runtime/config runtime/gpu runtime/gpu/amo runtime/gpu/cuda runtime/gpu/gpudirect runtime/guard runtime/heap/devmem runtime/heap/hostmem runtime/job/area runtime/job/meet runtime/job/place runtime/job/watch runtime/mrcache runtime/mrcache/memmonitor runtime/nvtx runtime/proxy runtime/proxy/call runtime/proxy/flight runtime/proxy/gpustage runtime/proxy/gpustage/stream runtime/proxy/layout runtime/proxy/loop runtime/proxy/mem runtime/proxy/wake runtime/shmerr runtime/trace
    # picks the implementation of a network, and joins engines to the parts of a job
runtime/job/meet: runtime/bootstrap runtime/config runtime/gpu runtime/job/place runtime/pathmap runtime/proxy/gpustage runtime/shmlog runtime/topo
    # values, and what follows from them; how they travel is its caller's. A GPU and a memory file it
    # knows by interfaces
runtime/job/place: fabric/ofi runtime/bootstrap/... runtime/config runtime/shmerr runtime/shmlog runtime/topo runtime/topo/hwloc
    # questions to the launcher and to the topology, and threads; the exchange between PEs is its caller's
runtime/job/watch: queue runtime/bootstrap runtime/config runtime/gpu runtime/gpu/cuda runtime/guard runtime/job/area runtime/job/meet runtime/proxy/backlog
    # the network by an interface of its own, and what to do about a loss by functions
runtime/job: fabric fabric/chaos runtime/bootstrap runtime/config runtime/heap/... runtime/job/... runtime/nvtx runtime/pathmap runtime/proxy runtime/proxy/layout runtime/proxy/wake runtime/shmerr runtime/shmlog runtime/stats runtime/statuspage runtime/topo runtime/trace
    # the composition root: nothing else picks an implementation

queue:
    # slots and counters: it knows no fabric and no heap, so that the protocol
    # can be explored case by case
queue/channel: queue
    # another library's layouts, of which the proxies and the protocol of rings know nothing
queue/queuetest: queue
    # producers for tests, of the ring and of what empties it

fabric:
    # the seam itself: what it imported, every provider would carry
fabric/selftest: fabric
    # tries whatever endpoint it is given, with memory that it is given
fabric/ofi/handshake: .
    # the bytes of a handshake and their proofs, whatever carries them
fabric/ofi/pair: . fabric/ofi/handshake
    # the state of connections without a network, so that a test can try the orders of events
fabric/ofi: . fabric fabric/ofi/handshake fabric/ofi/pair runtime/shmerr
    # one network library, ignorant of PEs' heaps and of OpenSHMEM's ordering
fabric/fabrictest: fabric tests/need
    # the suite for any provider, so it may prefer none
fabric/faults:
    # chances, numbers and words: what a fault does is the network's
fabric/sim: fabric fabric/faults runtime/shmerr
    # a network of its own, ignorant of senders and messages, as fabric/ofi
fabric/rail/peek: fabric
    # C for threads that wait: completion queues, whose entries it does not interpret
fabric/rail: fabric fabric/rail/peek runtime/shmerr
    # several providers as one: its caller names them, so that a test can
    # give it a simulated network
fabric/chaos: fabric fabric/faults runtime/guard
    # around another provider, which its caller passes. The library links it, so the simulated
    # network is not behind it; both ask fabric/faults what happens to a packet
fabric/ofi/stub: tests/cc tests/need
    # a libfabric for tests of the packages above it: a file, and no code of
    # the project behind it
fabric/ofi/stub/gen:
    # a table into a header, and into constants of the simulated networks

tests/gpu/staging: fabric fabric/ofi runtime/gpu runtime/gpu/cuda runtime/proxy runtime/proxy/layout runtime/proxy/gpustage runtime/proxy/mem runtime/proxy/wake
    # the proxy on a real GPU and a real network, without the rest of the library
tests/gpu/memory: runtime/gpu runtime/gpu/cuda
    # a test of these packages for a machine that cannot build it
tests/gpu/heap: runtime/bootstrap/secret runtime/gpu runtime/gpu/cuda runtime/heap/devmem runtime/heap/hostmem
    # as above

bench/ring: fabric queue runtime/gpu runtime/gpu/cuda runtime/proxy runtime/proxy/mem runtime/proxy/wake runtime/proxy/fastpath/fastpathtest runtime/proxy/loop
    # measures the rings, and the proxy behind them over a provider of its own

tests/abi/fold:
    # its names are held against those of the table and the generator, and so
    # share nothing with them
tests/start: runtime/bootstrap/uid/faultproxy tests/cc tests/need
    # what a test of the bootstrap breaks connections with, and nothing of the library
tests/preload: capi/spec runtime/trace/tracetest tests/cc tests/need
    # reads traces as the strictest viewer does
tests/cc:
    # a compiler, for tests
tests/...: capi/spec runtime/config tests/cc tests/need
    # see the library from outside, as a user does
`

// parse returns the imports that the rows of a graph allow, and the reason of each.
func parse(t *testing.T, graph string) (allowed map[string][]string, reason map[string]string) {
	t.Helper()
	allowed, reason = map[string][]string{}, map[string]string{}
	var row string
	for _, line := range strings.Split(graph, "\n") {
		text := strings.TrimSpace(line)
		switch {
		case text == "":
		case strings.HasPrefix(text, "#"):
			reason[row] += strings.TrimPrefix(text, "#")
		default:
			name, list, ok := strings.Cut(text, ":")
			if _, again := allowed[name]; !ok || again {
				t.Fatalf("graph: row %q: twice, or without a colon", text)
			}
			row, allowed[name] = name, strings.Fields(list)
		}
	}
	for name := range allowed {
		if reason[name] == "" {
			t.Errorf("graph: row %s has no reason", name)
		}
	}
	return allowed, reason
}

func matches(pattern, pkg string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "/..."); ok {
		return pkg == prefix || strings.HasPrefix(pkg, prefix+"/")
	}
	return pattern == pkg
}

// rowOf finds the row of a package: its own before one that ends in /....
func rowOf(allowed map[string][]string, pkg string) (string, bool) {
	if pkg == "" {
		pkg = "."
	}
	if _, ok := allowed[pkg]; ok {
		return pkg, true
	}
	for p := pkg; p != "."; p = path.Dir(p) {
		if _, ok := allowed[p+"/..."]; ok {
			return p + "/...", true
		}
	}
	return "", false
}

func TestImportGraph(t *testing.T) {
	allowed, reason := parse(t, graph)
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		row, ok := rowOf(allowed, s.pkg)
		if !ok {
			t.Errorf("%s: package %s has no row in the import graph (add one, with its reason)", s.path, s.pkg)
			continue
		}
	next:
		for _, spec := range s.ast.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			imported, ours := strings.CutPrefix(imported, module+"/")
			if !ours {
				continue
			}
			for _, pattern := range allowed[row] {
				if matches(pattern, imported) {
					continue next
				}
			}
			t.Errorf("%s: %s may not import %s:%s", s.at(spec), s.pkg, imported, reason[row])
		}
	}
}

// TestGraphIsAcyclic checks that the rows themselves have one direction, including fabric and the
// proxy's queue: a row is a permission, and two packages that may import each other would be a
// mistake even before one uses both permissions.
func TestGraphIsAcyclic(t *testing.T) {
	allowed, _ := parse(t, graph)
	const (
		open = iota + 1
		done
	)
	state := map[string]int{}
	var visit func(row string)
	visit = func(row string) {
		switch state[row] {
		case done:
			return
		case open:
			t.Errorf("graph: %s can reach itself", row)
			return
		}
		state[row] = open
		for _, pattern := range allowed[row] {
			for other := range allowed {
				if other != row && matches(pattern, strings.TrimPrefix(strings.TrimSuffix(other, "/..."), ".")) {
					visit(other)
				}
			}
		}
		state[row] = done
	}
	for row := range allowed {
		visit(row)
	}
}

// cgo is allowed in these packages: each is the only one that uses its foreign API.
var cgo = map[string]string{
	"bench/ring":                          "producers and the reference consumer that Go is held against",
	"capi/core":                           "the C function table that the front gets",
	"fabric/ofi":                          "libfabric",
	"fabric/rail/peek":                    "looks at the completion queues of several NICs, for threads that wait in C",
	"runtime/bootstrap/mpi":               "libmpi",
	"runtime/bootstrap/munge":             "libmunge",
	"runtime/bootstrap/plugin":            "a bootstrap of the user's",
	"runtime/bootstrap/pmix":              "libpmix",
	"runtime/gpu/cuda":                    "NVIDIA's driver and GDRCopy",
	"runtime/gpu/cuda/cudatest":           "a call of the driver that a program makes and the library does not",
	"runtime/proxy/fastpath":              "small messages, and the proxy's inner loop",
	"runtime/proxy/fastpath/fastpathtest": "providers in C for its tests",
	"runtime/proxy/mailboxtest":           "the front's mailboxes, for tests on simulated networks",
	"runtime/proxy/wait":                  "the sleep of an idle proxy",
	"runtime/mrcache/memmonitor":          "a thread for which threads that unmap memory wait, and which must not wait for Go's scheduler",
	"runtime/topo/hwloc":                  "hwloc",
}

func TestCgo(t *testing.T) {
	for _, s := range sources(t) {
		for _, spec := range s.ast.Imports {
			if spec.Path.Value == `"C"` && cgo[s.pkg] == "" {
				t.Errorf("%s: cgo is for the packages that are the door to a C library, %v; a second door means a second set of rules about pointers and threads", s.at(spec), cgo)
			}
		}
		for _, group := range s.ast.Comments {
			for _, c := range group.List {
				if strings.HasPrefix(c.Text, "//export ") && s.pkg != "capi/core" {
					t.Errorf("%s: only capi/core exports to C, because only its linker script says what libshmem_core.so shows", s.at(c))
				}
			}
		}
	}
}
