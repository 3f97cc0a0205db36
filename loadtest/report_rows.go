package main

// step is one scenario of the report.
type step struct {
	name        string
	full, quick string // the command and its flags
}

// steps in the order in which they run: what hardly uses the machine comes last, when it is warm from the rest.
func steps() []step {
	return []step{
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
		{"sizes", "sizes --sizes 1000,10000,50000 --messages 4", "sizes --sizes 100,500,1000 --messages 2 --calm 1s"},
		{"replay", "replay --events 100000 --rounds 2", "replay --events 5000 --rounds 1 --explains 1 --doctors 1"},
		{"kill", "kill --kills 50", "kill --kills 3 --sessions 8 --delay 50ms-200ms --max-up 500ms --settle 6s"},
	}
}

func stepNames() (out []string) {
	for _, s := range steps() {
		out = append(out, s.name)
	}
	return out
}

func stepOf(name string) *step {
	for _, s := range steps() {
		if s.name == name {
			return &s
		}
	}
	return nil
}

// row is a line of the report: a figure that a step has measured. Why says why its goal is missed, where it is: it is known of the figures
// that are, and is looked at again when one of them changes.
type row struct {
	name, goal string
	step, id   string // of the figure
	why        string
}

// section is a table.
type section struct {
	title string
	about string
	rows  []row
}

// sections are the tables of the report: the design's, and what belongs beside it.
func sections() []section {
	return []section{
		{"The design's table", "", []row{
			{
				"added latency of a plain turn, p50", "≤ 2× floor", "turn", "turn.added_p50",
				"the way to the model and back over HTTP is in it, and a process that is woken for each step costs 0.2 ms here; the bus floor has neither",
			},
			{"the same, p99", "≤ 3× floor", "turn", "turn.added_p99", "as above, and the tools' descriptions in each request"},
			{
				"CPU of a plain turn, 512 sessions", "≤ 1 ms", "turn", "turn.cpu.interval.512",
				"HTTP in and out, JSON, and five appends; 0.1 ms more than the goal",
			},
			{
				"CPU of a plain turn, 1 session", "≤ 1 ms", "turn", "turn.cpu.interval.1",
				"threads sleep between the steps of the only session, and are woken for each",
			},
			{
				"turns/s, 512 sessions, `interval`", "≥ 50 % of floor", "turn", "turn.rate.interval",
				"three exchanges over HTTP and the model's own work take most of the two cores; of bus and HTTP together it is 49 %",
			},
			{"turns/s, 512 sessions, `always`", "≥ 50 % of floor", "turn", "turn.rate.always", "the disk decides"},
			{
				"turn with one built-in call, added p50", "≤ 2.5× floor", "tool", "tool.added_p50",
				"two ways to the model are in it, and the gate looks at the prompt files each time",
			},
			{
				"start to ready, empty home", "≤ 150 ms", "start", "start.ready",
				"making the first keys, streams and consumers takes 40 ms of it; the home again is within the goal",
			},
			{"start to ready, the home again", "≤ 150 ms", "start", "start.again", "the machine was busy"},
			{"`jetclaw version`: CPU", "≤ 100 ms", "start", "start.version", "the machine was busy"},
			{"`jetclaw mcp list`: CPU", "≤ 100 ms", "mcp", "mcp.cpu.mcp_list", "the machine was busy"},
			{
				"start to ready, many events", "≤ 1.1× the bare server's own opening", "sizes", "sizes.ready",
				"consumers are looked at and the rings for what is above their floor are sent before it is ready, which takes about as long as an empty start",
			},
			{"binary, stripped", "≤ 45 MB", "start", "start.binary", "it grew"},
			{"idle memory, embedded NATS included", "≤ 45 MB", "start", "start.idle", "services were added since the goal was set"},
			{
				"memory after 10,000 turns", "≤ 1.3× idle", "start", "start.after",
				"the server's index of subjects, snapshots in its cache, and SQLite's pages; it is given back when all is calm for longer",
			},
			{
				"memory with many sessions on disk", "≤ 1.2× the bare server", "sizes", "sizes.rss",
				"the index of conversations and the services' own code and caches come on top of the server: a constant, see the paper",
			},
			{"replay (fold)", "≥ 50 % of a raw ordered consumer", "replay", "replay.fold", "the machine was busy"},
			{"replay --check", "≥ 50 % of a raw ordered consumer", "replay", "replay.check", "the machine was busy"},
			{"`kill -9` under load: messages lost", "0", "kill", "kill.lost", ""},
			{"… out of order", "0", "kill", "kill.disordered", ""},
			{"… stuck", "0", "kill", "kill.stuck", ""},
			{"… doubled without `unknown` recorded", "0", "kill", "kill.doubled", ""},
			{"… ready to first resumed turn, worst", "≤ 2 s", "kill", "kill.resumed", "the doorbell of a killed worker waits for AckWait when its ring is lost with the process"},
		}},
		{"Approvals and MCP", "", []row{
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
