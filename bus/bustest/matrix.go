package bustest

import (
	"slices"
	"strings"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/registry"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/subject"
)

// anybody's session, in the subjects of the matrix.
const peer = session.ID("main.http.token.somebody")

var streams = []string{"EV", "TIMERS", "SYS", "DEAD", "KV_snap", "KV_catalog", "KV_settings", "OBJ_blobs"}

func nobody(bus.Spec) bool { return false }

func named(name string) func(bus.Spec) bool { return func(s bus.Spec) bool { return s.Name == name } }

// reads: it deals with events at all.
func reads(s bus.Spec) bool {
	return len(s.Appends) > 0 || len(s.Doorbells) > 0 || s.RungInTime() || s.Follows
}

func appends(s bus.Spec) bool { return len(s.Appends) > 0 }

func works(s bus.Spec) bool { return len(s.Doorbells) > 0 || s.RungInTime() }

// executors: it runs executors that only the configuration names.
func executors(s bus.Spec) bool { return s.Executors }

func both(a, b func(bus.Spec) bool) func(bus.Spec) bool {
	return func(s bus.Spec) bool { return a(s) && b(s) }
}

// table collects rules.
type table []rule

func (t *table) add(who func(bus.Spec) bool, subjects ...string) {
	for _, s := range subjects {
		*t = append(*t, rule{s, who})
	}
}

func publishRules(specs []bus.Spec) []rule {
	var t table
	t.events(specs)
	t.jetstream()
	for _, sp := range specs {
		t.ofService(sp)
	}
	t.add(appends, "$O.blobs.C.chunk", "$O.blobs.M.meta")
	t.add(func(s bus.Spec) bool { return s.Live }, subject.Live(peer))
	t.add(executors, "$KV.catalog.other", "$KV.catalog.mcp-files")
	t.add(both(named("mcp"), func(s bus.Spec) bool { return s.System }), "sys.mcp.files.connected")
	t.add(nobody,
		"$KV.snap.other."+string(peer), "$KV.catalog.other.more", "$KV.settings.x", "$KV.settings.other.x", "$O.blobs.x", "$O.other.C.x",
		"sys.other.files.connected", "timer.other."+string(peer), "schedule.other."+string(peer),
		"worker.other.one", "svc.other.verb", "_INBOX.x.y", "_INBOX_other.x",
		"$SRV.PING", "$SRV.STATS", "$SYS.REQ.SERVER.PING", "$JS.FC.EV.turns.1", "x", "nobody.knows")
	t.add(func(s bus.Spec) bool { return len(s.Serves) > 0 }, "_INBOX_admin.x.y")
	return t
}

// events: every kind that there is, under every suffix that a service could name.
func (t *table) events(specs []bus.Spec) {
	suffixes := []string{"builtin", "stranger"}
	for _, sp := range specs {
		suffixes = append(suffixes, sp.Name)
	}
	kinds := map[string]bool{}
	for _, typ := range registry.All() {
		kind := envelope.KindOf(typ.Name)
		kinds[kind] = true
		if _, ok := typ.Zero.(envelope.Suffixed); ok {
			for _, sx := range suffixes {
				kinds[kind+"."+sx] = true
			}
		}
	}
	for _, sp := range specs {
		for _, k := range sp.Appends {
			kinds[strings.ReplaceAll(k, "*", "anyone")] = true
		}
	}
	kinds["approval.decided"], kinds["nobody.knows"] = true, true
	for k := range kinds {
		ev := subject.OfSession(peer)
		ev = strings.TrimSuffix(ev, ">") + k
		t.add(func(s bus.Spec) bool {
			return slices.ContainsFunc(s.Appends, func(a string) bool {
				open, wild := strings.CutSuffix(a, "*")
				return a == k || wild && strings.HasPrefix(k, open) && !(s.Executors && taken(specs, s, k))
			})
		}, ev)
		t.add(nobody, "tail"+strings.TrimPrefix(ev, "ev")) // only the server announces what it stored
	}
	t.add(nobody, "ev.00.main.turn.started", "ev.x")
}

