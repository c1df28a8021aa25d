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
	set: setReplay,
}

// setReplay defines the options of the subcommand replay, and returns the function that executes
// it: it predicts the time of the recorded program on another network.
func setReplay(fs *pflag.FlagSet) func(files []string, stdout, stderr io.Writer) int {
	name := fs.String("model", "tcp", "the network: "+strings.Join(replay.Names(), ", "))
	hosts := fs.Int("hosts", 0, "number of hosts; PEs with consecutive numbers share a host (0: as many as in the recording, but 2 if it was recorded on one)")
	nics := fs.Int("nics", 1, "NICs of each host, which are assigned to its PEs round robin")
	processors := fs.Int("processors", 0, "processors of each host; if the program has as many threads there or more, the library's work for the network delays the program (0: one for each thread and proxy)")
	measured := fs.String("measured", "", "a file that shmem-perf --out has written between two hosts of the network: the model is fitted to these figures")
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

// replayAll replays the files on the hardware of s, prints the prediction, and also writes it to
// the file `out` as JSON, unless that is "".
func replayAll(files []string, s *tracereplay.Setup, out string, stdout io.Writer) error {
	if s.Measured != "" {
		if err := fitModel(s); err != nil {
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
		return &shmerr.Error{Op: "replay", Object: fmt.Sprintf("%s on %s", tracereplay.Plural(n, "PE"), tracereplay.Plural(s.Hosts, "host")), Cause: errors.New("each host must have the same number of PEs (choose --hosts so that it divides the PEs)")}
	}
	x, err := replay.Explain(recording.Job, s.Model, s.Site)
	if err != nil {
		return &shmerr.Error{Op: "replay", Object: strings.Join(files, " "), Cause: err}
	}
	if out != "" {
		if err := writeWhole(out, recording.Files, jsonWriter(tracereplay.Summary(recording, s, x))); err != nil {
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

// fitModel changes the model so that its replay has the measured figures of a file.
func fitModel(s *tracereplay.Setup) error {
	f, err := os.Open(s.Measured)
	if err != nil {
		return err
	}
	defer f.Close()
	figures, err := replay.ReadMeasured(f)
	if err != nil {
		return err
	}
	s.Fit, err = replay.Fit(&s.Model, figures)
	return err
}
