package core

/*
#include "core.h"
*/
import "C"

import (
	"errors"
	"sync"
	"time"
	"unsafe"

	"libshmem/runtime/guard"
	"libshmem/runtime/job/place"
	"libshmem/runtime/mesh"
	"libshmem/runtime/shmerr"
)

// handleKind is what an object of a mesh is. A handle, by which C names such an object, is a number
// that no other object of the process has had, with the kind in its upper bits. So the error of a
// wrong handle can say whether its object has ended or is of another kind.
type handleKind uint64

const (
	meshHandle handleKind = iota + 1
	regionHandle
	remoteHandle
	requestHandle
	groupHandle
	memoryHandle
	listenerHandle
	handleShift = 56 // the bits of the number below the kind
)

// handleNames are the names of the kinds in errors.
var handleNames = [...]string{meshHandle: "mesh", regionHandle: "region", remoteHandle: "remote region", requestHandle: "request", groupHandle: "group", memoryHandle: "registered memory", listenerHandle: "listener"}

// handles are the objects of meshes that C can name.
var handles struct {
	sync.RWMutex
	last uint64 // how many handles were made; the lower bits of the last one
	all  map[uint64]handle
}

// handle is what a handle of C stands for: an object, and the mesh whose end makes the handle
// invalid (nil for a listener, which has none).
type handle struct {
	of     *mesh.Mesh
	object any
}

// newHandle returns a new handle for an object of a mesh.
func newHandle(kind handleKind, of *mesh.Mesh, object any) uint64 {
	handles.Lock()
	defer handles.Unlock()
	if handles.all == nil {
		handles.all = map[uint64]handle{}
	}
	handles.last++
	n := uint64(kind)<<handleShift | handles.last
	handles.all[n] = handle{of, object}
	return n
}

// objectOf returns the object that handle n of a kind names, and its mesh. The error says whether
// the object has ended or n is not a handle of this kind.
func objectOf[T any](kind handleKind, n C.uint64_t) (object T, of *mesh.Mesh, err error) {
	handles.RLock()
	h, ok := handles.all[uint64(n)]
	handles.RUnlock()
	isKind := handleKind(n>>handleShift) == kind
	if object, isT := h.object.(T); ok && isT && isKind {
		return object, h.of, nil
	}
	if isKind {
		return object, nil, shmerr.Causef(mesh.ErrClosed, "the %s has ended", handleNames[kind])
	}
	return object, nil, shmerr.Causef(shmerr.ErrArgument, "%#x is not a %s (pass what the call that made it has set)", uint64(n), handleNames[kind])
}

// endHandle makes a handle invalid, and drops the reference to its object.
func endHandle(n uint64) {
	handles.Lock()
	delete(handles.all, n)
	handles.Unlock()
}

// endHandles makes all handles of a mesh invalid.
func endHandles(m *mesh.Mesh) {
	handles.Lock()
	for n, h := range handles.all {
		if h.of == m {
			delete(handles.all, n)
		}
	}
	handles.Unlock()
}

// meshStatus returns the status of an error for C, and copies the error's text to `to`, which has
// SHMEMI_MESH_TEXT bytes. The status of nil is 0, and `to` then stays as it is. Errors that are not
// in the list are of the network.
func meshStatus(err error, to *C.char) C.int {
	if err == nil {
		return 0
	}
	copyText(unsafe.Slice(to, C.SHMEMI_MESH_TEXT), shmerr.OneLine(err))
	for _, kind := range []struct {
		err    error
		status C.int
	}{
		{shmerr.ErrPeerLost, C.SHMEMI_MESH_MEMBER}, {mesh.ErrClosed, C.SHMEMI_MESH_CLOSED}, {shmerr.ErrVersion, C.SHMEMI_MESH_VERSION},
		{shmerr.ErrTimeout, C.SHMEMI_MESH_TIMEOUT}, {shmerr.ErrArgument, C.SHMEMI_MESH_ARGUMENT}, {shmerr.ErrPE, C.SHMEMI_MESH_ARGUMENT},
		{shmerr.ErrAddress, C.SHMEMI_MESH_ARGUMENT}, {shmerr.ErrRange, C.SHMEMI_MESH_ARGUMENT}, {shmerr.ErrUnsupported, C.SHMEMI_MESH_ARGUMENT},
	} {
		if errors.Is(err, kind.err) {
			return kind.status
		}
	}
	return C.SHMEMI_MESH_NETWORK
}