// taken says whether a kind is one that another service names in so many words.
func taken(specs []bus.Spec, by bus.Spec, kind string) bool {
	return slices.ContainsFunc(specs, func(s bus.Spec) bool { return s.Name != by.Name && slices.Contains(s.Appends, kind) })
}

// jetstream: what the API can do to streams and consumers as a whole.
func (t *table) jetstream() {
	t.add(nobody, "$JS.API.INFO", "$JS.API.STREAM.NAMES", "$JS.API.STREAM.LIST",
		"$JS.API.STREAM.CREATE.NEW", "$JS.API.STREAM.TEMPLATE.CREATE.x", "$JS.API.META.LEADER.STEPDOWN",
		"$JS.API.ACCOUNT.PURGE.$G", "$JS.API.SERVER.REMOVE",
		"$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.EV.turns", "$JS.EVENT.ADVISORY.CONSUMER.MSG_TERMINATED.EV.turns")
	for _, st := range streams {
		for _, verb := range []string{
			"CREATE", "UPDATE", "DELETE", "PURGE", "SNAPSHOT", "RESTORE", "MSG.DELETE",
			"LEADER.STEPDOWN", "PEER.REMOVE",
		} {
			t.add(nobody, "$JS.API.STREAM."+verb+"."+st)
		}
		api := "$JS.API.CONSUMER."
		t.add(nobody, api+"CREATE."+st, api+"CREATE."+st+".mine", api+"CREATE."+st+".mine.ev.>",
			api+"DURABLE.CREATE."+st+".mine", api+"LIST."+st)
		others := nobody
		if st == "EV" {
			others = executors
		}
		t.add(others, api+"NAMES."+st, api+"INFO."+st+".other", api+"PAUSE."+st+".other", api+"MSG.NEXT."+st+".other",
			"$JS.ACK."+st+".other.1.1.1.1.1", "$JS.ACK._.hash."+st+".other.1.1.1.1.1")
		direct, info, leader := nobody, nobody, nobody
		switch st {
		case "EV":
			direct, info, leader = reads, reads, reads
		case "OBJ_blobs":
			direct, info, leader = reads, reads, reads
		case "DEAD":
			info = bus.Spec.CountsDead
		case "SYS":
			direct = func(s bus.Spec) bool { return s.System }
			leader = direct
		case "KV_catalog":
			direct = func(s bus.Spec) bool { return s.ReadsCatalog }
			info, leader = direct, direct
		}
		t.add(direct, "$JS.API.DIRECT.GET."+st)
		t.add(info, "$JS.API.STREAM.INFO."+st)
		t.add(leader, "$JS.API.STREAM.MSG.GET."+st)
	}
	t.add(reads, "$JS.API.DIRECT.GET.EV.ev.00.main.http.x.y.turn.started", "$JS.API.DIRECT.GET.OBJ_blobs.$O.blobs.M.x")
	t.add(nobody, "$JS.API.DIRECT.GET.TIMERS.schedule.x", "$JS.API.DIRECT.GET.KV_settings.$KV.settings.x",
		"$JS.API.DIRECT.GET.KV_settings.$KV.settings.other.x")
}

// answers says whether a service is asked by another one.
func answers(s, asker bus.Spec) bool {
	return s.Name != asker.Name && slices.ContainsFunc(s.Serves, func(verb string) bool { return slices.Contains(asker.Asks, s.Name+"."+verb) })
}

