// Shmem-trace reads the traces that SHMEM_TRACE and libshmem_preload.so write: it joins them for a
// viewer, reports what took the time and who waited for whom, and predicts the time on another
// network.
//
// This file chooses the subcommand; each has a file of its own, which reads the command line. The
// work is that of cmd/internal/tracefile, cmd/internal/tracereport and cmd/internal/tracereplay.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/pflag"

	"libshmem"
	"libshmem/cmd/internal/manual"
	"libshmem/cmd/internal/options"
	"libshmem/runtime/shmerr"
)

var page = manual.Page{
	Name:    "shmem-trace",
	Summary: "join, report and replay the traces of a job",
	Usage:   []string{"shmem-trace COMMAND FILE... [options]"},
	Text:    "Reads the files of a trace, or all files of a folder that end in .json.",
	Notes:   "shmem-trace COMMAND --help lists the options of a command.",
	Statuses: []manual.Status{
		{Number: "0", Text: "the command has done its work"},
		{Number: "1", Text: "a file cannot be read or written, or is not a trace"},
		{Number: "2", Text: "a mistake in the command line"},
	},
	Examples: []manual.Example{
		{Command: "shmemrun -n 4 --trace DIR ./ring && shmem-trace report DIR", Text: "Record the calls of a program, and say what took the time:"},
		{Command: "shmem-trace merge DIR -o all.json", Text: "Make one file that https://ui.perfetto.dev shows:"},
		{Command: "shmem-trace replay DIR --model efa", Text: "Predict the time on another network:"},
	},
	SeeAlso: []string{"shmemrun(1)", "shmem(7)"},
}

// The exit statuses.
const (
	statusOK    = 0
	statusError = 1 // a file cannot be read or written, or is not a trace
	statusUsage = 2
)

// A command is a subcommand.
type command struct {
	page manual.Page
	// set defines the options, and returns the function that runs after the command line was read.
	set func(fs *pflag.FlagSet) (run func(files []string, stdout, stderr io.Writer) int)
}

// commands returns the subcommands, in the order in which the help lists them.
func commands() []command { return []command{mergeCommand, reportCommand, replayCommand} }

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run does the work of main: it chooses the subcommand, and returns the exit status.
func run(args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		return fail(stderr, statusUsage, errors.New("read the command line: the command is missing (see shmem-trace --help)"))
	}
	switch args[0] {
	case "-h", "--help", "help":
		whole := describe()
		whole.Help(stdout, nil) // nil: no options of its own
		return statusOK
	case manual.Ask:
		whole := describe()
		if err := whole.Describe(stdout); err != nil {
			return fail(stderr, statusError, err)
		}
		return statusOK
	case "--version":
		fmt.Fprintln(stdout, libshmem.Version)
		return statusOK
	}
	for _, c := range commands() {
		if c.page.Name == args[0] {
			return c.start(args[1:], stdout, stderr)
		}
	}
	return fail(stderr, statusUsage, fmt.Errorf("read the command line: there is no command %q (see shmem-trace --help)", args[0]))
}

// describe returns the manual page of shmem-trace, with the pages of its subcommands.
func describe() manual.Page {
	out := page
	for _, c := range commands() {
		fs, _, _ := c.flags()
		out.Commands = append(out.Commands, c.page.With(fs))
	}
	out.Options = []manual.Option{{Name: "version", Text: "print the version alone"}, {Name: "help", Short: "h", Text: "print the commands"}}
	return out
}

// flags defines the options of a subcommand. run does its work after they were read; `version` is
// the value of --version.
func (c *command) flags() (fs *pflag.FlagSet, run func([]string, io.Writer, io.Writer) int, version *bool) {
	fs = pflag.NewFlagSet("shmem-trace "+c.page.Name, pflag.ContinueOnError)
	fs.SortFlags = false
	run = c.set(fs)
	return fs, run, fs.Bool("version", false, "print the version alone")
}

// start runs a subcommand with its arguments, options and names of files, and returns the exit
// status.
func (c *command) start(args []string, stdout, stderr io.Writer) int {
	fs, run, version := c.flags()
	fs.SetOutput(stdout)
	fs.Usage = func() { c.page.Help(stdout, fs) }
	help := "(see " + fs.Name() + " --help)"
	switch err := fs.Parse(args); {
	case errors.Is(err, pflag.ErrHelp):
		return statusOK
	case err != nil:
		return fail(stderr, statusUsage, fmt.Errorf("read the command line: %w %s", options.Explain(err), help))
	case *version:
		fmt.Fprintln(stdout, libshmem.Version)
		return statusOK
	case fs.NArg() == 0:
		return fail(stderr, statusUsage, fmt.Errorf("read the command line: the files are missing %s", help))
	}
	return run(fs.Args(), stdout, stderr)
}

// fail prints an error, and returns the exit status.
func fail(stderr io.Writer, status int, err error) int {
	fmt.Fprintln(stderr, "shmem-trace:", shmerr.OneLine(err))
	return status
}
