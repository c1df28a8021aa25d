package perf

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"libshmem/cmd/internal/figure"
)

// A reporter prints figures as they arrive, and stores them for the file and the table of
// expectations.
type reporter struct {
	settings       *settings
	stdout, stderr io.Writer
	set            figure.Set
	table          *figure.Table
	file           *os.File
	title          string // title of the table on the terminal
	terminal, bar  bool   // standard error is a terminal; a progress bar is on it
	status         int
	ended          bool // a signal has ended the measurement
}

// newReporter opens the file of --out and reads the table of expectations, if there are any.
func newReporter(s *settings, stdout, stderr io.Writer) (*reporter, error) {
	r := &reporter{settings: s, stdout: stdout, stderr: stderr}
	if f, ok := stderr.(*os.File); ok {
		_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
		r.terminal = err == nil
	}
	var err error
	if s.expect != "" {
		if r.table, err = loadTable(s.expect); err != nil {
			return nil, err
		}
	}
	if s.out != "" {
		if r.file, err = os.Create(s.out); err != nil {
			return nil, fmt.Errorf("write figures: %w (choose another file)", err)
		}
	}
	return r, nil
}

// record writes a value as a line of JSON, to standard output with --json and to the file of --out.
func (r *reporter) record(v any) {
	line, err := json.Marshal(v)
	if err != nil {
		r.fail(fmt.Errorf("write a figure: %w", err))
		return
	}
	line = append(line, '\n')
	if r.settings.json {
		_, _ = r.stdout.Write(line) // an error is ignored, as for the tables
	}
	if r.file != nil {
		if _, err := r.file.Write(line); err != nil {
			r.fail(fmt.Errorf("write figures: %w (make room, or choose another file)", err))
			r.file = nil
		}
	}
}

// run records the description of a run, and prints it above its tables.
func (r *reporter) run(run *figure.Run) {
	r.set.Runs = append(r.set.Runs, run)
	r.record(run)
	if r.settings.json {
		return
	}
	r.endProgress()
	where := "on one node"
	if run.Path == "network" {
		where = "over the network"
	}
	if len(run.NICs) > 0 && run.Path == "network" {
		where += " (" + strings.Join(run.NICs, ", ") + ")"
	}
	if len(r.set.Runs) > 1 {
		fmt.Fprintln(r.stdout)
	}
	name := run.Library
	if run.System != figure.Ours && run.Library != run.System {
		name = run.System + " of " + run.Library
	}
	fmt.Fprintf(r.stdout, "# %s, %d PEs, PE 0 to PE %d %s", name, run.PEs, run.PEs-1, where)
	if len(run.Hosts) > 0 && run.Hosts[0].CPU != "" {
		fmt.Fprintf(r.stdout, "; %s, %d processors", run.Hosts[0].CPU, run.Hosts[0].Online)
	}
	r.title = ""
	if run.Library == run.System { // another program, whose figures are means and not medians
		fmt.Fprintln(r.stdout)
		return
	}
	fmt.Fprintf(r.stdout, "\n# median of %d batches with its interval; p50 to max of single operations, with the clock\n", r.settings.batches)
	for _, left := range run.Left {
		fmt.Fprintf(r.stdout, "# left out: %s\n", left)
	}
}

// figure records a figure and prints its row; if it is the first of its measure, under a new
// heading.
func (r *reporter) figure(f *figure.Figure) {
	r.set.Figures = append(r.set.Figures, f)
	r.record(f)
	if r.settings.json {
		return
	}
	r.endProgress()
	name := f.Test + " " + f.Measure
	if f.Scope != "host" {
		name += " by " + f.Scope
	}
	if title := fmt.Sprintf("%s, %s, until %s", name, f.Unit, f.Until); title != r.title {
		r.title = title
		fmt.Fprintf(r.stdout, "\n# %s\n%8s %10s %10s %10s", title, "size", "median", "low", "high")
		if f.Singles != nil {
			fmt.Fprintf(r.stdout, " %10s %10s %10s %10s", "p50", "p90", "p99", "max")
		}
		fmt.Fprintln(r.stdout)
	}
	fmt.Fprintf(r.stdout, "%8s %10s %10s %10s", figure.Bytes(f.Size), figure.Number(f.Median), figure.Number(f.Low), figure.Number(f.High))
	if s := f.Singles; s != nil {
		fmt.Fprintf(r.stdout, " %10s %10s %10s %10s", figure.Number(s.P50), figure.Number(s.P90), figure.Number(s.P99), figure.Number(s.Max))
	}
	fmt.Fprintln(r.stdout)
}

