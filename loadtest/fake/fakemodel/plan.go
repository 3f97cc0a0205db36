package fakemodel

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Failure is how one request goes wrong; the zero value is an answer.
type Failure struct {
	Status  int           // this status and an error body
	After   int           // seconds of Retry-After beside Status; 0: none is sent
	Cut     bool          // half of the stream, then the connection is closed
	Garbage bool          // status 200 and something that is not an answer
	Silence bool          // nothing until the caller gives up
	Slow    time.Duration // an answer, this much later
}

// slowTime is what "slow" adds to an answer's delay.
const slowTime = 5 * time.Second

// Ask is what a plan is told of a request.
type Ask struct {
	N       int64  // from 1
	Model   string // that was asked for
	Marker  string // of the first message that it answers, or ""
	Summary bool   // it is to summarise
}

// Plan decides how a request fails.
type Plan func(Ask) Failure

// share of the requests to one model.
type share struct {
	model string // "" any; a last * stands for anything
	upTo  float64
	Failure
}

func (s share) holds(model string) bool {
	if prefix, ok := strings.CutSuffix(s.model, "*"); ok {
		return strings.HasPrefix(model, prefix)
	}
	return s.model == "" || s.model == model
}

// ParsePlan reads shares of requests that fail: "503:0.05,cut:0.02,garbage:0.01,silence:0.01". A share may be of the
// requests to one model, "flaky/429+2:1", or to all whose name begins so, "flaky*/503:0.5". "" never fails.
func ParsePlan(s string, seed uint64) (Plan, error) {
	if s == "" {
		return nil, nil
	}
	var shares []share
	sums := map[string]float64{}
	for part := range strings.SplitSeq(s, ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(part), ":")
		if !ok {
			return nil, fmt.Errorf("plan %q: want NAME:SHARE, as in 503:0.05", part)
		}
		model, kind, ok := strings.Cut(name, "/")
		if !ok {
			model, kind = "", name
		}
		f, err := parseFailure(kind)
		if err != nil {
			return nil, fmt.Errorf("plan %q: %w", part, err)
		}
		p, err := strconv.ParseFloat(value, 64)
		if err != nil || p < 0 || sums[model]+p > 1 {
			return nil, fmt.Errorf("plan %q: shares are between 0 and 1, and so is their sum", part)
		}
		sums[model] += p
		shares = append(shares, share{model, sums[model], f})
	}
	d := newDice(seed)
	return func(a Ask) Failure {
		x := d.float()
		for _, sh := range shares {
			if sh.holds(a.Model) && x < sh.upTo {
				return sh.Failure
			}
		}
		return Failure{}
	}, nil
}

func parseFailure(name string) (Failure, error) {
	switch name {
	case "cut":
		return Failure{Cut: true}, nil
	case "garbage":
		return Failure{Garbage: true}, nil
	case "silence":
		return Failure{Silence: true}, nil
	case "slow":
		return Failure{Slow: slowTime}, nil
	}
	code, seconds, wait := strings.Cut(name, "+")
	status, err := strconv.Atoi(code)
	if err != nil || status < 400 || status > 599 {
		return Failure{}, fmt.Errorf("%q is not a status from 400 to 599, cut, garbage, slow or silence", name)
	}
	f := Failure{Status: status}
	if wait {
		if f.After, err = strconv.Atoi(seconds); err != nil || f.After < 1 || f.After > 3600 {
			return Failure{}, fmt.Errorf("%q: want seconds of Retry-After behind the +, from 1 to 3600", name)
		}
	}
	return f, nil
}

// asked is the failure that the person asked for in the text, if any.
func asked(text string) Failure {
	_, rest, ok := strings.Cut(text, "!fail ")
	if !ok {
		return Failure{}
	}
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return Failure{}
	}
	f, err := parseFailure(fields[0])
	if err != nil {
		return Failure{} // an ordinary text after all
	}
	return f
}
