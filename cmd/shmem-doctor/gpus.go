package main

import (
	"errors"
	"fmt"

	"libshmem/runtime/doctor"
	"libshmem/runtime/gpu"
	"libshmem/runtime/gpu/cuda"
	"libshmem/runtime/shmerr"
)

// checkGPUs reports the GPUs that the driver lets this process use, and the features that they
// lack.
func checkGPUs() []doctor.Finding {
	const subject = "CUDA"
	driver, err := cuda.Open()
	if err != nil {
		var e *shmerr.Error
		if errors.As(err, &e) && errors.Is(err, shmerr.ErrNoLibrary) {
			return []doctor.Finding{doctor.Lack(subject, "GPUs need NVIDIA's driver of CUDA 12", "%s: %v", e.Object, e.Cause)}
		}
		return []doctor.Finding{doctor.OfError(doctor.Lacks, subject, "nvidia-smi must list a GPU", err)}
	}
	findings := []doctor.Finding{doctor.Well(subject, "%s, driver of CUDA %s, GPUs: %d", driver.File, driver.Version, driver.Count)}
	for n := range driver.Count {
		dev, err := driver.Device(n)
		if err != nil {
			findings = append(findings, doctor.OfError(doctor.Wrong, fmt.Sprintf("GPU %d", n), "see nvidia-smi, and dmesg for Xid", err))
			continue
		}
		findings = append(findings, checkFeatures(dev.Name(), dev.Facts())...)
		if err := dev.Close(); err != nil {
			findings = append(findings, doctor.OfError(doctor.Wrong, dev.Name(), "see nvidia-smi, and dmesg for Xid", err))
		}
	}
	return findings
}

// oldest is the lowest compute capability for which the library's kernels and the headers for
// device code are built.
const oldest = 75

// checkFeatures reports the compute capability of a GPU, and each feature that it lacks and that
// some jobs need.
func checkFeatures(name string, f gpu.Facts) []doctor.Finding {
	has := doctor.Well(name, "compute capability %d.%d", f.Major, f.Minor)
	findings := []doctor.Finding{has}
	if f.Major*10+f.Minor < oldest {
		findings[0] = doctor.Lack(name, "use a GPU of compute capability 7.5 or later for operations in kernels", "compute capability %d.%d", f.Major, f.Minor)
	}
	for _, need := range []struct {
		has           bool
		what, without string
		remedy        string
	}{
		{f.VMM && f.PosixFD, "virtual memory management", "heaps do not grow: all of their memory is allocated at once", "a newer driver, or Linux without a virtual GPU"},
		{f.DMABuf, "dma-bufs", "NICs reach its memory by nvidia_peermem, or not at all", "NVIDIA's open kernel modules, a driver of CUDA 11.7"},
		{f.RDMA, "RDMA", "operations between hosts are staged through main memory", "a GPU of the data centre, with BAR1 as large as its memory"},
		{f.StreamOps, "stores and waits in streams", "each call on a stream takes a kernel", "a driver of CUDA 11.7"},
		{f.MapHost, "mapped main memory", "there are no rings, and kernels start no operation", "a host that maps memory for devices"},
	} {
		if !need.has {
			findings = append(findings, doctor.Lack(name, need.remedy, "no %s: %s", need.what, need.without))
		}
	}
	return findings
}
