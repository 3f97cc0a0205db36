package bus

// Spec says what one service does on the bus. Consumers, buckets and permissions are derived from it, so that a service
// can do no more than its Spec says, in the embedded server as in a cluster.
type Spec struct {
	Name         string   // the service: "turns"
	Appends      []string // kinds it may append: "turn.started", "call.completed.builtin"
	Doorbells    []string // kinds that ring it: "message.received", "call.completed.*"; in one channel only: "turn.stepped@telegram"
	Timers       bool     // it sets timers and is rung by them
	Rung         bool     // it is rung by timers that it does not set: those of Ring
	Snapshots    bool     // it keeps folded states in the KV bucket "snap"
	Values       bool     // it keeps small values in the KV bucket "settings", under its own name
	ReadsRules   bool     // it reads what the machines of all services are configured with, see Rules
	Leases       bool     // its processes agree by leases (among its Values) on which of them does something
	Catalog      string   // the executor whose tools it publishes in the KV bucket "catalog"; "" for most
	ReadsCatalog bool     // it reads what all executors publish there
	// Executors says that it runs executors of the configuration (Executor) beside what it is: it may claim and complete their
	// calls, publish their catalogues, and pause their consumers. Of what their names are nothing is fixed but the beginning.
	Executors bool
	System    bool     // it tells in the stream SYS what happens to its servers and connections
	Serves    []string // verbs of its micro endpoints svc.<Name>.<verb>
	Asks      []string // endpoints of others that it calls: "intake.submit"
	Live      bool     // it publishes on live.<session>
	Follows   bool     // it reads what the server publishes once stored (tail.>) and live.>
}

// RungInTime says whether it has a consumer of rings.
func (s Spec) RungInTime() bool { return s.Timers || s.Rung }

// CountsDead says whether it may know how many dead letters there are: who is rung may, but for executors.
func (s Spec) CountsDead() bool { return len(s.Doorbells) > 0 && s.Catalog == "" && !s.Executors }
