package bad

import (
	"os/exec"
	"strings"
	"testing"

	"libshmem/tests/need"
)

// noRoom is the one line about allocations that fail.
const noRoom = `shmem: PE 0: shmem_\w+: allocate \d+ bytes: \d+ of 1073741824 bytes of the symmetric heap are free, ` +
	`the largest free block has \d+ \(raise SHMEM_SYMMETRIC_SIZE\)\n`

const afterFailure = `before, shmem_malloc of 9895604649984 bytes failed \(see whether an allocation returned NULL, and raise SHMEM_SYMMETRIC_SIZE\)`

var small = []string{"SHMEM_SYMMETRIC_SIZE=1m"}

// For the names in messages.
var messagesRows = []row{
	{what: "malloc_too_large", say: []string{noRoom, `went on`}},
	{what: "realloc_too_large", say: []string{noRoom, `went on`}},
	{what: "use_failed", status: aborted, say: []string{`PE \d: shmem_long_p: the symmetric address is NULL; ` + afterFailure}},
	{what: "broadcast_failed", status: aborted, say: []string{`PE \d: shmem_long_broadcast: dest is NULL; ` + afterFailure}},
	{what: "wait_failed", status: aborted, say: []string{`PE \d: shmem_long_wait_until: the symmetric address is NULL; ` + afterFailure}},
	{what: "collect_null", status: aborted, say: []string{`PE 1: shmem_long_collect: dest \(nil\) with 16 bytes is not in the symmetric heap`}},
	{what: "collect_private", status: aborted, say: []string{`PE 1: shmem_long_collect: dest 0x\w+ with 16 bytes is not in the symmetric heap`}},
	{what: "collect_nothing", say: []string{`went on`}},
	{what: "collect_to_the_end", env: small, say: []string{`went on`}},
	{what: "hang_static", env: []string{"SHMEM_TIMEOUT=1"}, say: []string{`PE 0: shmem_long_wait_until has waited \d+ s: for 0x\w+ \(flags\+0x10, a static, offset -0x\w+\) == 5`}},
	{what: "hang_global", env: []string{"SHMEM_TIMEOUT=1"}, say: []string{`PE 0: shmem_long_wait_until has waited \d+ s: for 0x\w+ \(counter, a static, offset -0x\w+\) == 5`}},
	// libfabric up to 1.17 has the provider under the name net.
	{what: "nothing", env: []string{"SHMEM_DEBUG=1", "SHMEM_STATS=1"}, only: onHosts, say: []string{`heap host 1g a PE; network tcp( by net)? on \w+`, ` 2 hosts counted, over tcp( by net)?\b`}},
	{what: "put_static", env: off, status: aborted, say: []string{`PE \d: shmem_long_put: 0x\w+ \(flags\) is in a global or static`}},
	{what: "put_static_past_end", status: aborted, say: []string{`PE \d: shmem_long_put: 8388608 bytes at 0x\w+ \(flags\) run past`}},
}

func TestMessages(t *testing.T) { runRows(t, "messages", messagesRows) }

// TestAllocationIsToldOnce counts the lines about two failed allocations on two PEs.
func TestAllocationIsToldOnce(t *testing.T) {
	build := need.Build(t)
	out, err := exec.CommandContext(t.Context(), build+"/bin/shmemrun", "-n", "2", compile(t, build, "messages"), "malloc_too_large").CombinedOutput()
	if n := strings.Count(string(out), "SHMEM_SYMMETRIC_SIZE"); err != nil || n != 1 {
		t.Errorf("%d lines, want 1; %v:\n%s", n, err, out)
	}
}

// TestStrippedProgram: for a program without symbols, reports give only the offset.
func TestStrippedProgram(t *testing.T) {
	build := need.Build(t)
	program := compile(t, build, "messages")
	if out, err := exec.CommandContext(t.Context(), "strip", program).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	row{what: "hang_static", env: []string{"SHMEM_TIMEOUT=1"}, say: []string{`for 0x\w+ \(a static, offset -0x\w+\) == 5`}}.run(t, build, program, onNode)
}
