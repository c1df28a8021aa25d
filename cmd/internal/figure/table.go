package figure

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// A Table has the figures that are expected of a machine.
type Table struct {
	Name string // description of the machine
	NIC  string // the NIC that is expected to carry the job; "" for any
	Mbps int    // the speed that the NIC should have; 0 if no row needs it
	Rows []Row
}

// A Row is the range in which one figure of the machine should be. A limit of 0 means that there is
// none.
type Row struct {
	Test, Measure string
	Scope         string // "host" without one
	Size          int64
	Path          string
	Low, High     float64
	Share         bool // the limits are percentages of the NIC's speed
}

// String returns the name of the figure, with its size if it has one.
func (r Row) String() string {
	name := Key{System: Ours, Test: r.Test, Measure: r.Measure, Scope: r.Scope}.Name()
	if r.Size == 0 {
		return name
	}
	return name + " of " + Bytes(r.Size)
}

// ReadTable reads a table of expectations:
//
//	# a comment
//	machine two hosts with 100 Gb/s
//	nic     mlx5_0 100000
//	put latency   8  network ..3.5
//	put bandwidth 1M network 80%..
//	put latency by block 8 node ..2.5
//
// A row has test, measure, size, path, and the range in the unit of the figure or in percent of the
// NIC's speed. The scope of figures that GPUs measure is behind the measure, after "by".
func ReadTable(r io.Reader, name string) (*Table, error) {
	t := &Table{Name: name}
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line, _, _ := strings.Cut(lines.Text(), "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		var err error
		switch {
		case words[0] == "machine":
			t.Name = strings.Join(words[1:], " ")
		case words[0] == "nic":
			err = t.readNIC(words[1:])
		case len(words) == 5 || len(words) == 7 && words[2] == "by":
			scope := "host"
			if len(words) == 7 {
				scope = words[3]
				words = slices.Delete(words, 2, 4)
			}
			var row Row
			if row, err = readRow(words, scope); err == nil {
				t.Rows = append(t.Rows, row)
			}
		default:
			err = errors.New("a row has five words: test, measure, size, path and range; and perhaps by SCOPE after the measure")
		}
		if err != nil {
			return nil, fmt.Errorf("read table %s, line %d: %w (docs/guides/perf.md has an example)", name, n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read table %s: %w", name, err)
	}
	for _, row := range t.Rows {
		if row.Share && t.Mbps == 0 {
			return nil, fmt.Errorf("read table %s: a range in percent, and no speed of the NIC (add a line: nic NAME MBPS)", name)
		}
	}
	if len(t.Rows) == 0 {
		return nil, fmt.Errorf("read table %s: it has no row (docs/guides/perf.md has an example)", name)
	}
	return t, nil
}

// readNIC reads the words of a line of the table after "nic": the name of the NIC that should carry
// the bytes, and perhaps its speed.
func (t *Table) readNIC(words []string) (err error) {
	if len(words) == 0 || len(words) > 2 {
		return errors.New("nic: a name, or * for any, and perhaps a speed in Mb/s")
	}
	if words[0] != "*" {
		t.NIC = words[0]
	}
	if len(words) == 2 {
		if t.Mbps, err = strconv.Atoi(words[1]); err != nil || t.Mbps <= 0 {
			return fmt.Errorf("nic: %s is not a number of Mb/s", words[1])
		}
	}
	return nil
}

// scopes are the scopes of figures.
var scopes = []string{"host", "stream", "thread", "warp", "block"}

// readRow reads the five words of a row of the table for a scope: test, measure, size, path and the
// expected range.
func readRow(words []string, scope string) (row Row, err error) {
	row = Row{Test: words[0], Measure: words[1], Scope: scope, Path: words[3]}
	if !slices.Contains(scopes, scope) {
		return row, fmt.Errorf("there is no scope %s (say %s)", scope, strings.Join(scopes, ", "))
	}
	if row.Size, err = ParseBytes(words[2]); err != nil {
		return row, err
	}
	if row.Path != "node" && row.Path != "network" {
		return row, fmt.Errorf("path %s is neither node nor network", row.Path)
	}
	low, high, ok := strings.Cut(words[4], "..")
	if !ok || low == "" && high == "" {
		return row, fmt.Errorf("range %s has no limit (say LOW..HIGH, LOW.. or ..HIGH)", words[4])
	}
	for i, text := range []string{low, high} {
		if text == "" {
			continue
		}
		number, share := strings.CutSuffix(text, "%")
		v, err := strconv.ParseFloat(number, 64)
		if err != nil || !(v > 0) {
			return row, fmt.Errorf("range %s: %s is not a number above 0", words[4], text)
		}
		row.Share = row.Share || share
		if i == 0 {
			row.Low = v
		} else {
			row.High = v
		}
	}
	return row, nil
}

// ParseBytes reads a number of bytes such as 8, 64K or 1M, in powers of 1024.
func ParseBytes(text string) (int64, error) {
	number, unit := text, int64(1)
	for suffix, size := range map[string]int64{"k": 1 << 10, "m": 1 << 20, "g": 1 << 30} {
		if n, ok := strings.CutSuffix(strings.ToLower(text), suffix); ok {
			number, unit = n, size
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || n > (1<<40)/unit {
		return 0, fmt.Errorf("%q is not a size (say 8, 64K or 1M)", text)
	}
	return n * unit, nil
}
