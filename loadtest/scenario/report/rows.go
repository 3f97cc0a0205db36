package report

// Step is one scenario of the report.
type Step struct {
	Name        string
	Full, Quick string // the command and its flags
}

// Steps in the order in which they run: what hardly uses the machine comes last, when it is warm from the rest.
func Steps() []Step {
	return []Step{
		{
			"turn", "turn --sessions 1,512 --rounds 3 --duration 4s",
			"turn --sessions 1,512 --rounds 1 --warmup 200ms --duration 500ms",
		},
		{
			"tool", "tool --sessions 1 --sync interval --rounds 3 --parked 2000 --race 1000",
			"tool --sessions 1 --sync interval --rounds 1 --warmup 200ms --duration 500ms --parked 20 --approve 1 --calm 1s --race 50",
		},
		{"start", "start --starts 7 --turns 10000", "start --starts 2 --turns 200"},
		{
			"mcp", "mcp --rounds 2 --idle 20 --commands 5 --dead=false",
			"mcp --rounds 1 --warmup 200ms --duration 500ms --idle 2 --calm 1s --commands 2 --dead=false",
		},
		{"sizes", "sizes --sizes 1000,10000,50000 --messages 5", "sizes --sizes 100,500,1000 --messages 2 --calm 1s --deep 50"},
		{"replay", "replay --events 100000 --rounds 2", "replay --events 5000 --rounds 1 --explains 1 --doctors 1"},
		{"cluster", "cluster --workers 1,2,4 --duration 5s --rounds 4", "cluster --workers 1,2 --warmup 500ms --duration 1s --rounds 1"},
		{"kill", "kill --kills 50", "kill --kills 3 --sessions 8 --delay 50ms-200ms --max-up 500ms --settle 6s"},
	}
}

func stepNames() (out []string) {
	for _, s := range Steps() {
		out = append(out, s.Name)
	}
	return out
}

func stepOf(name string) *Step {
	for _, s := range Steps() {
		if s.Name == name {
			return &s
		}
	}
	return nil
}

// row is a line of the report: a figure that a step has measured. Why says why its goal is missed. It is known of the figures that are
// missed today; one without a reason that comes to be missed has to be looked into, and the report says so.
type row struct {
	name, goal string
	step, id   string // of the figure
	why        string
}

// section is a table.
type section struct {
	title string
	rows  []row
}

