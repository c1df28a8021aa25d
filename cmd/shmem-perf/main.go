// Shmem-perf measures what operations take between PEs, compares measurements with each other and
// with tables of expectations, and draws them.
//
// This file reads the command line. As a driver it starts the PEs through shmemrun (driver.go);
// started as a PE of a job it becomes the program that measures (pe.go), whose PE 0 starts
// shmem-perf once more as a reader of its lines. The program is in measure/, and the work on
// figures in cmd/internal/figure.
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

const usage = `Usage: shmem-perf [options] [TEST...]
       shmemrun -n N shmem-perf [options] [TEST...]
       shmem-perf --compare A B
       shmem-perf --plot DIR FILE...
       shmem-perf --expect TABLE [FILE]

Measures what operations take between PEs: put, get, p, g, atomics, put_signal,
notifications, messages, barrier and every collective. It starts two PEs on this
machine, unless an option says otherwise or it is in a job already. Without TEST
it measures all.

`

const notes = `
A TEST is an operation (put), one measure of it (put_latency), or a group: rma,
atomics, signals, messages, collectives, all. Measures are latency, visible (until
the target sees the data), bandwidth, bidirectional, pairs, rate, pairs-rate and
exchange; lat, bw, bibw and mr are short for them, as in ucx_perftest and osu.

A latency is the median of batches; p50 to max are those of operations that were
timed one by one. The data of each figure are checked.

Options of shmemrun: -H, --host, --hostfile, --hosts, --host-netns, --links, --map,
--bind, -x, --prefix, --ssh, --wdir, --keepalive, --timeout.

The exit status is 0; 1 where data were wrong, PEs failed, a figure of B is worse,
or one is not as expected; 2 for a mistake in the command line.
`

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

// settings are those of the command line.
type settings struct {
	pes        int
	tests      []string // as the program takes them: TEST:MEASURE
	sizes      []int64
	millis     float64
	batches    int
	iterations int
	warmup     int
	window     int
	repeat     int
	out        string
	json       bool
	compare    bool
	plot       string
	expect     string
	tolerance  float64
	root       string
	beside     []string
	scopes     []string
	spoil      string
	args       []string // words behind the options
	launch     []string // options of shmemrun
	given      []string // the command line
}

// errVersion is the error of a command line that asks for the version.
var errVersion = errors.New("only the version is asked for")

func main() { os.Exit(run(os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr)) }

func run(args, environ []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) > 0 && args[0] == asPE {
		return fail(stderr, statusWorse, becomePE(args[1:], environ, nil))
	}
	reading := len(args) > 0 && args[0] == asReader
	if reading {
		args = args[1:]
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
	case reading:
		return read(s, stdin, stdout, stderr)
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
		return fail(stderr, statusWorse, s.join(environ, args))
	}
	return drive(s, stdout, stderr)
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

