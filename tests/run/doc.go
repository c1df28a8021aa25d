// Package run runs the C tests: each program of tests/c, built by the Makefile into build/tests,
// runs under build/bin/shmemrun in each configuration of the table in matrix_test.go.
//
// It judges a run by its exit status and by its closing lines. The programs themselves decide what
// they check; tests/script tests shmemrun's options.
package run
