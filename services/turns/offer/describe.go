package offer

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/jetclaw/jetclaw/schemas/toolv1"
	"github.com/jetclaw/jetclaw/services/turns/model"
)

const (
	maxSchema  = 64 << 10 // bytes
	maxAbout   = 8 << 10  // bytes of a description
	openAIText = 1024     // bytes of a tool's description that OpenAI takes
	passes     = 4
)

// noArguments is the schema of which nothing is known.
const noArguments = `{"properties":{},"type":"object"}`

const noteSchema = "The schema of the arguments is too large to be shown."

// describe is t as a model is told of it. What comes out is put in again until it stays the same: each pass may move things
// to where another rule applies.
func describe(t toolv1.Tool, d Dialect) model.Tool {
	limit := maxAbout
	if d == OpenAI {
		limit = openAIText
	}
	about, schema := visible(t.Description), []byte(t.Schema)
	for range passes {
		next, notes := parameters(schema, d)
		about = joined(about, notes, limit)
		if bytes.Equal(next, schema) {
			return model.Tool{Description: about, Parameters: schema}
		}
		schema = next
	}
	return model.Tool{Description: joined(about, []string{noteSchema}, limit), Parameters: json.RawMessage(noArguments)}
}

// parameters is one pass: raw in the words of d, and what is to be said about it elsewhere.
func parameters(raw []byte, d Dialect) (schema []byte, notes []string) {
	if len(raw) > maxSchema {
		return []byte(noArguments), []string{noteSchema}
	}
	root, ok := decode(raw).(map[string]any)
	if !ok {
		return []byte(noArguments), nil
	}
	r := &reader{root: root}
	n := r.node(root, place{})
	if r.nodes > maxNodes {
		return []byte(noArguments), []string{noteSchema}
	}
	n, notes = top(n)
	out := encode(writer{d}.node(n, 0))
	if len(out) > maxSchema {
		return []byte(noArguments), []string{noteSchema}
	}
	return out, notes
}

// decode is a JSON value whose numbers are as they were written, or nil.
func decode(raw []byte) any {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil || d.More() {
		return nil
	}
	return v
}

// encode is v with sorted keys: the same bytes each time, for caches of prompts.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return []byte(noArguments) // no value that was decoded
	}
	return bytes.TrimSpace(b.Bytes())
}

// joined is a description and notes in at most limit bytes. The notes are jetclaw's and short; the text gives way.
func joined(text string, notes []string, limit int) string {
	more := ""
	if len(notes) > 0 {
		more = short(strings.Join(notes, " "), limit/2)
	}
	if text == "" || more == "" {
		return short(text+more, limit)
	}
	return short(text, limit-len(more)-1) + " " + more
}

const ellipsis = "…"

// short is at most limit bytes of text.
func short(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	n := max(0, limit-len(ellipsis))
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + ellipsis
}

// visible is text without what nobody sees: a model reads it, a person who looks at the tool does not.
func visible(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == utf8.RuneError:
			return -1
		}
		return r
	}, text)
}
