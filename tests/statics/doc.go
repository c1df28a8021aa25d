// Package statics builds programs in the ways that affect the places of a program's globals and
// statics, and checks whether these are symmetric, and how they behave across fork.
// tests/c/statics.c tests operations on them.
package statics
