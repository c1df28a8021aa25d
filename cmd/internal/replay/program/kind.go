package program

import "strings"

// Kind is the meaning of a call for the network.
type Kind uint8

// The kinds of calls.
const (
	Unknown      Kind = iota // it takes its recorded time, and the report lists it
	Local                    // it involves no other PE, and takes its recorded time
	Init                     // the program begins at its end
	Finalize                 // the program ends at its beginning
	Put                      // bytes to a PE
	SignalledPut             // bytes to a PE, and a signal after them
	Get                      // bytes from a PE
	Atomic                   // a change of a word of a PE
	Fetch                    // a change of a word of a PE, which returns the old value
	Wait                     // a wait until another PE has changed a word of this one
	Quiet                    // a wait until all operations are complete
	Fence                    // the order of operations
	Barrier                  // a quiet, and a sync of a team
	Sync                     // a wait until all members of a team have made the call
	Reduce                   // a reduction over a team, whose result every member gets
	Scan                     // a reduction, for each member over those up to it
	Broadcast                // bytes from a root to the members
	Gather                   // the bytes of each member to all others: fcollect
	Collect                  // the bytes of each member to all others, with different sizes
	AllToAll                 // different bytes to each member
	Exchange                 // a small agreement of all PEs: allocation, splitting of a team
	kinds
)

var kindNames = [kinds]string{
	"unknown", "local", "init", "finalize", "put", "put with signal", "get", "atomic operation", "fetching atomic operation", "wait",
	"quiet", "fence", "barrier", "sync", "reduction", "scan", "broadcast", "fcollect", "collect", "all-to-all", "exchange",
}

// String returns the words for a kind of operation in reports.
func (k Kind) String() string { return kindNames[k] }

// Updates reports whether a call of this kind changes memory of another PE.
func (k Kind) Updates() bool { return k == Put || k == SignalledPut || k == Atomic || k == Fetch }

// Collective reports whether all members of a team make a call of this kind together.
func (k Kind) Collective() bool { return k >= Barrier }

// Meaning is the meaning of a function, derived from its name.
type Meaning struct {
	Kind    Kind
	Element int  // bytes of an element, if the name has a type or a size; else 0
	Strided bool // it has a message for each element, or for each block
	NBI     bool // the caller does not wait for the completion
	Context bool // the first argument is a context
	Signals bool // of Wait: it waits for a signal
}

// elements are the bytes of the types of the specification, and of those of NVSHMEM.
var elements = map[string]int{
	"float": 4, "double": 8, "longdouble": 16, "complexf": 8, "complexd": 16, "half": 2, "bfloat16": 2,
	"char": 1, "schar": 1, "uchar": 1, "short": 2, "ushort": 2, "int": 4, "uint": 4, "long": 8, "ulong": 8,
	"longlong": 8, "ulonglong": 8, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4,
	"int64": 8, "uint64": 8, "size": 8, "ptrdiff": 8,
}

