package cli

import (
	"context"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/services/tools"
)

// maxJudged bounds what is asked at once, in bytes: an answer repeats the arguments, shows them, and says what was considered.
const maxJudged = 128 << 10

// judge asks the gate about calls, in as many questions as it takes. It returns the verdicts in the order of the calls, nil for
// one that is too large to be asked about. policy nil is the running one.
func judge(ctx context.Context, conn *bus.Conn, policy *tools.Policy, cases []tools.Case) ([]*tools.Judged, error) {
	var out []*tools.Judged
	for len(cases) > 0 {
		n, size := 0, 0
		for n < len(cases) && size < maxJudged {
			size += 1<<10 + 4*len(cases[n].Arguments)
			n++
		}
		some, err := judgeAtOnce(ctx, conn, policy, cases[:n])
		if err != nil {
			return nil, err
		}
		out, cases = append(out, some...), cases[n:]
	}
	return out, nil
}

// judgeAtOnce asks one question, or two halves of it when it is too large after all.
func judgeAtOnce(ctx context.Context, conn *bus.Conn, policy *tools.Policy, cases []tools.Case) ([]*tools.Judged, error) {
	got, err := bus.Ask[tools.Explained](ctx, conn, "tools", "explain", tools.ExplainRequest{Calls: cases, Policy: policy})
	n := len(cases)
	switch {
	case fault.KindOf(err) == fault.TooLarge && n > 1:
		first, err := judgeAtOnce(ctx, conn, policy, cases[:n/2])
		if err != nil {
			return nil, err
		}
		rest, err := judgeAtOnce(ctx, conn, policy, cases[n/2:])
		return append(first, rest...), err
	case fault.KindOf(err) == fault.TooLarge:
		return []*tools.Judged{nil}, nil
	case err != nil:
		return nil, err
	case len(got.Answers) != n:
		return nil, fault.New(fault.Internal, "the gate was asked about %d calls and has answered %d", n, len(got.Answers))
	}
	out := make([]*tools.Judged, n)
	for i := range out {
		out[i] = &got.Answers[i]
	}
	return out, nil
}