// bytesOf returns a copy of n bytes of C, or nil if p is nil.
func bytesOf(p unsafe.Pointer, n C.size_t) []byte {
	if p == nil {
		return nil
	}
	return append([]byte(nil), unsafe.Slice((*byte)(p), int(n))...)
}

// copyBlob copies a blob to memory of C, which has room for *n bytes, and sets *n to the blob's
// size. If `to` is nil, it only sets *n, so that the caller can allocate the memory.
func copyBlob(blob []byte, to unsafe.Pointer, n *C.size_t) error {
	room := int(*n)
	if *n = C.size_t(len(blob)); to == nil {
		return nil
	}
	if room < len(blob) {
		return shmerr.Causef(shmerr.ErrArgument, "the blob has %d bytes, and there is room for %d", len(blob), room)
	}
	copy(unsafe.Slice((*byte)(to), room), blob)
	return nil
}

// logOf returns a function that passes lines of a log, with arg, to the program's function `log`,
// or drops them if that is nil.
func logOf(log *[0]byte, arg unsafe.Pointer) func(line string) {
	return func(line string) {
		if log != nil {
			s := append([]byte(line), 0)
			C.shmemi_core_mesh_log(log, (*C.char)(unsafe.Pointer(&s[0])), arg)
		}
	}
}

// The functions for C below return what meshStatus returns, and write the text of an error to
// failure. Those that start a request set *request to its handle, for shmemgoMeshWait.

// shmemgoMeshOpen opens a mesh with one member, this process, for shmemx_mesh_open, and sets *to to
// its handle.
//
//export shmemgoMeshOpen
func shmemgoMeshOpen(o *C.struct_shmemi_mesh_options, to *C.uint64_t, failure *C.char) C.int {
	defer guard.Catch("mesh_open")
	quietCollector()
	options := mesh.Options{
		Member: int(o.member), Members: int(o.most), Secret: bytesOf(o.secret, o.secret_nbytes), Contexts: int(o.contexts),
		Timeout: time.Duration(o.timeout_ms) * time.Millisecond, Provider: C.GoString(o.provider), NICs: C.GoString(o.nics),
		Library: C.GoString(o.library), GPUs: o.gpu != 0,
	}
	if o.gpu == C.SHMEMI_MESH_GPU_OWN {
		var err error
		if options.GPU, err = mesh.OpenGPU(); err != nil {
			return meshStatus(err, failure)
		}
	}
	if options.NICs == "" { // uses the NICs nearest to the GPU, or to the processors
		options.Pick = place.Alone(place.Machine, &place.Settings{}, options.GPU.Address())
	}
	options.Log = logOf(o.log, o.log_arg)
	m, err := mesh.Open(options)
	if err == nil {
		*to = C.uint64_t(newHandle(meshHandle, m, m))
	}
	return meshStatus(err, failure)
}

// shmemgoMeshClose leaves a mesh, for shmemx_mesh_close, and ends all handles of its objects.
//
//export shmemgoMeshClose
func shmemgoMeshClose(n C.uint64_t, failure *C.char) C.int {
	defer guard.Catch("mesh_close")
	m, _, err := objectOf[*mesh.Mesh](meshHandle, n)
	if err == nil {
		err = m.Close()
		endHandles(m)
	}
	return meshStatus(err, failure)
}

