// Package install checks the places of make install's files: the layout, that a program outside the
// tree builds and runs against it without any setting, and that make uninstall removes all of it.
package install
