package slurm

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"libshmem/runtime/bootstrap"
	"libshmem/runtime/bootstrap/munge"
	"libshmem/runtime/bootstrap/uid"
)

const patient = 30 * time.Second

var local = uid.Filter{Interfaces: "=lo"}

// cluster is munge of a made-up cluster, as a process of a user sees it.
type cluster struct {
	user munge.User
	*book
}

// book is the knowledge of a cluster's daemons.
type book struct {
	mu    sync.Mutex
	creds map[string]*entry
	down  error // the error of Self
}

type entry struct {
	bytes         []byte
	maker, reader munge.User
	read          bool
}

func newBook() *book { return &book{creds: map[string]*entry{}} }

func (c cluster) Self() (munge.User, error) { return c.user, c.down }

func (c cluster) Encode(bytes []byte, reader munge.User) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	name := fmt.Sprintf("MUNGE:%d", len(c.creds))
	c.creds[name] = &entry{bytes: append([]byte(nil), bytes...), maker: c.user, reader: reader}
	return name, nil
}

func (c cluster) Decode(cred string) ([]byte, munge.User, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.creds[cred]
	switch {
	case e == nil:
		return nil, 0, errors.New("invalid credential")
	case e.reader != c.user:
		return nil, 0, errors.New("unauthorized credential")
	case e.read:
		return nil, 0, errors.New("replayed credential")
	}
	e.read = true
	return e.bytes, e.maker, nil
}

// place returns a step of n PEs on this host.
func place(t *testing.T, pe, n int, ports []int, changes ...string) *step {
	t.Helper()
	s, err := read(task(append([]string{fmt.Sprintf("SLURM_PROCID=%d", pe), fmt.Sprintf("SLURM_NTASKS=%d", n), "SLURM_NODEID=0"}, changes...)...))
	if err != nil {
		t.Fatal(err)
	}
	if ports != nil {
		s.ports = ports
	}
	return &s
}

// free returns unused ports.
func free(t *testing.T, n int) (ports []int) {
	t.Helper()
	for range 1000 {
		// Below the ports that the kernel gives to programs that ask for none.
		port := 10000 + rand.IntN(20000)
		l, err := net.Listen("tcp", fmt.Sprint(":", port))
		if err != nil {
			continue
		}
		defer l.Close() // after all have been found
		if ports = append(ports, port); len(ports) == n {
			return ports
		}
	}
	t.Fatal("no ports are free")
	return nil
}

// run has each PE of a step meet the others and do something.
func run(t *testing.T, n int, ports []int, verifier verifier, changes ...string) {
	t.Helper()
	var wg sync.WaitGroup
	for pe := range n {
		wg.Go(func() {
			m, err := meet(&Options{Filter: local, Timeout: patient}, place(t, pe, n, ports, changes...), verifier)
			if err != nil {
				t.Errorf("PE %d: %v", pe, err)
				return
			}
			all, err := m.Allgather(fmt.Append(nil, pe))
			if err != nil || len(all) != n || string(all[n-1]) != fmt.Sprint(n-1) || m.Name() != "slurm" {
				t.Errorf("PE %d: %s has %q, %v", pe, m.Name(), all, err)
			}
			if err := errors.Join(m.LeaveBarrier(), m.Close()); err != nil {
				t.Errorf("PE %d: %v", pe, err)
			}
		})
	}
	wg.Wait()
}

func TestJob(t *testing.T) {
	b := newBook()
	for range 3 { // one after the other in a step
		run(t, 4, nil, cluster{1000, b})
	}
}

// Two steps of one user at the same ports, and another user's: each finds its own, even where
// strangers have the first of the ports and say nothing, or nonsense.
func TestCrowd(t *testing.T) {
	ports := free(t, 5)
	for i, say := range []string{"", "HTTP/1.1 400 Bad Request\r\n\r\n" + strings.Repeat("x", 100)} {
		l, err := net.Listen("tcp", fmt.Sprintf(":%d", ports[i]))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				defer conn.Close()
				_, _ = conn.Write([]byte(say))
			}
		}()
	}
	b := newBook()
	var wg sync.WaitGroup
	wg.Go(func() { run(t, 3, ports, cluster{1000, b}) })
	wg.Go(func() { run(t, 2, ports, cluster{1000, b}, "SLURM_STEP_ID=1") })
	wg.Go(func() { run(t, 3, ports, cluster{1001, b}) })
	wg.Wait()
}

