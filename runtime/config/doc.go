// Package config is the only reader of the library's settings.
//
// One table (table.go) names every setting, its kind, default, range and text; parsing, the warning
// on unknown names, `shmem-info --env` and docs/reference/environment.md are all made from it. A
// setting that is not implemented is not in the table.
//
// The package reads no environment by itself: libshmem.so collects the C environment at init and
// passes it to Parse, because Go's own copy lacks variables that a program sets after Go has
// started. The Go commands use FromProcess.
//
// The text of a setting documents its effect, which is implemented in other packages; this package
// knows no host, heap or fabric. It prints nothing.
package config

//go:generate go run ./gendoc -o ../../docs/reference/environment.md
