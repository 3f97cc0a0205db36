package bridge

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"unicode/utf8"

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
	Session string  `json:"session_key"`
	Limit   int     `json:"limit,omitempty"`
	Before  uint64  `json:"before,omitempty"`
	After   *uint64 `json:"after,omitempty"`
	Text    int     `json:"text_limit,omitempty"`
}

type readOut struct {
	Messages []Message `json:"messages"`
	More     bool      `json:"more,omitempty" jsonschema:"there are others: older ones, or with after newer ones"`
	Behind   uint64    `json:"behind,omitempty" jsonschema:"events that the index of conversations has not read yet"`
}

type readQuestion struct {
	Session session.ID `json:"session"`
	Limit   int        `json:"limit,omitempty"`
	Before  uint64     `json:"before,omitempty"`
	After   uint64     `json:"after,omitempty"`
	Oldest  bool       `json:"oldest,omitempty"` // from the beginning
	Message string     `json:"message,omitempty"`
}

// behind is what an index says of itself.
type behind struct {
	Events uint64 `json:"events"`
}

type readAnswer struct {
	Messages []message `json:"messages"`
	More     bool      `json:"more"`
	Behind   behind    `json:"behind"`
}

// textUsual is how many bytes of a text are told when nobody chooses: what a person writes is whole, what a program pastes is cut.
const textUsual, textMost = 20_000, 1 << 20

// limited is a text with at most so many bytes, and how many are left out.
func limited(text string, most int) (string, int) {
	if most == 0 {
		most = textUsual
	}
	if len(text) <= most {
		return text, 0
	}
	n := most
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n], len(text) - n
}

func (b *Bridge) messagesRead(ctx context.Context, _ *mcp.CallToolRequest, in readIn) (string, readOut, error) {
	id, err := sessionOf(in.Session)
	if err != nil {
		return "", readOut{}, err
	}
	q := readQuestion{Session: id, Limit: in.Limit, Before: in.Before}
	if in.After != nil {
		q.After, q.Oldest = *in.After, true
	}
	out, err := b.messages(ctx, q, in.Text)
	if err != nil {
		return "", readOut{}, err
	}
	return fmt.Sprintf("messages: %d", len(out.Messages)), out, nil
}

func (b *Bridge) messages(ctx context.Context, q readQuestion, text int) (readOut, error) {
	got, err := ask[readAnswer](ctx, b.line, conversations, "read", q)
	if err != nil {
		return readOut{}, notThere(q.Session, err)
	}
	out := readOut{Messages: make([]Message, 0, len(got.Messages)), More: got.More, Behind: got.Behind.Events}
	for _, m := range got.Messages {
		text, cut := limited(m.Text, text)
		m.Text, m.Cut = text, m.Cut+cut
		out.Messages = append(out.Messages, told(q.Session, m))
	}
	if q.Message == "" {
		out.fit(q.Oldest)
	}
	return out, nil
}

// fit shortens a page to what an answer may have, but for its first message: of a page that goes on from a cursor the later ones go,
// of the last messages the earlier ones.
func (o *readOut) fit(oldest bool) {
	if !oldest {
		slices.Reverse(o.Messages)
	}
	bytes := 0
	for i, m := range o.Messages {
		for _, p := range m.Content {
			bytes += len(p.Text)
		}
		if i > 0 && bytes > pageBytes {
			o.Messages, o.More = o.Messages[:i], true
			break
		}
	}
	if !oldest {
		slices.Reverse(o.Messages)
	}
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

func (b *Bridge) attachmentsFetch(ctx context.Context, _ *mcp.CallToolRequest, in fetchIn) (string, fetchOut, error) {
	id, err := sessionOf(in.Session)
	if err != nil {
		return "", fetchOut{}, err
	}
	if _, err := b.conversation(ctx, id); err != nil {
		return "", fetchOut{}, err
	}
	got, err := b.messages(ctx, readQuestion{Session: id, Message: in.Message}, 0)
	if fault.KindOf(err) == fault.NotFound || err == nil && len(got.Messages) == 0 {
		return "", fetchOut{}, fault.New(fault.NotFound, "message not found: %.200s", in.Message)
	}
	if err != nil {
		return "", fetchOut{}, err
	}
	out := fetchOut{Attachments: []Media{}, Message: got.Messages[0]}
	for _, p := range out.Message.Content {
		if p.Media == nil || in.Limit > 0 && len(out.Attachments) == in.Limit {
			continue
		}
		out.Attachments = append(out.Attachments, *p.Media)
	}
	return fmt.Sprintf("attachments: %d", len(out.Attachments)), out, nil
}

// links are those to the bytes.
func (o fetchOut) links() (all []mcp.Content) {
	for _, m := range o.Attachments {
		if m.URL != "" {
			all = append(all, &mcp.ResourceLink{URI: m.URL, Name: nameOf(m), MIMEType: m.Type, Size: &m.Size})
		}
	}
	return all
}

func nameOf(m Media) string {
	if m.Name != "" {
		return m.Name
	}
	return m.Kind
}
