package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"syscall"
	"time"
)

// runStage runs a stage in a process group of its own, and ends the group at the limit.
func runStage(s stage) end {
	fmt.Printf("== %s: begins\n", s.name)
	begin := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), s.limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", s.run)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	err := cmd.Run()
	if ctx.Err() != nil {
		err = fmt.Errorf("ended after %v", s.limit)
	}
	e := end{stage: s, err: err, output: output.Bytes(), wall: time.Since(begin)}
	if p := cmd.ProcessState; p != nil {
		e.processor = p.UserTime() + p.SystemTime()
	}
	return e
}