func parse(args []string, stdout io.Writer) (*settings, error) {
	s := &settings{given: args}
	var tests, sizes, osu, ofi, beside, scope string
	fs := pflag.NewFlagSet("shmem-perf", pflag.ContinueOnError)
	fs.SortFlags = false
	fs.SetOutput(stdout)
	fs.Usage = func() { fmt.Fprint(stdout, usage+fs.FlagUsages()+notes) }
	fs.IntVarP(&s.pes, "pes", "n", 0, "number of PEs; 2 without it, or one for each slot of --host")
	fs.StringVarP(&tests, "test", "t", "", "measure this `LIST`, the same as TEST...")
	fs.StringVarP(&sizes, "size", "s", "8,512,4K,64K,1M", "`SIZES` of the data: 8, a list 8,4K,1M, a range 8:1M by powers of 2, or 8:1M:4 by powers of 4")
	fs.StringVar(&scope, "scope", "host", "`LIST` of those who make the calls: host, stream, thread, warp, block; gpu is all but host")
	fs.Float64VarP(&s.millis, "time", "T", 100, "`milliseconds` for each figure")
	fs.IntVarP(&s.iterations, "iterations", "i", 0, "operations of each batch; 0: as many as the time allows")
	fs.IntVarP(&s.warmup, "warmup", "w", 16, "operations before the first batch")
	fs.IntVarP(&s.window, "window", "W", 64, "operations between two waits of a bandwidth or rate")
	fs.IntVar(&s.batches, "batches", 11, "batches of each figure, 1 to 101")
	fs.IntVar(&s.repeat, "repeat", 1, "start the PEs so many `times`")
	fs.StringVarP(&s.out, "out", "o", "", "write the figures to `FILE` as JSON lines, with facts of the machines")
	fs.BoolVar(&s.json, "json", false, "print JSON lines in place of tables")
	fs.BoolVar(&s.compare, "compare", false, "compare the figures of two files")
	fs.Float64Var(&s.tolerance, "tolerance", 3, "with --compare: `percent` by which a median may be worse")
	fs.StringVar(&s.plot, "plot", "", "draw the figures of files, as one page in `DIR`")
	fs.StringVar(&s.expect, "expect", "", "compare with a `TABLE` of expectations: a file, or the name of an installed one")
	fs.StringVar(&beside, "beside", "", "measure also what there is of this `LIST`: oshmem, fi_pingpong, iperf3; all of them without a list")
	fs.Lookup("beside").NoOptDefVal = "all"
	fs.StringVar(&s.root, "root", "", "read facts of the machine below `DIR`")
	version := fs.Bool("version", false, "print the version alone")
	// The same under the names of osu, ucx_perftest and fi_pingpong.
	fs.StringVarP(&osu, "message-size", "m", "", "")
	fs.StringVarP(&ofi, "sizes", "S", "", "")
	fs.IntVarP(&s.iterations, "iters", "I", 0, "")
	fs.IntVarP(&s.window, "outstanding", "O", 64, "")
	fs.BoolP("check", "c", true, "")
	fs.StringVar(&s.spoil, "spoil", "", "")
	same := []string{"message-size", "sizes", "iters", "outstanding", "check", "spoil"}
	launch := launchOptions(fs)
	for _, name := range append(same, launch...) {
		fs.Lookup(name).Hidden = true
	}
	if err := fs.Parse(dashNP(args)); err != nil {
		if errors.Is(err, pflag.ErrHelp) {
			return nil, err
		}
		return nil, options.Explain(err)
	}
	if *version {
		return nil, errVersion
	}
	s.args = fs.Args()
	s.launch = launchWords(fs, launch)
	for _, other := range []string{osu, ofi} {
		if other != "" {
			sizes = other
		}
	}
	var err error
	if s.sizes, err = parseSizes(sizes); err != nil {
		return nil, err
	}
	if s.beside, err = parseBeside(beside); err != nil {
		return nil, err
	}
	if s.scopes, err = parseScopes(scope); err != nil {
		return nil, err
	}
	if err := s.check(fs); err != nil {
		return nil, err
	}
	if s.compare || s.plot != "" || s.expect != "" && len(s.args) == 1 && isFile(s.args[0]) {
		return s, nil // the arguments are files
	}
	s.tests, err = parseTests(tests, s.args)
	return s, err
}

// dashNP turns -np, as launchers have it, into -n.
func dashNP(args []string) []string {
	args = append([]string(nil), args...)
	for i, a := range args {
		if a == "-np" {
			args[i] = "-n"
		}
	}
	return args
}

// check refuses values that no run can have.
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
		{s.compare && len(s.args) != 2, "--compare needs two files: A, which was before, and B"},
		{s.plot != "" && len(s.args) == 0, "--plot needs the folder and files of figures"},
		{fs.Changed("expect") && s.expect == "", "--expect needs a table"},
	} {
		if c.bad {
			return errors.New(c.text)
		}
	}
	return nil
}

func fail(stderr io.Writer, status int, err error) int {
	fmt.Fprintln(stderr, "shmem-perf:", shmerr.OneLine(err))
	return status
}