func (t *table) ofService(sp bus.Spec) {
	own := named(sp.Name)
	for stream, durable := range map[string]string{"EV": sp.Name, "TIMERS": "timers-" + sp.Name} {
		uses := both(own, func(s bus.Spec) bool { return len(s.Doorbells) > 0 })
		if stream == "TIMERS" {
			uses = both(own, bus.Spec.RungInTime)
		}
		id := stream + "." + durable
		t.add(uses, "$JS.API.CONSUMER.MSG.NEXT."+id, "$JS.API.CONSUMER.INFO."+id,
			"$JS.ACK."+id+".1.1.1.1.1", "$JS.ACK._.hash."+id+".1.1.1.1.1")
		pauses := nobody
		if stream == "EV" {
			pauses = both(own, executors)
		}
		t.add(pauses, "$JS.API.CONSUMER.PAUSE."+id)
		t.add(nobody, "$JS.API.CONSUMER.DELETE."+id, "$JS.API.CONSUMER.UNPIN."+id,
			"$JS.API.CONSUMER.RESET."+id, "$JS.API.CONSUMER.CREATE."+id, "$JS.API.CONSUMER.DURABLE.CREATE."+id,
			"$JS.API.CONSUMER.LEADER.STEPDOWN."+id)
	}
	key := "$KV.snap." + sp.Name + "." + string(peer)
	t.add(both(own, func(s bus.Spec) bool { return s.Snapshots }), key, "$JS.API.DIRECT.GET.KV_snap."+key)
	if sp.Catalog != "" {
		t.add(both(own, func(s bus.Spec) bool { return s.Catalog == sp.Catalog }), "$KV.catalog."+sp.Catalog)
	}
	value := "$KV.settings." + sp.Name + ".cooldown.x"
	t.add(both(own, func(s bus.Spec) bool { return s.Values }), value, "$JS.API.DIRECT.GET.KV_settings."+value)
	t.add(nobody, "$KV.settings."+sp.Name, "$JS.API.DIRECT.GET.KV_settings.$KV.settings."+sp.Name,
		"$JS.API.STREAM.MSG.GET.KV_settings."+sp.Name)
	t.add(both(own, func(s bus.Spec) bool { return s.Timers }), subject.Schedule(sp.Name, peer))
	t.add(nobody, subject.Timer(sp.Name, peer)) // only the server rings
	t.add(both(own, works), subject.Worker(sp.Name, "one"))
	t.add(func(s bus.Spec) bool { return own(s) && works(s) || answers(s, sp) }, "_INBOX_"+sp.Name+".x.y")
	t.add(nobody, "$SRV.PING."+sp.Name, "$SRV.STATS."+sp.Name+".id")
	for _, verb := range append(slices.Clone(sp.Serves), "unheard") {
		t.add(func(s bus.Spec) bool { return slices.Contains(s.Asks, sp.Name+"."+verb) }, subject.Service(sp.Name, verb))
	}
}

func subscribeRules(specs []bus.Spec) []rule {
	var t table
	follows := func(s bus.Spec) bool { return s.Follows }
	t.add(follows, "tail.>", "live.>", subject.TailOfSession(peer), subject.Live(peer))
	t.add(nobody, ">", "*", "*.>", "ev.>", subject.OfSession(peer), "timer.>", "schedule.>", "sys.>", "svc.>", "worker.>",
		"$JS.>", "$JS.API.>", "$JS.ACK.>", "$JS.EVENT.>", "$KV.>", "$O.>", "$SRV.>", "$SYS.>", "_INBOX.>", "_INBOX_other.>",
		"_INBOX_admin.>", "worker.other.*", "svc.other.verb")
	serves := func(s bus.Spec) bool { return len(s.Serves) > 0 }
	t.add(serves, "$SRV.PING", "$SRV.INFO", "$SRV.STATS")
	for _, sp := range specs {
		own := named(sp.Name)
		t.add(own, "_INBOX_"+sp.Name+".>", "_INBOX_"+sp.Name+".x.y")
		t.add(both(own, works), "worker."+sp.Name+".*", subject.Worker(sp.Name, "one"))
		t.add(both(own, serves), "$SRV.PING."+sp.Name, "$SRV.STATS."+sp.Name+".id")
		for _, verb := range append(slices.Clone(sp.Serves), "unheard") {
			t.add(both(own, func(s bus.Spec) bool { return slices.Contains(s.Serves, verb) }), subject.Service(sp.Name, verb))
		}
		t.add(nobody, "svc."+sp.Name+".>", "timer."+sp.Name+".>", "$KV.snap."+sp.Name+".>", "$KV.settings."+sp.Name+".>", "$JS.ACK.EV."+sp.Name+".>")
	}
	return t
}
