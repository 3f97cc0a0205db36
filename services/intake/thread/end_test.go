package thread

import (
	"reflect"
	"testing"

	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

func TestEnds(t *testing.T) {
	m := []string{"m1", "m2"}
	all := func(s Status) []End { return []End{{s, m}} }
	one := func(s Status) []End { return []End{{s, []string{"c"}}} }
	for name, tc := range map[string]struct {
		body envelope.Body
		want []End
	}{
		"completed":              {turnv1.Completed{Answers: m}, all(Completed)},
		"failed":                 {turnv1.Failed{Answers: m}, all(Failed)},
		"stopped":                {turnv1.Cancelled{Answers: m, By: "c", Reason: turnv1.Stopped}, []End{{Cancelled, m}, {Completed, []string{"c"}}}},
		"stopped in an old way":  {turnv1.Cancelled{Answers: m, By: "c"}, []End{{Cancelled, m}, {Completed, []string{"c"}}}},
		"stopped by nobody":      {turnv1.Cancelled{Answers: m}, all(Cancelled)},
		"interrupted":            {turnv1.Cancelled{Answers: m, By: "c", Reason: turnv1.Interrupted}, all(Cancelled)},
		"too many":               {turnv1.Cancelled{Answers: m, By: "c", Reason: turnv1.QueueFull}, all(Cancelled)},
		"of a reason to come":    {turnv1.Cancelled{Answers: m, By: "c", Reason: "other"}, all(Cancelled)},
		"told":                   {noticev1.Posted{Service: "turns", Answers: m}, all(Completed)},
		"told by approvals":      {noticev1.Posted{Service: "approvals", Answers: m}, all(Completed)},
		"decided":                {approvalv1.Decided{Answers: m}, all(Completed)},
		"decided elsewhere":      {approvalv1.Decided{}, nil},
		"asked":                  {approvalv1.Requested{}, nil},
		"expired":                {approvalv1.Expired{}, nil},
		"told by another":        {noticev1.Posted{Service: "tools", Answers: m}, nil},
		"reset":                  {turnv1.SessionReset{By: "c"}, one(Completed)},
		"reset by nobody":        {turnv1.SessionReset{}, nil},
		"configured":             {turnv1.SessionConfigured{By: "c"}, one(Completed)},
		"compacted":              {turnv1.SessionCompacted{By: "c"}, one(Completed)},
		"compacted by itself":    {turnv1.SessionCompacted{}, nil},
		"not compacted":          {turnv1.CompactionFailed{By: "c"}, one(Failed)},
		"not compacted, unasked": {turnv1.CompactionFailed{}, nil},
		"begun":                  {turnv1.CompactionStarted{By: "c"}, nil},
		"a message":              {messagev1.Received{}, nil},
	} {
		if got := Ends(tc.body); !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%s: %+v, want %+v", name, got, tc.want)
		}
	}
}
