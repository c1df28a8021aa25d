package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"libshmem"
	"libshmem/capi/spec"
	"libshmem/runtime/config"
)

// A topic is a family of functions, with the text of its manual page.
type topic struct {
	family    *spec.Family
	functions []spec.Function
	header    string
}

// A page is a manual page with the topics that a reader looks up by one name: shmem_broadcast on
// teams, and on active sets.
type page struct {
	name   string
	title  string // of the chapter
	topics []topic
}

// pages returns the manual pages of a surface's functions, in the order of the tables.
func pages(s *spec.Surface) []*page {
	var out []*page
	byName := map[string]*page{}
	add := func(name, title string, t topic) {
		p := byName[name]
		if p == nil {
			p = &page{name: name, title: title}
			byName[name] = p
			out = append(out, p)
		}
		p.topics = append(p.topics, t)
	}
	for _, c := range s.Chapters() {
		for i := range c.Families {
			if f := &c.Families[i]; f.Front != "" {
				add(cmp.Or(f.Symbol, s.Prefix()+f.Name), c.Title, topic{f, f.Functions(), s.File})
			}
		}
	}
	extensions := s.Extensions()
	for i := range extensions {
		f := &extensions[i]
		add(s.Extension()+f.Name+f.Suffix, "Extensions", topic{f, f.Functions(), s.Beyond.File})
	}
	for _, p := range out { // deprecated functions come last
		slices.SortStableFunc(p.topics, func(a, b topic) int { return cmp.Compare(a.rank(), b.rank()) })
	}
	return out
}

// rank orders the topics of a page: 0, or 1 for deprecated functions, which come last.
func (t topic) rank() int {
	if t.family.Instead != "" {
		return 1
	}
	return 0
}

// summary returns the first sentence of the family's description, up to its colon or full stop.
func (t topic) summary() string {
	s, _, _ := strings.Cut(t.family.Doc, ". ")
	s, _, _ = strings.Cut(strings.TrimSuffix(s, "."), ": ")
	return strings.ToLower(s[:1]) + s[1:]
}

// synopsis returns a prototype for each form of the topic's names, with T for the element type.
func (t topic) synopsis() []string {
	var out []string
	seen := map[string]bool{}
	for _, fn := range t.functions {
		s := nameForm(fn)
		if seen[s] {
			continue
		}
		seen[s] = true
		if fn.Form == 0 && len(t.family.Types) > 0 {
			fn.Type.C = "T"
		}
		out = append(out, strings.Replace(prototype(fn), fn.Name+"(", s+"(", 1)+";")
	}
	return out
}

// generic returns the name that C11 and C++ have for all of the topic's typed functions, or "".
func (t topic) generic() string {
	s := t.family.Surface()
	if t.family.X || !s.Generics || len(t.family.Types) == 0 || t.family.Plain {
		return ""
	}
	return s.Prefix() + t.family.Name
}

// roff escapes text for a manual page in roff: backslashes, hyphens, and a dot or quote at the
// start of a line, which would begin a request.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	return text
}

