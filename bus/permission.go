package bus

import (
	"slices"
	"strings"

	"github.com/jetclaw/jetclaw/schemas/subject"
)

// Permissions are what one user may do on the bus, as NATS subjects.
type Permissions struct {
	Publish   []string
	Subscribe []string
	// Deny is what of Publish it may not do all the same: see Spec.Executors.
	Deny []string
}

// Admin is the user that owns the topology. No service runs as it: whoever may create a consumer may let the server
// store messages under any subject.
const Admin = "admin"

// AdminPermissions are those of Admin: everything.
func AdminPermissions() Permissions {
	return Permissions{Publish: []string{">"}, Subscribe: []string{">"}}
}

// inboxPrefix is the root of a user's own replies. Only the user may subscribe below it.
func inboxPrefix(service string) string { return inboxRoot + service }

const inboxRoot = "_INBOX_"

// PermissionsOf derives the least that a service needs for what its Spec says. Nobody may create, change or delete a
// stream or a consumer, purge, pull another's doorbells, read another's replies, or append another's kinds.
//
// One thing a server cannot refuse: whoever may read (a direct get, a pull) chooses the reply subject, so that the server
// itself sends a copy of a stored message there, even into the journal, and that message may be one of the asker's making. Readers
// tell such copies by their headers and believe none: see copied.
//
// house are all who may connect, but Admin: a service answers the inboxes of those that ask it, and who runs executors of the
// configuration may use names that nobody else has, and only these.
func PermissionsOf(s Spec, house ...Spec) Permissions {
	p := grants{}
	p.sub(inboxPrefix(s.Name) + ".>")
	p.pub(whoAmI)
	p.journal(s)
	p.blobs(s)
	if len(s.Doorbells) > 0 {
		p.consumer(subject.Journal, s.Name)
	}
	if s.RungInTime() {
		p.consumer(subject.Timers, TimerConsumer(s.Name))
	}
	if s.CountsDead() {
		p.pub("$JS.API.STREAM.INFO." + subject.Dead) // how many letters wait there, not what is in them
	}
	if s.Timers {
		p.pub(subject.SchedulesOf(s.Name))
	}
	if len(s.Doorbells) > 0 || s.RungInTime() || s.Leases { // it has workers, which ask each other
		p.sub(subject.WorkersOf(s.Name))
		p.pub(subject.WorkersOf(s.Name), inboxPrefix(s.Name)+".>")
	}
	if s.Snapshots {
		own := "$KV." + subject.Snap + "." + s.Name + ".>"
		p.pub(own, "$JS.API.DIRECT.GET.KV_"+subject.Snap+"."+own)
	}
	if s.Values {
		own := valuePrefix + s.Name + ".>"
		p.pub(own, "$JS.API.DIRECT.GET.KV_"+subject.Settings+"."+own)
	}
	if s.ReadsRules {
		p.pub("$JS.API.DIRECT.GET.KV_" + subject.Settings + "." + valuePrefix + "*." + RulesKey("*"))
	}
	if s.Catalog != "" {
		p.pub(catalogPrefix + s.Catalog)
	}
	if s.ReadsCatalog {
		p.pub("$JS.API.DIRECT.GET.KV_"+subject.Catalog, "$JS.API.STREAM.MSG.GET.KV_"+subject.Catalog, "$JS.API.STREAM.INFO.KV_"+subject.Catalog)
	}
	if s.System {
		p.pub(subject.SystemOfService(s.Name), "$JS.API.DIRECT.GET."+subject.System, "$JS.API.STREAM.MSG.GET."+subject.System)
	}
	if s.Executors {
		p.executors(s, house)
	}
	p.micro(s, house)
	if s.Live {
		p.pub(subject.LiveAll)
	}
	if s.Follows {
		p.sub(subject.TailAll, subject.LiveAll)
	}
	return Permissions(p)
}

type grants Permissions

func (g *grants) pub(subjects ...string) { g.Publish = append(g.Publish, subjects...) }
func (g *grants) sub(subjects ...string) { g.Subscribe = append(g.Subscribe, subjects...) }

