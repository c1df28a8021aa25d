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

// launchOptions defines the options of shmemrun that shmem-perf passes on to it, and returns their
// names. They have no default and no text, because the help hides them and shmemrun checks them.
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

// launchWords returns the options of the command line that are for shmemrun, in its form. -p and -d
// become variables of the PEs.
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

// launchValue returns the value of an option of shmemrun on the command line, or "".
func (s *settings) launchValue(name string) string {
	for _, w := range s.launch {
		if option, value, _ := strings.Cut(w, "="); option == name {
			return value
		}
	}
	return ""
}

// launchArgs returns the options of shmemrun, with the number of PEs.
func (s *settings) launchArgs() []string {
	// With a list of hosts or of sizes shmemrun counts the PEs itself.
	counted := s.launchValue("--host")+s.launchValue("--hostfile") != "" || strings.Contains(s.launchValue("--hosts"), ",")
	switch {
	case s.pes > 0:
		return append([]string{"-n", strconv.Itoa(s.pes)}, s.launch...)
	case !counted:
		return append([]string{"-n", "2"}, s.launch...)
	}
	return slices.Clone(s.launch)
}

// startPEs starts the PEs through shmemrun, as often as the command line asks for, and reports the
// figures that PE 0 writes. It returns the exit status.
func startPEs(s *settings, stdout, stderr io.Writer) int {
	_, bin, err := measuringProgram()
	if err != nil {
		return fail(stderr, statusWorse, err)
	}
	remoteBin := bin // the commands' folder on the hosts of the PEs
	if prefix := s.launchValue("--prefix"); prefix != "" {
		remoteBin = filepath.Join(prefix, "bin")
	}
	args := append(s.launchArgs(), "--", filepath.Join(remoteBin, "shmem-perf"), asPE)
	runs, err := s.argsOfRuns(bin)
	if err != nil {
		return fail(stderr, statusWorse, err)
	}
	r, err := newReporter(s, stdout, stderr)
	if err != nil {
		return fail(stderr, statusUsage, err)
	}
	rivals := newRivals(s, r, bin)
	defer rivals.close()
	for i := 0; i < s.repeat && !r.ended; i++ {
		for _, words := range runs {
			if err := r.runJob(filepath.Join(bin, "shmemrun"), append(slices.Clone(args), words...)); err != nil {
				r.fail(err)
				return r.finish()
			}
		}
		rivals.run(r)
	}
	return r.finish()
}

// runJob starts shmemrun once and reports the figures that PE 0 of the job writes.
func (r *reporter) runJob(shmemrun string, args []string) error {
	cmd := exec.Command(shmemrun, args...)
	cmd.Stdin, cmd.Stderr = os.Stdin, os.Stderr
	read, err := r.runAndRead(cmd, figure.Ours)
	if cmd.Process == nil {
		return fmt.Errorf("start shmemrun: %w (install shmem-perf again, or run make build)", err)
	}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.Exited(): // not by a signal
		return fmt.Errorf("the job of shmemrun ended with status %d (see its messages above)", exit.ExitCode())
	case err != nil:
		return fmt.Errorf("wait for shmemrun: %w", err)
	}
	return read
}

// runAndRead starts a command, passes signals on to it, and reports the figures that PE 0 writes
// until the command ends. `read` is the error of the figures, `err` that of the command's start or
// end.
func (r *reporter) runAndRead(cmd *exec.Cmd, system string) (read, err error) {
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, err
	}
	stop := passSignals(cmd.Process)
	read = r.readLines(out, system)
	_, _ = io.Copy(io.Discard, out) // reads the rest after an error, so that PE 0 does not block
	err = cmd.Wait()
	r.ended = stop() || r.ended
	return read, err
}

// passSignals passes on to a process the signals that would end this one, so that it ends its PEs
// and this process prints the figures so far. A terminal sends its signals to both processes, so
// those are not passed on. stop ends that, and reports whether a signal has arrived.
func passSignals(to *os.Process) (stop func() bool) {
	signals, done := make(chan os.Signal, 1), make(chan bool)
	signal.Notify(signals, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGHUP)
	go func() {
		arrived := false
		for s := range signals {
			arrived = true
			if s == unix.SIGTERM || s == unix.SIGHUP {
				_ = to.Signal(s) // it may have ended
			}
		}
		done <- arrived
	}()
	return func() bool {
		signal.Stop(signals)
		close(signals)
		return <-done
	}
}

// readAsReader is the work of the reader, the shmem-perf that PE 0 of a job has started: it reads
// the lines of PE 0 from standard input and prints the figures in them.
func readAsReader(s *settings, stdin io.Reader, stdout, stderr io.Writer) int {
	r, err := newReporter(s, stdout, stderr)
	if err != nil {
		_, _ = io.Copy(io.Discard, stdin)
		return fail(stderr, statusUsage, err)
	}
	if err := r.readLines(stdin, figure.Ours); err != nil {
		r.fail(err)
	}
	return r.finish()
}

// newID returns a name for a run that no other run has: the time and the process.
func newID() string {
	return fmt.Sprintf("%s-%d", time.Now().UTC().Format("20060102T150405.000"), os.Getpid())
}

// readLines reads the lines that PE 0 of one run writes, and reports the figures in them. system is
// the library that is measured.
func (r *reporter) readLines(lines io.Reader, system string) error {
	err := figure.Read(lines, system, newID(), r.settings.given, figure.Events{
		Run: r.run, Figure: r.figure, Wrong: r.wrong, Progress: r.progress, Other: r.printLine,
	})
	r.endProgress()
	return err
}
