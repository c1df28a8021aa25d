// Package config is the only reader of the library's settings.
//
// One table (table.go) names every setting, its kind, default, range and text; parsing, the warning
// on unknown names, `shmem-info --env` and docs/reference/environment.md are all made from it. A
// setting that is not implemented is not in the table.
//
// The package reads no environment by itself: libshmem.so collects the C environment at init,
// because Go's own copy does not see variables that a program set after Go started, and hands it to
// Parse. The Go commands use FromProcess.
//
// The text of a setting here documents its effect, which other packages have; this package knows no
// host, heap or fabric. It prints nothing.
package config

//go:generate go run ./gendoc -o ../../docs/reference/environment.md
