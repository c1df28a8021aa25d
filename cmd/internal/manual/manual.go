// Package manual describes the commands: what a command's help prints is also its manual page and
// its completion in bash and zsh.
//
// A command has a Page, and its options in a FlagSet. Help prints both. If its only argument is
// Ask, a command prints them as JSON, from which cmd/internal/manual/write makes the files that
// "make install" copies. The package owns no thread and no state.
package manual

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"
)

// Ask is the argument with which a command prints its description. Users do not see it.
const Ask = "--describe-command"

// Page describes a command.
type Page struct {
	Name     string
	Aliases  []string // other names of the same file
	Summary  string   // what it does, in one phrase
	Usage    []string // the command lines
	Text     string   // before the options, in paragraphs
	Options  []Option // of the FlagSet, by Describe
	Commands []Page   // the subcommands
	Notes    string   // text after the options
	Statuses []Status // the exit statuses, if Notes do not explain them
	Examples []Example
	SeeAlso  []string // other manual pages, such as shmem(7)
	Program  bool     // the arguments are a program with its own arguments, not files
}

// Option is an option of a command.
type Option struct {
	Name     string // without dashes
	Short    string // its letter, or ""
	Single   bool   // it has one dash, like options of compilers
	Value    string // the name of its value; "": it has none
	Optional string // its value if the user gives none; "": the user must give one
	Text     string
	Choices  []string // the values, if there are few
	Files    bool     // the value is a file or folder
}

// Status is an exit status.
type Status struct {
	Number string
	Text   string
}

// Example is a command line and what it does.
type Example struct {
	Command string
	Text    string
}

// The annotations of flags that completion uses.
const (
	choices = "choices"
	files   = "files"
)

// Choices sets the values of an option that completion offers.
func Choices(fs *pflag.FlagSet, option string, words ...string) { annotate(fs, option, choices, words) }

// Files marks options whose values are files or folders, for completion.
func Files(fs *pflag.FlagSet, options ...string) {
	for _, o := range options {
		annotate(fs, o, files, []string{})
	}
}

// annotate stores words for completion in an annotation of an option, which With reads.
func annotate(fs *pflag.FlagSet, option, key string, words []string) {
	if err := fs.SetAnnotation(option, key, words); err != nil {
		panic(err) // the command has no such option
	}
}

// Help prints the help of a command: usage, text, subcommands, the options of fs (unless it is
// nil), and notes.
func (p *Page) Help(w io.Writer, fs *pflag.FlagSet) {
	fmt.Fprintf(w, "Usage: %s\n\n%s\n", strings.Join(p.Usage, "\n       "), p.Text)
	for i, c := range p.Commands {
		if i == 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "  %-8s %s\n", c.Name, c.Summary)
	}
	if fs != nil {
		fmt.Fprintf(w, "\n%s", fs.FlagUsages())
	}
	if p.Notes != "" {
		fmt.Fprintf(w, "\n%s\n", p.Notes)
	}
	for i, s := range p.Statuses {
		if i == 0 {
			fmt.Fprintln(w, "\nExit status:")
		}
		fmt.Fprintf(w, "  %-3s %s\n", s.Number, s.Text)
	}
}

// With returns a copy of the page with descriptions of the options of fs, except hidden ones.
func (p *Page) With(fs *pflag.FlagSet) Page {
	out := *p
	fs.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, text := pflag.UnquoteUsage(f)
		o := Option{Name: f.Name, Short: f.Shorthand, Value: value, Text: text, Choices: f.Annotations[choices]}
		_, o.Files = f.Annotations[files]
		if value != "" && f.NoOptDefVal != "" {
			o.Optional = f.NoOptDefVal
		}
		if len(o.Choices) == 0 && strings.Contains(value, "|") {
			o.Choices = strings.Split(value, "|")
		}
		out.Options = append(out.Options, o)
	})
	out.Options = append(out.Options, Option{Name: "help", Short: "h", Text: "print this text"})
	return out
}

// Describe prints the page as JSON.
func (p *Page) Describe(w io.Writer) error { return json.NewEncoder(w).Encode(p) }
