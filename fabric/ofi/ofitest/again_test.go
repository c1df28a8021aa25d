package ofitest

import (
	"errors"
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
	for _, settings := range []string{"again=3", "again=50"} {
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