// shmemgoMeshAddress copies the blob by which other members add this one, for shmemx_mesh_address.
//
//export shmemgoMeshAddress
func shmemgoMeshAddress(n C.uint64_t, blob unsafe.Pointer, size *C.size_t, failure *C.char) C.int {
	defer guard.Catch("mesh_address")
	m, _, err := objectOf[*mesh.Mesh](meshHandle, n)
	if err == nil {
		err = copyBlob(m.Address(), blob, size)
	}
	return meshStatus(err, failure)
}

// shmemgoMeshAdd makes the member that a blob describes known to this one, for shmemx_mesh_add, and
// sets *member to its number.
//
//export shmemgoMeshAdd
func shmemgoMeshAdd(n C.uint64_t, blob unsafe.Pointer, size C.size_t, member *C.int, failure *C.char) C.int {
	defer guard.Catch("mesh_add")
	m, _, err := objectOf[*mesh.Mesh](meshHandle, n)
	if err == nil {
		var number int
		if number, err = m.Add(bytesOf(blob, size)); member != nil {
			*member = C.int(number)
		}
	}
	return meshStatus(err, failure)
}

// shmemgoMeshRemove disconnects a member, for shmemx_mesh_remove.
//
//export shmemgoMeshRemove
func shmemgoMeshRemove(n C.uint64_t, member C.int, failure *C.char) C.int {
	defer guard.Catch("mesh_remove")
	m, _, err := objectOf[*mesh.Mesh](meshHandle, n)
	if err == nil {
		err = m.Remove(int(member))
	}
	return meshStatus(err, failure)
}

// shmemgoMeshStatus returns 0 while a member can be used, and otherwise why not, for
// shmemx_mesh_status.
//
//export shmemgoMeshStatus
func shmemgoMeshStatus(n C.uint64_t, member C.int, failure *C.char) C.int {
	defer guard.Catch("mesh_status")
	m, _, err := objectOf[*mesh.Mesh](meshHandle, n)
	if err == nil {
		err = m.Status(int(member))
	}
	return meshStatus(err, failure)
}

// shmemgoMeshRegister makes memory of this process a region, for shmemx_mesh_register.
//
//export shmemgoMeshRegister
func shmemgoMeshRegister(n C.uint64_t, base unsafe.Pointer, size C.size_t, region *C.uint64_t, failure *C.char) C.int {
	defer guard.Catch("mesh_register")
	m, _, err := objectOf[*mesh.Mesh](meshHandle, n)
	if err == nil {
		var r *mesh.Region
		if r, err = m.Register(base, uint64(size)); err == nil {
			*region = C.uint64_t(newHandle(regionHandle, m, r))
		}
	}
	return meshStatus(err, failure)
}

// shmemgoMeshDescribe copies the blob by which other members import a region, for
// shmemx_mesh_describe.
//
//export shmemgoMeshDescribe
func shmemgoMeshDescribe(n C.uint64_t, blob unsafe.Pointer, size *C.size_t, failure *C.char) C.int {
	defer guard.Catch("mesh_describe")
	r, _, err := objectOf[*mesh.Region](regionHandle, n)
	if err == nil {
		err = copyBlob(r.Describe(), blob, size)
	}
	return meshStatus(err, failure)
}

// requestStatus returns the status of a call that starts a request, and sets *to to the handle of
// the request if there is no error.
func requestStatus(m *mesh.Mesh, r *mesh.Request, err error, to *C.uint64_t, failure *C.char) C.int {
	if err == nil {
		*to = C.uint64_t(newHandle(requestHandle, m, r))
	}
	return meshStatus(err, failure)
}

// shmemgoMeshUnregister begins to close a region, for shmemx_mesh_unregister. The region's handle
// ends at once.
//
//export shmemgoMeshUnregister
func shmemgoMeshUnregister(n C.uint64_t, request *C.uint64_t, failure *C.char) C.int {
	defer guard.Catch("mesh_unregister")
	r, m, err := objectOf[*mesh.Region](regionHandle, n)
	var req *mesh.Request
	if err == nil {
		if req, err = r.Close(); err == nil {
			endHandle(uint64(n))
		}
	}
	return requestStatus(m, req, err, request, failure)
}

