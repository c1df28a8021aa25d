package spec

import "strings"

// A Python is a row's form in Python: a function of the row's name. Its arguments are the row's, by
// their roles: arrays say how long they are, and an array and index= name an element. It takes
// context= where the row has Contexts. capi/gen makes of it the checks, the quick way that plain
// arrays and a neighbour go, and the call.
type Python struct {
	Doc    string // the docstring
	DocNbi string // of the nonblocking form; none: Python has no such function
	// Longer is the row that copies elements which have no type of the library's: those of other
	// dtypes are words, or longer. None: elements have the row's types.
	Longer string
	Slow   []Type // types that the quick way is not for
	// Stream is the row whose form on a stream serves stream=; none: the function takes none.
	Stream string
	Op     string // the constant for that row's sig_op, where this row has none
	// Waits: it may wait for long, and what else Python has to do goes on meanwhile.
	Waits bool
}

// spell is a copy in the surface's words.
func (p *Python) spell(s *Surface) *Python {
	if p == nil {
		return nil
	}
	own := *p
	for _, text := range []*string{&own.Doc, &own.DocNbi, &own.Op} {
		*text = s.Spell(*text)
	}
	return &own
}

// PythonName is what Python calls the parameter.
func (p *Param) PythonName() string {
	if p.Python != "" {
		return p.Python
	}
	return p.Name
}

// IsElement reports whether the parameter is a pointer to elements of the row's types.
func (p *Param) IsElement() bool { return strings.HasSuffix(p.C, "T *") }
