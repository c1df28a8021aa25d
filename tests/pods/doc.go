// Package pods simulates the pods of a job in Kubernetes: network namespaces with a host name, a
// resolv.conf and a process 1 of their own, and a name server that answers when the cluster's would.
// Their environment is that of examples/kubernetes/job.yaml.
package pods
