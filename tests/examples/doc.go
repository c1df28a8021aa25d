// Package examples builds the programs of examples/ as a user would, with a C compiler, the public
// headers and libshmem.so, and runs them under shmemrun, with good and bad input.
//
// The examples check their own results. This package tests that they report them, that their
// figures add up, and that they fail when they must.
package examples
