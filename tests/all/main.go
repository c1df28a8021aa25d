// Command all runs every test of the tree, as stages that share the machine's processors.
//
//	go run ./tests/all [-full] [-record] [STAGE...]
//
// With names it runs only those stages. It prints what each stage took, beside the budget in
// seconds.txt; -record writes an idle run into that file, which make check reads.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"
)

func main() {
	full := flag.Bool("full", false, "with the loads and the long stages of make test-full")
	record := flag.Bool("record", false, "write what this run took, on an idle machine, into "+secondsFile)
	flag.Parse()
	if err := all(*full, *record, flag.Args()); err != nil {
		fmt.Println("== failed:", err)
		os.Exit(1)
	}
}

func all(full, record bool, names []string) error {
	begin := time.Now()
	stages, err := table(full)
	if err == nil && len(names) > 0 {
		stages, err = named(stages, names)
	}
	if err != nil {
		return err
	}
	var took []figures
	var failed []string
	// Half as much again as there are processors: stages wait for files, for children and for time.
	schedule(stages, 1.5*float64(runtime.NumCPU()), runStage, func(e end) {
		show(e)
		took = append(took, figures{name: e.name, last: e.processor.Seconds()})
		if e.err != nil {
			failed = append(failed, e.name)
		}
	})
	wall := time.Since(begin)
	if len(names) == 0 && !full {
		err = compare(took, wall, record && len(failed) == 0)
	}
	if len(failed) > 0 {
		return fmt.Errorf("%q, %.1f s", failed, wall.Seconds())
	}
	if err == nil {
		fmt.Printf("== all ok, %.1f s\n", wall.Seconds())
	}
	return err
}

// named returns the stages with these names. What they need was built before.
func named(stages []stage, names []string) ([]stage, error) {
	for _, n := range names {
		if !slices.ContainsFunc(stages, func(s stage) bool { return s.name == n }) {
			return nil, fmt.Errorf("no stage is called %q (use a name that make test prints)", n)
		}
	}
	return slices.DeleteFunc(stages, func(s stage) bool { return !slices.Contains(names, s.name) }), nil
}

// show prints the end of a stage behind what it printed itself.
func show(e end) {
	how := "ok"
	if e.err != nil {
		how = "FAILED: " + e.err.Error()
	}
	fmt.Printf("== %s\n%s== %s: %s, %.1f s, %.1f s of a processor\n",
		e.name, e.output, e.name, how, e.wall.Seconds(), e.processor.Seconds())
}
