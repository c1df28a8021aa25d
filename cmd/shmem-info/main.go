// Shmem-info prints the facts of this installation of libshmem, its choices on this machine, and
// its settings.
//
// This file reads the command line and prints. Every fact comes from the package that owns it.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/pflag"

	"libshmem"
	"libshmem/cmd/internal/manual"
	"libshmem/cmd/internal/options"
	"libshmem/cmd/internal/poller"
	"libshmem/runtime/config"
	"libshmem/runtime/shmerr"
)

var page = manual.Page{
	Name: "shmem-info", Aliases: []string{"oshmem_info"},
	Summary: "print the facts of libshmem on this machine",
	Usage:   []string{"shmem-info [option]"},
	Text: `Prints the version, the build, the libraries found, the memory that the library
needs for itself, and which memory the rings can have here.`,
	Statuses: []manual.Status{
		{Number: "0", Text: "the facts were printed"},
		{Number: "1", Text: "a setting is not valid, or something cannot be found out"},
		{Number: "2", Text: "a mistake in the command line"},
	},
	Examples: []manual.Example{
		{Command: "shmem-info --env", Text: "List the settings of the library, with their values here:"},
		{Command: "shmem-info --fabric", Text: "Find out which network a job would use, and why:"},
		{Command: "shmem-info --env --json | jq -r '.settings[] | select(.from != \"\").name'", Text: "Name the settings that the environment has:"},
		{Command: "NCCL_RMA_PLUGIN=$(shmem-info --nccl-plugin) python train.py", Text: "Let NCCL carry requests of kernels by libshmem:"},
		{Command: "shmem-info --live 4711", Text: "Look at a PE that seems to hang, by its process number:"},
	},
	SeeAlso: []string{"shmem-doctor(1)", "shmemrun(1)", "shmem(7)"},
}

// The exit statuses.
const (
	statusOK    = 0
	statusError = 1 // a setting is not valid, or the requested fact cannot be found out
	statusUsage = 2
)

// longest is the longest time between two readings, in seconds: a day.
const longest = 24 * 3600

func main() { os.Exit(run(os.Args[1:], os.Environ(), os.Stdout, os.Stderr)) }

// run does the work of main: it reads the command line, prints the facts, and returns
// the exit status.
func run(args, environ []string, stdout, stderr io.Writer) int {
	if len(args) > 0 && args[0] == asNvshmem {
		return nvshmemInfo(args[1:], environ, stdout, stderr)
	}
	fs := pflag.NewFlagSet("shmem-info", pflag.ContinueOnError)
	fs.SortFlags = false
	fs.SetOutput(stdout)
	fs.Usage = func() { page.Help(stdout, fs) }
	env := fs.Bool("env", false, "list all settings: current value, default and meaning")
	net := fs.Bool("fabric", false, "list the network providers that answer, and which one a job would use")
	place := fs.Bool("topology", false, "draw this machine: which GPU is near which NIC, which NICs its PE uses, and why")
	xml := fs.String("xml", "", "with --topology: draw the machine that this file describes, written by lstopo --of xml")
	process := fs.String("live", "", "show what the PE with this process number does: its counters, their rates, and its waits")
	between := fs.Float64("between", 1, "with --live: seconds between the two readings that give the rates; 0 reads once")
	plugin := fs.Bool("nccl-plugin", false, "print the path of the plugin for NCCL, for the variable NCCL_RMA_PLUGIN")
	asJSON := fs.Bool("json", false, "print the facts as JSON, for programs")
	version := fs.Bool("version", false, "print the version alone")
	manual.Files(fs, "xml")
	if len(args) == 1 && args[0] == manual.Ask {
		described := page.With(fs)
		return status(stderr, described.Describe(stdout))
	}
	switch err := fs.Parse(args); {
	case errors.Is(err, pflag.ErrHelp):
		return statusOK
	case err != nil:
		return fail(stderr, statusUsage, fmt.Errorf("read the command line: %w (see shmem-info --help)", options.Explain(err)))
	case fs.Changed("xml") && !*place:
		return fail(stderr, statusUsage, errors.New("read the command line: --xml needs --topology (see shmem-info --help)"))
	case fs.Changed("between") && !fs.Changed("live"):
		return fail(stderr, statusUsage, errors.New("read the command line: --between needs --live (see shmem-info --help)"))
	case !(*between >= 0 && *between <= longest):
		return fail(stderr, statusUsage, fmt.Errorf("read the command line: --between %v: not a number of seconds from 0 to %d (see shmem-info --help)", *between, longest))
	case fs.NArg() > 0:
		return fail(stderr, statusUsage, fmt.Errorf("read the command line: there is no argument %q (see shmem-info --help)", fs.Arg(0)))
	}

	cfg, warnings, cfgErr := config.Parse(environ)
	for _, w := range warnings {
		fmt.Fprintln(stderr, "shmem-info:", w)
	}
	out := bufio.NewWriter(stdout)
	var err error
	switch {
	case *version:
		fmt.Fprintln(out, libshmem.Version)
	case *plugin:
		err = printPlugin(out)
	case *env && *asJSON:
		err = settingsJSON(out, cfg)
	case *env:
		err = cfg.Print(out)
	case fs.Changed("live"):
		if err = poller.Check(); err == nil && *asJSON {
			err = liveJSON(out, *process)
		} else if err == nil {
			err = watchPE(out, *process, time.Duration(*between*float64(time.Second)))
		}
	case *net && *asJSON:
		err = networkJSON(out, cfg)
	case *net:
		err = printNetwork(out, cfg)
	case *place && *asJSON:
		err = topologyJSON(out, cfg, *xml)
	case *place:
		err = printTopology(out, cfg, *xml)
	case *asJSON:
		err = summaryJSON(out, cfg)
	default:
		err = printSummary(out, cfg)
	}
	return status(stderr, errors.Join(err, out.Flush(), cfgErr))
}

// status prints the error of a command, if it ended with one, and returns the exit status.
func status(stderr io.Writer, err error) int {
	if err != nil {
		return fail(stderr, statusError, err)
	}
	return statusOK
}

// fail prints an error, and returns the exit status.
func fail(stderr io.Writer, status int, err error) int {
	fmt.Fprintln(stderr, "shmem-info:", shmerr.OneLine(err))
	return status
}
