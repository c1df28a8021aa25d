package main

import (
	"io"

	"github.com/spf13/pflag"

	"libshmem/cmd/internal/manual"
	"libshmem/cmd/internal/tracereport"
)

var reportCommand = command{
	page: manual.Page{
		Name:    "report",
		Summary: "say what took the time, who waited for whom, and where the bytes went",
		Usage:   []string{"shmem-trace report FILE... [--json FILE] [--html FILE]"},
		Text: `Says what took the time, who waited for whom, and where the bytes went: as text
on standard output, and in the files that the options name.`,
	},
	set: setReport,
}

// setReport defines the options of the subcommand report, and returns the function that executes
// it.
func setReport(fs *pflag.FlagSet) func(files []string, stdout, stderr io.Writer) int {
	asJSON := fs.String("json", "", "write the report to `file` as JSON, times in nanoseconds")
	asHTML := fs.String("html", "", "write the report to `file` as a self-contained web page")
	quiet := fs.BoolP("quiet", "q", false, "no text on standard output")
	manual.Files(fs, "json", "html")
	return func(args []string, stdout, stderr io.Writer) int {
		r, files, err := tracereport.Make(args)
		if err != nil {
			return fail(stderr, statusError, err)
		}
		for _, form := range []struct {
			name  string
			write func(io.Writer) error
		}{{*asJSON, jsonWriter(r)}, {*asHTML, r.HTML}} {
			if form.name == "" {
				continue
			}
			if err := writeWhole(form.name, files, form.write); err != nil {
				return fail(stderr, statusError, err)
			}
		}
		if *quiet {
			return statusOK
		}
		if err := r.Text(stdout); err != nil {
			return fail(stderr, statusError, err)
		}
		return statusOK
	}
}
