// Package shmerr has the error types of all packages of the library: status codes, the sentinel of
// each, and the error that names the operation, its object, the cause and the remedy.
//
// It does not print and does not end a job; runtime/job decides whether an error becomes a return
// value of the C function or the end of the job. It imports nothing of this module.
package shmerr
