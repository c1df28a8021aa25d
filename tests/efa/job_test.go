package efa

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"libshmem/tests/cc"
	have "libshmem/tests/need"
)

var whole = flag.Bool("whole", false, "run the jobs that take long, too")

// built returns the place where make has put the library.
func (p *place) built() string { return have.Build(p.T) }

// compile builds a program of a testdata folder.
func (p *place) compile(source string) string {
	p.Helper()
	program := filepath.Join(p.dir, strings.TrimSuffix(filepath.Base(source), ".c"))
	cc.Source(p, program, source, "-L"+filepath.Join(p.built(), "lib"), "-lshmem")
	return program
}

// provider returns the provider of the NICs.
func (p *place) provider() string {
	for _, word := range strings.Fields(p.nic) {
		if name, ok := strings.CutPrefix(word, "provider="); ok {
			return name
		}
	}
	return "efa"
}

// run runs a command of the build, with additional environment variables.
func (p *place) run(env []string, argv ...string) (string, error) {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.Context(), needTimeout-10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(p.built(), "bin", argv[0]), argv[1:]...)
	cmd.Env = append(os.Environ(), "SHMEM_LIBFABRIC="+p.library, "SHMEM_PROVIDER="+p.provider())
	cmd.Env = append(cmd.Env, env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.CombinedOutput()
	p.Logf("%s", out)
	return string(out), err
}

// job runs a program with every PE on its own host.
func (p *place) job(n int, env []string, argv ...string) (string, error) {
	p.Helper()
	pes := strconv.Itoa(n)
	return p.run(env, append([]string{"shmemrun", "--timeout", strconv.Itoa(int(p.limit.Seconds())), "-n", pes, "--hosts", pes}, argv...)...)
}

// because are the lines of a job that give the cause of its failure, the most specific first.
var because = []*regexp.Regexp{
	died, regexp.MustCompile(`(?m)^shmem: shmem_init: open .*$`), regexp.MustCompile(`(?m)^shmem: PE \d+: .*$`),
	regexp.MustCompile(`(?m)^shmem: shmem_init: .*$`),
}

// ends returns why a job has not succeeded: a given number of PEs must report that all checks
// passed.
func ends(out string, err error, pes int) error {
	right := len(regexp.MustCompile(`(?m)^(?:\w+: )?[1-9]\d* passed, 0 failed$`).FindAllString(out, -1))
	if err == nil && right == pes {
		return nil
	}
	for _, b := range because {
		if line := b.FindString(out); line != "" {
			return errors.New(line)
		}
	}
	return fmt.Errorf("%d of %d PEs say that all is right (status: %w)\n%s", right, pes, err, out)
}

// lines returns the lines of a file that may be missing.
func (p *place) lines(file string) []string {
	p.Helper()
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		p.Fatal(err)
	}
	return slices.Collect(strings.Lines(string(text)))
}

var heldPattern = regexp.MustCompile(`^ep \d+ of \d+: cq (\d+) of (\d+), lost (\d+), send queue (\d+) of (\d+)\n$`)

// queues returns the error in the records of a number of endpoints' queues.
func (p *place) queues(ends int) error {
	p.Helper()
	_, err := p.maxHeld(ends)
	return err
}

// maxHeld returns the maximum of completions that one of the queues has held.
func (p *place) maxHeld(ends int) (most int, err error) {
	p.Helper()
	seen := 0
	for _, line := range p.lines(p.log) {
		m := heldPattern.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		var n [5]int
		for i := range n {
			var err error
			if n[i], err = strconv.Atoi(m[i+1]); err != nil {
				p.Fatal(err)
			}
		}
		if n[0] > n[1] || n[2] > 0 || n[3] > n[4] {
			return most, fmt.Errorf("a queue held more than it was granted: %s", line)
		}
		seen++
		most = max(most, n[0])
	}
	if seen != ends || most == 0 {
		return most, fmt.Errorf("%d of %d endpoints tell what their queues held, at most %d", seen, ends, most)
	}
	p.Logf("%d endpoints, at most %d completions at once", seen, most)
	return most, nil
}

// differs returns a shell text that gives one PE other settings than the rest.
func (p *place) differs(pe int, setting string) []string {
	return []string{"sh", "-c", `[ "$SHMEM_LAUNCHER_PE" = ` + strconv.Itoa(pe) + ` ] && export ` + setting + `; exec "$0" "$@"`}
}
