package fakemodel

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// Failure is how one request goes wrong; the zero value is an answer.
type Failure struct {
	Status  int  // this status and an OpenAI error body
	Cut     bool // half of the stream, then the connection is closed
	Garbage bool // status 200 and something that is not an answer
	Silence bool // nothing until the caller gives up
}

// Plan decides how the n-th request (from 1) fails; marker is that of the message it answers, or "".
type Plan func(n int64, marker string) Failure

// ParsePlan reads shares of requests that fail: "503:0.05,cut:0.02,garbage:0.01,silence:0.01". "" never fails.
func ParsePlan(s string, seed uint64) (Plan, error) {
	if s == "" {
		return nil, nil
	}
	type share struct {
		upTo float64
		Failure
	}
	var shares []share
	sum := 0.0
	for part := range strings.SplitSeq(s, ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(part), ":")
		if !ok {
			return nil, fmt.Errorf("plan %q: want NAME:SHARE, as in 503:0.05", part)
		}
		f, err := parseFailure(name)
		if err != nil {
			return nil, fmt.Errorf("plan %q: %w", part, err)
		}
		p, err := strconv.ParseFloat(value, 64)
		if err != nil || p < 0 || sum+p > 1 {
			return nil, fmt.Errorf("plan %q: shares are between 0 and 1, and so is their sum", part)
		}
		sum += p
		shares = append(shares, share{sum, f})
	}
	d := newDice(seed)
	return func(int64, string) Failure {
		x := d.float()
		for _, sh := range shares {
			if x < sh.upTo {
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
	}
	status, err := strconv.Atoi(name)
	if err != nil || status < 400 || http.StatusText(status) == "" {
		return Failure{}, fmt.Errorf("%q is not a status from 400, cut, garbage or silence", name)
	}
	return Failure{Status: status}, nil
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
