// Package setup runs scripts/setup on machines that lack something. A machine is a folder of
// commands, some of them invented, and nothing else in PATH.
package setup
