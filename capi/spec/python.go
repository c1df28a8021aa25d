package spec

import "strings"

// A Python is a row's form in Python, a function of the row's name. Its parameters follow from the
// row's and their roles: an array has its own length, and an array with index= names an element.
// Where the row has Contexts the function takes context=. capi/gen writes its checks, its fast path
// and the call.
type Python struct {
	// Doc is the docstring without its sections: an imperative sentence on a line of its own, and
	// what else a caller must know. capi/gen adds the parameters, Returns and the exceptions.
	Doc     string
	Returns string
	DocNbi  string // of the nonblocking function; empty: Python has none
	// Longer names the row that copies elements which are longer than a word; shorter ones pass as
	// unsigned integers, so that elements may have any dtype. Empty: they have the row's types.
	Longer string
	Slow   []Type // types that the fast path does not accept
	// Stream names the row that serves the parameter stream= with a CUDA stream. Empty: no such
	// parameter.
	Stream string
	// Notify names the row that serves the parameter notify=, a counter of the other PE. Empty: no
	// such parameter.
	Notify string
	Op     string // the constant to pass as sig_op to Stream's function, if this row has no parameter sig_op
	Waits  bool   // the call may block for long, and Python handles signals meanwhile
}

// spell copies the description of a function's Python form, with the names of surface s (a set of
// names such as NVSHMEM's) in its texts.
func (p *Python) spell(s *Surface) *Python {
	if p == nil {
		return nil
	}
	spelled := *p
	for _, text := range []*string{&spelled.Doc, &spelled.Returns, &spelled.DocNbi, &spelled.Op} {
		*text = s.Spell(*text)
	}
	return &spelled
}

// PythonName returns the parameter's name in Python.
func (p *Param) PythonName() string {
	if p.Python != "" {
		return p.Python
	}
	return p.Name
}

// IsElement reports whether the parameter is a pointer to elements of the row's types.
func (p *Param) IsElement() bool { return strings.HasSuffix(p.C, "T *") }
