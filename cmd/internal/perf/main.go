// Package perf is the command shmem-perf, which measures what operations take between PEs, compares
// measurements with each other and with tables of expectations, and draws them. It is part of
// shmemrun, which bin/shmem-perf starts: as a program of its own it would add a tenth to the wheel.
//
// This file reads the command line. As a driver it starts the PEs through shmemrun (driver.go);
// started as a PE of a job it executes the measuring program (pe.go), whose PE 0 starts shmem-perf
// once more as a reader of its lines. The program is in cmd/shmem-perf/measure, and the work on
// figures in cmd/internal/figure. One goroutine runs, and one that passes signals on.
package perf

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"libshmem"
	"libshmem/cmd/internal/manual"
	"libshmem/cmd/internal/options"
	"libshmem/runtime/shmerr"
)

var page = manual.Page{
	Name:    "shmem-perf",
	Summary: "measure how long operations between PEs take",
	Usage: []string{
		"shmem-perf [options] [TEST...]", "shmemrun -n N shmem-perf [options] [TEST...]", "shmem-perf --compare A B",
		"shmem-perf --plot DIR FILE...", "shmem-perf --expect TABLE [FILE]",
	},
	Text: `Measures how long operations between PEs take: put, get, p, g, atomics, put_signal,
notifications, messages, barrier and every collective. It starts two PEs on this
machine, unless an option says otherwise or it is in a job already. Without TEST
it measures all.`,
	Notes: `A TEST is an operation (put), one measure of it (put_latency), or a group: rma,
atomics, signals, messages, collectives, all. Measures are latency, visible (until
the target sees the data), bandwidth, bidirectional, pairs, rate, pairs-rate and
exchange; lat, bw, bibw and mr are short for them, as in ucx_perftest and osu.

A latency is the median of batches, with the interval in which it lies with a
confidence of 95 % or more; p50 to max are those of operations that were timed one
by one. The data of each figure are checked.

Options of shmemrun: -H, --host, --hostfile, --hosts, --host-netns, --links, --map,
--bind, -x, --prefix, --ssh, --wdir, --keepalive, --timeout. Under the names of
ucx_perftest, osu and fi_pingpong there are also -m and -S for -s, -I for -i, -O
for -W, -d for SHMEM_NIC_LIST, -p for SHMEM_PROVIDER, and -c, which is always on.`,
	Statuses: []manual.Status{
		{Number: "0", Text: "the figures were measured, or are as expected"},
		{Number: "1", Text: "data were wrong, PEs failed, a figure of B is worse, or one is not as expected"},
		{Number: "2", Text: "a mistake in the command line"},
	},
	Examples: []manual.Example{
		{Command: "shmem-perf put", Text: "Measure puts between two PEs of this machine:"},
		{Command: "shmemrun -n 2 --host a,b shmem-perf put_signal -s 8:1M", Text: "Measure puts with signal between two hosts, by size:"},
		{Command: "shmem-perf --compare before.jsonl after.jsonl", Text: "Compare two measurements:"},
	},
	SeeAlso: []string{"shmemrun(1)", "shmem-doctor(1)", "shmem(7)"},
}

// The exit statuses.
const (
	statusOK    = 0
	statusWorse = 1
	statusUsage = 2
)

// Command lines of the processes that shmem-perf starts begin with these words.
const (
	asPE     = "--as-pe"
	asReader = "--as-reader"
)

// settings has the settings of the command line.
type settings struct {
	pes        int
	tests      []string // in the form of the measuring program: TEST:MEASURE
	sizes      []int64  // bytes
	millis     float64  // milliseconds for each figure
	batches    int
	iterations int // operations of a batch; 0: as many as the time allows
	warmup     int // operations before the first batch
	window     int // operations before each wait of a bandwidth or rate
	repeat     int // starts of the PEs
	out        string
	json       bool
	compare    bool
	plot       string   // folder of the page; "": draw none
	expect     string   // table of expectations, or ""
	tolerance  float64  // percent
	root       string   // folder below which the facts of the machine are read, or ""
	beside     []string // what else is measured, for comparison
	scopes     []string // who makes the calls
	spoil      string   // only in tests: where the measuring program damages data
	args       []string // words after the options

	nvshmemHome string   // value of NVSHMEM_HOME
	launch      []string // options of shmemrun
	given       []string // the command line
}

// errVersion is the error of a command line that asks for the version.
var errVersion = errors.New("only the version is asked for")

