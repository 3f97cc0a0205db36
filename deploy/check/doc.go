// Package check proves of the files in deploy/ what can be proved without the systems that they are for: each is read by the
// very code that reads it there, strictly, and then asked for what it promises.
//
//	compose      compose-go loads it; each service is hardened, has its own keys only, and is reached from this machine only
//	k8s          kustomize builds it; every object fits its Go type, KEDA's too, to the letter; who talks to whom
//	prometheus   rules and the expressions of the dashboard are parsed; every metric and label exists in jetclaw
//	nats         nats-server takes the configuration, with keys that jetclaw has made
//	systemd      systemd-analyze verifies the units, and how exposed they are; the binary runs under their filter of system calls
//	image        the Dockerfile is parsed; what its last stage holds is laid out, and jetclaw runs in there, alone
//	docs         commands, files and sections that the documents name exist
//
// It is a module of its own, so that the parsers of all these are no dependencies of jetclaw. Nothing is skipped: where a tool is
// missing (openssl, systemd-analyze, root for the image) a test fails and says so.
package check
