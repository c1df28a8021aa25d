// Package plugin is the bootstrap through a user's shared library with the five functions of
// include/shmemx_bootstrap.h. It calls the library, and pads contributions of any length to the one
// fixed length that such a library can exchange.
package plugin

/*
#cgo CFLAGS: -std=gnu11 -Wall -Wextra
#cgo LDFLAGS: -ldl
#include <stdlib.h>
#include "load.h"
*/
import "C"

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
	"unsafe"

	"libshmem"
	"libshmem/runtime/bootstrap"
	"libshmem/runtime/bootstrap/secret"
	"libshmem/runtime/guard"
)

// Env is the setting with the file of the library.
const Env = "SHMEM_BOOTSTRAP_PLUGIN"

// maxPEs is the most PEs that a plugin may report.
const maxPEs = 1 << 20

// grace is how long after its timeout a plugin's function is reported as late.
const grace = time.Second

// Plugin is the bootstrap of a PE by a plugin.
type Plugin struct {
	functions C.struct_shmemi_plugin
	rank      libshmem.PE
	size      int
	step      int               // number of the last collective step, for errors
	timeout   time.Duration     // passed to the plugin's functions
	say       func(text string) // prints that a function is late
	secret    secret.Secret
}

var _ bootstrap.Bootstrap = (*Plugin)(nil)

// Join loads the library and agrees on a secret with the other PEs. If a function of the library
// has not returned within timeout, Join passes a text that says so to say, in another thread, and
// goes on waiting, as later calls do: only the library knows what it waits for.
func Join(path string, timeout time.Duration, say func(text string)) (*Plugin, error) {
	p := &Plugin{timeout: timeout, say: say}
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	var why [512]C.char
	if C.shmemi_plugin_load(name, &p.functions, &why[0], C.size_t(len(why))) != 0 {
		return nil, fmt.Errorf("join job: plugin %s: %s", path, C.GoString(&why[0]))
	}
	p.rank, p.size = libshmem.PE(C.shmemi_plugin_rank(&p.functions)), int(C.shmemi_plugin_size(&p.functions))
	if !p.rank.In(p.size) || p.size > maxPEs {
		return nil, fmt.Errorf("join job: plugin %s: it says that this is PE %d of %d (PEs are numbered from 0, and there are at most %d)",
			path, p.rank, p.size, maxPEs)
	}
	mine := secret.New()
	all, err := p.gather("join job", mine[:])
	if err != nil {
		return nil, err
	}
	copy(p.secret[:], all[:len(mine)]) // PE 0's is the job's
	return p, nil
}

// gather is an allgather in which each PE contributes as many bytes as this one.
func (p *Plugin) gather(step string, mine []byte) ([]byte, error) {
	// C's memory: a plugin may pass the pointer on to other code.
	from := C.CBytes(mine)
	defer C.free(from)
	to := C.calloc(C.size_t(p.size), C.size_t(len(mine)))
	if to == nil {
		return nil, fmt.Errorf("%s: no memory for %d bytes of each PE", step, len(mine))
	}
	defer C.free(to)
	err := p.call(step, "allgather", func(timeoutMS C.int) C.int {
		return C.shmemi_plugin_allgather(&p.functions, from, to, C.size_t(len(mine)), timeoutMS)
	})
	if err != nil {
		return nil, err
	}
	return slices.Clone(unsafe.Slice((*byte)(to), p.size*len(mine))), nil
}

