package spec

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// A Surface is a set of names for the functions of the table, OpenSHMEM's or NVSHMEM's, with the
// headers that programs include and the library with which they link.
type Surface struct {
	// Name is the prefix of all names: shmem in shmem_put and shmemx_put_on_stream, and, in
	// capitals, in SHMEM_CMP_EQ.
	Name string
	// Over is the surface whose functions this surface's functions call, with the same arguments.
	// nil: each function is the Front of its row.
	Over *Surface

	Library string // the file that has the functions, as the linker looks for it
	Node    string // the version node that holds the public names of the first release

	Headers         // the header of the standard's functions
	Beyond  Headers // the header of the extensions

	Private []string // names that the library exports for its own headers and tools
	Handles []Handle // types of the headers that pass by value

	// Own and OwnBeyond are rows that only this surface has. Their Front calls functions that Hand
	// declares, a header in the folder of the surface's functions.
	Own       []Chapter
	OwnBeyond []Family
	Hand      string
	// OwnConstants and OwnExtensionConstants are constants that only this surface has.
	OwnConstants, OwnExtensionConstants []ConstantGroup

	// HostOnly: the surface has no functions of Python and no generated tests.
	HostOnly bool
	// Device and DeviceBeyond are the headers with the names that kernels call: Device has the
	// names of the standard, and DeviceBeyond the extensions. Without them device/<Name> has the
	// names, in a header for each chapter.
	Device, DeviceBeyond Headers
	// Tiles are calls on tensors, in the header TileHeader.
	Tiles      []Tile
	TileHeader Headers
	Generics   bool // C11 has generic names, and C++ overloads
	Profiled   bool // tools find each function by a second name, Profiled

	// Row changes a row for which this surface has another meaning, other types or other parameters
	// than the table. It returns false to leave the row out. Constant does the same with constants.
	// If they are nil, the surface has all rows, or constants, of the table unchanged.
	Row      func(*Family) bool
	Constant func(*Constant) bool

	once       sync.Once
	chapters   []Chapter
	extensions []Family
}

// Headers is a public header for programs.
type Headers struct {
	File  string // below include/
	About string // the description at its head
	Types string // C text between the description and the functions
}

// A Handle is a type of a surface's headers that functions pass by value, such as shmem_team_t.
type Handle struct {
	C      string
	Letter string // of Python's module struct
}

// Shmem is the library's own surface: OpenSHMEM's functions, and libshmem's extensions.
var Shmem = &Surface{
	Name:     "shmem",
	Library:  "libshmem.so",
	Node:     "SHMEM_0.1",
	Headers:  Headers{"shmem.h", shmemAbout, shmemTypes},
	Beyond:   Headers{"shmemx.h", shmemxAbout, extensionTypes},
	Private:  private,
	Handles:  []Handle{{"shmem_team_t", "i"}, {"shmem_ctx_t", "i"}, {"shmemx_error_handler_t", "P"}},
	Generics: true,
	Profiled: true,
}

// Surfaces are all surfaces of the library.
var Surfaces = []*Surface{Shmem, Nvshmem}

// Prefix returns the prefix of the names of the standard's functions: shmem_.
func (s *Surface) Prefix() string { return s.Name + "_" }

// Extension returns the prefix of the names of extensions: shmemx_.
func (s *Surface) Extension() string { return s.Name + "x_" }

// PrivatePrefix returns the prefix of functions and macros that the public headers define for
// themselves and that programs do not call: shmemi_.
func (s *Surface) PrivatePrefix() string { return s.Name + "i_" }

// Capitals returns the prefix of the surface's constants and macros, without the underscore: SHMEM
// or NVSHMEM.
func (s *Surface) Capitals() string { return strings.ToUpper(s.Name) }

// Chapters returns the chapters of the API: those of OpenSHMEM's table with the names that the API
// has for its functions (nvshmem_int_put), and then those that only this API has.
func (s *Surface) Chapters() []Chapter {
	s.expand()
	return s.chapters
}

// Extensions returns the rows of extensions: host functions, and the forms on streams of all rows.
func (s *Surface) Extensions() []Family {
	s.expand()
	return s.extensions
}

