package start

import (
	"path/filepath"
	"strings"
	"testing"

	"libshmem/tests/need"
)

// TestIPv6Alone starts PEs where no interface has an address of IPv4, loopback included.
func TestIPv6Alone(t *testing.T) {
	need.Namespaces(t)
	unshare, ip := need.Command(t, "unshare"), need.Command(t, "ip")
	program := compile(t, "plain")
	const script = `set -e
"$1" link set lo up
"$1" addr del 127.0.0.1/8 dev lo
"$1" link add shm0 type veth peer name shm1
"$1" link set shm0 up
"$1" link set shm1 up
"$1" -6 addr add fd00::1/64 dev shm0 nodad
SHMEM_BOOTSTRAP_PE=1 "$0" &
SHMEM_BOOTSTRAP_PE=0 "$0"
wait $!`
	e := run(t, []string{"SHMEM_BOOTSTRAP_NPES=2", "SHMEM_BOOTSTRAP_FILE=" + filepath.Join(t.TempDir(), "job")},
		unshare, "-n", "sh", "-c", script, program, ip)
	if e.status != 0 || !strings.Contains(e.out, "PE 0 of 2 done") || !strings.Contains(e.out, "PE 1 of 2 done") {
		t.Errorf("status %d\n%s", e.status, e.out)
	}
}
