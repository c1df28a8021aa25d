// Package doctor finds what on a machine keeps the library from working, or from
// working well, and says what to do about it.
//
// It looks at what the kernel shows in files: limits, control groups, devices.
// All of them are below one root, so that a test or a copy of another machine can
// take the place of this one. What has to be asked of a library or a driver is
// asked by the packages that own the door to it, and cmd/shmem-doctor says it in
// the same form. Whether hosts reach each other is asked by PEs of a job
// (Reach), over any bootstrap.
//
// It changes nothing on the machine and prints nothing.
package doctor
