package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
)

// Event is one event of a session, as the stream of server-sent events has it.
type Event struct {
	Cursor uint64          `json:"cursor"`
	Type   string          `json:"type"`
	ID     string          `json:"id"`
	Prev   uint64          `json:"prev"`
	Data   json.RawMessage `json:"data"`
}

// maxEvent bounds a line of the stream: a body has 256 KiB at most, and what is larger is a reference.
const maxEvent = 1 << 20

// Events has fn told of the events of a session behind a cursor, in order, until fn is false or ctx ends: that is its error then.
func (c *Client) Events(ctx context.Context, session string, since uint64, fn func(Event) bool) error {
	path := "/v1/sessions/" + url.PathEscape(session) + "/events?since=" + strconv.FormatUint(since, 10)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+path, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	res, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		b, err := io.ReadAll(io.LimitReader(res.Body, maxEvent))
		return errors.Join(&StatusError{Status: res.StatusCode, Body: string(bytes.TrimSpace(b))}, err)
	}
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, maxEvent)
	for lines.Scan() {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
		if !ok {
			continue
		}
		var e Event
		if err := json.Unmarshal(data, &e); err != nil {
			return fmt.Errorf("events of %s: %w in %.200q", session, err, data)
		}
		if e.Cursor == 0 { // it tells of trouble, or is no event of the journal
			continue
		}
		e.Data = bytes.Clone(e.Data)
		if !fn(e) {
			return nil
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("events of %s: %w", session, err)
	}
	return fmt.Errorf("events of %s: %w", session, io.ErrUnexpectedEOF)
}
