// Package hosts has shmemrun start PEs on several hosts: network namespaces of this machine, each
// with a name of its own and a real sshd.
package hosts
