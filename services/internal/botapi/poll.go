package botapi

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"
)

const (
	maxBatch = 100
	maxWait  = 50 * time.Second // the server waits no longer
	maxID    = 1 << 53          // what JSON can count to; an offset past it has to be one, too
)

type pollParams struct {
	Offset  int64    `json:"offset"`
	Limit   int      `json:"limit"`
	Timeout int      `json:"timeout"` // seconds
	Allowed []string `json:"allowed_updates"`
}

// GetUpdates waits for up to timeout (50 s at most) for updates with a number of at least offset, and gives at most limit
// (1 to 100) of them, in order. An offset confirms all updates before it: the server forgets them. One below 0, which throws
// away what waits, is refused. The call takes at most 10 s longer than timeout.
//
// An update whose update_id cannot be read is given, too, marked MadeUp, since it is neither to be lost nor to come again for
// ever. Its ID is the one after the update before it (before the first: offset-1), and if that is not known, the one before the
// next; so an offset past it confirms it wherever numbers have no gaps. Where a made-up number would not keep the order, the ID
// is 0: the update behind it confirms it. Where nothing is known at all (no offset, and not one number) the call fails, and the
// caller waits as for any error. A server that leaves out numbers, as Telegram's does not, may give such an update again, under
// another made-up number, until one with a number follows: a batch that is MadeUp throughout is a reason to wait as well.
func (c *Client) GetUpdates(ctx context.Context, offset int64, limit int, timeout time.Duration) ([]RawUpdate, error) {
	const method = "getUpdates"
	if offset < 0 {
		return nil, &Error{Method: method, Class: Refused, Description: "an offset below 0 would throw away what waits"}
	}
	timeout = min(max(timeout, 0), maxWait).Truncate(time.Second)
	result, err := c.call(ctx, ask{
		method: method, limit: timeout + pollLimit, most: maxUpdates,
		params: pollParams{Offset: offset, Limit: min(max(limit, 1), maxBatch), Timeout: int(timeout / time.Second), Allowed: AllowedUpdates},
	})
	if err != nil {
		return nil, err
	}
	list, ok := elements(result)
	if !ok {
		return nil, unreadable(method)
	}
	updates, ok := numbered(list, offset)
	if !ok {
		return nil, &Error{Method: method, Class: Unknown, Code: 200, Description: "the answer holds updates, and no update_id"}
	}
	return updates, nil
}

// numbered gives each update its number. See GetUpdates; false where not one is known.
func numbered(list []json.RawMessage, offset int64) ([]RawUpdate, bool) {
	updates := make([]RawUpdate, len(list))
	for i, raw := range list {
		id, ok := updateID(raw)
		updates[i] = RawUpdate{ID: id, MadeUp: !ok, Data: bytes.Clone(raw)} // else one that is kept keeps the whole answer
	}
	before := offset - 1 // below 0: not known
	for i := range updates {
		u := &updates[i]
		if u.MadeUp {
			next, steps := ahead(updates[i:])
			switch {
			case before < 0 && next == 0:
				return nil, false
			case before < 0:
				u.ID = max(next-steps, 0)
			case next == 0 || before+1 < next:
				u.ID = before + 1
			default:
				u.ID = 0
			}
		}
		if u.ID > 0 {
			before = u.ID
		}
	}
	return updates, true
}

// ahead is the first number that was read, and how far away it is; 0 when there is none.
func ahead(updates []RawUpdate) (id, steps int64) {
	for i, u := range updates {
		if !u.MadeUp {
			return u.ID, int64(i)
		}
	}
	return 0, 0
}

// updateID reads the number of an update, also one that was written as a string or as 17.0.
func updateID(raw json.RawMessage) (int64, bool) {
	fields, ok := members(raw)
	if !ok {
		return 0, false
	}
	text := strings.Trim(string(fields["update_id"]), `"`)
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || f != math.Trunc(f) || math.Abs(f) >= maxID {
			return 0, false
		}
		id = int64(f)
	}
	return id, id > 0 && id < maxID
}

// unreadable is a yes whose result is not what it should be: it was done, and what came of it is not known.
func unreadable(method string) *Error {
	return &Error{Method: method, Class: Unknown, Code: 200, Description: "the answer says yes, and its result cannot be read"}
}

// GetMe is the bot itself: the way to find out whether the token and api_root are right.
func (c *Client) GetMe(ctx context.Context) (User, error) {
	const method = "getMe"
	result, err := c.call(ctx, ask{method: method})
	if err != nil {
		return User{}, err
	}
	var u User
	if json.Unmarshal(result, &u) != nil || u.ID == 0 {
		return User{}, unreadable(method)
	}
	return u, nil
}
