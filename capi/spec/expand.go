package spec

// A Function is one public name.
type Function struct {
	Name   string
	Family *Family
	Type   Type // of the elements; Raw where a family has none
	Nbi    bool
	// Form is the kind of name: 0 for typed or plain names, else Sized or Mem.
	Form Variant
}

// Functions lists the functions of a family: typed, by size, by bytes, and then
// the nonblocking ones in the same order.
func (f *Family) Functions() []Function {
	var out []Function
	for _, nbi := range []bool{false, true} {
		if nbi && f.Variants&Nbi == 0 {
			continue
		}
		out = append(out, f.forms(nbi)...)
	}
	return out
}

func (f *Family) forms(nbi bool) []Function {
	suffix := ""
	if nbi {
		suffix = "_nbi"
	}
	if len(f.Types) == 0 {
		return []Function{{Name: "shmem_" + f.Name + suffix, Family: f, Nbi: nbi}}
	}
	var out []Function
	for _, t := range f.Types {
		out = append(out, Function{"shmem_" + t.Name + "_" + f.Name + suffix, f, t, nbi, 0})
	}
	// A size stands after the first word: put_signal gives put8_signal.
	stem, rest := f.Name, ""
	for i := range f.Name {
		if f.Name[i] == '_' {
			stem, rest = f.Name[:i], f.Name[i:]
			break
		}
	}
	if f.Variants&Sized != 0 {
		for _, bits := range Sizes {
			t := Type{Name: decimal(bits), C: "void", Kind: Raw, Bits: bits}
			out = append(out, Function{"shmem_" + stem + t.Name + rest + suffix, f, t, nbi, Sized})
		}
	}
	if f.Variants&Mem != 0 {
		t := Type{Name: "mem", C: "void", Kind: Raw, Bits: 8}
		out = append(out, Function{"shmem_" + stem + "mem" + rest + suffix, f, t, nbi, Mem})
	}
	return out
}

// Names lists every public function in the order of the table.
func Names() []string {
	var out []string
	for _, c := range Chapters {
		for i := range c.Families {
			for _, f := range c.Families[i].Functions() {
				out = append(out, f.Name)
			}
		}
	}
	return out
}

// Params are the parameters that this form of the function has.
func (f *Function) Params() []Param {
	var out []Param
	for _, p := range f.Family.Params {
		if !p.Nbi || f.Nbi {
			out = append(out, p)
		}
	}
	return out
}

// Result is the C type of the result, with T for the element type.
func (f *Function) Result() string {
	if f.Family.Result == "" || f.Nbi {
		return "void"
	}
	return f.Family.Result
}

func decimal(n int) string {
	s := ""
	for ; n > 0; n /= 10 {
		s = string(rune('0'+n%10)) + s
	}
	return s
}
