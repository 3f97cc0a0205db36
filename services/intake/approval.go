package intake

import (
	"context"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/services/intake/internal/wire"
)

// The service that knows of approvals, and what is asked of it.
const (
	approvals = "approvals"
	verbGet   = "get"
	verbList  = "list"
)

// Approval is what the approvals service tells of one; whoever passes it on sees to who may know.
func (s *Service) Approval(ctx context.Context, id string) (wire.Approval, error) {
	return bus.Ask[wire.Approval](ctx, s.conn, approvals, verbGet, wire.ApprovalRequest{Approval: id})
}

// Approvals are the open ones of a session, or of all.
func (s *Service) Approvals(ctx context.Context, sid session.ID) (wire.Approvals, error) {
	return bus.Ask[wire.Approvals](ctx, s.conn, approvals, verbList, wire.ApprovalsRequest{Session: sid})
}