// expand computes the rows of Chapters and Extensions. It does so once, because the generator reads
// them some hundred times.
func (s *Surface) expand() {
	s.once.Do(func() {
		s.chapters = append(s.spelled(standard, false), s.own(s.Own, false)...)
		for _, c := range append(s.spelled(beyond, true), s.own([]Chapter{{Families: s.OwnBeyond}}, true)...) {
			s.extensions = append(s.extensions, c.Families...)
		}
		for _, c := range s.chapters {
			for i := range c.Families {
				if f := c.Families[i].OnStream(); f != nil {
					s.extensions = append(s.extensions, *f)
				}
			}
		}
	})
}

// A KernelChapter is a generated header with the functions that kernels call, and these functions.
type KernelChapter struct {
	*KernelHeader
	Families []*KernelFamily
}

// Kernels returns the functions that kernels call, one KernelChapter for each of KernelHeaders.
func (s *Surface) Kernels() []KernelChapter {
	out := make([]KernelChapter, len(KernelHeaders))
	for i, h := range KernelHeaders {
		out[i].KernelHeader = h
	}
	for _, c := range s.Chapters() {
		for i := range c.Families {
			for _, k := range c.Families[i].kernels(&c) {
				at := &out[slices.Index(KernelHeaders, k.In)]
				at.Families = append(at.Families, k)
			}
		}
	}
	return out
}

// spelled copies chapters of the table for the surface s, a set of names: it replaces the names in
// their rows by the surface's, and leaves out rows that the surface does not have. x: the rows are
// extensions.
func (s *Surface) spelled(chapters []Chapter, x bool) []Chapter {
	var out []Chapter
	for _, c := range chapters {
		families := c.Families
		c.Families = nil
		for _, f := range families {
			f.surface, f.X = s, x
			if s.Over != nil {
				s.spell(&f)
			}
			if s.Row == nil || s.Row(&f) {
				c.Families = append(c.Families, f)
			}
		}
		if len(c.Families) > 0 {
			out = append(out, c)
		}
	}
	return out
}

// own copies chapters that only this surface (set of names) has, and sets the surface in their
// rows. x: the rows are extensions.
func (s *Surface) own(chapters []Chapter, x bool) []Chapter {
	var out []Chapter
	for _, c := range chapters {
		c.Families = slices.Clone(c.Families)
		for i := range c.Families {
			c.Families[i].surface, c.Families[i].X = s, x
		}
		out = append(out, c)
	}
	return out
}

// forward is the Front of the rows of a surface whose functions call those of another surface, with
// the same arguments.
const forward = "$base($args)"

// spell replaces the names in row f by those of the surface s. The row's functions then call those
// of s.Over, the surface on which s is built; only the latter show their ranges to profilers.
func (s *Surface) spell(f *Family) {
	for _, text := range []*string{&f.Symbol, &f.Result, &f.Doc, &f.DocNbi, &f.Returns, &f.Errors, &f.Order, &f.Instead} {
		*text = s.Spell(*text)
	}
	f.Params = s.params(f.Params)
	if f.Front != "" {
		f.Front, f.FrontNbi, f.Reduce, f.Range = forward, "", "", RangeNone
	}
	f.Kernel = slices.Clone(f.Kernel)
	for i := range f.Kernel {
		k := &f.Kernel[i]
		k.Params, k.Result, k.Doc = s.params(k.Params), s.Spell(k.Result), s.Spell(k.Doc)
	}
	f.Python = f.Python.spell(s)
	if f.Stream != nil {
		spelled := *f.Stream // a copy, because the table's row is for all surfaces
		for _, text := range []*string{&spelled.Result, &spelled.Doc, &spelled.DocNbi, &spelled.Returns, &spelled.Errors, &spelled.Order} {
			*text = s.Spell(*text)
		}
		spelled.Params, spelled.Front, spelled.Range = s.params(spelled.Params), forward, RangeNone
		f.Stream = &spelled
	}
}

// params copies parameters, and replaces the names in their types and texts by those of the
// surface.
func (s *Surface) params(params []Param) []Param {
	out := slices.Clone(params)
	for i := range out {
		out[i].C, out[i].Doc = s.Spell(out[i].C), s.Spell(out[i].Doc)
	}
	return out
}

