// Package sim plays the machines of all services in their shell, bus/actor, on a bus in memory: several processes, people who
// write, stop, edit and decide, a model, tools and channels; and it lets go wrong what can: crashes, stops, processes that stand
// still or are cut off, clocks that are stepped, a server that is away or full, messages that are lost, late or doubled. It
// is the same from the same seed, step by step, and minutes of it pass in milliseconds.
//
// # What is real
//
// The shell with its lanes, folds, snapshots, claims and timers; the machines of turns, tools, approvals, outbox and of the two
// executors; what they do on the bus (Spec); intake's gate and fold; the wire form of events; the signatures of approvals.
// In memory are the server (journal, consumers, timers, snapshots, asks between workers) and all effects. What a service has
// beside its machine (endpoints, drafts, read models, adapters) is not here: service tests and loadtest have it.
//
// # One step after the other
//
// All runs in a bubble of testing/synctest, so time is virtual. The loom holds all that is going to happen, each occurrence at a
// time of its own that is drawn from the seed, and lets the next one happen when all goroutines stand still:
//
//	a goroutine of an actor                     the loom
//	  asks for something of the bus   ───────▶  request travels ─▶ it is done ─▶ answer travels ──┐
//	  stands still                                   │ lost             │ lost                    │
//	  goes on, alone                  ◀──────────────┴── timeout ───────┴─────────────────────────┘
//	  was woken (actor.Seams.Turn)    ───────▶  it is let go on a moment later, or when its process no longer stands still
//
// So at any time one goroutine runs at most; what it shares with others it touches in an order that the seed decides. Were two
// to run, the loom would panic, or the sums of two runs would differ. Chance, clocks and ids come from the loom as well.
//
// # What is checked
//
// The checker knows what went in, what came out, and the journal; of the machines it knows nothing. Nothing is lost: what has a
// receipt is in the journal, each message is answered once by a model that was shown it, or a failure or an end is told. The order in
// a session is kept. The effect of a tool that may happen once does not happen twice; what asks runs only when a person who may
// has said so, once; nothing starts after its turn was ended. What is shown twice was recorded as unknown. Chains have no gaps. When
// the faults end all becomes quiet: no bell un-acked, no timer waiting, no turn running; and nothing goes on without an end.
// planted_test.go shows that each of these is found when it is broken.
//
// # A failure
//
// The test prints what is wrong, the command that plays that history again, and one with fewer acts of people and fewer
// faults that still fails. With -v and -show that prints every step:
//
//	go test ./cmd/internal/sim -v -run 'TestSim$' -seed=725 -acts=0,2 -faults=1 -calm -show
//	go test ./cmd/internal/sim -run 'TestSim$' -first=$RANDOM -for=10m -timeout=0   # as many histories as fit
package sim
