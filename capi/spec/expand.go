package spec

// A Function is one public name.
type Function struct {
	Name   string
	Family *Family
	Type   Type // of the elements; Raw where a family has none
	Nbi    bool
	Ctx    bool // it takes a context
	// Form is the kind of the name: 0 for a typed name or one without a type, else Sized or Mem.
	Form Variant
}

// Functions lists the functions of a family: typed, by size, by bytes, then the
// nonblocking ones in the same order, and all of these again with a context.
func (f *Family) Functions() []Function {
	if f.Front == "" {
		return nil
	}
	out := f.plain()
	if f.Contexts {
		for _, fn := range f.plain() {
			fn.Name, fn.Ctx = f.prefix()+"ctx_"+fn.Name[len(f.prefix()):], true
			out = append(out, fn)
		}
	}
	return out
}

// Surface returns the surface (OpenSHMEM's or NVSHMEM's set of names) to which the family belongs.
func (f *Family) Surface() *Surface {
	if f.surface == nil {
		return Shmem
	}
	return f.surface
}

// prefix returns what the family's names begin with.
func (f *Family) prefix() string {
	if f.X {
		return f.Surface().Extension()
	}
	return f.Surface().Prefix()
}

// plain lists the family's functions that take no context, the blocking ones first.
func (f *Family) plain() []Function {
	var out []Function
	for _, nbi := range []bool{false, true} {
		if nbi && f.Variants&Nbi == 0 {
			continue
		}
		out = append(out, f.forms(nbi)...)
	}
	return out
}

// forms lists the functions of a family (a row of the table) that take no context and are
// nonblocking, or blocking: one for each type, then one for each size, then the one for bytes.
func (f *Family) forms(nbi bool) []Function {
	suffix := f.Suffix
	if nbi {
		suffix = "_nbi" + f.Suffix
	}
	if f.Symbol != "" {
		return []Function{{Name: f.Symbol, Family: f, Nbi: nbi}}
	}
	if len(f.Types) == 0 && f.Variants&(Sized|Mem) == 0 {
		return []Function{{Name: f.prefix() + f.Name + suffix, Family: f, Nbi: nbi}}
	}
	var out []Function
	for _, t := range f.Types {
		out = append(out, Function{f.prefix() + t.Name + "_" + f.Name + suffix, f, t, nbi, false, 0})
	}
	// A size is inserted after the first word: put_signal becomes put8_signal.
	stem, rest := f.Name, ""
	for i := range f.Name {
		if f.Name[i] == '_' {
			stem, rest = f.Name[:i], f.Name[i:]
			break
		}
	}
	if f.Variants&Sized != 0 {
		widths := f.Widths
		if widths == nil {
			widths = Sizes
		}
		for _, bits := range widths {
			t := Type{Name: decimal(bits), C: "void", Kind: Raw, Bits: bits}
			out = append(out, Function{f.prefix() + stem + t.Name + rest + suffix, f, t, nbi, false, Sized})
		}
	}
	if f.Variants&Mem != 0 {
		t := Type{Name: "mem", C: "void", Kind: Raw, Bits: 8}
		out = append(out, Function{f.prefix() + stem + "mem" + rest + suffix, f, t, nbi, false, Mem})
	}
	return out
}

// Params returns the function's parameters, a context included.
func (f *Function) Params() []Param {
	var out []Param
	if f.Ctx {
		out = append(out, f.Family.Surface().params([]Param{paramCtx})...)
	}
	return append(out, paramsOf(f.Family.Params, f.Nbi)...)
}

// paramsOf returns those of the parameters that the blocking form of a function has, or, if nbi is
// true, those of the nonblocking form, which may have more.
func paramsOf(params []Param, nbi bool) []Param {
	var out []Param
	for _, p := range params {
		if !p.Nbi || nbi {
			out = append(out, p)
		}
	}
	return out
}

// Result returns the C type of the result, with T for the element type.
func (f *Function) Result() string {
	if f.Family.Result == "" || f.Nbi {
		return "void"
	}
	return f.Family.Result
}

// decimal returns a positive number in decimal digits. The package imports no strconv.
func decimal(n int) string {
	s := ""
	for ; n > 0; n /= 10 {
		s = string(rune('0'+n%10)) + s
	}
	return s
}
