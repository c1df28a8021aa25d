package spec

import "strings"

// The device interface: what kernels may call. Names are those of the host with
// the same arguments; a form for a warp or a block is shmemx_<name>_warp or
// _block. capi/gen makes device/shmem/zz_*.h of it, one line of C++ for each
// name over the templates of device/shmem.
//
// In a Body
//
//	$T       is the element type
//	$job     is the state to work with: the unit's, or a context's
//	$call    is the name's number (CallNumber), for reports
//	$scope   is the scope's type
//	$nbi     is 1 in the nonblocking form, else 0
//	$bytes   is nelems in bytes
//	$late    is late_ where the type is a late one, else nothing

// A Scope says which threads make a call together.
type Scope int

// The scopes.
const (
	Thread Scope = iota
	Warp
	Block
)

var scopeWords = [...]string{"thread", "warp", "block"}

// String is the word in names.
func (s Scope) String() string { return scopeWords[s] }

// A DeviceFamily is one row of the device interface.
type DeviceFamily struct {
	Name     string
	Types    []Type
	Variants Variant
	Scopes   []Scope
	X        bool // the thread's form begins with shmemx_ as well
	Contexts bool // shmem_ctx_<name> exists, too
	Result   string
	Params   []Param
	Body     string
	Doc      string
}

// A DeviceChapter is a generated header.
type DeviceChapter struct {
	File     string // device/shmem/zz_<File>.h
	Over     string // the hand-written header that it needs
	Doc      string
	Families []DeviceFamily
}

// Device is the table.
var Device = []DeviceChapter{
	deviceSetup, deviceRMA, deviceAtomics, deviceSignal,
	deviceWait, deviceOrdering, deviceCollectives, deviceReductions,
}

// A DeviceFunction is one name that kernels call.
type DeviceFunction struct {
	Name   string
	Family *DeviceFamily
	Type   Type
	Scope  Scope
	Nbi    bool
	Form   Variant
}

// Functions lists a family's names: by scope, and then as the host's.
func (f *DeviceFamily) Functions() []DeviceFunction {
	var out []DeviceFunction
	host := Family{Name: f.Name, Types: f.Types, Variants: f.Variants}
	scopes := f.Scopes
	if scopes == nil {
		scopes = []Scope{Thread}
	}
	for _, s := range scopes {
		for _, h := range host.Functions() {
			name := h.Name
			if s != Thread || f.X {
				name = "shmemx_" + strings.TrimPrefix(name, "shmem_")
			}
			if s != Thread {
				name += "_" + s.String()
			}
			out = append(out, DeviceFunction{name, f, h.Type, s, h.Nbi, h.Form})
		}
	}
	return out
}

// DeviceNames lists every name of the device interface in the order of the table.
func DeviceNames() []string {
	var out []string
	for _, c := range Device {
		for i := range c.Families {
			for _, f := range c.Families[i].Functions() {
				out = append(out, f.Name)
			}
		}
	}
	return out
}

// CallNumber is what a kernel's report calls a function. It depends on the name
// only, so that a library can read the reports of programs that were built with
// another release: the FNV-1a hash, 32 bits.
func CallNumber(name string) uint32 {
	h := uint32(2166136261)
	for i := range len(name) {
		h = (h ^ uint32(name[i])) * 16777619
	}
	return h
}

// Late types are those whose header a program may leave out: their functions
// that need to know more than the name are templates, so that the type is asked
// for at a call only. The two headers would take as long to compile as the rest.
var (
	tHalf     = Type{"half", "__half", Late, 16, ""}
	tBFloat16 = Type{"bfloat16", "__nv_bfloat16", Late, 16, ""}
)

var (
	allScopes = []Scope{Thread, Warp, Block}

	// DeviceTypes: those of the host without long double, which GPUs do not have.
	DeviceTypes = append(without(RMATypes, tLongDouble), tHalf, tBFloat16)
	// DeviceWaitTypes: the specification's, and short words.
	DeviceWaitTypes = append(append([]Type{}, AMOTypes...), tShort, tUShort)
)

func without(types []Type, gone Type) []Type {
	var out []Type
	for _, t := range types {
		if t != gone {
			out = append(out, t)
		}
	}
	return out
}

var (
	paramDest   = Param{Name: "dest", C: "T *", Role: Written}
	paramSource = Param{Name: "source", C: "const T *", Role: Source}
)

