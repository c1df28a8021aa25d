// Package statics builds programs in the ways that decide where a program's globals and
// statics lie, and looks at whether they are symmetric, and at what fork makes of them.
// What can be done with them is in tests/c/statics.c.
package statics