func TestMissing(t *testing.T) {
	b := newBook()
	ports := free(t, 2)
	soon := &Options{Filter: local, Timeout: 2 * time.Second} // PE 0 reaches itself within that
	_, err := meet(soon, place(t, 1, 2, ports), cluster{1000, b})
	var missing *bootstrap.MissingError
	if !errors.As(err, &missing) || missing.Missing[0] != 0 || !strings.Contains(err.Error(), "looked for on this host, ports ") {
		t.Errorf("without PE 0: %v", err)
	}
	_, err = meet(soon, place(t, 0, 2, ports), cluster{1000, b})
	if !errors.As(err, &missing) || missing.Missing[0] != 1 {
		t.Errorf("without PE 1: %v", err)
	}
	if l, err := listen(ports, uid.AnyFamily); err != nil || l.Addr().(*net.TCPAddr).Port != ports[0] {
		t.Errorf("the door is still there: %v", err)
	} else {
		l.Close()
	}
}

func TestRefused(t *testing.T) {
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	taken := []int{l.Addr().(*net.TCPAddr).Port}
	b := newBook()
	soon := &Options{Filter: local, Timeout: time.Second}
	withoutMunge := newBook()
	withoutMunge.down = errors.New("no daemon")
	for _, c := range []struct {
		what     string
		step     *step
		verifier verifier
		want     []string
	}{
		{"the ports are taken", place(t, 0, 2, taken), cluster{1000, b}, []string{fmt.Sprint("listen at a port of ", taken[0]), "address already in use", "srun --resv-ports"}},
		{"no munge", place(t, 0, 2, nil), cluster{1000, withoutMunge}, []string{"prove the user of this process: no daemon", "srun --mpi=pmi2", "SHMEM_BOOTSTRAP_DIR"}},
		{"no such host", place(t, 1, 2, nil, "SLURM_NODEID=1", "SLURM_STEP_NODELIST=no-such-host.invalid,b"), cluster{1000, b}, []string{"no-such-host.invalid", "SLURM_STEP_NODELIST"}},
	} {
		_, err := meet(soon, c.step, c.verifier)
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, not %q", c.what, err, want)
			}
		}
	}
	if _, err := Join(Options{Env: task("SLURM_NTASKS=0"), Timeout: time.Second}); err == nil || !strings.Contains(err.Error(), "SLURM_NTASKS") {
		t.Errorf("%v", err)
	}
}

// A step of one task needs no other process.
func TestAlone(t *testing.T) {
	b, err := Join(Options{Env: task("SLURM_NTASKS=1", "SLURM_PROCID=0")})
	if err != nil || b.Size() != 1 || b.Name() != "singleton" {
		t.Errorf("%v, %v", b, err)
	}
}

func TestFolder(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	for pe := range 3 {
		wg.Go(func() {
			b, err := Join(Options{Env: task(fmt.Sprintf("SLURM_PROCID=%d", pe), "SLURM_NTASKS=3"), Folder: dir, Filter: local, Timeout: patient})
			if err != nil {
				t.Errorf("PE %d: %v", pe, err)
				return
			}
			if err := errors.Join(b.Barrier(), b.Close()); err != nil || b.Name() != "slurm" {
				t.Errorf("PE %d of %s: %v", pe, b.Name(), err)
			}
		})
	}
	wg.Wait()
	_, err := Join(Options{Env: task("SLURM_PROCID=0"), Folder: dir + "/nosuch", Filter: local, Timeout: time.Second})
	if err == nil || !strings.Contains(err.Error(), "check what SHMEM_BOOTSTRAP_DIR names") {
		t.Errorf("%v", err)
	}
}

// converse has one side of a conversation meet the other.
func converse(knocker, opener *peer, id uid.ID) (got uid.ID, heard, said error) {
	a, b := net.Pipe()
	done := make(chan error)
	go func() {
		err := opener.open(b, &id)
		b.Close()
		done <- err
	}()
	got, heard = knocker.requestID(a)
	a.Close()
	return got, heard, <-done
}