// wrong records a figure with wrong data, which fails the command.
func (r *reporter) wrong(w *figure.Wrong) {
	r.set.Wrong = append(r.set.Wrong, w)
	r.record(w)
	r.fail(fmt.Errorf("check the data of %s %s of %s: %d of the PEs found bytes that were not sent (see docs/guides/chaos.md, and dmesg for errors of memory)",
		w.Test, w.Measure, figure.Bytes(w.Size), w.PEs))
}

// progress draws a progress bar, if standard error is a terminal.
func (r *reporter) progress(done, of int) {
	const width = 30
	if !r.terminal || of == 0 || done > of {
		return
	}
	r.bar = true
	full := width * done / of
	fmt.Fprintf(r.stderr, "\r[%s%s] %d of %d figures", strings.Repeat("#", full), strings.Repeat(".", width-full), done, of)
}

// endProgress clears the progress bar.
func (r *reporter) endProgress() {
	if r.bar {
		fmt.Fprint(r.stderr, "\r\x1b[K")
		r.bar = false
	}
}

// printLine prints a line of another program in the job to standard error.
func (r *reporter) printLine(line string) {
	r.endProgress()
	fmt.Fprintln(r.stderr, line)
}

// fail prints an error, without the progress bar, and makes it the exit status of the command.
func (r *reporter) fail(err error) {
	r.endProgress()
	r.status = fail(r.stderr, statusWorse, err)
}

// finish prints how the figures compare with those of other libraries and with the table of
// expectations, and returns the exit status.
func (r *reporter) finish() int {
	if r.file != nil {
		if err := r.file.Close(); err != nil {
			r.fail(fmt.Errorf("write figures: %w (make room, or choose another file)", err))
		}
	}
	if len(r.set.Figures) == 0 && len(r.set.Runs) > 0 {
		r.fail(errors.New("measure: there is nothing of these tests and sizes to measure (start 2 PEs or more, and see shmem-perf --help)"))
		return r.status
	}
	if !r.settings.json {
		figure.PrintRatios(r.stdout, &r.set)
	}
	if r.table != nil {
		to := r.stdout
		if r.settings.json {
			to = r.stderr
		}
		fmt.Fprintln(to)
		r.status = max(r.status, checkExpectations(to, r.stderr, &r.set, r.table))
	}
	return r.status
}

// checkExpectations prints how figures compare with a table of expectations, and returns the exit
// status.
func checkExpectations(stdout, stderr io.Writer, s *figure.Set, t *figure.Table) int {
	all, missing := figure.Expect(s, t)
	if len(all) == 0 {
		return fail(stderr, statusWorse, fmt.Errorf("compare with table %s: none of its figures was measured (measure what it has)", t.Name))
	}
	if figure.PrintExpectation(stdout, t, all, missing) > 0 {
		return statusWorse
	}
	return statusOK
}

// loadTable reads a table of expectations: a file, or, by a name without a slash, one of the
// installed tables.
func loadTable(name string) (*figure.Table, error) {
	file, err := os.Open(name)
	if err != nil && !strings.Contains(name, "/") {
		if _, bin, other := measuringProgram(); other == nil {
			if installed, other := os.Open(installedPath(bin, "share", "libshmem", "perf", name+".table")); other == nil {
				file, err = installed, nil
			}
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read table: %w (name a file, or one of share/libshmem/perf)", err)
	}
	defer file.Close()
	return figure.ReadTable(file, name)
}

// expect is the command --expect TABLE FILE: it compares the figures of a file with a table, and
// returns the exit status.
func expect(s *settings, stdout, stderr io.Writer) int {
	table, err := loadTable(s.expect)
	if err != nil {
		return fail(stderr, statusUsage, err)
	}
	set, err := figure.Load(s.args[0])
	if err != nil {
		return fail(stderr, statusUsage, err)
	}
	return checkExpectations(stdout, stderr, set, table)
}

// compare is the command --compare: it compares the figures of two files, and returns the exit
// status.
func compare(s *settings, stdout, stderr io.Writer) int {
	a, err := figure.Load(s.args[0])
	if err != nil {
		return fail(stderr, statusUsage, err)
	}
	b, err := figure.Load(s.args[1])
	if err != nil {
		return fail(stderr, statusUsage, err)
	}
	all, onlyA, onlyB, err := figure.Compare(a, b, s.tolerance/100)
	if err != nil {
		return fail(stderr, statusUsage, err)
	}
	if figure.PrintComparison(stdout, a, b, all, onlyA, onlyB, s.tolerance/100) > 0 || len(b.Wrong) > 0 {
		return statusWorse
	}
	return statusOK
}
