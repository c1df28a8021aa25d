package job

import (
	"errors"
	"unsafe"

	"libshmem/queue"
	"libshmem/runtime/config"
	"libshmem/runtime/gpu"
	"libshmem/runtime/gpu/cuda"
	"libshmem/runtime/onstream"
	"libshmem/runtime/topo"
)

// imageBytes is the size of the state for kernels: struct shmemi_device_image.
const imageBytes = uint64(unsafe.Sizeof(queue.State{}) + 8*queue.ImagePEs)

// OpenStreams makes calls on streams ready, with the library's kernels from a file. It comes after
// Kernels and is not safe for concurrent use. If the file is missing or of no use, the calls that
// need it report that.
func (j *Job) OpenStreams(file string) error {
	switch {
	case j.streams != nil:
		return nil
	case j.kernels == nil:
		return errors.New("queue work on a stream: this PE runs no kernels")
	}
	s := j.kernels.State
	job := onstream.Job{
		NPEs: j.NPEs, User: uint64(uintptr(j.Heaps.Own())), Heap: gpu.Address(s.Heap),
		Rings: s.RingCount != 0, Survives: j.Config.OnFailure == config.ReturnOnFailure, Image: j.kernels.At, Bytes: imageBytes,
	}
	if j.GPU.CopiesApart {
		room, err := newBounce(j.GPU.Device())
		if err != nil {
			return err
		}
		j.bounce, job.Bounce, job.GPU = room, room.at, j.GPU.Device().Number()
	}
	for pe := range topo.PE(j.NPEs) {
		job.Direct = append(job.Direct, j.Heaps.Direct(pe))
	}
	j.streams = onstream.Open(streamDevice{j.GPU.Device()}, job, file)
	if err := j.streams.Missing(); err != nil {
		j.log.Printf("gpu", config.LogInfo, "calls on streams that need a kernel of the library do not work: %v", err)
	}
	return nil
}

// Stream runs a call on a stream of the program.
func (j *Job) Stream(what onstream.What, c *queue.StreamCall, stream uintptr) error {
	return j.streams.Queue(what, c, gpu.Stream(stream))
}

func (j *Job) closeStreams() error {
	if j.streams == nil {
		return nil
	}
	s, room := j.streams, j.bounce
	j.streams, j.bounce = nil, nil
	return errors.Join(s.Close(), room.close())
}

// streamDevice is a GPU for package onstream.
type streamDevice struct{ *cuda.Device }

func (d streamDevice) Load(image []byte) (onstream.Code, error) {
	m, err := d.LoadModule(image)
	if err != nil {
		return nil, err
	}
	return streamCode{m, d.Device}, nil
}

type streamCode struct {
	*cuda.Module
	dev *cuda.Device
}

// Give fails if the file is of another release than the library.
func (c streamCode) Give(job gpu.Address, n uint64) error {
	at, have, err := c.Global("shmemi_job")
	if err == nil && have != n {
		err = errors.New("its state has another size (install it with the library, from one build)")
	}
	if err != nil {
		return err
	}
	return c.dev.Copy(at, job, n)
}

func (c streamCode) Kernel(name string) (onstream.Kernel, error) {
	f, err := c.Function(name)
	return onstream.Kernel(f), err
}

func (c streamCode) Launch(k onstream.Kernel, blocks, threads uint32, s gpu.Stream, call *queue.StreamCall) error {
	return c.dev.LaunchOne(cuda.Function(k), blocks, threads, s, unsafe.Pointer(call))
}