// ReadsJournal says whether it may read the journal: who appends must see what it follows on, who is rung or follows must see what happened.
func (s Spec) ReadsJournal() bool {
	return len(s.Appends)+len(s.Doorbells) > 0 || s.RungInTime() || s.Follows
}

func (g *grants) journal(s Spec) {
	for _, k := range s.Appends {
		g.pub(subject.OfKind(k))
	}
	if s.ReadsJournal() {
		const ev = subject.Journal
		g.pub("$JS.API.DIRECT.GET."+ev, "$JS.API.DIRECT.GET."+ev+".>",
			"$JS.API.STREAM.MSG.GET."+ev, // the leader's answer, when a copy may lag
			"$JS.API.STREAM.INFO."+ev)    // how full it is
	}
}

func (g *grants) blobs(s Spec) {
	const store = "OBJ_" + subject.Blobs
	if len(s.Appends) > 0 {
		g.pub("$O."+subject.Blobs+".C.>", "$O."+subject.Blobs+".M.>")
	}
	if s.ReadsJournal() {
		g.pub("$JS.API.DIRECT.GET."+store, "$JS.API.DIRECT.GET."+store+".>", "$JS.API.STREAM.MSG.GET."+store, "$JS.API.STREAM.INFO."+store)
	}
}

// consumer grants the use of one durable consumer that exists. Acks have two forms: $JS.ACK.<stream>.<consumer>.… and,
// where a server has switched it on, $JS.ACK.<domain>.<account>.<stream>.<consumer>.…
func (g *grants) consumer(stream, durable string) {
	id := stream + "." + durable
	g.pub("$JS.API.CONSUMER.INFO."+id, "$JS.API.CONSUMER.MSG.NEXT."+id, "$JS.ACK."+id+".>", "$JS.ACK.*.*."+id+".>")
}

// executors grants what belongs to executors of the configuration. A part of a token cannot be a wildcard, so all names are
// allowed, and those of others denied.
func (g *grants) executors(s Spec, house []Spec) {
	own := func(id string) []string {
		const api = "$JS.API.CONSUMER."
		id = subject.Journal + "." + id
		return []string{api + "INFO." + id, api + "MSG.NEXT." + id, api + "PAUSE." + id, "$JS.ACK." + id + ".>", "$JS.ACK.*.*." + id + ".>"}
	}
	g.pub(own("*")...)
	g.pub("$JS.API.CONSUMER.NAMES."+subject.Journal, catalogPrefix+"*")
	for _, other := range house {
		if other.Name == s.Name {
			continue
		}
		g.Deny = append(g.Deny, own(other.Name)...)
		if other.Catalog != "" {
			g.Deny = append(g.Deny, catalogPrefix+other.Catalog)
		}
		for _, kind := range other.Appends {
			open := func(k string) bool {
				root, wild := strings.CutSuffix(k, "*")
				return wild && strings.HasPrefix(kind, root)
			}
			if slices.ContainsFunc(s.Appends, open) {
				g.Deny = append(g.Deny, subject.OfKind(kind))
			}
		}
	}
}

// micro grants to ask, and to answer. NATS's own permission to respond (allow_responses) would let a user publish anywhere: it holds for
// whatever reply subject a message names that the user gets, also one that it has sent to itself.
func (g *grants) micro(s Spec, house []Spec) {
	for _, ask := range s.Asks {
		if service, verb, ok := strings.Cut(ask, "."); ok {
			g.pub(subject.Service(service, verb))
		}
	}
	if len(s.Serves) == 0 {
		return
	}
	g.pub(inboxPrefix(Admin) + ".>")
	for _, other := range house {
		asks := func(ask string) bool { return strings.HasPrefix(ask, s.Name+".") }
		if other.Name != s.Name && slices.ContainsFunc(other.Asks, asks) {
			g.pub(inboxPrefix(other.Name) + ".>")
		}
	}
	for _, verb := range s.Serves {
		g.sub(subject.Service(s.Name, verb))
	}
	// Discovery and statistics (ADR-32). Verb by verb: a server takes "$SRV.>" for one of the subjects of "$SRV.*".
	for _, verb := range []string{"PING", "INFO", "STATS"} {
		all := "$SRV." + verb
		g.sub(all, all+"."+s.Name, all+"."+s.Name+".*")
	}
}
