package figure

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"libshmem/cmd/internal/facts"
)

// Events are the functions that Read calls for what PE 0 writes, as soon as it arrives.
type Events struct {
	Run      func(*Run)
	Figure   func(*Figure)
	Wrong    func(*Wrong)
	Progress func(done, of int)
	Other    func(line string) // any other line
}

// ErrUnfinished reports PEs that ended before their last figure.
var ErrUnfinished = errors.New("the PEs ended before the last figure")

// fields has the values of a line, whose fields are KEY=VALUE with tabs between them.
type fields map[string]string

// integer returns a field as a whole number; 0 if there is none.
func (f fields) integer(key string) int64 {
	n, _ := strconv.ParseInt(f[key], 10, 64) // a missing one is 0
	return n
}

// number returns a field as a number; 0 if there is none.
func (f fields) number(key string) float64 {
	v, _ := strconv.ParseFloat(f[key], 64)
	return v
}

// Read reads the lines that PE 0 of the measuring program writes until it ends: a kind, and fields
// KEY=VALUE, with tabs between them. It calls a function of e for each figure. id names the run,
// system the library that is measured.
func Read(r io.Reader, system, id string, args []string, e Events) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20) // the longest line, in bytes
	run := &Run{Kind: "run", ID: id, System: system, Args: args}
	printed := map[string][]string{} // lines that other programs have printed, by the program's name
	begun, ended := false, false
	// begin reports the run, once its description is complete: before the first figure.
	begin := func() {
		if !begun {
			begun = true
			e.Run(run)
		}
	}
	for lines.Scan() {
		kind, rest, _ := strings.Cut(lines.Text(), "\t")
		f := fields{}
		for part := range strings.SplitSeq(rest, "\t") {
			key, value, _ := strings.Cut(part, "=")
			f[key] = value
		}
		switch kind {
		case "head":
			run.Library, run.PEs, run.Path = f["library"], int(f.integer("pes")), f["path"]
		case "left":
			run.Left = append(run.Left, fmt.Sprintf("%s figures %s", f["n"], f["why"]))
		case "nic":
			run.NICs = append(run.NICs, f["name"])
		case "facts":
			var h facts.Host
			if f["text"] != "" {
				if err := json.Unmarshal([]byte(f["text"]), &h); err != nil {
					return fmt.Errorf("read the facts of PE %s: %w (update libshmem on every machine)", f["pe"], err)
				}
			}
			h.PE = int(f.integer("pe"))
			run.Hosts = append(run.Hosts, h)
		case "figure":
			begin()
			e.Figure(parseFigure(run, f))
		case "wrong":
			begin()
			e.Wrong(&Wrong{Kind: "wrong", Run: id, Test: f["test"], Measure: f["measure"], Size: f.integer("size"), PEs: int(f.integer("pes"))})
		case "beside": // another program has printed a line
			printed[f["name"]] = append(printed[f["name"]], f["text"])
		case "besides": // and has ended
			begin()
			name := f["name"]
			figures, err := parseBeside(name, printed[name], f["status"])
			if err != nil {
				e.Other(fmt.Sprintf("shmem-perf: measure %s beside libshmem: %v", name, err))
				continue
			}
			other := &Run{Kind: "run", ID: id + "-" + name, System: name, Library: name, PEs: 2, Path: run.Path, NICs: run.NICs, Args: args, Hosts: run.Hosts}
			e.Run(other)
			for _, one := range figures {
				one.Run, one.Path, one.NICs = other.ID, other.Path, other.carrierNICs()
				e.Figure(one)
			}
		case "progress":
			e.Progress(int(f.integer("done")), int(f.integer("of")))
		case "end":
			begin()
			ended = true
		default:
			e.Other(lines.Text())
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read what PE 0 writes: %w (see the messages above)", err)
	}
	if !ended {
		return ErrUnfinished
	}
	return nil
}

// carrierNICs returns how many NICs carry operations from PE 0 to the last PE: none if they are on
// one node.
func (r *Run) carrierNICs() int {
	if r.Path != "network" {
		return 0
	}
	return len(r.NICs)
}

// parseFigure makes a figure of the fields of a line of kind `figure`.
func parseFigure(run *Run, f fields) *Figure {
	out := &Figure{
		Kind: "figure", Run: run.ID, System: run.System, Test: f["test"], Measure: f["measure"], Scope: f["scope"], Size: f.integer("size"),
		PEs: run.PEs, Path: run.Path, NICs: run.carrierNICs(), Unit: f["unit"], Until: f["until"], Iterations: f.integer("iterations"),
	}
	for text := range strings.SplitSeq(f["batches"], ",") {
		if v, err := strconv.ParseFloat(text, 64); err == nil {
			out.Batches = append(out.Batches, v)
		}
	}
	if f["singles"] != "" {
		out.Singles = &Singles{f.integer("singles"), f.number("p50"), f.number("p90"), f.number("p99"), f.number("max")}
	}
	out.setMedian()
	return out
}

// A Set is the content of a file of JSON lines.
type Set struct {
	Name    string
	Runs    []*Run
	Figures []*Figure
	Wrong   []*Wrong
}

// Load reads a file that shmem-perf --out has written, or several that were joined.
func Load(name string) (*Set, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read figures: %w (name a file that --out has written)", err)
	}
	defer file.Close()
	s := &Set{Name: name}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 16<<20) // the longest line, in bytes
	for n := 1; lines.Scan(); n++ {
		var kind struct {
			Kind string `json:"kind"`
		}
		line := lines.Bytes()
		if len(line) == 0 {
			continue
		}
		err := json.Unmarshal(line, &kind)
		switch {
		case err != nil:
		case kind.Kind == "run":
			s.Runs = append(s.Runs, &Run{})
			err = json.Unmarshal(line, s.Runs[len(s.Runs)-1])
		case kind.Kind == "figure":
			f := &Figure{System: Ours, Scope: "host"} // unless the line has others
			if err = json.Unmarshal(line, f); err == nil && len(f.Batches) == 0 {
				err = errors.New("a figure without batches")
			}
			f.setMedian()
			s.Figures = append(s.Figures, f)
		case kind.Kind == "wrong":
			s.Wrong = append(s.Wrong, &Wrong{})
			err = json.Unmarshal(line, s.Wrong[len(s.Wrong)-1])
		default:
			err = fmt.Errorf("kind %q is not run, figure or wrong", kind.Kind)
		}
		if err != nil {
			return nil, fmt.Errorf("read figures: %s, line %d: %w (name a file that --out has written)", name, n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read figures: %s: %w (name a file that --out has written)", name, err)
	}
	if len(s.Figures) == 0 {
		return nil, fmt.Errorf("read figures: %s has none (name a file that --out has written)", name)
	}
	return s, nil
}
