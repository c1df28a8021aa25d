package spec

import (
	"cmp"
	"strings"
)

// This file has the form of calls that the host enqueues on a CUDA stream. Their names are
// shmemx_<name>_on_stream.
//
// In the Front of such a form, beside the words that the package comment lists, $element is the C
// expression of the element type that Element returns.

// A Stream describes the function for a row that is enqueued on a CUDA stream, its last argument.
// If Params, Result or Returns is empty, the function has that of the host function; Errors and
// Order default to the texts for all calls on streams.
type Stream struct {
	Types    []Type
	Variants Variant
	Range    string
	Result   string  // "void": no result, although the host's form has one
	Params   []Param // without the stream
	Front    string
	Doc      string
	DocNbi   string
	Returns  string
	Errors   string
	Order    string
}

const (
	onStream     = "_on_stream"
	streamErrors = "Ends the job when the PE uses no GPU (as with SHMEM_HEAP=host), when libshmem_kernels.fatbin " +
		"is missing and the call needs a kernel, when the driver refuses, and for the errors of the call without a " +
		"stream."
	streamOrder = "In the order of the stream: after earlier work on it, and before later work."
)

var stream = Param{Name: "stream", C: "struct CUstream_st *", Doc: "a cudaStream_t or CUstream of this PE's GPU"}

// OnStream returns the row of the function on a CUDA stream that belongs to row f. It has the
// stream as an additional, last parameter. OnStream returns nil if f has no such function.
func (f *Family) OnStream() *Family {
	s := f.Stream
	if s == nil {
		return nil
	}
	params := s.Params
	if params == nil {
		params = f.Params
	}
	out := Family{
		Name: f.Name, Suffix: onStream, X: true, Section: "on a stream", Since: f.Since,
		Types: s.Types, Variants: s.Variants, Range: s.Range, Result: cmp.Or(s.Result, f.Result), Front: s.Front,
		Doc: s.Doc, DocNbi: s.DocNbi, Errors: cmp.Or(s.Errors, streamErrors), Order: cmp.Or(s.Order, streamOrder),
		surface: f.surface,
	}
	out.Params = append(append(out.Params, params...), stream)
	if out.Result == "void" {
		out.Result = ""
	}
	if out.Result != "" {
		out.Returns = cmp.Or(s.Returns, f.Returns)
	}
	return &out
}

// Element returns the C expression by which calls on streams pass an element type: its bytes, with
// SHMEMI_SIGNED for signed integers, or a constant for floating-point types. It replaces $element
// in Front.
func Element(t Type) string {
	switch {
	case t.Name == "half":
		return "SHMEMI_F16"
	case t.Name == "bfloat16":
		return "SHMEMI_BF16"
	case t.Kind == Real:
		return "SHMEMI_F" + decimal(t.Bits)
	case t.Kind == Signed:
		return decimal(t.Bits/8) + " | SHMEMI_SIGNED"
	}
	return decimal(t.Bits / 8)
}

var (
	// Incomplete types, to which a program in C, or one without CUDA's headers, can pass pointers.
	tStreamHalf     = Type{"half", "struct __half", Late, 16, ""}
	tStreamBFloat16 = Type{"bfloat16", "struct __nv_bfloat16", Late, 16, ""}

	// StreamTypes: the types of puts, gets and collectives on streams.
	StreamTypes = append(without(RMATypes, tLongDouble), tStreamHalf, tStreamBFloat16)
	// StreamReduceTypes: the types of reductions on streams.
	StreamReduceTypes = without(StreamTypes, tPtrdiff)
)

// firstSentence returns a text up to its first full stop.
func firstSentence(text string) string {
	first, _, found := strings.Cut(text, ". ")
	if found {
		first += "."
	}
	return first
}
