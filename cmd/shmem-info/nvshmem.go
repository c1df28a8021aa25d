package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"

	"libshmem"
	"libshmem/cmd/internal/manual"
	"libshmem/cmd/internal/options"
	"libshmem/runtime/config"
)

// asNvshmem is the first argument of the command nvshmem-info.
const asNvshmem = "--nvshmem"

var nvshmemPage = manual.Page{
	Name:    "nvshmem-info",
	Summary: "print what NVSHMEM programs find here",
	Usage:   []string{"nvshmem-info [option]"},
	Text:    "Says what programs that were written for NVSHMEM find here.",
	SeeAlso: []string{"nvshmrun(1)", "shmem-info(1)", "shmem(7)"},
}

// nvshmemInfo is the command nvshmem-info, which has the options of NVSHMEM's own.
func nvshmemInfo(args, environ []string, stdout, stderr io.Writer) int {
	fs := pflag.NewFlagSet("nvshmem-info", pflag.ContinueOnError)
	fs.SortFlags = false
	fs.SetOutput(stdout)
	fs.Usage = func() { nvshmemPage.Help(stdout, fs) }
	all := fs.BoolP("all", "a", false, "list each variable of the environment with its effect here")
	version := fs.BoolP("version", "v", false, "print the release whose names the library has")
	wrong := func(err error) int {
		fmt.Fprintln(stderr, "nvshmem-info:", err)
		return statusUsage
	}
	if len(args) == 1 && args[0] == manual.Ask {
		described := nvshmemPage.With(fs)
		return status(stderr, described.Describe(stdout))
	}
	switch err := fs.Parse(args); {
	case errors.Is(err, pflag.ErrHelp):
		return statusOK
	case err != nil:
		return wrong(fmt.Errorf("%w (see nvshmem-info -h)", options.Explain(err)))
	case fs.NArg() > 0:
		return wrong(fmt.Errorf("there is no argument %q (see nvshmem-info -h)", fs.Arg(0)))
	}
	if !*all && !*version {
		fs.Usage()
		return statusOK
	}
	out := bufio.NewWriter(stdout)
	fmt.Fprintf(out, "NVSHMEM v%s, by libshmem %s\n", config.NvshmemVersion, libshmem.Version)
	if *all {
		fmt.Fprintln(out, "\nA variable that begins with SHMEM_ comes first where both are set (shmem-info --env).")
		values := map[string]string{} // of the variables of the environment
		for _, kv := range environ {
			if name, value, _ := strings.Cut(kv, "="); values[name] == "" {
				values[name] = value
			}
		}
		for i := range config.Nvshmem {
			t := &config.Nvshmem[i]
			line := t.Name
			if values[t.Name] != "" {
				line += "=" + values[t.Name]
			}
			fmt.Fprintf(out, "\n%s\n    %s\n", line, t.Says())
		}
	}
	if err := out.Flush(); err != nil {
		return fail(stderr, statusError, err)
	}
	return statusOK
}
