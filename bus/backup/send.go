package backup

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/jetclaw/jetclaw/schemas/fault"
)

// chunkSize is what goes to the server at once; it takes no more than 1 MiB.
const chunkSize = 256 << 10

// send restores one stream: chunks of its file, each answered when the server has taken it, then an empty one, whose answer
// says what there is now.
func (r *restorer) send(ctx context.Context, s Stream, config json.RawMessage) (state, error) {
	f, err := openFile(filepath.Join(r.dir, s.Name))
	if err != nil {
		return state{}, err
	}
	defer f.Close()
	request := struct {
		Config json.RawMessage `json:"config"`
		State  state           `json:"state"`
	}{config, state{Messages: s.Messages, First: s.First, Last: s.Last}}
	var where struct {
		Deliver string `json:"deliver_subject"`
	}
	if err := api(ctx, r.admin, "STREAM.RESTORE."+s.Name, request, &where); err != nil {
		return state{}, err
	}
	if err := r.chunks(ctx, s, f, where.Deliver); err != nil {
		r.cutOff(ctx, where.Deliver)
		return state{}, err
	}
	// Not to be cancelled: the answer comes when the server has finished, and a stream is not to be removed before that.
	m, err := ask(context.WithoutCancel(ctx), r.admin, where.Deliver, nil)
	if err != nil {
		return state{}, err
	}
	var got struct {
		State state `json:"state"`
	}
	if err := answer(m.Data, &got); err != nil {
		return state{}, err
	}
	return got.State, context.Cause(ctx)
}

func (r *restorer) chunks(ctx context.Context, s Stream, f io.Reader, to string) error {
	buf := make([]byte, chunkSize)
	for done := int64(0); ; {
		n, err := f.Read(buf)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		m, err := r.chunk(ctx, to, buf[:n], done == 0)
		if err != nil {
			return err
		}
		if len(m.Data) > 0 { // taken, it is answered with nothing
			if err := answer(m.Data, &struct{}{}); err != nil {
				return err
			}
			return fault.New(fault.Unavailable, "the server has ended it before its end")
		}
		done += int64(n)
		r.o.tell(Progress{Doing: Restoring, Stream: s.Name, Done: done, Total: s.Bytes})
	}
}

// chunk sends one. In a cluster the node that takes them may not be known yet where we are connected: nobody has got the first one
// then, and it is sent again.
func (r *restorer) chunk(ctx context.Context, to string, data []byte, first bool) (*nats.Msg, error) {
	for began := time.Now(); ; {
		m, err := ask(ctx, r.admin, to, data)
		if !first || !errors.Is(err, nats.ErrNoResponders) || time.Since(began) > listenTime {
			return m, err
		}
		select {
		case <-time.After(listenPause):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

const (
	listenTime  = 4 * time.Second // the server gives up after 5
	listenPause = 20 * time.Millisecond
)

// cutOff tells the server that nothing more will come, and waits until it has given up. Without that it would wait for 5 s,
// in which nobody else can restore the stream.
func (r *restorer) cutOff(ctx context.Context, to string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer cancel()
	if _, err := ask(ctx, r.admin, to, nil); err != nil {
		r.admin.Log().Debug("end a restore that failed", "error", err)
	}
}