// sections are the tables of the report: the design's, and what belongs beside it.
func sections() []section {
	return []section{
		{"The design's table", []row{
			{
				"added latency of a plain turn, p50", "≤ 2× floor", "turn", "turn.added_p50",
				"the way to the model is in it, and waking another process costs 0.2 ms here",
			},
			{"the same, p99", "≤ 3× floor", "turn", "turn.added_p99", "as above; with the built-in tools, each request describes them"},
			{
				"CPU of a plain turn, 512 sessions", "≤ 1 ms", "turn", "turn.cpu.interval.512",
				"1.1 ms with many sessions",
			},
			{
				"CPU of a plain turn, 1 session", "≤ 1 ms", "turn", "turn.cpu.interval.1",
				"threads are woken for each step of the only session",
			},
			{
				"turns/s, 512 sessions, `interval`", "≥ 50 % of floor", "turn", "turn.rate.interval",
				"HTTP is in it: of bus and HTTP together it is about half",
			},
			{"turns/s, 512 sessions, `always`", "≥ 50 % of floor", "turn", "turn.rate.always", ""},
			{
				"turn with one built-in call, added p50", "≤ 2.5× floor", "tool", "tool.added_p50",
				"two ways to the model are in it, and the gate looks at the prompt files each time",
			},
			{
				"start to ready, empty home", "≤ 150 ms", "start", "start.ready",
				"the home again is within the goal",
			},
			{"start to ready, the home again", "≤ 150 ms", "start", "start.again", ""},
			{"`jetclaw version`: CPU", "≤ 100 ms", "start", "start.version", ""},
			{"`jetclaw mcp list`: CPU", "≤ 100 ms", "mcp", "mcp.cpu.mcp_list", ""},
			{
				"start to ready, many events", "≤ 1.1× the bare server's own opening", "sizes", "sizes.ready",
				"the rest of a start is in it: 0.04 s with 1,000 sessions, 0.2 s with 50,000",
			},
			{"binary, stripped", "≤ 45 MB", "start", "start.binary", ""},
			{
				"idle memory, embedded NATS included", "≤ 45 MB", "start", "start.idle",
				"38 MB are pages of the program's own file, as many as the page cache maps at once; 13 to 15 are memory of its own",
			},
			{
				"memory after 10,000 turns", "≤ 1.3× idle", "start", "start.after",
				"after one session of 10,000 it is 1.3×. After 500 of 20 the heap holds 17 MB, 7 when idle (folds and recent events 5, the " +
					"server's subjects 5, indices 3); 14 are holes between what lives, which a Go heap can't close; 9 are stacks and the collector's",
			},
			{
				"memory with many sessions on disk", "≤ 1.2× the bare server", "sizes", "sizes.rss",
				"38 MB of it are pages of the program's own file, which a bare server has less of; one more session adds 1.3 kB, there 1.1",
			},
			{"replay (fold)", "≥ 50 % of a raw ordered consumer", "replay", "replay.fold", ""},
			{
				"replay --check", "≥ 50 % of a raw ordered consumer", "replay", "replay.check",
				"from run to run it is 0.49 to 0.60: both cores decode events, and what is left of them decides again",
			},
			{"`kill -9` under load: messages lost", "0", "kill", "kill.lost", ""},
			{"… out of order", "0", "kill", "kill.disordered", ""},
			{"… stuck", "0", "kill", "kill.stuck", ""},
			{"… doubled without `unknown` recorded", "0", "kill", "kill.doubled", ""},
			{"… ready to first resumed turn, worst", "≤ 2 s", "kill", "kill.resumed", ""},
		}},
		{"Cluster: three NATS servers, every service a process of its own, all on this machine", []row{
			{"fail-over: worker killed, until each of its turns goes on, longest", "≤ 5 s", "cluster", "cluster.worker_all", ""},
			{"the same, the first of them", "≤ 5 s", "cluster", "cluster.worker", ""},
			{
				"fail-over: NATS leader of the journal killed, until the next append, longest", "≤ 5 s", "cluster", "cluster.leader",
				"it is NATS's election: a server waits 4 to 9 s, at random, before it stands for one, and no setting changes that",
			},
			{"turns/s, 1 worker, a model of 200 ms, 64 sessions, R3", "", "cluster", "cluster.rate.1.r3.64.200ms", ""},
			{"the same, 2 workers", "", "cluster", "cluster.rate.2.r3.64.200ms", ""},
			{"the same, 4 workers", "", "cluster", "cluster.rate.4.r3.64.200ms", ""},
			{"CPU of all services a turn, 1 worker", "", "cluster", "cluster.cpu.1.r3.64.200ms", ""},
			{"the same, 4 workers", "", "cluster", "cluster.cpu.4.r3.64.200ms", ""},
			{"turns/s, instant model, 64 sessions, R1", "", "cluster", "cluster.rate.1.r1.64.0s", ""},
			{"the same, R3", "", "cluster", "cluster.rate.1.r3.64.0s", ""},
			{"a turn, p50, instant model, 1 session, R1", "", "cluster", "cluster.p50.1.r1.1.0s", ""},
			{"the same, R3", "", "cluster", "cluster.p50.1.r3.1.0s", ""},
		}},
		{"Approvals and MCP", []row{
			{"goroutines that parked calls add", "none each", "tool", "parked.goroutines", ""},
			{"consumers that parked calls add", "0", "tool", "parked.consumers", ""},
			{"winners of 1,000 answers to one approval", "1", "tool", "race.won", ""},
			{
				"a call of an MCP server's tool, stdio, p50", "≤ 1 ms", "mcp", "mcp.call.stdio",
				"0.5 ms of it the gate, 0.2 the claim; the rest is mostly waking goroutines and processes",
			},
			{"the same, over HTTP", "≤ 1 ms", "mcp", "mcp.call.http", "the bare call alone takes 0.9 ms"},
			{"processes of MCP servers that nobody uses", "0", "mcp", "mcp.idle", ""},
		}},
	}
}
