// Package doctor finds causes on a machine that keep the library from working, or from working
// well, with their remedies.
//
// It reads the kernel's files: limits, control groups, devices. All of them are below one root, so
// that a test or a copy of another machine can take the place of this one. Facts of a library or a
// driver come from the packages that call it, and cmd/shmem-doctor prints them in the same form.
// The PEs of a job find out whether its hosts reach each other (Reach), over any bootstrap.
//
// It changes nothing on the machine and prints nothing.
package doctor
