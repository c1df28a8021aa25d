package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// reporter is the command that reads traces; it is in the folder of shmemrun.
const reporter = "shmem-trace"

// findReporter returns the path of the reporter, which is in the folder of this command.
func findReporter() (string, error) {
	exe, err := executable()
	if err != nil {
		return "", fmt.Errorf("--report: %w (start shmemrun by its path)", err)
	}
	return reporterBeside(exe)
}

// reporterBeside returns the path of the reporter in the folder of the file exe.
func reporterBeside(exe string) (string, error) {
	file := filepath.Join(filepath.Dir(exe), reporter)
	if _, err := os.Stat(file); err != nil {
		return "", fmt.Errorf("--report: find %s: it is not beside shmemrun (run make build, or use an installed shmemrun)", reporter)
	}
	return file, nil
}

// tracesOf lists the files that a job of n PEs has written to dir: of each PE the newest, and its
// older parts.
func tracesOf(dir string, n int) []string {
	var out []string
	for pe := range n {
		name := filepath.Join(dir, strconv.Itoa(pe))
		out = append(out, name+".json")
		for part := 1; ; part++ {
			older := fmt.Sprintf("%s.%d.json", name, part)
			if _, err := os.Stat(older); err != nil {
				break
			}
			out = append(out, older)
		}
	}
	return out
}

// runReporter runs the reporter on the traces of a job of n PEs, whose exit status is `status`. It
// returns that status, or 1 if only the reporter has failed.
func runReporter(file, dir string, n, status int, stdout, stderr io.Writer) int {
	cmd := exec.Command(file, append([]string{"report"}, tracesOf(dir, n)...)...)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		fmt.Fprintf(stderr, "shmemrun: start %s: %v (run make build)\n", file, err)
	}
	if err != nil && status == 0 {
		return 1
	}
	return status
}
