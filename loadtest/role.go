package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// role is what a sender does to his sessions.
type role struct {
	name  string
	open  func(sender, n int) string  // the command that each session begins with; nil for none
	again int                         // messages after which it is sent again; 0: never
	text  func(rnd *rand.Rand) string // what follows the marker
	stop  float64                     // share of the messages that are followed by a stop
	pause time.Duration               // behind each message
}

// Models of the fake provider. The flaky ones refuse whatever they are asked. Most say that it will be long, so that the
// fallback is asked at once and they are on hold from then on; that is why a session changes from one to the next.
const (
	flakyModel    = "flaky-"
	fallbackModel = "second"
	flakyPlan     = flakyModel + "*/503+300:0.8," + flakyModel + "*/503:0.2"

	// smallContext makes a summary due after a few turns, and nearly at once in sessions of long messages.
	smallContext = 2000
	stopShare    = 0.3
	stopMax      = 250 // milliseconds between a message and its stop
)

func babble(rnd *rand.Rand) string { return strings.Repeat("la ", rnd.IntN(60)) }

func opening(text string) func(int, int) string { return func(int, int) string { return text } }

func chooseFlaky(sender, n int) string {
	return fmt.Sprintf("/model fake/%s%d-%d", flakyModel, sender, n)
}

var roles = map[string][]role{
	"plain": {{name: "plain", text: babble}},
	"all": {
		{name: "plain", text: babble},
		{name: "steer", open: opening("/queue steer"), text: func(rnd *rand.Rand) string { return "!rounds 3 " + babble(rnd) }},
		{name: "stop", text: func(rnd *rand.Rand) string { return "!rounds 2 " + babble(rnd) }, stop: stopShare},
		{name: "fallback", open: chooseFlaky, again: 2, text: babble},
		{name: "long", text: func(rnd *rand.Rand) string { return strings.Repeat("long ago ", 60+rnd.IntN(100)) }},
		{name: "interrupt", open: opening("/queue interrupt"), text: babble, pause: 300 * time.Millisecond},
	},
}
