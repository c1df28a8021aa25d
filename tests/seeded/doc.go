// Package seeded has a list of mistakes, each with the test that must notice it.
//
// A test suite that becomes quicker must not become blind. So each row of the list changes a line
// of the library to a mistake that a tired engineer might make: one element too few, a missing
// fence, the PE of another team. TestSeeded makes the change in a copy of the tree, builds the
// targets of the row's test, and expects that test to fail with the words of the row. TestSuites
// does the same for tests that break something themselves.
//
// Without -whole only the form of the list is checked, which takes a second.
package seeded
