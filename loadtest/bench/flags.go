package bench

import (
	"flag"
	"time"
)

// Flags are those of every command that has a bench.
type Flags struct {
	Binary *string // "": it is built
	keep   *bool
	output *output
}

// AddFlags begins them.
func AddFlags(fs *flag.FlagSet) Flags {
	return Flags{
		Binary: fs.String("binary", "", "a built jetclaw; default: build ./cmd/jetclaw"),
		keep:   fs.Bool("keep", false, "keep the temporary directory with homes and logs"),
		output: addOutput(fs),
	}
}

// MeasureFlags are those of every command that measures in rounds.
type MeasureFlags struct {
	Bench  Flags
	Rounds int
	Timing Timing
	Strict bool
}

// Add begins a command's flags; usual is how long its measurements take, none says what there is with no rounds.
func (f *MeasureFlags) Add(fs *flag.FlagSet, usual Timing, none string) {
	f.Bench = AddFlags(fs)
	fs.IntVar(&f.Rounds, "rounds", 3, "of all that is compared, in turn; the report has medians"+none)
	fs.DurationVar(&f.Timing.Warmup, "warmup", usual.Warmup, "of each measurement")
	fs.DurationVar(&f.Timing.Duration, "duration", usual.Duration, "of each measurement")
	if usual.PerSession > 0 {
		fs.IntVar(&f.Timing.PerSession, "per-session", usual.PerSession, "turns until a session is replaced by a new one")
	}
	AddStrict(fs, &f.Strict)
}

// AddStrict is for commands whose figures have goals.
func AddStrict(fs *flag.FlagSet, strict *bool) {
	fs.BoolVar(strict, "strict", false, "exit 1 when a figure misses its goal, not only when a promise is broken")
}

// UsualTiming is that of turns.
func UsualTiming() Timing {
	return Timing{Warmup: time.Second, Duration: 4 * time.Second, PerSession: 20}
}

// Timing of a measurement.
type Timing struct {
	Warmup, Duration time.Duration
	PerSession       int    // turns until a session is replaced by a new one
	Text             string // of each message, behind its marker; "" for a question
}
