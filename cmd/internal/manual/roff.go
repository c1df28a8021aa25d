package manual

import (
	"fmt"
	"strings"
)

// Man returns the manual page of a command in roff, from its help. version is that of the library,
// for the head.
func (p *Page) Man(version string) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".\\\" generated from the help of %s\n.TH %s 1 \"\" \"libshmem %s\" \"OpenSHMEM\"\n",
		p.Name, strings.ToUpper(roffEscaped(p.Name)), roffEscaped(version))
	names := append([]string{p.Name}, p.Aliases...)
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n.SH SYNOPSIS\n", roffEscaped(strings.Join(names, ", ")), roffEscaped(p.Summary))
	for i, line := range p.Usage {
		if i > 0 {
			b.WriteString(".br\n")
		}
		command, rest, _ := strings.Cut(line, " ")
		fmt.Fprintf(&b, ".B %s\n", roffEscaped(command))
		if rest != "" {
			fmt.Fprintln(&b, roffEscaped(rest))
		}
	}
	section(&b, "DESCRIPTION", p.Text)
	if len(p.Options) > 0 {
		b.WriteString(".SH OPTIONS\n")
		p.options(&b)
	}
	for i, c := range p.Commands {
		if i == 0 {
			b.WriteString(".SH COMMANDS\n")
		}
		fmt.Fprintf(&b, ".SS %s\n", roffEscaped(strings.TrimPrefix(strings.Join(c.Usage, "\n"), p.Name+" ")))
		paragraphs(&b, c.Text)
		c.options(&b)
	}
	if p.Notes != "" {
		section(&b, "NOTES", p.Notes)
	}
	for i, s := range p.Statuses {
		if i == 0 {
			b.WriteString(".SH EXIT STATUS\n")
		}
		fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roffEscaped(s.Number), roffEscaped(capitalized(s.Text)))
	}
	for i, e := range p.Examples {
		if i == 0 {
			b.WriteString(".SH EXAMPLES\n")
		} else {
			b.WriteString(".PP\n")
		}
		fmt.Fprintf(&b, "%s\n.PP\n.RS 4\n.EX\n%s\n.EE\n.RE\n", roffEscaped(e.Text), roffEscaped(e.Command))
	}
	b.WriteString(".SH ENVIRONMENT\nThe variables SHMEM_* of\n.BR shmem (7).\n.SH SEE ALSO\n")
	for i, s := range p.SeeAlso {
		name, number, _ := strings.Cut(strings.TrimSuffix(s, ")"), "(")
		comma := ","
		if i == len(p.SeeAlso)-1 {
			comma = ""
		}
		fmt.Fprintf(&b, ".BR %s (%s)%s\n", roffEscaped(name), number, comma)
	}
	return b.String()
}

// options writes a paragraph for each option of the page, in roff.
func (p *Page) options(b *strings.Builder) {
	for _, o := range p.Options {
		fmt.Fprintf(b, ".TP\n%s\n%s.\n", o.heading(), roffEscaped(strings.TrimSuffix(capitalized(o.Text), ".")))
	}
}

// heading returns the first line of an option's paragraph in roff: its spellings, and the name of
// its value.
func (o *Option) heading() string {
	var all []string
	if o.Short != "" {
		all = append(all, `\fB`+roffEscaped("-"+o.Short)+`\fP`)
	}
	all = append(all, `\fB`+roffEscaped(o.dashed())+`\fP`)
	out := strings.Join(all, ", ")
	switch {
	case o.Value == "":
		return out
	case o.Optional != "":
		return out + `[=\fI` + roffEscaped(o.Value) + `\fP]`
	}
	return out + ` \fI` + roffEscaped(o.Value) + `\fP`
}

// dashed returns the option as users write it.
func (o *Option) dashed() string {
	if o.Single {
		return "-" + o.Name
	}
	return "--" + o.Name
}

// section writes a section of the manual page, with its heading.
func section(b *strings.Builder, name, text string) {
	fmt.Fprintf(b, ".SH %s\n", name)
	paragraphs(b, text)
}

// paragraphs writes a text in roff. An empty line in the text separates two paragraphs.
func paragraphs(b *strings.Builder, text string) {
	for i, p := range strings.Split(strings.TrimSpace(text), "\n\n") {
		if i > 0 {
			b.WriteString(".PP\n")
		}
		for line := range strings.Lines(p) {
			fmt.Fprintln(b, roffEscaped(strings.TrimSpace(line)))
		}
	}
}

// capitalized returns a text that begins with a capital letter.
func capitalized(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// roffEscaped returns a line with roff's special characters escaped, so that it is printed as it
// is.
func roffEscaped(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	return text
}
