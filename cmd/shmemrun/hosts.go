package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"libshmem/runtime/bootstrap/launch"
	"libshmem/runtime/bootstrap/launch/hostlist"
)

// hostOptions has the options for PEs on other machines.
type hostOptions struct {
	list, file, prefix, dir, ssh string
	sync                         bool
	keepAlive                    float64

	srun bool // Slurm's srun starts the PEs
}

// addFlags defines the options for PEs on other machines.
func (h *hostOptions) addFlags(fs *pflag.FlagSet) {
	fs.StringVarP(&h.list, "host", "H", "", "start PEs on these machines by ssh: `a:4,b:4`, where the numbers are slots")
	fs.StringVar(&h.file, "hostfile", "", "the same from a `FILE`, with a line for each machine: a, a:4 or a slots=4")
	fs.StringVar(&h.prefix, "prefix", "", "where libshmem is on them: `DIR`/bin/shmemrun; the default is the place of this shmemrun")
	fs.BoolVar(&h.sync, "sync", false, "first copy shmemrun and the libraries to them, unless they have the same")
	fs.StringVar(&h.dir, "wdir", "", "working `DIR` of the PEs; the default is this one")
	fs.StringVar(&h.ssh, "ssh", "ssh", "the `COMMAND` for ssh, perhaps with options")
	fs.Float64Var(&h.keepAlive, "keepalive", 30, "treat a machine as lost after so many `seconds` of silence; 0 for never")
}

// addMachines adds the machines to the options of a launch: those of the command line, or else
// those of Slurm (srun then starts the PEs) or another batch system. exports are the variables of
// -x.
func (h *hostOptions) addMachines(fs *pflag.FlagSet, opt *launch.Options, exports []string) error {
	if fs.Changed("host") && fs.Changed("hostfile") {
		return errors.New("--host and --hostfile: only one can name the machines (leave one out)")
	}
	var err error
	switch {
	case fs.Changed("host"):
		opt.Remote, err = hostlist.ParseList(h.list)
	case fs.Changed("hostfile"):
		opt.Remote, err = readHosts(h.file)
	case fs.Changed("hosts"):
		return h.checkUnused(fs)
	case inSlurm(opt.Env):
		h.srun = true
		return h.checkUnused(fs)
	default:
		if opt.Remote, err = batchHosts(opt.Env); err == nil && opt.Remote == nil {
			err = h.checkUnused(fs)
		}
	}
	if err != nil || opt.Remote == nil {
		return err
	}
	if opt.SSH = strings.Fields(h.ssh); len(opt.SSH) == 0 {
		return errors.New(`--ssh "": no command (leave it out for ssh)`)
	}
	if !(h.keepAlive == 0 || h.keepAlive >= 0.5 && h.keepAlive <= 1e6) {
		return fmt.Errorf("--keepalive %v: not a number of seconds from 0.5 to 1000000, or 0 for never", h.keepAlive)
	}
	opt.Silence = time.Duration(h.keepAlive * float64(time.Second))
	exe, err := executable()
	if err != nil {
		return fmt.Errorf("find shmemrun for the other machines: %w (start it by its path)", err)
	}
	opt.Source, opt.Sync = filepath.Dir(filepath.Dir(exe)), h.sync
	if opt.Prefix = h.prefix; opt.Prefix == "" {
		opt.Prefix = opt.Source
	} else if !filepath.IsAbs(opt.Prefix) {
		return fmt.Errorf("--prefix %s: not an absolute path", opt.Prefix)
	}
	if h.dir != "" {
		if opt.Dir, err = filepath.Abs(h.dir); err != nil {
			return fmt.Errorf("--wdir %s: %w (give an absolute path)", h.dir, err)
		}
	}
	for _, x := range exports {
		name, _, _ := strings.Cut(x, "=")
		opt.Exports = append(opt.Exports, name)
	}
	opt.Exports = append(opt.Exports, envPreload)
	return nil
}

// checkUnused returns an error if the command line has an option for other machines, because there
// are none.
func (h *hostOptions) checkUnused(fs *pflag.FlagSet) error {
	for _, name := range []string{"prefix", "sync", "wdir", "ssh", "keepalive"} {
		if fs.Changed(name) {
			return fmt.Errorf("--%s: there is no other machine (add --host or --hostfile)", name)
		}
	}
	return nil
}

// readHosts reads a host file.
func readHosts(file string) ([]hostlist.Host, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("--hostfile: %w (name a file with a machine on each line)", err)
	}
	return hostlist.ParseFile(file, string(text))
}