// The id goes to a process of the same user and step, and comes from one, and from and to no other.
func TestProof(t *testing.T) {
	b := newBook()
	id := uid.ID{1, 2, 3}
	me := &peer{cluster{1000, b}, 1000, "c/7.0/ of 4"}
	if got, heard, said := converse(me, me, id); got != id || heard != nil || said != nil {
		t.Fatalf("%v, %v, %v", got, heard, said)
	}
	for _, c := range []struct {
		what            string
		knocker, opener *peer
		want            string
	}{
		{"another user knocks", &peer{cluster{1001, b}, 1001, me.name}, me, "unauthorized"},
		{"another user knocks, for the opener to read", &peer{cluster{1001, b}, 1000, me.name}, me, "user 1001, not 1000"},
		{"another user opens", me, &peer{cluster{1001, b}, 1001, me.name}, "unauthorized"},
		{"another step knocks", &peer{cluster{1000, b}, 1000, "c/7.1/ of 4"}, me, "another step"},
		{"another step, whose name begins the same", &peer{cluster{1000, b}, 1000, "c/7.0/ of 44"}, me, "another step"},
	} {
		got, heard, _ := converse(c.knocker, c.opener, id)
		if heard == nil || got != (uid.ID{}) || !strings.Contains(heard.Error(), c.want) {
			t.Errorf("%s: %v, %v, not %q", c.what, got, heard, c.want)
		}
	}
	for name, e := range b.creds {
		if e.reader != 1000 && strings.Contains(hex.EncodeToString(e.bytes), hex.EncodeToString(id[:])) {
			t.Errorf("%s has the id, for user %d", name, e.reader)
		}
	}
}

// A credential that was heard, or is one's own, opens nothing.
func TestReplay(t *testing.T) {
	b := newBook()
	id := uid.ID{1, 2, 3}
	me := &peer{cluster{1000, b}, 1000, "s"}
	n := nonces{}
	old, err := me.makeCredential("knock", n, nil)
	if err != nil {
		t.Fatal(err)
	}
	mirror, err := me.makeCredential("open", n, id[:])
	if err != nil {
		t.Fatal(err)
	}
	for _, cred := range []string{old, mirror, "", "MUNGE:nonsense"} {
		a, c := net.Pipe()
		go func() {
			_ = me.open(c, &id)
			c.Close()
		}()
		if _, err := a.Write(opening(n.knocker)); err != nil {
			t.Fatal(err)
		}
		if _, err := readOpening(a); err != nil {
			t.Fatal(err)
		}
		if err := send(a, isCredential, cred); err != nil {
			t.Fatal(err)
		}
		if kind, text, err := receive(a); err != nil || kind != isRefusal {
			t.Errorf("%q: kind %d, %q, %v", cred, kind, text, err)
		}
		a.Close()
	}
}

// FuzzOpen: whatever a stranger says, it gets no id, and the listener does not fail.
func FuzzOpen(f *testing.F) {
	for _, said := range openings() {
		f.Add(said)
	}
	f.Fuzz(openChanged)
}

func openings() [][]byte {
	return [][]byte{
		[]byte(magic + "\x01\x00\x00\x000123456789abcdef\x00\x00\x00\x00\x03\x00\x00\x00abc"),
		[]byte(magic + "\x02\x00\x00\x000123456789abcdef"),
		[]byte(magic + "\x01\x00\x00\x000123456789abcdef\x00\x00\x00\x00\xff\xff\xff\xff"),
		[]byte("GET / HTTP/1.1\r\n\r\n"),
	}
}

func openChanged(t *testing.T, said []byte) {
	me := &peer{cluster{1000, newBook()}, 1000, "s"}
	heard := &stranger{say: said}
	if err := me.open(heard, &uid.ID{1, 2, 3}); err == nil {
		t.Error("it was let in")
	}
	if strings.Contains(heard.heard.String(), "MUNGE:") {
		t.Error("it has a credential")
	}
}

// stranger sends its text, whatever it gets.
type stranger struct {
	say   []byte
	heard strings.Builder
}

func (s *stranger) Read(b []byte) (int, error) {
	if len(s.say) == 0 {
		return 0, net.ErrClosed
	}
	n := copy(b, s.say)
	s.say = s.say[n:]
	return n, nil
}

func (s *stranger) Write(b []byte) (int, error) { return s.heard.Write(b) }
