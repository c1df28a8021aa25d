package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// This file has the options that put libshmem_preload.so before the program's library. Each is a
// word of SHMEM_PRELOAD.

const (
	preloadFile     = "libshmem_preload.so"
	envPreload      = "LD_PRELOAD"
	envPreloadWords = "SHMEM_PRELOAD"
	redirectWord    = "redirect"
)

// preloadOptions are the options of the command line for libshmem_preload.so.
type preloadOptions struct {
	trace    string // the directory; "": none
	report   bool
	redirect bool
}

// addFlags defines the options for libshmem_preload.so.
func (p *preloadOptions) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&p.trace, "trace", "", "write the calls of each PE with their times to `DIR`/PE.json")
	fs.BoolVar(&p.report, "report", false, "print at the end what took the time, and who waited for whom; without --trace its files go to shmem-trace")
	fs.BoolVar(&p.redirect, "redirect", false, "run a program that was built for another SHMEM library on this one")
}

// words returns the words of SHMEM_PRELOAD for which the options ask, such as "trace,file=DIR". The
// directory becomes absolute, because PEs may run in another one.
func (p *preloadOptions) words(fs *pflag.FlagSet) ([]string, error) {
	var out []string
	if p.redirect {
		out = append(out, redirectWord)
	}
	if p.report && !fs.Changed("trace") {
		p.trace = "shmem-trace"
	}
	if p.report || fs.Changed("trace") {
		if p.trace == "" {
			return nil, fmt.Errorf(`--trace "": no name of a directory (say --trace DIR)`)
		}
		dir, err := filepath.Abs(p.trace)
		if err != nil {
			return nil, fmt.Errorf("--trace %s: %w (give the absolute path of a directory)", p.trace, err)
		}
		if at := strings.IndexAny(dir, "+,"); at >= 0 {
			return nil, fmt.Errorf("--trace %s: %q in %s separates words of SHMEM_PRELOAD (name another directory)", p.trace, dir[at], dir)
		}
		p.trace = dir
		out = append(out, "trace,file="+dir)
	}
	return out, nil
}

// preloadEnv adds to env the variables that load libshmem_preload.so of folder lib before each PE's
// library, with these words of SHMEM_PRELOAD. Words that are in env already come first.
func preloadEnv(env []string, lib string, words []string) ([]string, error) {
	if len(words) == 0 {
		return env, nil
	}
	file := filepath.Join(lib, preloadFile)
	if _, err := os.Stat(file); lib == "" || err != nil {
		return nil, fmt.Errorf("find %s: it is not in the folder lib beside shmemrun's bin (run make build, or use an installed shmemrun)", preloadFile)
	}
	if strings.ContainsAny(file, " :") {
		return nil, fmt.Errorf("load %s: LD_PRELOAD has no names with a space or a colon (install it into another folder)", file)
	}
	if old := lastValue(env, envPreload); old != "" {
		file += ":" + old
	}
	if old := lastValue(env, envPreloadWords); old != "" {
		// The variable may have this word already, with the path of the library.
		if slices.ContainsFunc(strings.Split(old, "+"), func(w string) bool { return w == redirectWord || strings.HasPrefix(w, redirectWord+",") }) {
			words = slices.DeleteFunc(words, func(w string) bool { return w == redirectWord })
		}
		words = append([]string{old}, words...)
	}
	return append(env, envPreload+"="+file, envPreloadWords+"="+strings.Join(words, "+")), nil
}

// lastValue returns the value of a variable in an environment, or "". If the variable is there
// several times, the last one counts.
func lastValue(env []string, name string) string {
	for i := len(env) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(env[i], name+"="); ok {
			return v
		}
	}
	return ""
}
