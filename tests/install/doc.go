// Package install checks what make install puts where: the layout, that a
// program outside the tree builds and runs against it without any setting, and
// that make uninstall takes all of it away again.
package install
