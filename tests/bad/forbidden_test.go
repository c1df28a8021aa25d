package bad

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"libshmem/tests/need"
)

// TestForbiddenCalls takes one system call at a time from the PEs, by a seccomp filter, as
// sandboxes do. Each PE that needs the call says so in a line; the others work, on the node and
// between hosts.
func TestForbiddenCalls(t *testing.T) {
	build := need.Build(t)
	forbid, program := compile(t, build, "forbid"), compile(t, build, "forbidden")
	for call, says := range map[string]string{
		"thread":            "it needs the system call clone, which fails: %s .*allow clone",
		"epoll_create1":     "it needs the system call epoll_create1, which fails: %s .*allow epoll_create1",
		"epoll_ctl":         "it needs the system call epoll_ctl, which fails: %s .*allow epoll_ctl",
		"epoll_pwait":       "it needs the system call epoll_pwait, which fails: %s .*allow epoll_pwait",
		"eventfd2":          "it needs the system call eventfd2, which fails: %s .*allow eventfd2",
		"memfd_create":      "memfd_create: %s .*allow memfd_create",
		"socket":            "open a socket for the symmetric heap: %s .*allow socket",
		"mbind":             "",
		"pidfd_getfd":       "",
		"pidfd_open":        "",
		"process_vm_readv":  "",
		"process_vm_writev": "",
		"sched_getaffinity": "",
		"sched_setaffinity": "",
		"set_mempolicy":     "",
		"userfaultfd":       "",
	} {
		for name, text := range map[string]string{"EPERM": "(?i:operation not permitted)", "ENOSYS": "(?i:function not implemented)"} {
			t.Run(call+"/"+name, func(t *testing.T) {
				t.Parallel()
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
				defer cancel()
				job := exec.CommandContext(ctx, filepath.Join(build, "bin", "shmemrun"), "--hosts", "2,1", "--timeout", "90",
					"-x", "SHMEM_PROVIDER=tcp", forbid, call, name, program)
				out, err := job.CombinedOutput()
				if bytes.Contains(out, []byte("goroutine ")) {
					t.Errorf("a Go trace reached the program\n%s", out)
				}
				if says == "" {
					if err != nil || bytes.Count(out, []byte("went on\n")) != 3 {
						t.Errorf("%v; want PEs that go on\n%s", err, out)
					}
					return
				}
				if status := job.ProcessState.ExitCode(); status != 1 {
					t.Errorf("status %d; want 1\n%s", status, out)
				}
				line := fmt.Sprintf(`(?m)^shmem: shmem_init: .*`+says+`\)$`, text)
				if !regexp.MustCompile(line).Match(out) {
					t.Errorf("no line %s in\n%s", line, out)
				}
			})
		}
	}
}

// TestForbiddenCallsOfTools does the same with the tools, which are Go programs. Their runtime
// needs clone of threads before their first line; for other calls the tools report the filter
// themselves.
func TestForbiddenCallsOfTools(t *testing.T) {
	build := need.Build(t)
	forbid := compile(t, build, "forbid")
	for _, call := range []string{"epoll_create1", "epoll_ctl", "epoll_pwait", "eventfd2"} {
		for begin, words := range map[string][]string{
			"shmemrun: wait ":         {"shmemrun", "-n", "1", "--timeout", "9", "true"},
			"shmem-info: wait ":       {"shmem-info", "--live", "1"},
			"no  system calls: wait ": {"shmem-doctor"},
		} {
			tool := exec.CommandContext(t.Context(), forbid, append([]string{call, "EPERM", filepath.Join(build, "bin", words[0])}, words[1:]...)...)
			out, _ := tool.CombinedOutput()
			line := "(?m)^" + begin + "for files and clocks: the system call " + call + `: operation not permitted \(let the container or its seccomp profile allow ` + call + `\)\n`
			if status := tool.ProcessState.ExitCode(); status != 1 || !regexp.MustCompile(line).Match(out) || bytes.Contains(out, []byte("goroutine ")) {
				t.Errorf("%s without %s: status %d\n%s", words[0], call, status, out)
			}
		}
	}
}