// paragraph writes a text to a manual page, in lines of at most 80 characters.
func paragraph(b *strings.Builder, text string) {
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > 80 {
			fmt.Fprintln(b, roff(line))
			line = ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	fmt.Fprintln(b, roff(line))
}

// body writes the parts of a topic that follow its synopsis, each under a heading: description,
// arguments, types, result, errors, order and standards.
func (t topic) body(b *strings.Builder, heading string) {
	f := t.family
	part := func(name string, texts ...string) {
		texts = slices.DeleteFunc(texts, func(s string) bool { return s == "" })
		for i, text := range texts {
			if i == 0 {
				fmt.Fprintf(b, "%s %s\n", heading, name)
			} else {
				fmt.Fprintln(b, ".PP")
			}
			paragraph(b, text)
		}
	}
	nonblocking, context, instead := "", "", ""
	if f.DocNbi != "" {
		nonblocking = "Nonblocking form. " + f.DocNbi
	}
	if f.Contexts {
		context = "With ctx: " + strings.ToLower(contextComment(f)[:1]) + contextComment(f)[1:]
	}
	if f.Instead != "" {
		instead = "Deprecated by the specification: use " + f.Instead + "."
	}
	part("DESCRIPTION", f.Doc, nonblocking, context, instead)
	if len(f.Params) > 0 {
		fmt.Fprintf(b, "%s ARGUMENTS\n", heading)
		for _, p := range f.Params {
			fmt.Fprintf(b, ".TP\n.I %s\n", roff(p.Name))
			paragraph(b, argument(f, p))
		}
	}
	if len(f.Types) > 0 {
		var types []string
		for _, typ := range f.Types {
			types = append(types, typ.Name+" ("+publicType(typ)+")")
		}
		part("TYPES", "<T> and T: "+strings.Join(types, ", ")+".")
	}
	part("RETURN VALUE", f.Returns)
	part("ERRORS", f.Errors)
	part("ORDER", f.Order)
	since := "Since libshmem " + f.Since + "."
	if !t.family.X {
		since = "OpenSHMEM 1.6, " + f.Section + ". " + since
	} else {
		since = "An extension of libshmem. " + since
	}
	part("STANDARDS", since)
}

// publicType returns a type as users write it.
func publicType(t spec.Type) string {
	switch t.C {
	case "shmemi_complexd":
		return "double _Complex, std::complex<double>"
	case "shmemi_complexf":
		return "float _Complex, std::complex<float>"
	}
	return t.C
}

// title returns the first lines of a manual page: a comment, and the request with its name, section
// and version.
func title(name string, section int) string {
	return fmt.Sprintf(".\\\" generated by capi/gen from capi/spec\n.TH %s %d \"\" \"libshmem %s\" \"OpenSHMEM\"\n",
		strings.ToUpper(roff(name)), section, libshmem.Version)
}

// writeSynopsis writes the synopsis of a topic: the header to include, the prototypes, and the
// generic name.
func (t topic) writeSynopsis(b *strings.Builder) {
	fmt.Fprintf(b, ".nf\n.B #include <%s>\n.PP\n", t.header)
	for _, line := range t.synopsis() {
		fmt.Fprintf(b, "%s\n", roff(line))
	}
	b.WriteString(".fi\n")
	if g := t.generic(); g != "" {
		fmt.Fprintln(b, ".PP")
		paragraph(b, "In C11 and C++ "+g+"(...) takes the arguments of any of the typed functions.")
	}
}

// text returns the manual page in roff: the functions of its topics, an example, and references.
func (p *page) text() string {
	var b strings.Builder
	first := p.topics[0]
	b.WriteString(title(p.name, 3))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n.SH SYNOPSIS\n", roff(p.name), roff(first.summary()))
	first.writeSynopsis(&b)
	first.body(&b, ".SH")
	for _, t := range p.topics[1:] {
		fmt.Fprintf(&b, ".SH OTHER FORMS\n%s.\n.PP\n", roff(strings.Join(nameForms(t.family), ", ")))
		t.writeSynopsis(&b)
		t.body(&b, ".SS")
	}
	s := p.topics[0].family.Surface()
	if s.Over == nil {
		writeExample(&b, strings.TrimPrefix(p.name, s.Prefix()))
	}
	fmt.Fprintf(&b, ".SH SEE ALSO\n.BR %s (7)", s.Name)
	if s.Profiled {
		fmt.Fprintf(&b, ",\n.BR p%s (3)", s.Name)
	}
	b.WriteString("\n")
	return b.String()
}

// manual returns the text of each file of the manual, by its path below man/. A function without a
// page of its own gets a file that refers to its family's page.
func manual(s *spec.Surface) map[string]string {
	out := map[string]string{"man7/" + s.Name + ".7": overviewPage(s)}
	if s.Profiled {
		out["man3/p"+s.Name+".3"] = profilePage(s)
	}
	for _, p := range pages(s) {
		out["man3/"+p.name+".3"] = p.text()
	}
	for _, p := range pages(s) {
		for _, t := range p.topics {
			for _, fn := range t.functions {
				if path := "man3/" + fn.Name + ".3"; out[path] == "" {
					out[path] = ".so man3/" + p.name + ".3\n"
				}
			}
		}
	}
	return out
}

// profilePage returns the page about the second names of functions, which profilers use.
func profilePage(s *spec.Surface) string {
	var b strings.Builder
	b.WriteString(title("p"+s.Name, 3))
	fmt.Fprintf(&b, ".SH NAME\np%s \\- second names of the functions, for tools that watch a program\n"+
		".SH SYNOPSIS\n.nf\n.B #include <%s>\n.fi\n.SH DESCRIPTION\n", s.Name, profiledFile(s))
	for i, text := range []string{
		withPrefixes(s, "A tool defines functions of "+s.File+" itself, in a library that the program is linked with before "+s.Library+
			" or that LD_PRELOAD names, and calls the library's own by the name with a p in front: p@_int_put for "+
			"@_int_put, p@_init for @_init. They are the same functions."),
		"The library calls neither name, so that a tool sees each call of the program once. The generic names of C11 and the " +
			"overloads of C++ are seen as the typed function that they stand for.",
	} {
		if i > 0 {
			b.WriteString(".PP\n")
		}
		paragraph(&b, text)
	}
	fmt.Fprintf(&b, ".SH SEE ALSO\n.BR %s (7)\n", s.Name)
	return b.String()
}

// overviewPage returns shmem(7), which lists the other pages and the environment variables.
func overviewPage(s *spec.Surface) string {
	var b strings.Builder
	b.WriteString(title(s.Name, 7))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- one-sided communication between processing elements\n.SH DESCRIPTION\n", s.Name)
	paragraph(&b, "libshmem is an implementation of OpenSHMEM 1.6. A PE of a parallel program reads and writes the memory "+
		"of another one by that PE's number and its own address of the data; the other PE takes no part.")
	chapter := ""
	for _, p := range pages(s) {
		if p.title != chapter {
			chapter = p.title
			fmt.Fprintf(&b, ".SH %s\n", strings.ToUpper(roff(chapter)))
		}
		fmt.Fprintf(&b, ".TP\n.BR %s (3)\n", roff(p.name))
		paragraph(&b, p.topics[0].summary())
	}
	b.WriteString(".SH ENVIRONMENT\n")
	writeEnvironment(&b)
	fmt.Fprint(&b, ".SH SEE ALSO\n.BR shmemrun (1),\n.BR oshcc (1),\n.BR shmem\\-info (1),\n.BR shmem\\-doctor (1),\n.BR shmem\\-trace (1)")
	if s.Profiled {
		fmt.Fprintf(&b, ",\n.BR p%s (3)", s.Name)
	}
	b.WriteString("\n")
	return b.String()
}

// writeEnvironment writes the settings that users may set, by category, with their ranges and
// defaults.
func writeEnvironment(b *strings.Builder) {
	paragraph(b, "These variables are read once, by the first initialisation. shmem-info --env lists them with their present values.")
	category := config.Category(0xff) // of no setting, so that the first one begins a section
	for i := range config.Table {
		v := &config.Table[i]
		if v.Category == config.Launcher {
			continue
		}
		if v.Category != category {
			category = v.Category
			title := category.String()
			fmt.Fprintf(b, ".SS %s\n", roff(strings.ToUpper(title[:1])+title[1:]))
		}
		fmt.Fprintf(b, ".TP\n.B %s\n", roff(v.Name))
		paragraph(b, v.Text)
		text := "Value: " + v.Range() + "."
		if v.Default != "" {
			text += " Default: " + v.Default + "."
		}
		if len(v.Aliases) > 0 {
			text += " Also read from " + strings.Join(v.Aliases, ", ") + "."
		}
		b.WriteString(".br\n")
		paragraph(b, text)
	}
}

// writeExample writes the example of the page with this name, with the output of two PEs. If the
// page has none it writes nothing.
func writeExample(b *strings.Builder, name string) {
	for i := range spec.Examples {
		e := &spec.Examples[i]
		if !slices.Contains(e.Pages, name) {
			continue
		}
		b.WriteString(".SH EXAMPLES\n")
		if !e.Whole() {
			paragraph(b, "With me and n for the number of this PE and of all PEs:")
			b.WriteString(".PP\n")
		}
		fmt.Fprintf(b, ".RS 4\n.EX\n")
		for line := range strings.Lines(e.Code) {
			if line == "\n" {
				fmt.Fprintln(b, `\&`) // formatters complain of an empty line
				continue
			}
			fmt.Fprintln(b, roff(strings.TrimSuffix(line, "\n")))
		}
		b.WriteString(".EE\n.RE\n.PP\n")
		paragraph(b, "Two PEs print, in any order:")
		b.WriteString(".PP\n.RS 4\n.EX\n")
		for line := range strings.Lines(e.Prints) {
			fmt.Fprintln(b, roff(strings.TrimSuffix(line, "\n")))
		}
		b.WriteString(".EE\n.RE\n")
	}
}

// writePages writes the files of the manual below dir, and their paths to the file list.
func writePages(s *spec.Surface, dir string) error {
	var list []string
	for path, text := range manual(s) {
		at := filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			return err
		}
		list = append(list, path)
	}
	slices.Sort(list)
	return os.WriteFile(filepath.Join(dir, "list"), []byte(strings.Join(list, "\n")+"\n"), 0o644)
}

