package bridge

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/session"
)

// resourceRoot begins the URIs of resources.
//
//	jetclaw://conversations/{id}                       what conversation_get gives
//	jetclaw://conversations/{id}/messages              what messages_read gives: the last 20
//	jetclaw://conversations/{id}/attachments/{digest}  the bytes of an attachment
const resourceRoot = "jetclaw://conversations/"

const (
	messagesPart   = "messages"
	attachmentPart = "attachments"
)

// maxAttachment is the largest attachment that is handed out, in bytes: as base64 it has to fit into one message of the protocol,
// which clients bound.
const maxAttachment = 10 << 20

// target is what a URI names.
type target struct {
	session session.ID
	part    string // "", messages, attachments
	digest  string
}

var digests = regexp.MustCompile(`^[0-9a-f]{64}$`)

func targetOf(uri string) (target, bool) {
	rest, ok := strings.CutPrefix(uri, resourceRoot)
	if !ok {
		return target{}, false
	}
	parts := strings.Split(rest, "/")
	key, err := url.PathUnescape(parts[0])
	if err != nil {
		return target{}, false
	}
	id, err := session.Parse(key)
	if err != nil {
		return target{}, false
	}
	t := target{session: id}
	switch {
	case len(parts) == 1:
		return t, true
	case len(parts) == 2 && parts[1] == messagesPart:
		t.part = messagesPart
		return t, true
	case len(parts) == 3 && parts[1] == attachmentPart && digests.MatchString(parts[2]):
		t.part, t.digest = attachmentPart, parts[2]
		return t, true
	}
	return target{}, false
}

func templates() []*mcp.ResourceTemplate {
	const jsonType = "application/json"
	return []*mcp.ResourceTemplate{{
		Name: "conversation", Title: "Conversation", URITemplate: resourceRoot + "{id}", MIMEType: jsonType,
		Description: "One conversation, by its sessionKey.",
	}, {
		Name: "messages", Title: "Messages", URITemplate: resourceRoot + "{id}/messages", MIMEType: jsonType,
		Description: "The last messages of a conversation.",
	}, {
		Name: "attachment", Title: "Attachment", URITemplate: resourceRoot + "{id}/attachments/{digest}",
		Description: "The bytes of an attachment, by the SHA-256 that its message names.",
	}}
}

func (b *Bridge) readResource(ctx context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	uri := r.Params.URI
	t, ok := targetOf(uri)
	if !ok {
		return nil, mcp.ResourceNotFoundError(uri)
	}
	contents, err := b.contents(ctx, uri, t)
	if fault.KindOf(err) == fault.NotFound {
		return nil, mcp.ResourceNotFoundError(uri)
	}
	if err != nil {
		return nil, err
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{contents}}, nil
}

func (b *Bridge) contents(ctx context.Context, uri string, t target) (*mcp.ResourceContents, error) {
	switch t.part {
	case messagesPart:
		out, err := b.messages(ctx, readQuestion{Session: t.session}, 0)
		return asJSON(uri, out, err)
	case attachmentPart:
		return b.attachment(ctx, uri, t)
	}
	c, err := b.conversation(ctx, t.session)
	return asJSON(uri, getOut{shown(c, true, true)}, err)
}

func asJSON(uri string, v any, err error) (*mcp.ResourceContents, error) {
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(v)
	return &mcp.ResourceContents{URI: uri, MIMEType: "application/json", Text: string(text)}, err
}

func (b *Bridge) attachment(ctx context.Context, uri string, t target) (*mcp.ResourceContents, error) {
	if _, err := b.conversation(ctx, t.session); err != nil { // of a session that was deleted nothing is handed out
		return nil, err
	}
	data, err := with(ctx, b.line, func(ctx context.Context, conn *bus.Conn) ([]byte, error) {
		return conn.GetFile(ctx, t.session, t.digest)
	})
	if err != nil {
		return nil, err
	}
	if len(data) > maxAttachment {
		return nil, fault.New(fault.TooLarge, "the attachment has %d bytes, and at most %d are handed out this way", len(data), maxAttachment)
	}
	c := &mcp.ResourceContents{URI: uri, MIMEType: http.DetectContentType(data)}
	if strings.HasPrefix(c.MIMEType, "text/") && utf8.Valid(data) {
		c.Text = string(data)
	} else {
		c.Blob = data
	}
	return c, nil
}

// resourcesListed is how many conversations one page of resources/list has.
const resourcesListed = 50

// listResources answers resources/list: the conversations, the last active first. The SDK knows only resources that were added to it.
func (b *Bridge) listResources(ctx context.Context, cursor string) (*mcp.ListResourcesResult, error) {
	got, err := ask[listAnswer](ctx, b.line, conversations, "list", listQuestion{Limit: resourcesListed, Cursor: cursor})
	if err != nil {
		return nil, err
	}
	out := &mcp.ListResourcesResult{Resources: []*mcp.Resource{}, NextCursor: got.Next}
	for _, c := range got.Conversations {
		s := shown(c, true, false)
		title := s.Title
		if title == "" {
			title = s.Session
		}
		uri := conversationURI(c.Session)
		out.Resources = append(out.Resources, &mcp.Resource{
			URI: uri, Name: s.Session, Title: title, MIMEType: "application/json", Description: "Conversation with " + s.Name,
		}, &mcp.Resource{
			URI: uri + "/" + messagesPart, Name: s.Session + " messages", Title: title, MIMEType: "application/json",
			Description: "The last messages of it",
		})
	}
	return out, nil
}

// subscribe takes subscriptions to conversations and their messages.
func (b *Bridge) subscribe(ctx context.Context, r *mcp.SubscribeRequest) error {
	t, ok := targetOf(r.Params.URI)
	if !ok || t.part == attachmentPart {
		return mcp.ResourceNotFoundError(r.Params.URI)
	}
	if _, err := b.conversation(ctx, t.session); err != nil {
		if fault.KindOf(err) == fault.NotFound {
			return mcp.ResourceNotFoundError(r.Params.URI)
		}
		return err
	}
	return nil
}