var word = regexp.MustCompile(`\b_?(?:shmemx?|SHMEMX?)_\w+`)

// Spell replaces the names of functions, types and constants in a text of the table by the
// surface's: shmem_put by nvshmem_put. Settings keep their names, which begin with SHMEM_ for every
// surface.
func (s *Surface) Spell(text string) string {
	if s.Name == Shmem.Name {
		return text
	}
	return word.ReplaceAllStringFunc(text, func(name string) string {
		bare, underscore := strings.CutPrefix(name, "_")
		switch {
		case strings.HasPrefix(bare, Shmem.Name):
			bare = s.Name + bare[len(Shmem.Name):]
		case constantNames[name]:
			bare = s.Capitals() + bare[len(Shmem.Name):]
		}
		if underscore {
			return "_" + bare
		}
		return bare
	})
}

// constantNames has the names of all constants, to distinguish them from settings.
var constantNames = func() map[string]bool {
	names := map[string]bool{}
	for _, groups := range [][]ConstantGroup{standardConstants, extensionConstants} {
		for _, g := range groups {
			for _, c := range g.Constants {
				names[c.Name] = true
			}
		}
	}
	return names
}()

// Constants returns the macros of the standard's header.
func (s *Surface) Constants() []ConstantGroup {
	return append(s.constants(standardConstants), s.OwnConstants...)
}

// ExtensionConstants returns the macros of the header of the extensions.
func (s *Surface) ExtensionConstants() []ConstantGroup {
	return append(s.constants(extensionConstants), s.OwnExtensionConstants...)
}

// constants copies groups of constants, with the surface's names, except those for which Constant
// returns false.
func (s *Surface) constants(groups []ConstantGroup) []ConstantGroup {
	var out []ConstantGroup
	for _, g := range groups {
		constants := g.Constants
		g.Doc, g.Constants = s.Spell(g.Doc), nil
		for _, c := range constants {
			c.Name, c.Value, c.Doc = s.Spell(c.Name), s.Spell(c.Value), s.Spell(c.Doc)
			if s.Constant == nil || s.Constant(&c) {
				g.Constants = append(g.Constants, c)
			}
		}
		if g.Constants != nil {
			out = append(out, g)
		}
	}
	return out
}

// Names lists every function of the standard in the order of the table.
func (s *Surface) Names() []string {
	var out []string
	for _, c := range s.Chapters() {
		out = append(out, names(c.Families)...)
	}
	return out
}

// ExtensionNames lists every function that is an extension.
func (s *Surface) ExtensionNames() []string { return names(s.Extensions()) }

// names lists the names of all functions of some families, in order.
func names(families []Family) []string {
	var out []string
	for i := range families {
		for _, fn := range families[i].Functions() {
			out = append(out, fn.Name)
		}
	}
	return out
}

// KernelNames returns the names of all functions that kernels may call.
func (s *Surface) KernelNames() []string {
	var out []string
	for _, c := range s.Kernels() {
		for _, k := range c.Families {
			for _, fn := range k.Functions() {
				out = append(out, fn.Name)
			}
		}
	}
	return out
}

// Profiled returns the second name of a public function, by which a profiler calls it when the
// profiler itself defines the first name.
func Profiled(name string) string {
	return "p" + name
}

// ProfilingNames lists the second names of all functions in the order of the table.
func (s *Surface) ProfilingNames() []string {
	if !s.Profiled {
		return nil
	}
	out := s.Names()
	for i, name := range out {
		out[i] = Profiled(name)
	}
	return out
}

// Exported lists every name that the surface's library exports: of its functions, their second
// names for profilers, the extensions, and what its own headers and tools call.
func (s *Surface) Exported() []string {
	return slices.Concat(s.Names(), s.ProfilingNames(), s.ExtensionNames(), s.Private)
}

// Below returns the name of the function of the surface Over that this one calls: shmem_put for
// nvshmem_put. The surface of f must have an Over.
func (f *Function) Below() string {
	s := f.Family.Surface()
	return s.Over.Name + strings.TrimPrefix(f.Name, s.Name)
}
