package launch

import (
	"bufio"
	"fmt"
	"os/exec"
	"syscall"

	"libshmem/runtime/bootstrap/launch/prefix"
	"libshmem/runtime/bootstrap/launch/ssh"
)

// copyTo copies this installation of libshmem to a host over ssh, unless the host already has the
// same. It ends early if stop is closed.
func (o *Options) copyTo(host string, stop <-chan struct{}) error {
	argv := ssh.Command(o.SSH, host, prefix.Command(o.Prefix, o.digest, ssh.Quote))
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var said tail
	cmd.Stderr = &said
	in, err := cmd.StdinPipe()
	if err != nil {
		return fmt.Errorf("copy libshmem to %s: %w", host, err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("copy libshmem to %s: %w", host, err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("copy libshmem to %s: %w", host, explainStart(err))
	}
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-stop:
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		case <-done:
		}
	}()
	lines := bufio.NewReader(out)
	send, missing := prefix.ReadReply(func() (string, error) { return lines.ReadString('\n') })
	if send {
		_ = prefix.Archive(o.Source, in) // if its reader ends early, the reader says why
	}
	in.Close()
	if err := cmd.Wait(); err == nil && missing == nil {
		return nil
	}
	if status := cmd.ProcessState.ExitCode(); missing != nil && status == ssh.StatusSSH {
		return ssh.Explain(host, o.agentFile(), said.String(), status)
	}
	return prefix.Explain(host, o.Prefix, said.String())
}
