// Package spec is the table of libshmem's C interface: one row for each family
// of functions, with its forms at the host, in kernels and on streams, in a file
// for each chapter of the OpenSHMEM specification. Everything that must agree about
// a public name is generated from it by capi/gen: the headers, the functions of
// libshmem.so, the version scripts, the list of exported symbols, the C tests and the
// functions of Python.
//
// The rows have OpenSHMEM's names. A Surface is a set of names for them: Shmem, the library's own,
// has these names, and Nvshmem has NVSHMEM's.
//
// The package holds facts, not behaviour: the names, their parameters, and the function of
// capi/front behind each. It imports nothing of this tree, so that a reader of a row needs no
// other package.
//
// # Front
//
// A row's Front is the C text of its function, an expression with functions of front.h. It may have
// statements before the expression, separated by newlines. In it
//
//	$T       is the element type
//	$type    is its name: int in shmem_int_put
//	$W       is the width of the element type in bits
//	$S       is the width with the signedness: i32, u32, i64, u64
//	$nbytes  is nelems in bytes
//	$size    is the size of an element in bytes
//	$nbi     is "_nbi" in the nonblocking form, else nothing
//	$call    is the public name, as a string
//	$ctx     is the context: ctx in the forms that take one, else the default
//	$reducer is the name of the operation's combine function and element size
//	$base    is the function of the Surface on which this one is built, and $args its arguments
//	bits(x)  is x as an unsigned integer of $W bits
//	back(x)  is the inverse; it encloses a whole expression
//
// # Generic names
//
// A family with types also has a macro for C11, shmem_<name>. The first pointer to an element
// selects the typed function, whose arguments the macro takes, and a context before them if the
// family has Contexts.
//
// # Contexts
//
// A family with Contexts has each of its functions once more, as shmem_ctx_<name>,
// with a context as the first argument. A parameter pe is then a number in the context's team; the
// generated code translates it to the number of the PE before it evaluates Front.
package spec

// CoreSymbol is the only name that libshmem_core.so exports.
const CoreSymbol = "shmemi_core_table"

// private are the functions that libshmem.so exports for its own headers, libraries and tools.
// Programs do not call them, and they may change with any release.
var private = []string{
	"shmemi_device_state",      // device/shmem/state.h
	"shmemi_device_register",   // device/shmem/unit.h
	"shmemi_device_unregister", // device/shmem/unit.h
	"shmemi_context",           // device/shmem/context.h
	"shmemi_team_split_each",   // capi/nvshmem, as the next ones
	"shmemi_team_barrier",
	"shmemi_team_uniqueid",
	"shmemi_team_init",
	"shmemi_reduce_by",
	"shmemi_reducescatter",
	"shmemi_stream_reducescatter",
	"shmemi_as_nvshmem",
	"shmemi_settle_gpu",
	"shmemi_gpu_pending",
	"shmemi_archive_begin",
	"shmemi_archive_check",
	"shmemi_archive_add",
	"shmemi_archive_drop",
	"shmemi_rma_core",     // capi/rma
	"shmemi_copies_apart", // python/shmem/torch
	"shmemi_set_caller",   // python/shmem, as the next ones
	"shmemi_heap_use",
	"shmemi_notify_state",
	"shmemi_init_error",
	"shmemi_longest_short_message",
}

// standard has the chapters of OpenSHMEM, in the order of the specification.
var standard = []Chapter{
	setup,
	memory,
	teams,
	contexts,
	rma,
	strided,
	atomics,
	signal,
	collectives,
	reductions,
	activeSets,
	wait,
	ordering,
	locks,
	deprecated,
	eagerOfKernels,
	notifyOfKernels,
}

// beyond has the extensions of OpenSHMEM, in the order of shmemx.h. In that header the functions of
// all rows on streams follow them.
var beyond = []Chapter{
	{Families: startCalls},
	{Families: bufferCalls},
	{Families: counterCalls},
	{Families: errorCalls},
	{Families: collectCalls},
	{Families: notifyCalls},
	{Families: messageCalls},
	{Families: moduleCalls},
	{Families: eagerCalls},
	{Families: orderCalls},
	{Families: meshCalls},
}

// A Chapter is a group of families that share a source file and a test program.
type Chapter struct {
	File     string        // zz_<File>.c
	Title    string        // as in the specification
	Over     []string      // headers of capi/front that declare the functions Front calls; none: front.h
	Range    string        // the Range of families that have none
	Kernel   *KernelHeader // the header with the kernel functions of its families
	Families []Family
}

