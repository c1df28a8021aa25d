package doctor

import (
	"path"
	"strconv"
	"strings"

	"libshmem/runtime/config"
)

// nics reports the RDMA NICs: the state of each port, and the device file through which a program
// drives them.
func (s *System) nics(*config.Config) []Finding {
	const contained = "in a container, start it with that device: --device=%s of docker, the device plugin of Kubernetes"
	var all []Finding
	// A port that is not active is a fault only if no port is.
	idle := Bad
	for _, state := range s.glob("sys/class/infiniband/*/ports/*/state") {
		if text, _ := s.text(state); strings.HasSuffix(text, ": ACTIVE") {
			idle = Lack
		}
	}
	// The device file uverbsN of a NIC may have another number than the NIC's name.
	file := map[string]string{} // by NIC
	for _, verbs := range s.names("sys/class/infiniband_verbs/uverbs*") {
		if nic, ok := s.text("sys/class/infiniband_verbs", verbs, "ibdev"); ok {
			file[nic] = path.Join("/dev/infiniband", verbs)
		}
	}
	for _, nic := range s.NICs() {
		subject := "NIC " + nic
		dev, known := file[nic]
		if !known {
			all = append(all, Bad(subject, "modprobe ib_uverbs", "programs cannot access it: the kernel module ib_uverbs is not loaded"))
			continue
		}
		if !s.exists(dev) {
			all = append(all, Lack(subject, strings.ReplaceAll(contained, "%s", dev), "%s is missing: jobs use another network", dev))
			continue
		}
		for _, port := range s.names("sys/class/infiniband/" + nic + "/ports/*") {
			state, _ := s.text("sys/class/infiniband", nic, "ports", port, "state")
			// A number and a word: 4: ACTIVE.
			if _, word, _ := strings.Cut(state, ": "); word != "ACTIVE" {
				all = append(all, idle(subject, "see the cable and the switch (ibstat, ip link); InfiniBand needs a subnet manager; SHMEM_NIC_LIST=^"+nic+" does without it",
					"port %s is %s", port, strings.ToLower(word)))
			} else {
				all = append(all, Well(subject, "port %s is active, %s", port, dev))
			}
		}
	}
	return append(all, s.driverless()...)
}

// driverless reports NICs of Amazon and Mellanox for which no kernel driver is loaded.
func (s *System) driverless() []Finding {
	const amazon, mellanox = 0x1d0f, 0x15b3
	var all []Finding
	for _, pci := range s.names("sys/bus/pci/devices/*") {
		dir := path.Join("sys/bus/pci/devices", pci)
		vendor, class, device := s.hex(dir, "vendor"), s.hex(dir, "class")>>16, s.hex(dir, "device")
		has := func(kind string) bool { return len(s.names(dir+"/"+kind+"/*")) > 0 }
		switch {
		// The PCI device IDs of EFA are 0xefa0, 0xefa1 and so on.
		case vendor == amazon && device>>4 == 0xefa && !has("infiniband"):
			all = append(all, Bad("NIC "+pci, "modprobe efa, or run Amazon's EFA installer; in a container, start it with the devices of the host",
				"an EFA that no driver serves"))
		// Class 2 has the network controllers.
		case vendor == mellanox && class == 2 && !has("infiniband") && !has("net"):
			all = append(all, Bad("NIC "+pci, "modprobe mlx5_ib, or install the package rdma-core", "a ConnectX that no driver serves"))
		}
	}
	return all
}

// hex returns the hexadecimal number in a file of /sys; 0 if it cannot be read.
func (s *System) hex(parts ...string) uint64 {
	text, _ := s.text(parts...)
	n, err := strconv.ParseUint(strings.TrimPrefix(text, "0x"), 16, 32)
	if err != nil {
		return 0
	}
	return n
}

// interfaces reports the IP interfaces. The tcp provider uses them, and other providers find each
// other over them.
func (s *System) interfaces(*config.Config) []Finding {
	const subject = "interfaces"
	const loopback = 0x8 // IFF_LOOPBACK
	var up, down []string
	for _, name := range s.names("sys/class/net/*") {
		flags := s.hex("sys/class/net", name, "flags")
		state, known := s.text("sys/class/net", name, "operstate")
		switch {
		case !known || flags&loopback != 0:
		case state == "up" || state == "unknown" && flags&1 != 0: // some drivers report only IFF_UP, 1
			up = append(up, name)
		default:
			down = append(down, name)
		}
	}
	switch {
	case len(up) > 0:
		return []Finding{Well(subject, "%s", strings.Join(up, ", ")+" up")}
	case len(down) > 0:
		return []Finding{Lack(subject, "ip link set "+down[0]+" up", "none is up (%s): jobs stay on this host", strings.Join(down, ", "))}
	}
	return []Finding{Lack(subject, "start the container with a network", "no interface: jobs stay on this host")}
}

// Interfaces returns the names of the host's network interfaces on the same device as an RDMA NIC.
func (s *System) Interfaces(nic string) []string {
	return s.names("sys/class/infiniband/" + nic + "/device/net/*")
}

// NICs returns the names of the RDMA NICs.
func (s *System) NICs() []string { return s.names("sys/class/infiniband/*") }
