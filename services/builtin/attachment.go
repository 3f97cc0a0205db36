package builtin

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/secret"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/toolv1"
	"github.com/jetclaw/jetclaw/services/builtin/internal/document"
	"github.com/jetclaw/jetclaw/services/builtin/internal/tool"
)

// readAttachment is the name of the tool; the line of a file in a message says it.
const readAttachment = "read_attachment"

// attachments has the files of sessions; see bus.Conn.
type attachments interface {
	GetFile(ctx context.Context, s session.ID, digest string) ([]byte, error)
}

// attachmentTool reads text that people have sent as a file. Files of other sessions are not to be had: what is asked for is
// the session of the call, and a digest.
//
// Secrets are taken out of the text before it is divided: whoever chooses where a page begins could else have each half of one.
func attachmentTool(files attachments, known secret.Known) tool.Tool {
	return tool.Tool{
		Tool: toolv1.Tool{
			Name: readAttachment,
			Description: "Read a text document that somebody has sent in this conversation, by the id in the line that names it. " +
				"A long one comes in pages; the note at the end of each says how to read on.",
			Schema: json.RawMessage(`{"type":"object","properties":{` +
				`"file":{"type":"string","description":"the id of the file: 64 characters, as its line in the message says"},` +
				`"from":{"type":"integer","minimum":0,"description":"byte of the text to go on from"}},` +
				`"required":["file"],"additionalProperties":false}`),
			Level: toolv1.L0, Again: true, Untrusted: true, Timeout: 20 * time.Second,
		},
		Run: func(ctx context.Context, c tool.Call) (tool.Result, error) {
			args, err := tool.Read[struct {
				File string `json:"file"`
				From int    `json:"from"`
			}](c)
			if err != nil {
				return tool.Result{}, err
			}
			digest := strings.ToLower(args.File)
			if raw, err := hex.DecodeString(digest); err != nil || len(raw) != 32 {
				return tool.Result{}, tool.Refuse("%.80q is not the id of a file: that has 64 characters and stands in the line of the file", args.File)
			}
			data, err := files.GetFile(ctx, c.Session, digest)
			switch {
			case fault.KindOf(err) == fault.NotFound:
				return tool.Result{}, tool.Refuse("this conversation has no file %s: copy the id as it stands in the line of the file", digest)
			case err != nil:
				return tool.Result{}, errors.New("the file cannot be read now; try again")
			}
			return attached(data, digest, args.From, known)
		},
	}
}

// attached is a page of a file's text.
func attached(data []byte, digest string, from int, known secret.Known) (tool.Result, error) {
	doc, err := document.Read(data)
	if err != nil {
		return tool.Result{}, explain(data, err)
	}
	text := known.Redact(doc.Text)
	if text == "" {
		return tool.Result{Text: "[the file is empty]"}, nil
	}
	shown, from, to, err := piece("text of the file", text, from)
	if err != nil {
		return tool.Result{}, err
	}
	got := tool.Result{Text: shown}
	switch {
	case to < len(text):
		got.Text += fmt.Sprintf("\n[bytes %d to %d of %d; for more call %s {\"file\":%q,\"from\":%d}]", from, to, len(text), readAttachment, digest, to)
	case doc.Left > 0:
		got.Text += fmt.Sprintf("\n[bytes %d to %d; %d bytes more of the file cannot be read here: ask for the part that matters]", from, to, doc.Left)
		got.Cut = int64(doc.Left)
	case from > 0:
		got.Text += fmt.Sprintf("\n[bytes %d to %d: this is the end]", from, to)
	}
	return got, nil
}

// explain says why a file cannot be read, and what can be done.
func explain(data []byte, why error) error {
	kind, _, _ := strings.Cut(http.DetectContentType(data), ";")
	what := fmt.Sprintf("%s, %s", kind, amount(len(data)))
	switch {
	case errors.Is(why, document.ErrEncoding):
		return fmt.Errorf("the file (%s) is a text in an encoding that cannot be read here: ask for it in UTF-8", amount(len(data)))
	case strings.HasPrefix(kind, "image/"):
		return fmt.Errorf("the file is a picture (%s) and no text: you have seen it with its message, or you cannot see pictures", what)
	}
	return fmt.Errorf("the file is no text (%s): it cannot be read here. Say so; ask for its text where that would help", what)
}

// amount is a size as the line of a file has it.
func amount(n int) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d bytes", n)
	case n < 999_500:
		return fmt.Sprintf("%d KB", (n+500)/1000)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}
