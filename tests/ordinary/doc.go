// Package ordinary runs the library's programs as the user of a container: without any capability,
// so that it can trace no process, in namespaces of its own for memory shared by name and for
// mounts, with 64 MiB of /dev/shm.
package ordinary