var deviceRMA = DeviceChapter{
	File: "rma", Over: "rma.h", Doc: "puts and gets",
	Families: []DeviceFamily{
		{
			Name: "p", Types: DeviceTypes, Contexts: true,
			Params: []Param{paramDest, {Name: "value", C: "T"}, paramPE},
			Body:   "shmemi_p<$T>($job, $call, dest, value, pe)",
			Doc:    "Writes one element to another PE.",
		},
		{
			Name: "g", Types: DeviceTypes, Contexts: true, Result: "T",
			Params: []Param{{Name: "source", C: "const T *", Role: Read}, paramPE},
			Body:   "shmemi_g<$T>($job, $call, source, pe)",
			Doc:    "Reads one element of another PE.",
		},
		{
			Name: "put", Types: DeviceTypes, Variants: Nbi | Sized | Mem, Scopes: allScopes, Contexts: true,
			Params: []Param{paramDest, paramSource, paramNelems, paramPE},
			Body:   "shmemi_put<$scope, $nbi>($job, $call, dest, source, $bytes, pe)",
			Doc:    "Copies an array to another PE.",
		},
		{
			Name: "get", Types: DeviceTypes, Variants: Nbi | Sized | Mem, Scopes: allScopes, Contexts: true,
			Params: []Param{
				{Name: "dest", C: "T *", Role: Result},
				{Name: "source", C: "const T *", Role: Read},
				paramNelems, paramPE,
			},
			Body: "shmemi_get<$scope, $nbi>($job, $call, dest, source, $bytes, pe)",
			Doc:  "Copies an array from another PE.",
		},
	},
}

var deviceSignal = DeviceChapter{
	File: "signal", Over: "signal.h", Doc: "signals",
	Families: []DeviceFamily{
		{
			Name: "put_signal", Types: DeviceTypes, Variants: Nbi | Sized | Mem, Scopes: allScopes, Contexts: true,
			Params: []Param{
				paramDest, paramSource, paramNelems, sigAddr, sigValue,
				{Name: "sig_op", C: "int"}, paramPE,
			},
			Body: "shmemi_put_signal<$scope, $nbi>($job, $call, dest, source, $bytes, sig_addr, signal, sig_op, pe)",
			Doc:  "Copies an array to another PE, then sets a signal there or adds to it.",
		},
		{
			Name: "signal_set", Contexts: true,
			Params: []Param{sigAddr, sigValue, paramPE},
			Body:   "shmemi_signal($job, $call, sig_addr, signal, SHMEM_SIGNAL_SET, pe)",
			Doc:    "Writes a signal of another PE.",
		},
		{
			Name: "signal_add", Contexts: true,
			Params: []Param{sigAddr, sigValue, paramPE},
			Body:   "shmemi_signal($job, $call, sig_addr, signal, SHMEM_SIGNAL_ADD, pe)",
			Doc:    "Adds to a signal of another PE.",
		},
		{
			Name: "signal_op", X: true,
			Params: []Param{sigAddr, sigValue, {Name: "sig_op", C: "int"}, paramPE},
			Body:   "shmemi_signal($job, $call, sig_addr, signal, sig_op, pe)",
			Doc:    "Sets a signal of another PE or adds to it.",
		},
		{
			Name:   "signal_op",
			Params: []Param{sigAddr, sigValue, {Name: "sig_op", C: "int"}, paramPE},
			Body:   "shmemi_signal($job, $call, sig_addr, signal, sig_op, pe)",
			Doc:    "The same.",
		},
		{
			Name: "signal_fetch", Result: "uint64_t",
			Params: []Param{{Name: "sig_addr", C: "const uint64_t *", Role: Watched}},
			Body:   "shmemi_signal_fetch($job, $call, sig_addr)",
			Doc:    "Reads a signal of this PE.",
		},
	},
}

var deviceOrdering = DeviceChapter{
	File: "ordering", Over: "order.h", Doc: "fence and quiet",
	Families: []DeviceFamily{
		{Name: "fence", Contexts: true, Body: "shmemi_fence($job, $call)", Doc: "Orders the operations before it ahead of those after it, at each PE."},
		{Name: "quiet", Contexts: true, Body: "shmemi_quiet($job, $call)", Doc: "Waits until all operations are complete."},
	},
}

var deviceSetup = DeviceChapter{
	File: "setup", Over: "setup.h", Doc: "who this is, and where others are",
	Families: []DeviceFamily{
		{Name: "my_pe", Result: "int", Body: "shmemi_my_pe($job, $call)", Doc: "Tells the number of this PE."},
		{Name: "n_pes", Result: "int", Body: "shmemi_n_pes($job, $call)", Doc: "Tells how many PEs there are."},
		{
			Name: "ptr", Result: "void *",
			Params: []Param{{Name: "dest", C: "const void *"}, paramPE},
			Body:   "shmemi_ptr($job, $call, dest, pe)",
			Doc:    "Where loads and stores find another PE's memory, or NULL.",
		},
		{
			Name: "team_my_pe", Result: "int", Params: []Param{collTeam},
			Body: "shmemi_team_my_pe($job, $call, team)",
			Doc:  "Tells the number of this PE in a team, or -1 when there is no such team.",
		},
		{
			Name: "team_n_pes", Result: "int", Params: []Param{collTeam},
			Body: "shmemi_team_n_pes($job, $call, team)",
			Doc:  "Tells how many PEs a team has, or -1 when there is no such team.",
		},
		{
			Name: "team_translate_pe", Result: "int",
			Params: []Param{
				{Name: "src_team", C: "shmem_team_t"}, {Name: "src_pe", C: "int"},
				{Name: "dest_team", C: "shmem_team_t"},
			},
			Body: "shmemi_team_translate_pe($job, $call, src_team, src_pe, dest_team)",
			Doc:  "Tells the number that a team's PE has in another, or -1.",
		},
	},
}
