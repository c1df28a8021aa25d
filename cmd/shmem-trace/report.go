package main

import (
	"io"

	"github.com/spf13/pflag"

	"libshmem/cmd/internal/tracereport"
)

const reportUsage = `Usage: shmem-trace report FILE... [--json FILE] [--html FILE]

Says what took the time, who waited for whom, and where the bytes went: as text
on standard output, and in the files that the options name.

`

func report(args []string, stdout, stderr io.Writer) int {
	fs := pflag.NewFlagSet("shmem-trace report", pflag.ContinueOnError)
	asJSON := fs.String("json", "", "write the report to `file` as JSON, times in nanoseconds")
	asHTML := fs.String("html", "", "write the report to `file` as one page that a browser shows without a network")
	quiet := fs.BoolP("quiet", "q", false, "no text on standard output")
	if done := parse(fs, args, reportUsage, stdout, stderr); done >= 0 {
		return done
	}
	r, files, err := tracereport.Make(fs.Args())
	if err != nil {
		return fail(stderr, statusError, err)
	}
	for _, form := range []struct {
		name  string
		write func(io.Writer) error
	}{{*asJSON, writeJSON(r)}, {*asHTML, r.HTML}} {
		if form.name == "" {
			continue
		}
		if err := output(form.name, files, form.write); err != nil {
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
