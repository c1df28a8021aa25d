package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"time"
)

// secondsFile has the budget of each stage in seconds of a processor, and what the last run on an
// idle machine took. Its head says more.
const secondsFile = "tests/all/seconds.txt"

// wholeRun is the line of the time that passes from the begin of make test's first stage to the end
// of its last one.
const wholeRun = "all stages, time that passes"

type figures struct {
	budget, last float64
	name         string
}

// parseSeconds returns the comment at the head of the file, and its lines.
func parseSeconds(text []byte) (head []byte, lines []figures, err error) {
	for line := range bytes.Lines(text) {
		if line[0] == '#' {
			head = append(head, line...)
			continue
		}
		var f figures
		if _, err := fmt.Sscanf(string(line), "%f %f", &f.budget, &f.last); err != nil {
			return nil, nil, fmt.Errorf("%s: line %q: %w (write the budget, the last run, and the stage)", secondsFile, line, err)
		}
		f.name = strings.Join(strings.Fields(string(line))[2:], " ")
		lines = append(lines, f)
	}
	return head, lines, nil
}

// compare prints what the stages took beside their budgets, and writes it into the file if this run
// is to be the last idle one. A stage that is over its budget is no failure here: the processor may
// be slower, or busy.
func compare(took []figures, wall time.Duration, record bool) error {
	text, err := os.ReadFile(secondsFile)
	if err != nil {
		return err
	}
	head, lines, err := parseSeconds(text)
	if err != nil {
		return err
	}
	budgets := map[string]float64{}
	for _, f := range lines {
		budgets[f.name] = f.budget
	}
	sum := 0.0
	for _, f := range took {
		sum += f.last
	}
	took = append(took, figures{name: "all stages", last: sum}, figures{name: wholeRun, last: wall.Seconds()})
	written := bytes.NewBuffer(head)
	fmt.Println("== seconds of a processor: budget, this run")
	for _, f := range took {
		over := ""
		if f.last > budgets[f.name] {
			over = "  over its budget"
		}
		line := fmt.Sprintf("%6.0f %6.0f  %s", budgets[f.name], f.last, f.name)
		fmt.Println(line + over)
		fmt.Fprintln(written, line)
	}
	if record {
		return os.WriteFile(secondsFile, written.Bytes(), 0o644)
	}
	return nil
}