// shmemgoMeshImport requests the use of another member's region, for shmemx_mesh_import. It sets
// *remote to a handle that operations can use when the request has ended, and *length to the bytes
// of the region.
//
//export shmemgoMeshImport
func shmemgoMeshImport(n C.uint64_t, blob unsafe.Pointer, size C.size_t, remote *C.uint64_t, length *C.size_t, request *C.uint64_t, failure *C.char) C.int {
	defer guard.Catch("mesh_import")
	m, _, err := objectOf[*mesh.Mesh](meshHandle, n)
	var req *mesh.Request
	if err == nil {
		var r *mesh.Remote
		if r, req, err = m.Import(bytesOf(blob, size)); err == nil {
			*remote = C.uint64_t(newHandle(remoteHandle, m, r))
			if length != nil {
				*length = C.size_t(r.Len)
			}
		}
	}
	return requestStatus(m, req, err, request, failure)
}

// blocksOf returns the blocks of a put or get as a Go slice.
func blocksOf(blocks *C.struct_shmemi_mesh_block, n C.size_t) []mesh.Block {
	all := make([]mesh.Block, int(n))
	for i, b := range unsafe.Slice(blocks, int(n)) {
		all[i] = mesh.Block{Local: b.local, Offset: uint64(b.offset), Len: uint64(b.nbytes)}
	}
	return all
}

// remoteOf returns the remote region that a handle names, or an error if mesh m has not imported
// it.
func remoteOf(m *mesh.Mesh, n C.uint64_t) (*mesh.Remote, error) {
	r, of, err := objectOf[*mesh.Remote](remoteHandle, n)
	if err == nil && of != m {
		err = shmerr.Causef(shmerr.ErrArgument, "the remote region was imported by another mesh")
	}
	return r, err
}

// shmemgoMeshPut starts a put of blocks to a remote region, a signal, or a put with a signal, for
// shmemx_mesh_put, shmemx_mesh_put_signal and shmemx_mesh_notify.
//
//export shmemgoMeshPut
func shmemgoMeshPut(n C.uint64_t, context C.int, remote C.uint64_t, blocks *C.struct_shmemi_mesh_block, count C.size_t,
	then *C.struct_shmemi_mesh_signal, ordered C.int, request *C.uint64_t, failure *C.char,
) C.int {
	defer guard.Catch("mesh_put")
	m, _, err := objectOf[*mesh.Mesh](meshHandle, n)
	var req *mesh.Request
	if err == nil {
		req, err = meshPut(m, int(context), remote, blocksOf(blocks, count), then, ordered != 0)
	}
	return requestStatus(m, req, err, request, failure)
}

// meshPut does the work of shmemgoMeshPut: a put, a put with a signal or, with neither region nor
// blocks, a signal.
func meshPut(m *mesh.Mesh, context int, remote C.uint64_t, blocks []mesh.Block, then *C.struct_shmemi_mesh_signal, ordered bool) (*mesh.Request, error) {
	var signal *mesh.Signal
	if then != nil {
		at, err := remoteOf(m, then.remote)
		if err != nil {
			return nil, err
		}
		signal = &mesh.Signal{Region: at, Offset: uint64(then.offset), Op: mesh.SignalOp(then.op), Value: uint64(then.value)}
		if remote == 0 && len(blocks) == 0 {
			return m.Notify(context, signal, ordered)
		}
	}
	to, err := remoteOf(m, remote)
	if err != nil {
		return nil, err
	}
	return m.Put(context, to, blocks, signal, ordered)
}

