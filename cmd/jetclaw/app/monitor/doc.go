// Package monitor answers those who watch over a process: an orchestrator that asks whether it lives and whether it is ready, and
// Prometheus.
//
//	GET /healthz   200 as long as the process can answer: a restart would not help against anything else
//	GET /readyz    200 when every module of the process is ready and its connections to NATS are up; else 503. The JSON says
//	               what each module is waiting for
//	GET /metrics   the text format of Prometheus
//
// It listens before the first module starts and until the last has stopped. From the first wish to stop, /readyz says 503, before
// any module is asked to drain.
//
// There is no login: whoever reaches the address may read. Nothing of it is secret (no text of a person, no session, no
// credential), but it says what runs here and how busy it is. It listens on loopback unless it is told otherwise; an
// address without a host (":9464") is every interface of the machine, as a container needs it. Names in requests are checked
// against a web page whose name was pointed here (DNS rebinding): an IP address, a name without a dot, names below .local
// and .internal and those of Config.Hosts are taken, as browsers do not come by those from outside; any other is refused.
//
// The Go profiler is a listener of its own (Profiler), on loopback only.
package monitor
