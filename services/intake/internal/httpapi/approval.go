package httpapi

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"

	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/services/intake/internal/wire"
	"github.com/jetclaw/jetclaw/services/intake/thread"
)

// approvalList is the answer of GET /v1/approvals. How many are missing of a list that is cut is nobody's business: they
// may be others'.
type approvalList struct {
	Approvals []wire.Approval `json:"approvals"`
	Cut       bool            `json:"cut,omitempty"`
}

// getApprovals tells of the open ones of the caller's own sessions, and of no others.
func (s *Server) getApprovals(w http.ResponseWriter, r *http.Request, who caller, _ string) {
	var sid session.ID
	if name := r.URL.Query().Get("session"); name != "" {
		var err error
		if sid, err = who.session(name); err != nil {
			s.fail(w, r, err)
			return
		}
	}
	all, err := s.docket.Approvals(r.Context(), sid)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	own := approvalList{Approvals: []wire.Approval{}, Cut: all.More > 0} // none is an empty list, not null
	for _, a := range all.Approvals {
		if who.owns(a.Session) {
			own.Approvals = append(own.Approvals, a)
		}
	}
	s.answer(w, http.StatusOK, own)
}

func (s *Server) getApproval(w http.ResponseWriter, r *http.Request, who caller, arg string) {
	a, err := s.approval(r.Context(), who, arg)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.answer(w, http.StatusOK, a)
}

// approval is one that the caller may know of: one of its own sessions, or one that it may decide. All others are, to it,
// not there: the answer is the same.
func (s *Server) approval(ctx context.Context, who caller, arg string) (wire.Approval, error) {
	missing := fault.New(fault.NotFound, "there is no approval %.40q", arg)
	id := thread.ApprovalID(arg)
	if id == "" {
		return wire.Approval{}, missing
	}
	a, err := s.docket.Approval(ctx, id)
	switch {
	case fault.KindOf(err) == fault.NotFound:
		return wire.Approval{}, missing
	case err != nil:
		return wire.Approval{}, err
	case a.ID != id || !who.owns(a.Session) && !who.decides(a):
		return wire.Approval{}, missing
	}
	return a, nil
}

// decisionRequest is the body of POST /v1/approvals/{id}.
type decisionRequest struct {
	Decision wire.Text `json:"decision"`
	Reason   wire.Text `json:"reason"`
	Key      wire.Text `json:"idempotency_key"`
}

// verdict is the answer: the decision counts, or (202) the journal has it and its outcome is not there yet.
type verdict struct {
	Approval  string `json:"approval"`
	Status    string `json:"status"`
	Text      string `json:"text"`
	MessageID string `json:"message_id,omitempty"` // in a session of the caller's own: its reply is the outcome
}

const (
	statusDecided = "decided"
	statusPending = "pending"
)

func (s *Server) postApproval(w http.ResponseWriter, r *http.Request, who caller, arg string) {
	body, err := s.body(w, r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	var d decisionRequest
	if err := wire.Decode(body, &d); err != nil {
		s.fail(w, r, err)
		return
	}
	want := callv1.Decision(d.Decision)
	switch {
	case !want.Valid():
		s.fail(w, r, fault.New(fault.Invalid, "decision %.40q: want %s, %s or %s", string(want), callv1.AllowOnce, callv1.AllowAlways, callv1.Deny))
		return
	case want.Allows() && d.Reason != "":
		s.fail(w, r, fault.New(fault.Invalid, "a reason goes with %s only: who allows a call cannot add conditions to it", callv1.Deny))
		return
	}
	a, err := s.approval(r.Context(), who, arg)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	req := decisionOf(a, want, string(d.Reason))
	req.From, req.Trace = messagev1.Sender{ID: who.id()}, r.Header.Get("Traceparent")
	if d.Key != "" {
		req.Key = decisionKey(who, a.ID, string(d.Key))
	}
	s.decide(w, r, who, a, want, req)
}

// decisionOf is what goes through the gate, as a person would write it.
func decisionOf(a wire.Approval, want callv1.Decision, reason string) wire.Request {
	req := wire.Request{Session: string(a.Session), Verb: messagev1.Approve, Argument: wire.Text(a.ID)}
	switch want {
	case callv1.AllowOnce:
	case callv1.AllowAlways:
		req.Argument += " always"
	default:
		req.Verb = messagev1.Deny
		req.Argument += wire.Text(" " + reason)
	}
	return req
}

// decisionKey keeps the caller's keys to themselves: the session may be another's, with keys of its own, and a repeat of
// one of those would be answered with what became of it.
func decisionKey(who caller, approval, key string) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{who.name, approval, key}, "\x00")))
	return "decision-" + hex.EncodeToString(sum[:16])
}

// decide hands the decision in and waits for what becomes of it. Whether it counts is not for this channel to say.
func (s *Server) decide(w http.ResponseWriter, r *http.Request, who caller, a wire.Approval, want callv1.Decision, req wire.Request) {
	receipt, err := s.desk.Submit(r.Context(), req)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	told, err := s.desk.Reply(r.Context(), wire.ReplyRequest{
		Session: string(a.Session), MessageID: receipt.MessageID, WaitMS: s.config.DecisionWait.Milliseconds(), Until: wire.UntilAnswer,
	})
	if err != nil {
		s.fail(w, r, err)
		return
	}
	v := verdict{Approval: a.ID, Status: statusDecided, Text: told.Text}
	switch {
	case told.Status == wire.Pending:
		v.Status, v.Text = statusPending, "The decision is on record; what became of it cannot be told yet."
		if who.owns(a.Session) {
			v.MessageID = messageID(a.Session, receipt.MessageID)
		}
		s.answer(w, http.StatusAccepted, v)
		return
	case told.Decision == want:
		s.answer(w, http.StatusOK, v)
		return
	}
	now, err := s.docket.Approval(r.Context(), a.ID)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	status, k := standing(who, now, want)
	if status == http.StatusOK {
		s.answer(w, status, v)
		return
	}
	s.failWith(w, status, problem{Error: told.Text, Kind: k})
}

// standing says why a decision is not the one that counts, by what is known of the approval now. The outcome itself is a
// text for people.
func standing(who caller, a wire.Approval, want callv1.Decision) (int, fault.Kind) {
	if !who.decides(a) {
		return http.StatusForbidden, fault.Denied
	}
	switch a.Status {
	case wire.ApprovalExpired, wire.ApprovalCancelled, wire.ApprovalVoided:
		return http.StatusGone, fault.Conflict
	case wire.ApprovalAllowed, wire.ApprovalDenied:
		if a.Decision == want { // the same answer again, by whomever
			return http.StatusOK, ""
		}
		if a.Decision == "" && (a.Status == wire.ApprovalAllowed && want == callv1.AllowOnce || a.Status == wire.ApprovalDenied && want == callv1.Deny) {
			return http.StatusOK, ""
		}
		return http.StatusConflict, fault.Conflict
	case wire.ApprovalOpen: // it was not possible as it was, as "always" is not for every call
	}
	return http.StatusBadRequest, fault.Invalid
}

// decides says whether the caller is among those who may.
func (c caller) decides(a wire.Approval) bool { return slices.Contains(a.Approvers, c.id()) }