// reference returns docs/reference/functions.md, which has a line for each topic of the manual.
func reference(s *spec.Surface) string {
	var b strings.Builder
	b.WriteString(banner("<!-- ", " -->"))
	b.WriteString(`# Reference

One line for each function. The manual describes the arguments with their units,
results, errors and ordering: ` + "`" + withPrefixes(s, "man @_put") + "`" + `, or the
comments of ` + "`include/" + s.File + "`" + `, which are generated from the same rows. <T> is a type, <bits>
a size; most functions have a form _nbi, which does not wait, and one with ctx_ and a context.
`)
	chapter := ""
	for _, p := range pages(s) {
		if p.title != chapter {
			chapter = p.title
			fmt.Fprintf(&b, "\n## %s\n\n| page | names | what it does | section |\n|---|---|---|---|\n", chapter)
		}
		for _, t := range p.topics {
			names := t.synopsisNames()
			what := t.summary()
			if t.family.Instead != "" {
				what += " (deprecated: use " + t.family.Instead + ")"
			}
			section := t.family.Section
			if t.family.X {
				section = ""
			}
			fmt.Fprintf(&b, "| %s(3) | %s | %s | %s |\n", p.name, names, what, section)
		}
	}
	return b.String()
}

// synopsisNames returns as Markdown the names of a topic's functions, with <T> or <bits> for the
// type or the size. Functions with _nbi or a context are left out.
func (t topic) synopsisNames() string {
	var out []string
	for _, fn := range t.functions {
		if s := "`" + nameForm(fn) + "`"; !fn.Nbi && !fn.Ctx && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return strings.Join(out, ", ")
}
