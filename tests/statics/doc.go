// Package statics builds programs in the ways that decide where a program's globals and statics
// lie, and checks whether they are symmetric, and how they behave across fork. tests/c/statics.c
// tests operations on them.
package statics