// words has the kinds of functions, by name without prefix, type, size and _nbi. kindOf also
// recognizes wait_until*, *_reduce and *_to_all. All other functions involve no other PE.
var words = map[string]Kind{
	"init": Init, "init_thread": Init, "init_attr": Init, "finalize": Finalize, "global_exit": Finalize,
	"put": Put, "p": Put, "iput": Put, "ibput": Put, "putmem": Put,
	"get": Get, "g": Get, "iget": Get, "ibget": Get, "getmem": Get,
	"put_signal": SignalledPut, "putmem_signal": SignalledPut, "putmem_notify": SignalledPut,
	"atomic_set": Atomic, "atomic_add": Atomic, "atomic_inc": Atomic, "atomic_and": Atomic, "atomic_or": Atomic, "atomic_xor": Atomic,
	"set": Atomic, "add": Atomic, "inc": Atomic, "signal_set": Atomic, "signal_add": Atomic, "signal_op": Atomic,
	"atomic_fetch": Fetch, "atomic_swap": Fetch, "atomic_compare_swap": Fetch, "fetch": Fetch, "swap": Fetch, "cswap": Fetch,
	"fadd": Fetch, "finc": Fetch, "atomic_fetch_add": Fetch, "atomic_fetch_inc": Fetch, "atomic_fetch_and": Fetch,
	"atomic_fetch_or": Fetch, "atomic_fetch_xor": Fetch,
	"wait": Wait, "signal_wait_until": Wait, "notify_wait": Wait,
	"quiet": Quiet, "pe_quiet": Quiet, "fence": Fence,
	"barrier_all": Barrier, "barrier": Barrier, "sync_all": Sync, "sync": Sync, "team_sync": Sync,
	"broadcast": Broadcast, "broadcastmem": Broadcast, "fcollect": Gather, "fcollectmem": Gather,
	"collect": Collect, "collectmem": Collect, "collectmem_room": Collect,
	"alltoall": AllToAll, "alltoallmem": AllToAll, "alltoalls": AllToAll, "alltoallsmem": AllToAll,
	"sum_inscan": Scan, "sum_exscan": Scan, "reducescatter": Reduce,
	"malloc": Exchange, "calloc": Exchange, "align": Exchange, "realloc": Exchange, "free": Exchange, "malloc_with_hints": Exchange,
	"team_split_strided": Exchange, "team_split_2d": Exchange, "team_destroy": Exchange, "notify_alloc": Exchange, "notify_free": Exchange,
	"buffer_register_symmetric": Exchange, "buffer_unregister_symmetric": Exchange,
}

// unmodelled are parts of the names of functions whose effect on other PEs is not modelled here.
var unmodelled = []string{"on_stream", "eager_", "set_lock", "clear_lock", "test_lock", "send", "recv"}

var prefixes = []string{"pshmemx_", "pshmem_", "nvshmemx_", "nvshmem_", "shmemx_", "shmem_"}

// MeaningOf reads the name of a function. A name of another library is Unknown.
func MeaningOf(name string) Meaning {
	rest, ours := "", false
	for _, p := range prefixes {
		if rest, ours = strings.CutPrefix(name, p); ours {
			break
		}
	}
	if !ours {
		return Meaning{}
	}
	for _, u := range unmodelled {
		if strings.Contains(rest, u) {
			return Meaning{}
		}
	}
	var m Meaning
	if after, ok := strings.CutPrefix(rest, "ctx_"); ok && words[rest] == 0 {
		rest, m.Context = after, true
	}
	if first, after, ok := strings.Cut(rest, "_"); ok && elements[first] > 0 {
		m.Element, rest = elements[first], after
	}
	rest, m.NBI = strings.CutSuffix(rest, "_nbi")
	rest = m.cutSize(rest)
	m.Strided = strings.HasPrefix(rest, "iput") || strings.HasPrefix(rest, "iget") ||
		strings.HasPrefix(rest, "ibput") || strings.HasPrefix(rest, "ibget") || strings.HasPrefix(rest, "alltoalls")
	m.Signals = rest == "signal_wait_until" || rest == "notify_wait"
	m.Kind = kindOf(rest)
	return m
}

// cutSize removes the size in bits from a name such as put32_signal, stores it as the size of an
// element, and returns the rest: put_signal.
func (m *Meaning) cutSize(rest string) string {
	for bits, bytes := range map[string]int{"128": 16, "64": 8, "32": 4, "16": 2, "8": 1} {
		for _, f := range []string{"put", "get", "broadcast", "collect", "alltoall", "alltoalls"} {
			at := strings.Index(rest, f+bits)
			if at < 0 || at+len(f+bits) < len(rest) && rest[at+len(f+bits)] != '_' {
				continue
			}
			m.Element = bytes
			return rest[:at+len(f)] + rest[at+len(f+bits):]
		}
	}
	return rest
}

// kindOf returns the kind of a function by its name without prefix, type and size. A name that is
// in no table is that of a function that involves no other PE.
func kindOf(rest string) Kind {
	if k, ok := words[rest]; ok {
		return k
	}
	switch {
	case strings.HasPrefix(rest, "wait_until"):
		return Wait
	case strings.HasSuffix(rest, "_reduce"), strings.HasSuffix(rest, "_to_all"):
		return Reduce
	}
	return Local
}