// Run is the command shmem-perf: it does what the arguments ask for and returns the exit status.
// Other processes that shmem-perf starts (a PE, the reader) begin here, too.
func Run(args, environ []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) > 0 && args[0] == asPE {
		return fail(stderr, statusWorse, becomePE(args[1:], environ, nil))
	}
	isReader := len(args) > 0 && args[0] == asReader
	if isReader {
		args = args[1:]
	}
	if len(args) == 1 && args[0] == manual.Ask {
		whole := page.With(newCommandLine(stdout).flags)
		if err := whole.Describe(stdout); err != nil {
			return fail(stderr, statusWorse, err)
		}
		return statusOK
	}
	s, err := parse(args, stdout)
	switch {
	case errors.Is(err, pflag.ErrHelp):
		return statusOK
	case errors.Is(err, errVersion):
		fmt.Fprintln(stdout, libshmem.Version)
		return statusOK
	case err != nil:
		return fail(stderr, statusUsage, fmt.Errorf("read the command line: %w (see shmem-perf --help)", err))
	case isReader:
		return readAsReader(s, stdin, stdout, stderr)
	case s.compare:
		return compare(s, stdout, stderr)
	case s.plot != "":
		return plot(s, stdout, stderr)
	case s.expect != "" && len(s.args) == 1 && isFile(s.args[0]):
		return expect(s, stdout, stderr)
	case inJob(environ):
		if len(s.launch) > 0 || s.repeat > 1 || s.pes > 0 {
			return fail(stderr, statusUsage, errors.New("read the command line: the PEs run already, so options that start them have no effect (give them to the launcher)"))
		}
		return fail(stderr, statusWorse, s.joinJob(environ, args))
	}
	for _, entry := range environ {
		if home, ok := strings.CutPrefix(entry, "NVSHMEM_HOME="); ok {
			s.nvshmemHome = home
		}
	}
	return startPEs(s, stdout, stderr)
}

// isFile reports whether a name is that of a regular file.
func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// commandLine has the options, and their values before they are checked.
type commandLine struct {
	settings
	flags *pflag.FlagSet

	testList, sizeList, osu, ofi, besideList, scopeList string

	version bool
	passed  []string // the names of options of shmemrun
}

// newCommandLine defines the options, those under their names in other programs included.
func newCommandLine(stdout io.Writer) *commandLine {
	l := new(commandLine)
	s, fs := &l.settings, pflag.NewFlagSet("shmem-perf", pflag.ContinueOnError)
	l.flags = fs
	fs.SortFlags = false
	fs.SetOutput(stdout)
	fs.Usage = func() { page.Help(stdout, fs) }
	fs.IntVarP(&s.pes, "pes", "n", 0, "number of PEs; 2 without it, or one for each slot of --host")
	fs.StringVarP(&l.testList, "test", "t", "", "measure this `LIST`, the same as TEST...")
	fs.StringVarP(&l.sizeList, "size", "s", "8,512,4K,64K,1M", "`SIZES` of the data: 8, a list 8,4K,1M, a range 8:1M by powers of 2, or 8:1M:4 by powers of 4")
	fs.StringVar(&l.scopeList, "scope", "host", "`LIST` of who makes the calls: host, stream, thread, warp, block; gpu means all but host")
	fs.Float64VarP(&s.millis, "time", "T", 100, "`milliseconds` for each figure")
	fs.IntVarP(&s.iterations, "iterations", "i", 0, "operations of each batch; 0: as many as the time allows")
	fs.IntVarP(&s.warmup, "warmup", "w", 16, "operations before the first batch")
	fs.IntVarP(&s.window, "window", "W", 64, "operations before each wait of a bandwidth or rate")
	fs.IntVar(&s.batches, "batches", 11, "batches of each figure, 1 to 101")
	fs.IntVar(&s.repeat, "repeat", 1, "start the PEs so many `times`")
	fs.StringVarP(&s.out, "out", "o", "", "write the figures to `FILE` as JSON lines, with facts of the machines")
	fs.BoolVar(&s.json, "json", false, "print JSON lines in place of tables")
	fs.BoolVar(&s.compare, "compare", false, "compare the figures of two files")
	fs.Float64Var(&s.tolerance, "tolerance", 3, "with --compare: `percent` by which a median may be worse")
	fs.StringVar(&s.plot, "plot", "", "draw the figures of files, as one page in `DIR`")
	fs.StringVar(&s.expect, "expect", "", "compare with a `TABLE` of expectations: a file, or the name of an installed one")
	fs.StringVar(&l.besideList, "beside", "", "also measure what is installed of this `LIST`: oshmem, nvshmem, fi_pingpong, iperf3; without a list, of all that fit --scope")
	fs.Lookup("beside").NoOptDefVal = "all"
	fs.StringVar(&s.root, "root", "", "read facts of the machine below `DIR`")
	fs.BoolVar(&l.version, "version", false, "print the version alone")
	// The same options under their names in osu, ucx_perftest and fi_pingpong.
	fs.StringVarP(&l.osu, "message-size", "m", "", "")
	fs.StringVarP(&l.ofi, "sizes", "S", "", "")
	fs.IntVarP(&s.iterations, "iters", "I", 0, "")
	fs.IntVarP(&s.window, "outstanding", "O", 64, "")
	fs.BoolP("check", "c", true, "")
	fs.StringVar(&s.spoil, "spoil", "", "")
	hidden := []string{"message-size", "sizes", "iters", "outstanding", "check", "spoil"}
	l.passed = launchOptions(fs)
	for _, name := range append(hidden, l.passed...) {
		fs.Lookup(name).Hidden = true
	}
	manual.Files(fs, "out", "plot", "root")
	return l
}

