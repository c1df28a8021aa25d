// Package ordinary runs the library's programs as the user that a container has: without
// any capability, so that it traces nobody, in namespaces of its own for memory
// shared by name and for mounts, with 64 MiB of /dev/shm.
package ordinary
