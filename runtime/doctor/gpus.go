package doctor

import (
	"path"

	"libshmem/runtime/config"
)

// gpus reports how many GPUs of NVIDIA are on the PCI bus, and whether the kernel has their driver
// and its device files.
func (s *System) gpus(*config.Config) []Finding {
	const nvidia = 0x10de
	const contained = "in a container, start it with the GPUs of the host: --gpus all of docker, nvidia.com/gpu of a pod"
	count := 0
	for _, pci := range s.names("sys/bus/pci/devices/*") {
		dir := path.Join("sys/bus/pci/devices", pci)
		// The classes are those of VGA and of 3D controllers.
		if class := s.hex(dir, "class") >> 8; s.hex(dir, "vendor") == nvidia && (class == 0x300 || class == 0x302) {
			count++
		}
	}
	const subject = "GPUs"
	if count == 0 {
		return []Finding{Well(subject, "none of NVIDIA")}
	}
	if !s.exists("proc/driver/nvidia/version") {
		return []Finding{Lack(subject, "install NVIDIA's driver and modprobe nvidia", "%d of NVIDIA, and the kernel has no driver for them", count)}
	}
	if len(s.names("dev/nvidia[0-9]*")) == 0 {
		return []Finding{Lack(subject, contained, "%d of NVIDIA, and no /dev/nvidia0", count)}
	}
	var all []Finding
	for _, dev := range []string{"/dev/nvidiactl", "/dev/nvidia-uvm"} {
		if !s.exists(dev) {
			all = append(all, Bad(subject, "nvidia-modprobe -u -c=0 makes it; "+contained, "%s is missing", dev))
		}
	}
	if len(all) == 0 {
		all = append(all, Well(subject, "%d of NVIDIA with their driver", count))
	}
	return append(all, s.peermem()...)
}

// peermem returns a finding about the kernel module by which NICs reach GPU memory if the driver
// has no dma-buf.
func (s *System) peermem() []Finding {
	const subject = "nvidia_peermem"
	if len(s.NICs()) == 0 {
		return nil
	}
	for _, module := range []string{"nvidia_peermem", "nv_peer_mem"} {
		if s.exists("sys/module", module) {
			return []Finding{Well(subject, "%s is loaded", module)}
		}
	}
	return []Finding{Lack(subject, "modprobe nvidia_peermem, where the driver offers no dma-buf", "the module is not loaded")}
}
