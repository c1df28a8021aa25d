package session

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"libshmem"
	"libshmem/runtime/bootstrap/uid"
	"libshmem/tests/need"
)

const (
	patient = 30 * time.Second // for an event that comes at once
	text    = "0123456789abcdef"
)

// place has a port that was free.
func place(t *testing.T) uid.Place {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return uid.Place{Address: l.Addr().String(), Secret: text}
}

// notes are the warnings of a PE.
type notes struct {
	mu    sync.Mutex
	lines []string
}

func (n *notes) add(line string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines = append(n.lines, line)
}

func (n *notes) has(part string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Contains(strings.Join(n.lines, "\n"), part)
}

// live is the life of a PE that has joined.
func live(m *uid.Member) error {
	all, err := m.Allgather(fmt.Append(nil, m.Rank()))
	if err == nil && (len(all) != m.Size() || string(all[m.Size()-1]) != fmt.Sprint(m.Size()-1) || m.Name() != "session") {
		err = fmt.Errorf("%s has %q", m.Name(), all)
	}
	return errors.Join(err, m.LeaveBarrier(), m.Close())
}

// begin has a PE join and live.
func begin(o Options) chan error {
	ended := make(chan error, 1)
	go func() {
		m, err := Join(o)
		if err == nil {
			err = live(m)
		}
		ended <- err
	}()
	return ended
}

func waitFor(t *testing.T, ends ...chan error) {
	t.Helper()
	for pe, end := range ends {
		if err := <-end; err != nil {
			t.Errorf("PE %d: %v", pe, err)
		}
	}
}

// PEs come in any order, and a process may have several jobs at one place.
func TestJob(t *testing.T) {
	t.Parallel()
	p := place(t)
	for range 3 {
		two := begin(Options{Place: p, PE: 2, Size: 3, Timeout: patient})
		one := begin(Options{Place: p, PE: 1, Size: 3, Timeout: patient})
		waitFor(t, begin(Options{Place: p, PE: 0, Size: 3, Timeout: patient}), one, two)
	}
}

// dead joins as a PE whose process then ends, before the meeting is over.
func dead(t *testing.T, p uid.Place, pe libshmem.PE, size int) {
	t.Helper()
	id, err := uid.Session(context.Background(), p, pe == 0)
	if err != nil {
		t.Fatal(err)
	}
	m, err := uid.Join(uid.Options{ID: id, PE: pe, Size: size, Timeout: patient})
	if err != nil {
		t.Fatal(err)
	}
	m.Abandon()
}

// A PE whose process ends before all have met is replaced, PE 0 as well.
func TestReplaced(t *testing.T) {
	for pe := range libshmem.PE(2) {
		t.Run(fmt.Sprint("PE ", pe), func(t *testing.T) {
			t.Parallel()
			p := place(t)
			var said notes
			other := begin(Options{Place: p, PE: 1 - pe, Size: 2, Timeout: patient, Warn: said.add})
			dead(t, p, pe, 2)
			waitFor(t, other, begin(Options{Place: p, PE: pe, Size: 2, Timeout: patient, Warn: said.add}))
			if said.has("waits for PE 0") {
				t.Errorf("warned although all came: %q", said.lines)
			}
		})
	}
}

// A process for whose place there is a PE learns it, and waits for the next job at the place.
func TestTaken(t *testing.T) {
	t.Parallel()
	p := place(t)
	ends := make([]chan error, 2)
	var began sync.WaitGroup
	release := make(chan struct{})
	for pe := range libshmem.PE(2) {
		ends[pe] = make(chan error, 1)
		began.Add(1)
		go func() {
			m, err := Join(Options{Place: p, PE: pe, Size: 2, Timeout: patient})
			began.Done()
			if err == nil {
				<-release
				err = errors.Join(m.LeaveBarrier(), m.Close())
			}
			ends[pe] <- err
		}()
	}
	began.Wait()
	const taken = "the job has begun, and its PE 1 is at 127.0.0.1"
	var said notes
	_, err := Join(Options{Place: p, PE: 1, Size: 2, Timeout: time.Second})
	if err == nil || !strings.Contains(err.Error(), taken+" (find out which other process has this number; a PE that has ended is not replaced: start all PEs again)") {
		t.Errorf("the place of a PE: %v", err)
	}
	late := begin(Options{Place: p, PE: 1, Size: 2, Timeout: patient, Warn: said.add})
	need.Eventually(t, "the warning", func() bool { return said.has("PE 1 waits for PE 0 at " + p.Address + ": " + taken) })
	close(release)
	waitFor(t, ends...)
	waitFor(t, begin(Options{Place: p, PE: 0, Size: 2, Timeout: patient}), late)
}

// TestWrong: the error of a PE that waits in vain names host, cause and remedy.
func TestWrong(t *testing.T) {
	t.Parallel()
	p := place(t)
	other, name := p, p
	other.Secret += "0"
	name.Address = strings.Replace(p.Address, "127.0.0.1", "localhost", 1)
	lone := begin(Options{Place: p, PE: 0, Size: 2, Timeout: patient})
	host, _ := os.Hostname()
	cases := []struct {
		name  string
		place uid.Place
		want  []string
	}{
		{"a secret", other, []string{p.Address + ": it knows another secret (give all PEs the same SHMEM_BOOTSTRAP_SESSION and the same SHMEM_BOOTSTRAP_SECRET)"}},
		{"no secret", uid.Place{Address: p.Address}, []string{"it knows another secret"}},
		{"another name", name, []string{"it knows another secret (give all PEs the same SHMEM_BOOTSTRAP_SESSION"}},
		{"a port", place(t), []string{"connection refused (see that PE 0 runs, and that no firewall or NetworkPolicy"}},
		{"a name", uid.Place{Address: "nosuch.invalid:7000"}, []string{"lookup nosuch.invalid", "(see that SHMEM_BOOTSTRAP_SESSION has the name of PE 0's host; in Kubernetes, that the headless service exists"}},
		{"no port", uid.Place{Address: "localhost"}, []string{`session "localhost": it has no host and port`}},
	}
	var wg sync.WaitGroup
	for _, c := range cases {
		wg.Go(func() {
			_, err := Join(Options{Place: c.place, PE: 1, Size: 2, Timeout: time.Second})
			if err == nil {
				t.Errorf("%s: the PE has joined", c.name)
				return
			}
			if c.name != "no port" {
				c.want = append(c.want, "join job PE 1 of 2, on host "+host+": it waited 1s for PE 0 at "+c.place.Address+": ")
			}
			for _, part := range c.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%v does not say %q", err, part)
				}
			}
		})
	}
	wg.Wait()
	waitFor(t, lone, begin(Options{Place: p, PE: 1, Size: 2, Timeout: patient}))
}

func TestSecret(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good, short := file("good", text+"\n"), file("short", "secret\n")
	for _, c := range []struct{ text, file, want, err string }{
		{"", "", "", ""},
		{text, "", text, ""},
		{" " + text + "\n", "", text, ""},
		{"", good, text, ""},
		{"", short, "", short + ", has 6 characters, at least 16 are needed"},
		{"secret", "", "", "SHMEM_BOOTSTRAP_SECRET has 6 characters"},
		{text, good, "", "are both set (unset one of them)"},
		{"", filepath.Join(dir, "none"), "", "no such file or directory (mount the file with it, readable by this user)"},
	} {
		got, err := Secret(c.text, c.file)
		if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%q, %q: %q, %v", c.text, c.file, got, err)
		}
		if err != nil && c.text != "" && strings.Contains(err.Error(), text) {
			t.Errorf("the error shows the secret: %v", err)
		}
	}
}