// parse reads the command line into settings, and returns an error for values that no run can have.
func parse(args []string, stdout io.Writer) (*settings, error) {
	l := newCommandLine(stdout)
	s, fs := &l.settings, l.flags
	s.given = args
	if err := fs.Parse(dashNP(args)); err != nil {
		if errors.Is(err, pflag.ErrHelp) {
			return nil, err
		}
		return nil, options.Explain(err)
	}
	if l.version {
		return nil, errVersion
	}
	s.args = fs.Args()
	s.launch = launchWords(fs, l.passed)
	for _, other := range []string{l.osu, l.ofi} {
		if other != "" {
			l.sizeList = other
		}
	}
	var err error
	if s.sizes, err = parseSizes(l.sizeList); err != nil {
		return nil, err
	}
	if s.beside, err = parseBeside(l.besideList); err != nil {
		return nil, err
	}
	if s.scopes, err = parseScopes(l.scopeList); err != nil {
		return nil, err
	}
	if l.besideList == "all" {
		s.dropUnfit()
	}
	if err := s.check(fs); err != nil {
		return nil, err
	}
	if s.compare || s.plot != "" || s.expect != "" && len(s.args) == 1 && isFile(s.args[0]) {
		return s, nil // the arguments are files
	}
	s.tests, err = parseTests(l.testList, s.args)
	return s, err
}

// dashNP replaces -np, the spelling of other launchers, by -n.
func dashNP(args []string) []string {
	args = append([]string(nil), args...)
	for i, a := range args {
		if a == "-np" {
			args[i] = "-n"
		}
	}
	return args
}

// check returns an error for a value that no run can have.
func (s *settings) check(fs *pflag.FlagSet) error {
	for _, c := range []struct {
		bad  bool
		text string
	}{
		{s.pes < 0 || fs.Changed("pes") && s.pes == 0, fmt.Sprintf("-n %d: not a number of PEs", s.pes)},
		{!(s.millis > 0 && s.millis <= 1e6), fmt.Sprintf("--time %v: not a number of milliseconds above 0 and up to 1000000", s.millis)},
		{s.iterations < 0, fmt.Sprintf("--iterations %d: not a number of operations", s.iterations)},
		{s.warmup < 0, fmt.Sprintf("--warmup %d: not a number of operations", s.warmup)},
		{s.window < 1 || s.window > 1<<16, fmt.Sprintf("--window %d: not a number from 1 to 65536", s.window)},
		{s.batches < 1 || s.batches > 101, fmt.Sprintf("--batches %d: not a number from 1 to 101", s.batches)},
		{s.repeat < 1, fmt.Sprintf("--repeat %d: not a number of starts", s.repeat)},
		{!(s.tolerance >= 0 && s.tolerance < 1000), fmt.Sprintf("--tolerance %v: not a percentage", s.tolerance)},
		{s.compare && len(s.args) != 2, "--compare needs two files: A, the earlier one, and B"},
		{s.plot != "" && len(s.args) == 0, "--plot needs the folder and files of figures"},
		{fs.Changed("expect") && s.expect == "", "--expect needs a table"},
	} {
		if c.bad {
			return errors.New(c.text)
		}
	}
	return nil
}

// fail prints an error, and returns the exit status.
func fail(stderr io.Writer, status int, err error) int {
	fmt.Fprintln(stderr, "shmem-perf:", shmerr.OneLine(err))
	return status
}
