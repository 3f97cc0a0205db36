package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/toolv1"
	"github.com/jetclaw/jetclaw/services/builtin/internal/tool"
)

// pageBytes is how much of a result, or of a file, one call returns.
const pageBytes = 48 << 10

// events reads one event of the journal; see bus.Journal.
type events interface {
	Get(ctx context.Context, cursor uint64) (envelope.Event, error)
}

// resultTool reads what a model was not shown of a long result: the journal has it whole. Results of other sessions are
// not to be had.
func resultTool(journal events) tool.Tool {
	return tool.Tool{
		Tool: toolv1.Tool{
			Name:        "read_result",
			Description: "Read on in the result of an earlier tool call that was too long to be shown whole. The note at its cut says with which arguments.",
			Schema: json.RawMessage(`{"type":"object","properties":{` +
				`"result":{"type":"string","description":"the number of the result, as the note says"},` +
				`"offset":{"type":"integer","minimum":0,"description":"byte to go on from"}},` +
				`"required":["result"],"additionalProperties":false}`),
			Level: toolv1.L0, Again: true, Timeout: 10 * time.Second,
		},
		Run: func(ctx context.Context, c tool.Call) (tool.Result, error) {
			args, err := tool.Read[struct {
				Result string `json:"result"`
				Offset int    `json:"offset"`
			}](c)
			if err != nil {
				return tool.Result{}, err
			}
			cursor, err := strconv.ParseUint(args.Result, 10, 64)
			if err != nil || cursor == 0 {
				return tool.Result{}, tool.Refuse("%.40q is not the number of a result", args.Result)
			}
			ev, err := journal.Get(ctx, cursor)
			if err != nil && !errors.Is(err, bus.ErrNoEvent) {
				return tool.Result{}, errors.New("the result cannot be read now; try again")
			}
			done, ok := ev.Body.(callv1.Completed)
			if err != nil || !ok || ev.Session != c.Session {
				return tool.Result{}, tool.Refuse("this conversation has no result %s", args.Result)
			}
			return page(done, args.Result, args.Offset)
		},
	}
}

func page(done callv1.Completed, number string, from int) (tool.Result, error) {
	text := done.Content
	shown, from, to, err := piece("result", text, from)
	if err != nil {
		return tool.Result{}, err
	}
	got := tool.Result{Text: shown, Untrusted: done.Untrusted, Private: done.Private}
	if to < len(text) {
		got.Text += fmt.Sprintf("\n[bytes %d to %d of %d; for more call read_result {\"result\":%q,\"offset\":%d}]", from, to, len(text), number, to)
	}
	return got, nil
}

// piece is what one call returns of a text: whole characters, from start to end.
func piece(what, text string, from int) (shown string, start, end int, err error) {
	if from < 0 || from > len(text) {
		return "", 0, 0, tool.Refuse("the %s has %d bytes: there is no byte %d", what, len(text), from)
	}
	start = from
	for start > 0 && start < len(text) && !utf8.RuneStart(text[start]) {
		start--
	}
	end = min(len(text), start+pageBytes)
	for end > start && end < len(text) && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[start:end], start, end, nil
}
