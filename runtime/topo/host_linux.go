package topo

import (
	"os"
	"strings"

	"libshmem/runtime/shmerr"
)

// HostID returns an id that is equal in two processes exactly if they can share memory: they run on
// one kernel, and one can pass the other a descriptor. For that both need the same network
// namespace, because the socket has an abstract name, and the same user namespace, because they
// compare user ids. Containers of one machine count as different hosts unless they share both.
//
// A non-empty override (SHMEM_HOST_ID) is returned instead.
func HostID(override string) (string, error) {
	if override != "" {
		return "override:" + override, nil
	}
	return hostID("/proc")
}

// hostID returns the identity of this host from the kernel's files below proc, which is /proc
// except in tests.
func hostID(proc string) (string, error) {
	boot, err := os.ReadFile(proc + "/sys/kernel/random/boot_id")
	if err != nil {
		return "", hostError(err)
	}
	id := "boot:" + strings.TrimSpace(string(boot))
	for _, ns := range []string{"net", "user"} {
		link, err := os.Readlink(proc + "/self/ns/" + ns)
		if os.IsNotExist(err) {
			link = ns + ":[none]" // the kernel has no namespaces of this kind
		} else if err != nil {
			return "", hostError(err)
		}
		id += " " + link
	}
	return id, nil
}

// hostError returns the error of a HostID that cannot be read.
func hostError(err error) error {
	return &shmerr.Error{
		Op: "identify", Object: "this host",
		Cause:  shmerr.Causef(shmerr.ErrSystem, "%w", err),
		Remedy: "mount /proc, or give each host its own SHMEM_HOST_ID",
	}
}
