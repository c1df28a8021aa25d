package main

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// A stage is a row of the table.
type stage struct {
	name  string
	after string        // it needs this stage, if that runs in this run at all
	load  float64       // the processors that it keeps busy, in the average of its time
	limit time.Duration // some three times what it takes; it is then ended
	run   string        // for bash
}

// alone is the load of a stage beside which nothing runs.
const alone = 1000

// An end is what came of a stage, and what it took.
type end struct {
	stage
	err       error
	output    []byte
	wall      time.Duration
	processor time.Duration // its processes' user and system time
}

// schedule runs the stages, in their order as far as their loads fit the processors, and passes each
// end to told. A stage does not run if the one that it needs has failed.
func schedule(stages []stage, processors float64, run func(stage) end, told func(end)) {
	waiting := slices.Clone(stages)
	over := map[string]error{}
	ends := make(chan end)
	running, load := 0, 0.0
	for len(waiting) > 0 || running > 0 {
		waiting = slices.DeleteFunc(waiting, func(s stage) bool {
			err, isOver := over[s.after]
			needed := slices.ContainsFunc(stages, func(o stage) bool { return o.name == s.after })
			switch {
			case isOver && err != nil:
				over[s.name] = errors.New("not run")
				told(end{stage: s, err: fmt.Errorf("it needs %s", s.after)})
				return true
			case needed && !isOver, running > 0 && load+s.load > processors:
				return false
			}
			running++
			load += s.load
			go func() { ends <- run(s) }()
			return true
		})
		if running == 0 {
			continue // stages that need a stage that was not run
		}
		e := <-ends
		running--
		load -= e.load
		over[e.name] = e.err
		told(e)
	}
}