// A Family is one row: an operation with all its element types and variants.
type Family struct {
	Name     string // the operation's part of the name: put in shmem_int_put
	Symbol   string // the whole name, if it is not formed from Name
	Section  string // heading in the specification
	Since    string // release of libshmem that first had it
	Types    []Type // empty: the family is a single function without an element type
	Variants Variant
	Contexts bool   // each name also exists as shmem_ctx_<name>
	Widths   []int  // of the Sized variant, in bits; empty: all of Sizes
	Result   string // C type of the result; T is the element type
	Params   []Param
	Front    string // empty: the host has no such function
	FrontNbi string // Front of the nonblocking function, if it differs by more than $nbi
	Reduce   string // the operation of a reduction: a C expression over a and b
	// Kernel and Stream describe the functions in kernels and on streams. If Front is empty, the
	// host has no other function.
	Kernel  []Kernel
	Stream  *Stream
	Python  *Python // nil: Python has no such function, or it is written by hand
	Doc     string  // one paragraph
	DocNbi  string  // what differs in the nonblocking function
	Returns string  // what the result means
	Errors  string
	Order   string
	Check   Check // what the generated test checks
	// Instead names the replacement: the specification deprecates the family. Plain families have
	// no generic name of their own for C11; the generic name of another family takes their types.
	Instead string
	Plain   bool
	// Generic: the names of C11 and C++ take an optional context first, although the family has no
	// types.
	Generic bool
	// Like names the family for which this family is the deprecated name.
	Like string
	// Range is the group of SHMEM_NVTX in which a profiler shows the calls. Puts, gets, atomics,
	// fences and quiets are inline in front.h and have no Range: only their slow halves check for a
	// profiler (capi/front/ranges.c), so that the fast path has no check.
	Range string
	// DeprecatedInC: compilers warn about the name (Instead) in C only. In C++ it is one of several
	// overloads, which are not deprecated.
	DeprecatedInC bool
	// X: the family is an extension, and its names begin as those of extensions.
	X bool
	// Nvshmem: the surface Nvshmem has this extension, too, as nvshmemx_<name>.
	Nvshmem bool
	Suffix  string // what its names end with

	surface *Surface
}

// Variant is a set of further functions that a family has in addition to the typed ones.
type Variant uint

// The variants. A family without types has only these.
const (
	Nbi   Variant = 1 << iota // <name>_nbi: complete after the next quiet
	Sized                     // <name>8, 16, 32, 64, 128: by size in bits
	Mem                       // <name>mem: by bytes
)

// The groups of SHMEM_NVTX that rows name.
const (
	RangeNone         = "none" // overrides the chapter's
	RangeAlloc        = "alloc"
	RangeColl         = "coll"
	RangeWait         = "wait"
	RangeWaitOnStream = "wait_on_stream"
	RangeTest         = "test"
	RangeMemOrder     = "memorder"
	RangeQuietStream  = "quiet_on_stream"
	RangeFetch        = "atomic_fetch"
	RangeSet          = "atomic_set"
	RangeRMA          = "rma_blocking" // the nonblocking form: RangeRMANbi
	RangeRMANbi       = "rma_nonblocking"
)

// A Param is a parameter of a function.
type Param struct {
	Name   string
	C      string // C type; T is the element type, void in Sized and Mem forms
	Role   Role
	Unit   string // the unit of a number
	Doc    string
	Nbi    bool   // only the nonblocking form has it
	Python string // its name in Python; empty: Name
}

// Role says which PE's memory a parameter points to and which way data flows.
type Role int

// The roles.
const (
	Plain     Role = iota // a number, or a handle
	Written               // symmetric address, written at the other PE
	Read                  // symmetric address, read at the other PE
	Updated               // symmetric address, read and written at the other PE
	Source                // any address of the caller's, read
	Result                // any address of the caller's, written
	Watched               // symmetric address, read at the caller
	CollRead              // symmetric address, the same on every PE, read at each
	CollWrite             // symmetric address, the same on every PE, written at each
)

// String returns the words with which a header describes an argument of the role: whose memory it
// points to, and whether that is read or written; "" for a role that needs none.
func (r Role) String() string {
	switch r {
	case Written:
		return "symmetric, written at pe"
	case Read:
		return "symmetric, read at pe"
	case Updated:
		return "symmetric, updated at pe"
	case Source:
		return "input"
	case Result:
		return "output"
	case Watched:
		return "symmetric, read by the caller"
	case CollRead:
		return "symmetric, read at every PE"
	case CollWrite:
		return "symmetric, written at every PE"
	}
	return ""
}

// Check names the generic check of tests/c/check.h that exercises each function
// of a family. A family without one needs a test written by hand.
type Check string

// The checks.
const (
	ByHand       Check = ""
	CheckPut     Check = "put"
	CheckGet     Check = "get"
	CheckIput    Check = "iput"
	CheckIget    Check = "iget"
	CheckAtomic  Check = "atomic"
	CheckSignal  Check = "put_signal"
	CheckWait    Check = "wait"
	CheckTest    Check = "test"
	CheckSet     Check = "set"
	CheckMove    Check = "move"
	CheckCombine Check = "reduce"
	CheckScan    Check = "scan"
	CheckChange  Check = "change"
	CheckSubset  Check = "subset"
	CheckToAll   Check = "to_all"
)

// A Constant is a macro of the public header.
type Constant struct {
	Name  string
	Value string // $VERSION is the library's version
	Doc   string
}

// A ConstantGroup is a set of constants under one comment.
type ConstantGroup struct {
	Doc       string
	Constants []Constant
	Enum      bool // an enumeration, not macros
}
