// Package doctor finds out why the library does not work on a machine, or works badly, and names
// the remedies.
//
// It reads the kernel's files: limits, control groups, devices. All of them are below one root, so
// that a test, or a copy of another machine's files, can stand in for this machine. Facts about a
// library or a driver are collected by the packages that call it, and cmd/shmem-doctor prints them
// in the same form. The PEs of a job find out whether its hosts reach each other (Reach), over any
// bootstrap.
//
// It changes nothing on the machine and prints nothing.
package doctor
