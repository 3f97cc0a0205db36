package bridge

import (
	"context"
	"fmt"
	"net/url"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/session"
)

// Message is what clients are told of one.
type Message struct {
	ID      string `json:"id"`
	Cursor  uint64 `json:"cursor" jsonschema:"of its event; for before and after"`
	Role    string `json:"role" jsonschema:"user, assistant, or notice: jetclaw itself"`
	From    string `json:"from,omitempty" jsonschema:"the person as the channel shows them, the model, or the program that had it said"`
	Content []Part `json:"content"`
	Time    int64  `json:"timestamp" jsonschema:"Unix milliseconds"`
	Turn    string `json:"turnId,omitempty"`
	Edited  bool   `json:"edited,omitempty"`
	Cut     int    `json:"cutBytes,omitempty" jsonschema:"bytes of the text that were left out"`
}

// Part is a piece of a message: its text, or an attachment.
type Part struct {
	Type  string `json:"type" jsonschema:"text or jetclaw_media"`
	Text  string `json:"text,omitempty"`
	Media *Media `json:"media,omitempty"`
}

// Media describes an attachment.
type Media struct {
	Kind     string `json:"kind" jsonschema:"photo, document, voice, audio, video, animation or sticker"`
	Type     string `json:"contentType,omitempty"`
	Name     string `json:"fileName,omitempty"`
	Size     int64  `json:"size,omitempty" jsonschema:"bytes"`
	Width    int    `json:"width,omitempty"`
	Height   int    `json:"height,omitempty"`
	Duration int    `json:"duration,omitempty" jsonschema:"seconds"`
	URL      string `json:"url,omitempty" jsonschema:"resource of this server that has the bytes"`
	Missing  string `json:"missing,omitempty" jsonschema:"why there are none"`
}

type readIn struct {
	Session string `json:"session_key"`
	Limit   int    `json:"limit,omitempty"`
	Before  uint64 `json:"before,omitempty"`
	After   uint64 `json:"after,omitempty"`
}

type readOut struct {
	Messages []Message `json:"messages"`
	More     bool      `json:"more,omitempty" jsonschema:"there are others: older ones, or with after newer ones"`
}

type readQuestion struct {
	Session session.ID `json:"session"`
	Limit   int        `json:"limit,omitempty"`
	Before  uint64     `json:"before,omitempty"`
	After   uint64     `json:"after,omitempty"`
	Message string     `json:"message,omitempty"`
}

type readAnswer struct {
	Messages []message `json:"messages"`
	More     bool      `json:"more"`
}

func (b *Bridge) messagesRead(ctx context.Context, _ *mcp.CallToolRequest, in readIn) (*mcp.CallToolResult, readOut, error) {
	id, err := sessionOf(in.Session)
	if err != nil {
		return nil, readOut{}, err
	}
	out, err := b.messages(ctx, readQuestion{Session: id, Limit: in.Limit, Before: in.Before, After: in.After})
	if err != nil {
		return nil, readOut{}, err
	}
	return said(fmt.Sprintf("messages: %d", len(out.Messages)), out, true), out, nil
}

func (b *Bridge) messages(ctx context.Context, q readQuestion) (readOut, error) {
	got, err := ask[readAnswer](ctx, b.line, conversations, "read", q)
	if err != nil {
		return readOut{}, notThere(q.Session, err)
	}
	out := readOut{Messages: make([]Message, 0, len(got.Messages)), More: got.More}
	for _, m := range got.Messages {
		out.Messages = append(out.Messages, told(q.Session, m))
	}
	return out, nil
}

func told(s session.ID, m message) Message {
	out := Message{
		ID: m.ID, Cursor: m.Cursor, Role: m.Role, From: m.From, Time: m.Time.UnixMilli(), Turn: m.Turn, Edited: m.Edited, Cut: m.Cut,
		Content: []Part{},
	}
	if m.Text != "" || len(m.Files) == 0 {
		out.Content = append(out.Content, Part{Type: "text", Text: m.Text})
	}
	for _, f := range m.Files {
		media := mediaOf(s, f)
		out.Content = append(out.Content, Part{Type: "jetclaw_media", Media: &media})
	}
	return out
}

func mediaOf(s session.ID, f messagev1.File) Media {
	m := Media{
		Kind: string(f.Kind), Type: f.Type, Name: f.Name, Size: f.Size, Width: f.Width, Height: f.Height, Duration: f.Seconds, Missing: f.Missing,
	}
	if f.Digest != "" {
		m.URL = attachmentURI(s, f.Digest)
	}
	return m
}

func attachmentURI(s session.ID, digest string) string {
	return conversationURI(s) + "/attachments/" + digest
}

// conversationURI is the resource of a conversation. An id has characters that a path may have, and '=', which is written out so that
// every client's parser leaves it alone.
func conversationURI(s session.ID) string { return resourceRoot + url.QueryEscape(string(s)) }

type fetchIn struct {
	Session string `json:"session_key"`
	Message string `json:"message_id"`
	Limit   int    `json:"limit,omitempty"`
}

type fetchOut struct {
	Attachments []Media `json:"attachments"`
	Message     Message `json:"message"`
}

func (b *Bridge) attachmentsFetch(ctx context.Context, _ *mcp.CallToolRequest, in fetchIn) (*mcp.CallToolResult, fetchOut, error) {
	id, err := sessionOf(in.Session)
	if err != nil {
		return nil, fetchOut{}, err
	}
	if _, err := b.conversation(ctx, id); err != nil {
		return nil, fetchOut{}, err
	}
	got, err := b.messages(ctx, readQuestion{Session: id, Message: in.Message})
	if fault.KindOf(err) == fault.NotFound || err == nil && len(got.Messages) == 0 {
		return nil, fetchOut{}, fault.New(fault.NotFound, "message not found: %.200s", in.Message)
	}
	if err != nil {
		return nil, fetchOut{}, err
	}
	out := fetchOut{Attachments: []Media{}, Message: got.Messages[0]}
	links := []mcp.Content{}
	for _, p := range out.Message.Content {
		if p.Media == nil || in.Limit > 0 && len(out.Attachments) == in.Limit {
			continue
		}
		out.Attachments = append(out.Attachments, *p.Media)
		if p.Media.URL != "" {
			size := p.Media.Size
			links = append(links, &mcp.ResourceLink{URI: p.Media.URL, Name: nameOf(*p.Media), MIMEType: p.Media.Type, Size: &size})
		}
	}
	res := said(fmt.Sprintf("attachments: %d", len(out.Attachments)), out, len(out.Attachments) > 0)
	res.Content = append(res.Content, links...)
	return res, out, nil
}

func nameOf(m Media) string {
	if m.Name != "" {
		return m.Name
	}
	return m.Kind
}
