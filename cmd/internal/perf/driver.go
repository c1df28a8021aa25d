package perf

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"libshmem/cmd/internal/figure"
)

// launchOptions adds the options of shmemrun that shmem-perf passes on, and returns their names.
func launchOptions(fs *pflag.FlagSet) []string {
	words := []string{"hostfile", "hosts", "links", "map", "prefix", "ssh", "wdir", "keepalive", "timeout"}
	for _, name := range words {
		fs.String(name, "", "")
	}
	fs.StringP("host", "H", "", "")
	fs.String("bind", "", "")
	fs.Lookup("bind").NoOptDefVal = "share"
	fs.Bool("host-netns", false, "")
	fs.StringArrayP("export", "x", nil, "")
	fs.StringP("provider", "p", "", "") // as fi_pingpong and ucx_perftest name them
	fs.StringP("domain", "d", "", "")
	return append(words, "host", "bind", "host-netns", "export", "provider", "domain")
}

// launchWords returns the options on the command line that are for shmemrun.
func launchWords(fs *pflag.FlagSet, names []string) (out []string) {
	for _, name := range names {
		f := fs.Lookup(name)
		if !f.Changed {
			continue
		}
		switch name {
		case "export":
			all, _ := fs.GetStringArray(name) // the option is a list
			for _, x := range all {
				out = append(out, "-x", x)
			}
		case "provider":
			out = append(out, "-x", "SHMEM_PROVIDER="+f.Value.String())
		case "domain":
			out = append(out, "-x", "SHMEM_NIC_LIST="+f.Value.String())
		default:
			out = append(out, "--"+name+"="+f.Value.String())
		}
	}
	return out
}

// launchValue returns the value of an option of shmemrun, or "".
func (s *settings) launchValue(name string) string {
	for _, w := range s.launch {
		if option, value, _ := strings.Cut(w, "="); option == name {
			return value
		}
	}
	return ""
}

// drive starts the PEs through shmemrun, as often as the command line asks for, and reads the
// output of PE 0.
func drive(s *settings, stdout, stderr io.Writer) int {
	_, bin, err := program()
	if err != nil {
		return fail(stderr, statusWorse, err)
	}
	args := s.launch
	counted := s.launchValue("--host")+s.launchValue("--hostfile") != "" || strings.Contains(s.launchValue("--hosts"), ",")
	switch {
	case s.pes > 0:
		args = append([]string{"-n", strconv.Itoa(s.pes)}, args...)
	case !counted:
		args = append([]string{"-n", "2"}, args...)
	}
	there := bin
	if prefix := s.launchValue("--prefix"); prefix != "" {
		there = filepath.Join(prefix, "bin")
	}
	args = append(args, "--", filepath.Join(there, "shmem-perf"), asPE)
	runs, err := s.runs(bin)
	if err != nil {
		return fail(stderr, statusWorse, err)
	}
	r, err := newReporter(s, stdout, stderr)
	if err != nil {
		return fail(stderr, statusUsage, err)
	}
	var rival *oshmem
	if slices.Contains(s.beside, "oshmem") {
		if rival, err = newOSHMEM(s, bin); err != nil {
			r.other(fmt.Sprintf("shmem-perf: measure oshmem beside libshmem: %v", err))
		} else {
			defer rival.close()
		}
	}
	for i := 0; i < s.repeat && !r.ended; i++ {
		for _, words := range runs {
			if err := r.start(filepath.Join(bin, "shmemrun"), append(slices.Clone(args), words...)); err != nil {
				r.fail(err)
				return r.finish()
			}
		}
		if rival == nil || r.ended {
			continue
		}
		if err := rival.start(r, s.words()); err != nil {
			r.other(fmt.Sprintf("shmem-perf: measure oshmem beside libshmem: %v", err))
			rival = nil
		}
	}
	return r.finish()
}

// start runs one job and reads the output of PE 0.
func (r *reporter) start(shmemrun string, args []string) error {
	cmd := exec.Command(shmemrun, args...)
	cmd.Stdin, cmd.Stderr = os.Stdin, os.Stderr
	read, err := r.follow(cmd, figure.Ours)
	if cmd.Process == nil {
		return fmt.Errorf("start shmemrun: %w (install shmem-perf whole, or run make build)", err)
	}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return fmt.Errorf("the job of shmemrun ended with status %d (see its messages above)", exit.ExitCode())
	case err != nil:
		return fmt.Errorf("wait for shmemrun: %w", err)
	}
	return read
}

// follow starts a command, passes signals on to it, and reads the output of PE 0 until the command
// ends. err is the error of its start or of its end.
func (r *reporter) follow(cmd *exec.Cmd, system string) (read, err error) {
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, err
	}
	stop := passSignals(cmd.Process)
	read = r.read(out, system)
	_, _ = io.Copy(io.Discard, out) // reads the rest after an error, so that PE 0 does not block
	err = cmd.Wait()
	r.ended = stop() || r.ended
	return read, err
}

// passSignals passes on to a process the signals that would end this one, so that it ends its PEs
// and this process prints the figures so far. Signals of a terminal reach both processes without
// that. stop stops it, and reports whether a signal arrived.
func passSignals(to *os.Process) (stop func() bool) {
	signals, done := make(chan os.Signal, 1), make(chan bool)
	signal.Notify(signals, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGHUP)
	go func() {
		any := false
		for s := range signals {
			any = true
			if s == unix.SIGTERM || s == unix.SIGHUP {
				_ = to.Signal(s) // it may have ended
			}
		}
		done <- any
	}()
	return func() bool {
		signal.Stop(signals)
		close(signals)
		return <-done
	}
}

// read is the command of the reader that PE 0 of a job has started. It reads the lines from
// standard input.
func read(s *settings, stdin io.Reader, stdout, stderr io.Writer) int {
	r, err := newReporter(s, stdout, stderr)
	if err != nil {
		_, _ = io.Copy(io.Discard, stdin)
		return fail(stderr, statusUsage, err)
	}
	if err := r.read(stdin, figure.Ours); err != nil {
		r.fail(err)
	}
	return r.finish()
}

// newID names a run by the time and the process.
func newID() string {
	return fmt.Sprintf("%s-%d", time.Now().UTC().Format("20060102T150405.000"), os.Getpid())
}

// read reads the lines of PE 0 of one run and reports the figures in them.
func (r *reporter) read(lines io.Reader, system string) error {
	err := figure.Read(lines, system, newID(), r.settings.given, figure.Events{
		Run: r.run, Figure: r.figure, Wrong: r.wrong, Progress: r.progress, Other: r.other,
	})
	r.endProgress()
	return err
}
