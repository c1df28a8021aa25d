package spec

import (
	"cmp"
	"slices"
)

// This file describes the functions that kernels may call. They have the names and arguments of the
// host's; the form for a warp or a block is shmemx_<name>_warp or _block. capi/gen generates
// device/shmem/zz_*.h from them: one line of C++ for each name, which calls a template of
// device/shmem.
//
// In a Body
//
//	$T       is the element type
//	$job     is the state to work with: the translation unit's, or a context's
//	$call    is the name's number (CallNumber), for reports
//	$scope   is the scope's type
//	$nbi     is 1 in the nonblocking form, else 0
//	$bytes   is nelems in bytes
//	$size    is the size of an element in bytes
//	$late    is late_ if the type is Late or Half, else nothing

// A Kernel describes the function that kernels call for a row. If Params, Result or Doc is empty,
// the function has that of the host function.
type Kernel struct {
	In       *KernelHeader // nil: the header of the chapter
	Types    []Type
	Variants Variant
	Scopes   []Scope // empty: a thread
	X        bool    // the thread's form begins with shmemx_ as well
	Contexts bool    // a context may come first, and there is shmem_ctx_<name>
	Result   string
	Params   []Param
	Body     string
	Doc      string // one sentence; empty: the first sentence of the row's Doc
}

// A Scope is the group of threads that make a call together.
type Scope int

// The scopes.
const (
	Thread Scope = iota
	Warp
	Block
)

var scopeWords = [...]string{"thread", "warp", "block"}

// String returns the scope, the threads that make a call together, as it is in function names:
// "warp" in shmemx_put_warp.
func (s Scope) String() string { return scopeWords[s] }

// A KernelHeader is a generated header with names that kernels call.
type KernelHeader struct {
	File string // zz_<File>.h
	Over string // the hand-written header that it includes
	Doc  string
}

// Part returns the header that programs include to get this one.
func (h *KernelHeader) Part() string {
	if h == kernelEager {
		return "eager.cuh"
	}
	return "shmem.cuh"
}

// Collective reports whether the names are of calls that all PEs of a team make together.
func (h *KernelHeader) Collective() bool { return h == kernelCollectives || h == kernelReductions }

// KernelHeaders are all generated headers for kernels, in the order of their inclusion.
var KernelHeaders = []*KernelHeader{
	kernelSetup, kernelRMA, kernelStrided, kernelAtomics, kernelSignal, kernelWait, kernelOrdering, kernelCollectives, kernelReductions,
	kernelEager, kernelNotify,
}

var (
	kernelSetup       = &KernelHeader{"setup", "setup.h", "this PE's number, and the memory of other PEs"}
	kernelRMA         = &KernelHeader{"rma", "rma.h", "puts and gets"}
	kernelStrided     = &KernelHeader{"strided", "strided.h", "strided puts and gets"}
	kernelAtomics     = &KernelHeader{"atomics", "atomic.h", "atomic operations"}
	kernelSignal      = &KernelHeader{"signal", "signal.h", "signals"}
	kernelWait        = &KernelHeader{"wait", "wait.h", "waits and tests"}
	kernelOrdering    = &KernelHeader{"ordering", "order.h", "fence and quiet"}
	kernelCollectives = &KernelHeader{"collectives", "coll.h", "collectives of teams"}
	kernelReductions  = &KernelHeader{"reduce", "reduce.h", "reductions over teams"}
	kernelEager       = &KernelHeader{"eager", "eager_parts.h", "eager transfers"}
	kernelNotify      = &KernelHeader{"notify", "notify.h", "puts with notifications"}
)

// A KernelFamily is a Kernel with its row, and with the fields that the Kernel leaves empty filled
// in.
type KernelFamily struct {
	Kernel
	Name string
	row  *Family
}

// A KernelFunction is one name that kernels call.
type KernelFunction struct {
	Name   string
	Family *KernelFamily
	Type   Type
	Scope  Scope
	Nbi    bool
	Form   Variant
}

// kernels returns the families of functions that kernels call for a row of chapter c. Fields that
// the kernel form leaves empty are those of the row.
func (f *Family) kernels(c *Chapter) []*KernelFamily {
	var out []*KernelFamily
	for _, k := range f.Kernel {
		if k.In == nil {
			k.In = c.Kernel
		}
		if k.Params == nil {
			k.Params = f.Params
		}
		k.Result, k.Doc = cmp.Or(k.Result, f.Result), cmp.Or(k.Doc, firstSentence(f.Doc))
		if k.Scopes == nil {
			k.Scopes = []Scope{Thread}
		}
		out = append(out, &KernelFamily{k, f.Name, f})
	}
	return out
}

// Functions lists the family's functions of kernels: scope by scope, and in each scope in the order
// of the host's functions.
func (k *KernelFamily) Functions() []KernelFunction {
	var out []KernelFunction
	host := Family{Name: k.Name, Types: k.Types, Variants: k.Variants, Front: k.Body, surface: k.row.surface}
	for _, s := range k.Scopes {
		host.X = s != Thread || k.X // calls of a warp or block are extensions
		for _, h := range host.Functions() {
			name := h.Name
			if s != Thread {
				name += "_" + s.String()
			}
			out = append(out, KernelFunction{name, k, h.Type, s, h.Nbi, h.Form})
		}
	}
	return out
}

// Surface returns the surface whose names the family has.
func (k *KernelFamily) Surface() *Surface { return k.row.Surface() }

// Params returns the function's parameters, without a context.
func (fn *KernelFunction) Params() []Param { return paramsOf(fn.Family.Params, fn.Nbi) }

// CallNumber returns the number by which a kernel's report names a function: the FNV-1a hash of its
// name, 32 bits. It depends only on the name, so that a library can read the reports of programs
// that were built with another release.
func CallNumber(name string) uint32 {
	h := uint32(2166136261)
	for i := range len(name) {
		h = (h ^ uint32(name[i])) * 16777619
	}
	return h
}

// Late types have headers that a program may leave out, because these two headers take as long to
// compile as everything else. Functions that pass such a type by value are templates, so that the
// compiler needs the type's definition only at a call.
var (
	tHalf     = Type{"half", "__half", Late, 16, ""}
	tBFloat16 = Type{"bfloat16", "__nv_bfloat16", Late, 16, ""}
)

var (
	allScopes = []Scope{Thread, Warp, Block}

	// KernelTypes: the host's types without long double, which GPUs do not have.
	KernelTypes = append(without(RMATypes, tLongDouble), tHalf, tBFloat16)
	// KernelWaitTypes: the types of wait and test; the specification has no short ones.
	KernelWaitTypes = append(append([]Type{}, AMOTypes...), tShort, tUShort)
	// KernelNumbers: the types of max, min, sum and prod.
	KernelNumbers = append(without(without(RMATypes, tLongDouble), tPtrdiff), tHalf, tBFloat16)

	kernelReal = []Type{tFloat, tDouble}
	kernelHalf = []Type{tHalf}
)

// without returns the types of a list that are not in gone, in the same order.
func without(types []Type, gone ...Type) []Type {
	var out []Type
	for _, t := range types {
		if !slices.Contains(gone, t) {
			out = append(out, t)
		}
	}
	return out
}
