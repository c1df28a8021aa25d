// Package doctor finds out why the library does not work on a machine, or works badly, and names
// the remedies.
//
// It reads the kernel's files: limits, control groups, devices. All of them are below one root, so
// that it can also examine a copy of another machine's files, as tests do. The packages that call a
// library or a driver collect the facts about it, and cmd/shmem-doctor prints these facts in the
// same form. With Reach the PEs of a job find out whether the hosts of the job reach each other,
// over any bootstrap.
//
// It changes nothing on the machine and prints nothing.
package doctor