// shmemgoMeshGet starts a get of blocks from a remote region, for shmemx_mesh_get.
//
//export shmemgoMeshGet
func shmemgoMeshGet(n C.uint64_t, context C.int, remote C.uint64_t, blocks *C.struct_shmemi_mesh_block, count C.size_t, request *C.uint64_t, failure *C.char) C.int {
	defer guard.Catch("mesh_get")
	m, _, err := objectOf[*mesh.Mesh](meshHandle, n)
	var req *mesh.Request
	if err == nil {
		var from *mesh.Remote
		if from, err = remoteOf(m, remote); err == nil {
			req, err = m.Get(int(context), from, blocksOf(blocks, count))
		}
	}
	return requestStatus(m, req, err, request, failure)
}

// shmemgoMeshFlush starts a request that ends when all earlier operations of a context on a member
// have taken effect there, for shmemx_mesh_flush.
//
//export shmemgoMeshFlush
func shmemgoMeshFlush(n C.uint64_t, context, member C.int, request *C.uint64_t, failure *C.char) C.int {
	defer guard.Catch("mesh_flush")
	m, _, err := objectOf[*mesh.Mesh](meshHandle, n)
	var req *mesh.Request
	if err == nil {
		req, err = m.Flush(int(context), int(member))
	}
	return requestStatus(m, req, err, request, failure)
}

// shmemgoMeshWait waits for a request for up to ns nanoseconds, or tests it if ns is 0; ns is not
// negative. It returns SHMEMI_MESH_PENDING if a test finds that the request has not ended, and
// SHMEMI_MESH_TIMEOUT if a wait does. When the request has ended, it frees the request, sets
// *request to 0, and returns the status of the request. A *request of 0 has ended without an error.
//
//export shmemgoMeshWait
func shmemgoMeshWait(request *C.uint64_t, ns C.int64_t, failure *C.char) C.int {
	defer guard.Catch("mesh_wait")
	if *request == 0 {
		return 0
	}
	r, _, err := objectOf[*mesh.Request](requestHandle, *request)
	if err != nil {
		return meshStatus(err, failure)
	}
	ended, err := r.Test()
	if !ended && ns > 0 {
		err = r.Wait(time.Duration(ns))
		ended = !errors.Is(err, shmerr.ErrTimeout)
	}
	switch {
	case ended:
		endHandle(uint64(*request))
		*request = 0
	case ns == 0:
		return C.SHMEMI_MESH_PENDING
	}
	return meshStatus(err, failure) // of the ended request, or the timeout
}

// shmemgoMeshSend sends a message to a member's program, for shmemx_mesh_send.
//
//export shmemgoMeshSend
func shmemgoMeshSend(n C.uint64_t, member C.int, data unsafe.Pointer, size C.size_t, request *C.uint64_t, failure *C.char) C.int {
	defer guard.Catch("mesh_send")
	m, _, err := objectOf[*mesh.Mesh](meshHandle, n)
	var req *mesh.Request
	if err == nil {
		var b []byte
		if data != nil {
			b = unsafe.Slice((*byte)(data), int(size)) // Send copies it
		}
		req, err = m.Send(int(member), b)
	}
	return requestStatus(m, req, err, request, failure)
}

// shmemgoMeshReceive receives a message, for which it waits for up to ns nanoseconds, for
// shmemx_mesh_receive. *size is the room at data, and becomes the size of the message; *member
// becomes its sender. It returns SHMEMI_MESH_PENDING if none arrives, and an error, without taking
// the message, if there is too little room.
//
//export shmemgoMeshReceive
func shmemgoMeshReceive(n C.uint64_t, data unsafe.Pointer, size *C.size_t, member *C.int, ns C.int64_t, failure *C.char) C.int {
	defer guard.Catch("mesh_receive")
	m, _, err := objectOf[*mesh.Mesh](meshHandle, n)
	if err != nil {
		return meshStatus(err, failure)
	}
	b, from, ok, err := m.Receive(int(*size), time.Duration(ns))
	switch {
	case err != nil:
		return meshStatus(err, failure)
	case !ok:
		return C.SHMEMI_MESH_PENDING
	}
	copy(unsafe.Slice((*byte)(data), int(*size)), b)
	*size, *member = C.size_t(len(b)), C.int(from)
	return 0
}
