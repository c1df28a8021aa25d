// Package run drives the C tests: each program of tests/c, built by the
// Makefile into build/tests, runs under build/bin/shmemrun in each
// configuration of the table in matrix_test.go.
//
// It judges a run by its exit status and by its closing lines. What a program
// checks is the program's own business; what shmemrun's options mean is tested
// in tests/script.
package run
