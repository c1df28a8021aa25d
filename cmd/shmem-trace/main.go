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
	"libshmem/cmd/internal/options"
	"libshmem/runtime/shmerr"
)

const usage = `Usage: shmem-trace COMMAND FILE... [options]

Reads the files of a trace, or all files of a folder that end in .json.

`

// The exit statuses.
const (
	statusOK    = 0
	statusError = 1 // a file cannot be read or written, or is not a trace
	statusUsage = 2
)

// commands are the subcommands, in the order of the help.
var commands = []struct {
	name, what string
	run        func(args []string, stdout, stderr io.Writer) int
}{
	{"merge", "join the files of all PEs into one for Perfetto, on one clock", merge},
	{"report", "say what took the time, who waited for whom, and where the bytes went", report},
	{"replay", "predict the time on another network, and what bounds it", replayFiles},
}

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		return fail(stderr, statusUsage, errors.New("read the command line: the command is missing (see shmem-trace --help)"))
	}
	switch args[0] {
	case "-h", "--help", "help":
		fmt.Fprint(stdout, usage)
		for _, c := range commands {
			fmt.Fprintf(stdout, "  %-8s %s\n", c.name, c.what)
		}
		fmt.Fprintln(stdout, "\nshmem-trace COMMAND --help lists the options of a command.")
		return statusOK
	case "--version":
		fmt.Fprintln(stdout, libshmem.Version)
		return statusOK
	}
	for _, c := range commands {
		if c.name == args[0] {
			return c.run(args[1:], stdout, stderr)
		}
	}
	return fail(stderr, statusUsage, fmt.Errorf("read the command line: there is no command %q (see shmem-trace --help)", args[0]))
}

// parse reads the command line of a subcommand, whose arguments are files. Done is its exit status
// where there is nothing more to do, else -1.
func parse(fs *pflag.FlagSet, args []string, usage string, stdout, stderr io.Writer) (done int) {
	fs.SortFlags = false
	fs.SetOutput(stdout)
	fs.Usage = func() { fmt.Fprint(stdout, usage+fs.FlagUsages()) }
	help := "(see " + fs.Name() + " --help)"
	switch err := fs.Parse(args); {
	case errors.Is(err, pflag.ErrHelp):
		return statusOK
	case err != nil:
		return fail(stderr, statusUsage, fmt.Errorf("read the command line: %w %s", options.Explain(err), help))
	case fs.NArg() == 0:
		return fail(stderr, statusUsage, fmt.Errorf("read the command line: the files are missing %s", help))
	}
	return -1
}

func fail(stderr io.Writer, status int, err error) int {
	fmt.Fprintln(stderr, "shmem-trace:", shmerr.OneLine(err))
	return status
}
