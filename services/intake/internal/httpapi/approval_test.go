package httpapi

import (
	"net/http"
	"reflect"
	"testing"

	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/services/intake/internal/wire"
)

func TestStanding(t *testing.T) {
	who := caller{name: "a"}
	for _, tc := range []struct {
		status   wire.ApprovalStatus
		decision callv1.Decision
		want     callv1.Decision
		http     int
		kind     fault.Kind
	}{
		{wire.ApprovalOpen, "", callv1.AllowAlways, http.StatusBadRequest, fault.Invalid},
		{wire.ApprovalAllowed, "", callv1.AllowOnce, http.StatusOK, ""},
		{wire.ApprovalAllowed, "", callv1.AllowAlways, http.StatusConflict, fault.Conflict}, // perhaps only once
		{wire.ApprovalAllowed, "", callv1.Deny, http.StatusConflict, fault.Conflict},
		{wire.ApprovalAllowed, callv1.AllowAlways, callv1.AllowAlways, http.StatusOK, ""},
		{wire.ApprovalAllowed, callv1.AllowAlways, callv1.AllowOnce, http.StatusConflict, fault.Conflict},
		{wire.ApprovalDenied, "", callv1.Deny, http.StatusOK, ""},
		{wire.ApprovalDenied, callv1.Deny, callv1.Deny, http.StatusOK, ""},
		{wire.ApprovalDenied, callv1.Deny, callv1.AllowOnce, http.StatusConflict, fault.Conflict},
		{wire.ApprovalExpired, "", callv1.Deny, http.StatusGone, fault.Conflict},
		{wire.ApprovalCancelled, "", callv1.Deny, http.StatusGone, fault.Conflict},
		{wire.ApprovalVoided, "", callv1.AllowOnce, http.StatusGone, fault.Conflict},
		{"other", "", callv1.Deny, http.StatusBadRequest, fault.Invalid},
	} {
		a := wire.Approval{Status: tc.status, Decision: tc.decision, Approvers: []string{"local", "http:a"}}
		if status, kind := standing(who, a, tc.want); status != tc.http || kind != tc.kind {
			t.Errorf("%s, wanted %s: %d %s, want %d %s", tc.status, tc.want, status, kind, tc.http, tc.kind)
		}
		a.Approvers = []string{"http:A", "a", "http:a.b"}
		if status, kind := standing(who, a, tc.want); status != http.StatusForbidden || kind != fault.Denied {
			t.Errorf("%s, not an approver: %d %s", tc.status, status, kind)
		}
	}
}

func TestDecisionOf(t *testing.T) {
	a := wire.Approval{ID: "abcdefgh234", Session: "main.telegram.bot.1"}
	for want, expect := range map[callv1.Decision]wire.Request{
		callv1.AllowOnce:   {Verb: messagev1.Approve, Argument: "abcdefgh234"},
		callv1.AllowAlways: {Verb: messagev1.Approve, Argument: "abcdefgh234 always"},
		callv1.Deny:        {Verb: messagev1.Deny, Argument: "abcdefgh234 no"},
	} {
		expect.Session = "main.telegram.bot.1"
		reason := ""
		if want == callv1.Deny {
			reason = "no"
		}
		if got := decisionOf(a, want, reason); !reflect.DeepEqual(got, expect) {
			t.Errorf("%s: %+v", want, got)
		}
	}
}

func TestDecisionKeysAreTheCallersOwn(t *testing.T) {
	seen := map[string]bool{}
	for _, name := range []string{"a", "a\x00b", "b"} {
		for _, approval := range []string{"abcdefgh234", "abcdefgh235"} {
			for _, key := range []string{"k", "k2"} {
				k := decisionKey(caller{name: name}, approval, key)
				if seen[k] || len(k) > 64 {
					t.Errorf("%q %s %s: %s", name, approval, key, k)
				}
				seen[k] = true
			}
		}
	}
}

func TestOwns(t *testing.T) {
	who := caller{name: "my app"}
	for id, want := range map[string]bool{
		"main.http.my=20app.x": true, "main.http.other.x": false, "main.telegram.my=20app.x": false, "x.http.my=20app.x": false,
		"": false, "main.http.my=20app": false, "main.http.my app.x": false, "main.http.my=20app.x.y": false,
	} {
		if got := who.owns(session.ID(id)); got != want {
			t.Errorf("%q: %v", id, got)
		}
	}
}
