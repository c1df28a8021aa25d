package stub

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"libshmem/fabric"
	"libshmem/fabric/fabrictest"
	"libshmem/fabric/ofi"
)

// The suite holds where libfabric refuses any posting by FI_EAGAIN: a third of all, or
// but few, and all for a while.
func TestAgain(t *testing.T) {
	file := load(t)
	// On the fabric efa, since efa-direct has parts that fail; and without the end of the
	// process when a peer is closed.
	for _, settings := range []string{"version=1.22 without=R9a again=3", "version=1.22 without=R9a again=50"} {
		t.Run(settings, func(t *testing.T) {
			log := Set(t, settings)
			fabrictest.Run(t, func(c fabric.Config) (fabric.Provider, error) {
				c.Library, c.Provider = file, Provider
				return ofi.Open(c)
			}, fabrictest.Limits{})
			lines := log.Lines()
			if len(lines) == 0 || !strings.HasPrefix(lines[len(lines)-1], "again ") {
				t.Fatalf("nothing was refused: %q", lines)
			}
			t.Log(lines[len(lines)-1])
		})
	}
}

// A queue that libfabric calls overrun ends the endpoint's use, and says so.
func TestOverrun(t *testing.T) {
	Set(t, "overrun_at=4")
	p := open(t, fabric.Config{Provider: Provider})
	var c [4]fabric.Completion
	for looks := 1; ; looks++ {
		_, err := p.Poll(c[:])
		if err == nil && looks < 4 {
			continue
		}
		if !errors.Is(err, fabric.ErrOverrun) || !strings.Contains(err.Error(), "poll") {
			t.Errorf("look %d: %v", looks, err)
		}
		return
	}
}

// Error entries of no operation count as another job's unless something shows that this end posted
// it: they are dropped and counted, even more than one poll drops at most. An overrun queue and an
// operation of this end without a token end the endpoint's use.
func TestStrayErrors(t *testing.T) {
	// Of libfabric.
	const (
		message, rma            = 1 << 1, 1 << 2
		read, write, recv, send = 1 << 8, 1 << 9, 1 << 10, 1 << 11
		remoteRead, remoteWrite = 1 << 12, 1 << 13
		ioError, overrun        = 5, 268
		unnamed                 = "poll efa: an operation without a token failed: "
	)
	for _, c := range []struct {
		what       string
		stray      int
		err, flags uint64
		want       string // of the error of Poll; "": the entries are dropped
	}{
		{"no flags", 3, ioError, 0, ""},
		{"a message", 3, ioError, recv | message, ""},
		{"a peer's write", 3, ioError, remoteWrite | rma, ""},
		{"a peer's read", 3, ioError, remoteRead | rma, ""},
		{"more than one poll drops", 100, ioError, 0, ""},
		{"a message of this end", 1, ioError, send | message, unnamed},
		{"a write of this end", 1, ioError, write | rma, unnamed},
		{"a read of this end", 1, ioError, read | rma, unnamed},
		{"an overrun", 1, overrun, 0, "poll efa: completion queue overrun: "},
	} {
		Set(t, fmt.Sprintf("stray=%d stray_err=%d stray_flags=%d", c.stray, c.err, c.flags))
		p := open(t, fabric.Config{Provider: Provider})
		var comps [4]fabric.Completion
		var err error
		polls, n := 0, 0
		for ; err == nil && (polls == 0 || p.Ready()); polls++ {
			n, err = p.Poll(comps[:])
			if n != 0 || polls > c.stray {
				t.Fatalf("%s: poll %d has %d completions, and %d entries were dropped", c.what, polls, n, p.Strangers())
			}
		}
		dropped := uint64(c.stray)
		if c.want != "" {
			dropped = 0
		}
		if p.Strangers() != dropped {
			t.Errorf("%s: %d entries were dropped in %d polls, want %d", c.what, p.Strangers(), polls, dropped)
		}
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.what, err, c.want)
		}
		if errors.Is(err, fabric.ErrOverrun) != (c.err == overrun) {
			t.Errorf("%s: %v", c.what, err)
		}
	}
}