// call calls a function of the plugin with its timeout in milliseconds, and returns its error. If
// the function has not returned a second (grace) after the timeout, call passes a text that says so
// to p.say, and goes on waiting.
func (p *Plugin) call(step, function string, f func(timeoutMS C.int) C.int) error {
	late := time.AfterFunc(p.timeout+grace, guard.Func("the bootstrap", func() {
		p.say(fmt.Sprintf("%s: shmemx_bootstrap_%s of the plugin has not returned within %v (find out what it waits for; the wait goes on)", step, function, p.timeout))
	}))
	// 0: success; 1 to size: the PE of this number, counted from 1, did not come.
	code := f(C.int(min(p.timeout.Milliseconds(), math.MaxInt32)))
	late.Stop()
	switch {
	case code == 0:
		return nil
	case code > 0 && int(code) <= p.size:
		return &bootstrap.MissingError{Step: step, Missing: []libshmem.PE{libshmem.PE(code) - 1}, Waited: p.timeout}
	}
	return fmt.Errorf("%s: shmemx_bootstrap_%s of the plugin returned %d, expected 0, or 1 to %d for the PE that did not come, counted from 1 (see the plugin's messages)",
		step, function, code, p.size)
}

// nextStep returns the name of the next collective step, for errors.
func (p *Plugin) nextStep(kind string) string {
	p.step++
	return fmt.Sprintf("%s %d", kind, p.step)
}

// Allgather implements bootstrap.Bootstrap. The PEs first exchange the lengths of their
// contributions, and then the contributions, all padded to the longest.
func (p *Plugin) Allgather(mine []byte) ([][]byte, error) {
	step := p.nextStep("allgather")
	lengths, err := p.gather(step, binary.LittleEndian.AppendUint32(nil, uint32(len(mine))))
	if err != nil {
		return nil, err
	}
	parts, longest := make([][]byte, p.size), 1
	for i := range parts {
		longest = max(longest, int(binary.LittleEndian.Uint32(lengths[4*i:])))
	}
	all, err := p.gather(step, append(slices.Clone(mine), make([]byte, longest-len(mine))...))
	if err != nil {
		return nil, err
	}
	for i := range parts {
		parts[i] = all[i*longest:][:binary.LittleEndian.Uint32(lengths[4*i:])]
	}
	return parts, nil
}

// Barrier implements bootstrap.Bootstrap: it waits until all PEs have called it.
func (p *Plugin) Barrier() error {
	return p.call(p.nextStep("barrier"), "barrier", func(timeoutMS C.int) C.int {
		return C.shmemi_plugin_barrier(&p.functions, timeoutMS)
	})
}

// LeaveBarrier implements bootstrap.Bootstrap. A plugin does not know which PEs are lost, so it is
// no error here if PEs are missing.
func (p *Plugin) LeaveBarrier() error {
	err := p.Barrier()
	var missing *bootstrap.MissingError
	if errors.As(err, &missing) {
		return nil
	}
	return err
}

// Name returns "plugin".
func (p *Plugin) Name() string { return "plugin" }

// Rank returns this PE's number.
func (p *Plugin) Rank() libshmem.PE { return p.rank }

// Size returns the number of PEs.
func (p *Plugin) Size() int { return p.size }

// Secret implements bootstrap.Bootstrap. PE 0 has made the secret.
func (p *Plugin) Secret() *secret.Secret { return &p.secret }

// Abort implements bootstrap.Bootstrap: it requests the end of the job, with a reason.
func (p *Plugin) Abort(status int, reason string) {
	text := C.CString(reason)
	defer C.free(unsafe.Pointer(text))
	C.shmemi_plugin_abort(&p.functions, C.int(status), text)
}

// Exit implements bootstrap.Bootstrap: it requests the end of the job with a status.
func (p *Plugin) Exit(status int) { p.Abort(status, "shmem_global_exit") }

// Over implements bootstrap.Bootstrap: a plugin does not report the end.
func (p *Plugin) Over() bool { return false }

// Losses implements bootstrap.Bootstrap: a plugin reports none, and the PEs watch each other.
func (p *Plugin) Losses() []bootstrap.Loss { return nil }

// NewsFD implements bootstrap.Bootstrap: -1, because a plugin reports no losses.
func (p *Plugin) NewsFD() int { return -1 }

// Close implements bootstrap.Bootstrap: the library stays loaded.
func (p *Plugin) Close() error { return nil }
