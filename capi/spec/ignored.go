package spec

import (
	"fmt"
	"reflect"
)

// ignored maps each field that the generator does not use in the row of an extension to the advice
// what to use instead.
var ignored = map[string]string{
	"Kernel":        "a row of the standard table with X in its Kernel, as in notifications.go",
	"Stream":        "a row of the standard table with the Stream, as in notifications.go",
	"Python":        "a function by hand in python/shmem",
	"Check":         "a program in tests/c",
	"Generic":       "no generic name",
	"Plain":         "no generic name",
	"Like":          "no generic name",
	"DeprecatedInC": "no Instead: an extension is not deprecated",
}

// Ignored returns an error that names the row and the field, if an extension sets a field that the
// generator does not use.
func Ignored() error {
	for _, c := range beyond {
		for i := range c.Families {
			if err := ignoredIn(&c.Families[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// ignoredIn returns an error if a row of the table sets a field from which nothing is generated, or
// nil.
func ignoredIn(f *Family) error {
	v := reflect.ValueOf(f).Elem()
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		if instead := ignored[name]; instead != "" && !v.Field(i).IsZero() {
			return fmt.Errorf("read the extension %s: nothing is made from its %s (instead: %s)", f.Name, name, instead)
		}
	}
	return nil
}
