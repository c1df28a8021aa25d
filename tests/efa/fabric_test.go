package efa

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"libshmem/fabric"
	"libshmem/fabric/ofi"
)

// D8: the choice between the provider's two fabrics.
var fabricNeeds = []need{
	{name: "D8: efa of 1.22", nic: "version=1.22", test: takes("efa")},
	{name: "D8: efa of 2.1", nic: "version=2.1", test: takes("efa")},
	{name: "D8: efa of 2.3", nic: "version=2.3", test: takes("efa")},
	{name: "D8: efa-direct of 2.4", nic: "version=2.4", test: takes("efa-direct")},
	{name: "D8: efa-direct of 2.6", nic: "version=2.6", test: takes("efa-direct")},
	{name: "D8: efa-direct of 2.6, which comes last", nic: "version=2.6 without=R2a", test: takes("efa-direct")},
	{name: "D8: SHMEM_FABRIC=efa", nic: "version=2.6", test: chosen("efa")},
	{name: "D8: SHMEM_FABRIC=efa-direct", nic: "version=2.3", test: chosen("efa-direct")},
	{name: "D8: SHMEM_FABRIC that is not offered", nic: "version=1.22", test: notOffered},
	{name: "D8: 1.22 with 2.6 on efa", nic: "version=1.22", test: mixed("version=2.6", "")},
	{name: "D8: 1.22 with efa-direct of 2.6", nic: "version=1.22", test: mixed("version=2.6", "efa-direct")},
	{name: "D8: the banner names the fabric", nic: "version=2.6", test: banner},
}

// takes is the fabric that the library opens when no setting names one.
func takes(want string) func(*place) error {
	return func(p *place) error {
		end, err := ofi.Open(fabric.Config{Library: p.library, Provider: "efa", Tokens: 8, MaxRecv: 4})
		if err != nil {
			return err
		}
		got := end.Caps().Fabric
		if err := end.Close(); err != nil {
			p.Fatal(err)
		}
		if got != want {
			return fmt.Errorf("fabric %s is opened, want %s", got, want)
		}
		return nil
	}
}

// noSetting is a job's report of an unknown setting.
const noSetting = "there is no such setting, it is ignored"

// settled is a job of two with a setting that must be known.
func (p *place) settled(setting string, argv ...string) (string, error) {
	p.Helper()
	out, err := p.job(2, []string{"SHMEM_FABRIC=" + setting, "SHMEM_LOG_LEVEL=info"}, append(argv, p.compile("testdata/alltoall.c"))...)
	if strings.Contains(out, "read setting SHMEM_FABRIC: "+noSetting) {
		return out, errors.New("SHMEM_FABRIC: " + noSetting)
	}
	return out, ends(out, err, 2)
}

// chosen is a job on the fabric that the setting names. The size of its queues proves that it is:
// on efa they hold the sum of both queues of operations (R3d).
func chosen(want string) func(*place) error {
	return func(p *place) error {
		if _, err := p.settled(want); err != nil {
			return err
		}
		for _, line := range p.lines(p.log) {
			if m := heldPattern.FindStringSubmatch(line); m != nil && (m[2] == "16384") != (want == "efa") {
				return fmt.Errorf("this is no queue of %s: %s", want, line)
			}
		}
		return p.queues(2)
	}
}

// notOffered is a fabric that the version lacks: the job is refused, with that reason.
func notOffered(p *place) error {
	out, err := p.settled("efa-direct")
	if strings.Contains(fmt.Sprint(err), noSetting) {
		return err
	}
	for _, word := range []string{"SHMEM_FABRIC", "efa-direct", "1.22"} {
		if err == nil || !strings.Contains(out, word) {
			return fmt.Errorf("nothing refuses the job, naming %s: %w", word, err)
		}
	}
	return nil
}

// mixed is a job in which PE 1 uses another libfabric than PE 0. With a setting that excludes the
// fabric that both have, the job is refused, and the report names the PE, the version and the
// fabric.
func mixed(other, setting string) func(*place) error {
	return func(p *place) error {
		own := "FAKE_NIC='" + strings.Replace(p.nic, "version=1.22", other, 1) + "'"
		if setting != "" {
			own += " SHMEM_FABRIC=" + setting
		}
		p.limit = 6 * time.Second
		out, err := p.job(2, []string{"SHMEM_TIMEOUT=3"}, append(p.differs(1, own), p.compile("testdata/alltoall.c"))...)
		if strings.Contains(out, " has waited 3 s: ") {
			return errors.New("the job stands still")
		}
		if setting == "" {
			return ends(out, err, 2)
		}
		if strings.Contains(out, noSetting) {
			return errors.New("SHMEM_FABRIC: " + noSetting)
		}
		for _, word := range []string{"PE 0", "1.22", "PE 1", "2.6", "efa-direct"} {
			if err == nil || !strings.Contains(out, word) {
				return fmt.Errorf("nothing refuses the job, naming %s: %w", word, ends(out, err, 2))
			}
		}
		return nil
	}
}

// banner is the line of a job that names its choice.
func banner(p *place) error {
	out, err := p.job(2, []string{"SHMEM_LOG_LEVEL=info"}, p.compile("testdata/alltoall.c"))
	if err := ends(out, err, 2); err != nil {
		return err
	}
	_, network, _ := strings.Cut(out, "; network ")
	network, _, _ = strings.Cut(network, "\n")
	if !strings.Contains(network, "efa-direct") {
		return fmt.Errorf("the banner does not name efa-direct: network %s", network)
	}
	return nil
}
