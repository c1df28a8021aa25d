// Package examples builds the programs of examples/ as a user would, with a C
// compiler, the public headers and libshmem.so, and runs them under shmemrun:
// on input that is right, and on input that is not.
//
// What an example computes, the example checks. This package checks that it
// says so, that its figures add up, and that it fails when it must.
package examples
