// Package munge proves to other hosts of a cluster which user a process runs as. A credential is
// some bytes with the user of the process that requested it, encrypted and signed with the
// cluster's key. Only a host with that key can read it, only for the user that it is meant for,
// only once, and only for some minutes.
//
// The package loads libmunge when it is first needed; libmunge calls the daemon of its host.
// Nothing of munge is needed to build the package. The functions are safe for concurrent use.
package munge

/*
#cgo CFLAGS: -std=gnu11 -Wall -Wextra
#cgo LDFLAGS: -ldl
#include <stdlib.h>
#include "load.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"
)

// User is the number of a user on the hosts of the cluster. In a container the same user may have
// another number.
type User uint32

// anybody, as the reader of a credential, means all users.
const anybody = User(1<<32 - 1)

// load loads libmunge, once in a process.
var load = sync.OnceValue(func() error { return open("libmunge.so.2") })

// open loads the library of munge.
func open(library string) error {
	name := C.CString(library)
	defer C.free(unsafe.Pointer(name))
	var why text
	if C.shmemi_munge_load(name, &why[0], C.size_t(len(why))) != 0 {
		return fmt.Errorf("load %s: %w", library, why.err())
	}
	return nil
}

// text receives the cause of an error from C.
type text [256]C.char

// err returns a text of C as an error.
func (t *text) err() error { return errors.New(C.GoString(&t[0])) }

// Self returns the user of this process as munge reports it to other hosts: it decodes a credential
// of its own. In a user namespace the process itself sees another number.
func Self() (User, error) {
	cred, err := Encode(nil, anybody)
	if err != nil {
		return 0, err
	}
	_, user, err := Decode(cred)
	return user, err
}

// Encode makes a credential that only processes of one user can read.
func Encode(bytes []byte, reader User) (string, error) {
	if err := load(); err != nil {
		return "", err
	}
	var why text
	var cred *C.char
	if C.shmemi_munge_encode(unsafe.Pointer(unsafe.SliceData(bytes)), C.size_t(len(bytes)), C.uint32_t(reader),
		&cred, &why[0], C.size_t(len(why))) != 0 {
		return "", fmt.Errorf("make a credential of munge: %w", why.err())
	}
	defer C.free(unsafe.Pointer(cred))
	return C.GoString(cred), nil
}

// Decode reads a credential, and returns its bytes and the user of the process that requested it.
// It fails if the credential is for another user.
func Decode(cred string) ([]byte, User, error) {
	if err := load(); err != nil {
		return nil, 0, err
	}
	c := C.CString(cred)
	defer C.free(unsafe.Pointer(c))
	var why text
	var bytes unsafe.Pointer
	var n C.size_t
	var user C.uint32_t
	if C.shmemi_munge_decode(c, &bytes, &n, &user, &why[0], C.size_t(len(why))) != 0 {
		return nil, 0, fmt.Errorf("read a credential of munge: %w", why.err())
	}
	defer C.free(bytes)
	return C.GoBytes(bytes, C.int(n)), User(user), nil
}
