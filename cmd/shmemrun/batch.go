package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"libshmem/runtime/bootstrap/launch"
	"libshmem/runtime/bootstrap/launch/hostlist"
	"libshmem/runtime/bootstrap/launch/ssh"
)

// This file reads from a batch system which machines a job has. That is used if the command line
// names no machines.

// listVariables are the variables in which batch systems name a file with one line for each slot.
var listVariables = []string{
	"PBS_NODEFILE",      // PBS, Torque
	"LSB_DJOB_HOSTFILE", // LSF
}

// batchHosts returns the machines of an allocation of PBS or LSF, or nil if there is no allocation
// or if it has only this machine.
func batchHosts(env []string) ([]hostlist.Host, error) {
	for _, name := range listVariables {
		file := lastValue(env, name)
		if file == "" {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read the machines of %s: %w (name them with --host)", name, err)
		}
		hosts, err := hostlist.ParseFile(file, string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if slices.ContainsFunc(hosts, func(h hostlist.Host) bool { return !ssh.Here(h.Name) }) {
			return hosts, nil
		}
		return nil, nil
	}
	return nil, nil
}

// interactiveStep is Slurm's number of the step in which salloc may run a shell.
const interactiveStep = "4294967290"

// inSlurm reports whether srun should start the PEs: this process is in an allocation of Slurm that
// has other machines, and is not itself a task that srun has started. salloc may run its shell on a
// machine outside the allocation, which the shell's missing SLURMD_NODENAME shows.
func inSlurm(env []string) bool {
	if lastValue(env, "SLURM_JOB_ID") == "" {
		return false
	}
	if step := lastValue(env, "SLURM_STEP_ID"); step != "" && step != interactiveStep {
		return false
	}
	nodes, err := strconv.Atoi(lastValue(env, "SLURM_JOB_NUM_NODES"))
	return err == nil && nodes > 1 || lastValue(env, "SLURMD_NODENAME") == ""
}

// srunArgs returns the arguments of srun that start a job as the options ask. Without a number of
// PEs Slurm uses that of the allocation.
func srunArgs(opt *launch.Options) ([]string, error) {
	args := []string{"--kill-on-bad-exit=1"}
	if opt.PEs > 0 {
		args = append(args, fmt.Sprintf("--ntasks=%d", opt.PEs))
	}
	if opt.Map == launch.Cyclic {
		args = append(args, "--distribution=cyclic")
	}
	if opt.Tag {
		args = append(args, "--label")
	}
	switch opt.Bind {
	case launch.BindNone:
		args = append(args, "--cpu-bind=none")
	case launch.BindCore:
		args = append(args, "--cpu-bind=cores")
	case launch.BindNUMA:
		args = append(args, "--cpu-bind=ldoms") // locality domains: NUMA nodes
	}
	switch {
	case opt.Map != launch.Block && opt.Map != launch.Cyclic:
		return nil, fmt.Errorf("--map %s: no such map (say block or cyclic)", opt.Map)
	case !opt.Bind.Known():
		return nil, fmt.Errorf("--bind=%s: no such binding (say auto, none, share, core or numa)", opt.Bind)
	case opt.Program == "":
		return nil, errors.New("no program given (say shmemrun -n N PROG ARGS)")
	}
	return append(append(args, "--", opt.Program), opt.Args...), nil
}

// runSrun starts the PEs through srun, and returns the exit status. more: this process has work to
// do afterwards; otherwise srun replaces it.
func runSrun(opt *launch.Options, more bool) int {
	status, err := startSrun(opt, more)
	if err != nil {
		fmt.Fprintln(os.Stderr, "shmemrun:", err)
	}
	return status
}

// startSrun does the work of runSrun: it starts srun, passes signals on to it, and ends it when
// --timeout is over. With an error it also returns the exit status for it.
func startSrun(opt *launch.Options, more bool) (int, error) {
	file, err := exec.LookPath("srun")
	if err != nil {
		return launch.StatusFailure, fmt.Errorf("start PEs in this allocation of Slurm: %w (put srun into PATH, or name machines with --host)", err)
	}
	args, err := srunArgs(opt)
	if err != nil {
		return launch.StatusUsage, err
	}
	env := opt.Env
	if opt.LibDir != "" {
		path := opt.LibDir
		if old := lastValue(env, "LD_LIBRARY_PATH"); old != "" {
			path += ":" + old
		}
		env = append(slices.Clone(env), "LD_LIBRARY_PATH="+path)
	}
	cmd := exec.Command(file, args...)
	cmd.Env = env
	if !more && opt.Timeout == 0 {
		err := syscall.Exec(file, cmd.Args, cmd.Environ())
		return launch.StatusFailure, fmt.Errorf("start srun: %w (check whether it works without shmemrun)", err)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	sigs := make(chan os.Signal, 16)
	signal.Notify(sigs, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGHUP, unix.SIGUSR1, unix.SIGUSR2)
	if err := cmd.Start(); err != nil {
		return launch.StatusFailure, fmt.Errorf("start srun: %w (check whether it works without shmemrun)", err)
	}
	done := make(chan struct{})
	go func() {
		_ = cmd.Wait() // the status is in ProcessState
		close(done)
	}()
	var late <-chan time.Time
	if opt.Timeout > 0 {
		late = time.After(opt.Timeout)
	}
	status := 0 // StatusTimeout after the timeout; else that of srun counts
	for {
		select {
		case <-done:
			ws, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
			switch {
			case status != 0:
			case ws.Signaled():
				status = 128 + int(ws.Signal())
			default:
				status = ws.ExitStatus()
			}
			return status, nil
		case s := <-sigs:
			if s != unix.SIGINT && s != unix.SIGQUIT { // a terminal sends these to srun as well
				_ = cmd.Process.Signal(s)
			}
		case <-late:
			fmt.Fprintf(os.Stderr, "shmemrun: timeout of %v is over (raise --timeout)\n", opt.Timeout)
			status = launch.StatusTimeout
			_ = cmd.Process.Signal(unix.SIGTERM)
		}
	}
}
