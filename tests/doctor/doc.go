// Package doctor runs the installed shmem-doctor on this machine: alone, and as PEs of
// hosts between which something is wrong.
package doctor
