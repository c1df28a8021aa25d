package launch

import (
	"os"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"libshmem"
	"libshmem/runtime/bootstrap/wire"
)

// A PE is killed, another one misses it and aborts the job, and the reaper has not reported the
// first: the job ends with the status of the first.
func TestFirstCause(t *testing.T) {
	const killed, aborted = "shmemrun: PE 0 was killed by signal 9 (killed)\n", "shmemrun: PE 1 aborted the job with status 134\n"
	for _, c := range []struct {
		name    string
		kill    bool
		reaped  bool // the reaper has the first one's status
		late    bool // and reports after the PE that aborts has ended
		hungUp  bool
		status  int
		remarks string
	}{
		{name: "not reaped", kill: true, hungUp: true, status: 137, remarks: killed},
		{name: "not reaped, not heard out", kill: true, status: 137, remarks: killed},
		{name: "reaped", kill: true, reaped: true, hungUp: true, status: 137, remarks: killed},
		{name: "reaped, reports late", kill: true, reaped: true, late: true, hungUp: true, status: 137, remarks: killed},
		{name: "alive", status: 134, remarks: aborted},
	} {
		t.Run(c.name, func(t *testing.T) {
			o, _, text := console(t, false, false)
			j := newJob(&Options{PEs: 2}, o)
			first, aborts := child(t, j), child(t, j)
			first.hungUp = c.hungUp
			var ws unix.WaitStatus
			if c.kill {
				end(t, first, c.reaped, &ws)
			}
			j.handleEndRequest(aborts, wire.Abort, wire.Ending{Status: 134})
			if c.late {
				var status unix.WaitStatus
				end(t, aborts, true, &status)
				aborts.hungUp = true
				j.handleExit(aborts.pid, status)
			}
			if c.reaped {
				if j.ending {
					t.Error("the job ends before the reaper has reported the first")
				}
				j.handleExit(first.pid, ws)
			}
			for late := time.After(time.Minute); !j.ending || c.late && !aborts.decided; {
				select {
				case f := <-j.actions:
					f()
				case <-late:
					t.Fatal("the job does not end")
				}
			}
			close(j.over)
			o.remarks.end()
			<-o.remarksWritten
			if j.status != c.status || text() != c.remarks {
				t.Errorf("status %d, want %d; %q, want %q", j.status, c.status, text(), c.remarks)
			}
		})
	}
}

// child returns a process that no reaper waits for, as the next PE of a job.
func child(t *testing.T, j *job) *process {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := syscall.ForkExec("/bin/sleep", []string{"sleep", "300"}, &syscall.ProcAttr{Sys: &syscall.SysProcAttr{Setpgid: true}})
	if err != nil {
		t.Fatal(err)
	}
	p := &process{pe: libshmem.PE(len(j.procs)), pid: pid, conn: os.NewFile(uintptr(pair[0]), "socket")}
	t.Cleanup(func() {
		if !p.exited {
			_ = unix.Kill(pid, unix.SIGKILL)
			_, _ = unix.Wait4(pid, nil, 0, nil)
		}
		p.conn.Close()
		_ = unix.Close(pair[1])
	})
	j.procs = append(j.procs, p)
	j.replies[p.pe].conn = p.conn
	j.byPID[pid] = p
	j.running++
	return p
}

// end kills a process, and takes its status or leaves it.
func end(t *testing.T, p *process, reap bool, ws *unix.WaitStatus) {
	t.Helper()
	if err := unix.Kill(p.pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if reap {
		if _, err := unix.Wait4(p.pid, ws, 0, nil); err != nil {
			t.Fatal(err)
		}
		return
	}
	if err := unix.Waitid(unix.P_PID, p.pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
}
