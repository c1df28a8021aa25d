package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"libshmem/cmd/internal/manual"
	"libshmem/cmd/internal/replay"
	"libshmem/cmd/internal/tracereplay"
	"libshmem/runtime/shmerr"
)

var replayCommand = command{
	page: manual.Page{
		Name:    "replay",
		Summary: "predict the time on another network, and what bounds it",
		Usage:   []string{"shmem-trace replay FILE... [options]"},
		Text: `Runs the recorded calls of all PEs through a simulated network, and predicts the
time of the program there and its bottleneck. The files are those of
SHMEM_PRELOAD=trace, of all PEs of one run.`,
	},
	set: replayFiles,
}

// replayFiles defines the options of the subcommand replay, and returns the function that predicts.
func replayFiles(fs *pflag.FlagSet) func(files []string, stdout, stderr io.Writer) int {
	name := fs.String("model", "tcp", "the network: "+strings.Join(replay.Names(), ", "))
	hosts := fs.Int("hosts", 0, "hosts; PEs side by side share one (0: as many as the program was recorded on, and 2 instead of 1)")
	nics := fs.Int("nics", 1, "NICs of each host, which its PEs take in turn")
	processors := fs.Int("processors", 0, "processors of each host; with no more than the program has threads there, the library's work for the network takes time from the program (0: enough)")
	measured := fs.String("measured", "", "a file with the output of oshm_micro, and of woken, between two hosts of the network: latency, bandwidth and the costs of operations are chosen to give its figures")
	out := fs.String("json", "", "write the prediction to this file, too")
	manual.Choices(fs, "model", replay.Names()...)
	manual.Files(fs, "measured", "json")
	return func(files []string, stdout, stderr io.Writer) int {
		usage := func(format string, args ...any) int {
			return fail(stderr, statusUsage, fmt.Errorf("read the command line: %w (see shmem-trace replay --help)", fmt.Errorf(format, args...)))
		}
		model, err := replay.Named(*name)
		switch {
		case err != nil:
			return usage("--model %s: %w", *name, err)
		case *hosts < 0:
			return usage("--hosts %d: a job has 1 host or more, or 0 for as many as in the recording", *hosts)
		case *nics < 1 || *nics > 1024:
			return usage("--nics %d: a host has 1 to 1024 NICs", *nics)
		case *processors < 0:
			return usage("--processors %d: a host has 1 or more, or 0 for enough", *processors)
		}
		setup := &tracereplay.Setup{Model: model, Site: replay.Site{Hosts: *hosts, NICs: *nics, Processors: *processors}, Measured: *measured}
		if err := replayAll(files, setup, *out, stdout); err != nil {
			return fail(stderr, statusError, err)
		}
		return statusOK
	}
}

// replayAll replays the files, and prints and writes the prediction.
func replayAll(files []string, s *tracereplay.Setup, out string, stdout io.Writer) error {
	if s.Measured != "" {
		if err := fit(s); err != nil {
			return &shmerr.Error{Op: "read", Object: s.Measured, Cause: err}
		}
	}
	recording, err := tracereplay.Load(files)
	if err != nil {
		return err
	}
	if s.Hosts == 0 {
		s.Hosts, s.Guessed = recording.Default(), true
	}
	if n := recording.Job.PEs; n%s.Hosts != 0 {
		return &shmerr.Error{Op: "replay", Object: fmt.Sprintf("%s on %s", tracereplay.Plural(n, "PE"), tracereplay.Plural(s.Hosts, "host")), Cause: errors.New("each host has to have as many PEs as the others (choose --hosts so that it divides the PEs)")}
	}
	x, err := replay.Explain(recording.Job, s.Model, s.Site)
	if err != nil {
		return &shmerr.Error{Op: "replay", Object: strings.Join(files, " "), Cause: err}
	}
	if out != "" {
		if err := output(out, recording.Files, jsonWriter(tracereplay.Summary(recording, s, x))); err != nil {
			return err
		}
	}
	w := bufio.NewWriter(stdout)
	tracereplay.Write(w, recording, s, x)
	if err := w.Flush(); err != nil {
		return &shmerr.Error{Op: "print", Object: "the prediction", Cause: err}
	}
	return nil
}

// fit changes the model so that its replay has the measured figures.
func fit(s *tracereplay.Setup) error {
	f, err := os.Open(s.Measured)
	if err != nil {
		return err
	}
	defer f.Close()
	figures, err := replay.Measured(f)
	if err != nil {
		return err
	}
	s.Fit, err = replay.Fit(&s.Model, figures)
	return err
}
