package spec

import "strings"

// A Python is a row's form in Python, a function of the row's name. Its parameters follow from the
// row's and their roles: an array brings its own length, and an array with index= names an element.
// Where the row has Contexts the function takes context=. capi/gen writes its checks, its fast path
// and the call.
type Python struct {
	// Doc is the first line of the docstring, an order, and what else a caller must know; capi/gen adds
	// the parameters, Returns and the exceptions.
	Doc     string
	Returns string
	DocNbi  string // of the nonblocking form; none: Python has no such function
	// Longer: elements may have any dtype. One of a word's length passes as its bits, and the row
	// of this name copies a longer one. None: elements have the row's types.
	Longer string
	Slow   []Type // types that the fast path does not take
	// Stream names the row that serves the parameter stream= with a CUDA stream. Empty: no such
	// parameter.
	Stream string
	// Notify names the row that serves the parameter notify=, a counter of the other PE. Empty: no
	// such parameter.
	Notify string
	Op     string // the constant for that row's sig_op, where this row has no such parameter
	Waits  bool   // the call may block for long, and Python handles signals meanwhile
}

// spell copies p in the surface's words.
func (p *Python) spell(s *Surface) *Python {
	if p == nil {
		return nil
	}
	own := *p
	for _, text := range []*string{&own.Doc, &own.Returns, &own.DocNbi, &own.Op} {
		*text = s.Spell(*text)
	}
	return &own
}

// PythonName is the parameter's name in Python.
func (p *Param) PythonName() string {
	if p.Python != "" {
		return p.Python
	}
	return p.Name
}

// IsElement reports whether the parameter is a pointer to elements of the row's types.
func (p *Param) IsElement() bool { return strings.HasSuffix(p.C, "T *") }
