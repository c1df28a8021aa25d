// Package shmerr has the error types of all packages of the library: status codes, the sentinel
// error of each code, and the error that names the operation, its object, the cause and the remedy.
//
// It does not print and does not end a job: its callers decide whether an error becomes a return
// value of the C function or the end of the job. Of this module it imports only the root package.
package shmerr
