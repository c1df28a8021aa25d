package table

import (
	"fmt"
	"strings"
)

// StreamCall is an operation that the front passes to the core, which queues it on a CUDA stream of
// the program. abi/gen generates from a row its number, the C function that packs its arguments,
// the case of onstream.Calls.Queue, and the names of its kernels.
type StreamCall struct {
	Name    string // in C: SHMEMI_STREAM_<Name>
	Takes   string // the members of struct shmemi_stream_call that the front sets, in the order of its arguments
	Queue   string // the method of onstream.Calls that queues it
	Kernel  bool   // the method serves several operations: its first argument is the first of Kernels
	Kernels string // the kernels of device/kernels that it may launch; with a *, one for each reduction
	Doc     string
}

// StreamCalls has these operations. The bounced kernels are for operands in memory that belongs to
// the program's CUDA context, such as that of cudaMalloc. While the program loads a kernel beside a
// running one, the driver carries out no copy of such memory, so the proxies cannot reach it. The
// bounced kernels copy it through bounce buffers, which no context owns (device/kernels/bounce.h).
var StreamCalls = []StreamCall{
	{Name: "PUT", Takes: "dest source count pe nbi", Queue: "put", Kernels: "put put_bounced"},
	{Name: "GET", Takes: "dest source count pe nbi", Queue: "get", Kernels: "get get_bounced"},
	{Name: "P", Takes: "dest value width pe", Queue: "p", Kernels: "p"},
	{Name: "PUT_SIGNAL", Takes: "dest source count signal value op pe nbi", Queue: "putSignal", Kernels: "put_signal put_signal_bounced"},
	{Name: "SIGNAL", Takes: "signal value op pe", Queue: "signal", Kernels: "signal"},
	{Name: "WAIT", Takes: "dest source count signal value op width", Queue: "wait", Kernels: "wait", Doc: "source: the words to compare with, or NULL"},
	{Name: "COUNT", Takes: "dest count value op width", Queue: "count", Doc: "as WAIT, for one word of 64 bits that counts"},
	{Name: "QUIET", Queue: "quiet", Kernels: "quiet"},
	{Name: "SYNC", Takes: "team team_pes", Queue: "sync", Kernel: true, Kernels: "sync"},
	{Name: "BARRIER", Takes: "team team_pes", Queue: "barrier", Kernels: "barrier"},
	{Name: "BROADCAST", Takes: "dest source count pe team team_pes", Queue: "move", Kernel: true, Kernels: "broadcast"},
	{Name: "FCOLLECT", Takes: "dest source count team team_pes", Queue: "move", Kernel: true, Kernels: "fcollect"},
	{Name: "ALLTOALL", Takes: "dest source count team team_pes", Queue: "move", Kernel: true, Kernels: "alltoall"},
	{Name: "REDUCE", Takes: "dest source count op width team team_pes", Queue: "reduce", Kernels: "reduce packed_* spread_*"},
	{Name: "DRAIN", Queue: "drain", Doc: "returns when the stream has done all"},
	{Name: "REDUCESCATTER", Takes: "dest source count op width team team_pes", Queue: "reducescatter", Kernels: "reducescatter", Doc: "count: for each PE"},
	{Name: "PUT_NOTIFY", Takes: "dest source count op pe nbi", Queue: "putNotify", Kernels: "put_notify put_notify_bounced", Doc: "op: a notification counter"},
	{Name: "NOTIFY_WAIT", Takes: "op value", Queue: "launchOneThread", Kernel: true, Kernels: "notify_wait"},
	{Name: "NOTIFY_RESET", Takes: "op value", Queue: "launchOneThread", Kernel: true, Kernels: "notify_reset"},
}

// Members returns the members that the front sets.
func (c *StreamCall) Members() []string { return strings.Fields(c.Takes) }

// Reductions returns the names of the reductions, in the order of their numbers.
func Reductions() (all []string) {
	for _, c := range Constants {
		if name, ok := strings.CutPrefix(c.Name, "REDUCE_"); ok {
			all = append(all, strings.ToLower(name))
		}
	}
	return all
}

// StreamKernels returns the kernels of an operation, those of each reduction side by side.
func (c *StreamCall) StreamKernels() (all []string) {
	for _, name := range strings.Fields(c.Kernels) {
		stem, forEach := strings.CutSuffix(name, "*") // one kernel for each reduction
		if !forEach {
			all = append(all, name)
			continue
		}
		for _, op := range Reductions() {
			all = append(all, stem+op)
		}
	}
	return all
}

// streamValues returns the operations as values of an enumeration, each with its arguments.
func streamValues() (all []Value) {
	for _, c := range StreamCalls {
		doc := strings.Join(c.Members(), ", ")
		if c.Doc != "" {
			doc = strings.TrimPrefix(fmt.Sprintf("%s; %s", doc, c.Doc), "; ")
		}
		all = append(all, Value{Name: c.Name, Doc: doc})
	}
	return all
}

// stream has the numbers of these operations, and those of the kinds of loaded code.
var stream = Unit{
	Name:   "stream",
	Doc:    "the work that the front has the core queue at a stream. The arguments travel in a struct shmemi_stream_call, of which each call sets its own.",
	GoFile: "runtime/onstream/zz_stream.go",
	Enums: []Enum{
		{Name: "stream_what", Prefix: "STREAM_", Go: "What", Base: "int", Kind: "-", Doc: "the work of a stream.", Values: streamValues()},
		{Name: "module_what", Doc: "code that the program has loaded. Go sees these through cgo.", Values: []Value{
			{Name: "MODULE", Doc: "CUmodule"},
			{Name: "LIBRARY", Doc: "CUlibrary"},
		}},
	},
}
