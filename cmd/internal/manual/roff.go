package manual

import (
	"fmt"
	"strings"
)

// Man returns the manual page of a command, for a version of the library.
func (p *Page) Man(version string) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".\\\" generated from the help of %s\n.TH %s 1 \"\" \"libshmem %s\" \"OpenSHMEM\"\n",
		p.Name, strings.ToUpper(roff(p.Name)), roff(version))
	names := append([]string{p.Name}, p.Aliases...)
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n.SH SYNOPSIS\n", roff(strings.Join(names, ", ")), roff(p.Summary))
	for i, line := range p.Usage {
		if i > 0 {
			b.WriteString(".br\n")
		}
		command, rest, _ := strings.Cut(line, " ")
		fmt.Fprintf(&b, ".B %s\n", roff(command))
		if rest != "" {
			fmt.Fprintln(&b, roff(rest))
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
		fmt.Fprintf(&b, ".SS %s\n", roff(strings.TrimPrefix(strings.Join(c.Usage, "\n"), p.Name+" ")))
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
		fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(s.Number), roff(upper(s.Text)))
	}
	for i, e := range p.Examples {
		if i == 0 {
			b.WriteString(".SH EXAMPLES\n")
		} else {
			b.WriteString(".PP\n")
		}
		fmt.Fprintf(&b, "%s\n.PP\n.RS 4\n.EX\n%s\n.EE\n.RE\n", roff(e.Text), roff(e.Command))
	}
	b.WriteString(".SH ENVIRONMENT\nThe variables SHMEM_* of\n.BR shmem (7).\n.SH SEE ALSO\n")
	for i, s := range p.SeeAlso {
		name, number, _ := strings.Cut(strings.TrimSuffix(s, ")"), "(")
		comma := ","
		if i == len(p.SeeAlso)-1 {
			comma = ""
		}
		fmt.Fprintf(&b, ".BR %s (%s)%s\n", roff(name), number, comma)
	}
	return b.String()
}

// options writes the options with their texts.
func (p *Page) options(b *strings.Builder) {
	for _, o := range p.Options {
		fmt.Fprintf(b, ".TP\n%s\n%s.\n", o.heading(), roff(strings.TrimSuffix(upper(o.Text), ".")))
	}
}

// heading returns the first line of an option's paragraph.
func (o *Option) heading() string {
	var all []string
	if o.Short != "" {
		all = append(all, `\fB`+roff("-"+o.Short)+`\fP`)
	}
	all = append(all, `\fB`+roff(o.dashed())+`\fP`)
	out := strings.Join(all, ", ")
	switch {
	case o.Value == "":
		return out
	case o.Optional != "":
		return out + `[=\fI` + roff(o.Value) + `\fP]`
	}
	return out + ` \fI` + roff(o.Value) + `\fP`
}

// dashed returns the option as users write it.
func (o *Option) dashed() string {
	if o.Single {
		return "-" + o.Name
	}
	return "--" + o.Name
}

// section writes a section of the page.
func section(b *strings.Builder, name, text string) {
	fmt.Fprintf(b, ".SH %s\n", name)
	paragraphs(b, text)
}

// paragraphs writes a text whose paragraphs are separated by an empty line.
func paragraphs(b *strings.Builder, text string) {
	for i, p := range strings.Split(strings.TrimSpace(text), "\n\n") {
		if i > 0 {
			b.WriteString(".PP\n")
		}
		for line := range strings.Lines(p) {
			fmt.Fprintln(b, roff(strings.TrimSpace(line)))
		}
	}
}

// upper returns a text that begins with a capital letter.
func upper(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// roff escapes a line for a manual page.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	return text
}
