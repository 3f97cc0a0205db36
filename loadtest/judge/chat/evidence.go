package chat

import (
	"time"

	"github.com/jetclaw/jetclaw/loadtest/fake/faketelegram"
	"github.com/jetclaw/jetclaw/loadtest/judge"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/session"
)

// What a person did.
type What string

// The kinds of what people do. Commands are answered by jetclaw itself, whatever else waits.
const (
	Message   What = "message"
	Command   What = "command"
	Edit      What = "edit"
	Malformed What = "malformed" // nobody did it: an update that cannot be read
)

// Said is one thing that somebody did in a chat.
type Said struct {
	Chat    int64      `json:"chat"`
	Session session.ID `json:"session"`
	What    What       `json:"what"`
	ID      int        `json:"id"`               // of the message; of the one that is edited
	More    []int      `json:"more,omitempty"`   // further messages of an album
	Text    string     `json:"text"`             // or caption; "" for what has none
	Marker  string     `json:"marker,omitempty"` // in Text, or in what is malformed
	Files   []string   `json:"files,omitempty"`  // SHA-256 of each, hex, in order
	Once    bool       `json:"once,omitempty"`   // the messenger sends it once, whether somebody lives to take it or not
}

// Evidence of one run, taken after it has come to rest.
type Evidence struct {
	Said    []Said // in the order of sending within each chat
	Journal []envelope.Event
	Shown   map[int64][]faketelegram.Message // the bot's messages by chat, as they stand there, by id
	Calls   []faketelegram.Call
	Report  faketelegram.Report
	Kills   []time.Time // nobody remembers over one what was held
}

// Counts are what a run consisted of.
type Counts struct {
	Messages  int `json:"messages"` // that are to be answered
	Commands  int `json:"commands"`
	Edits     int `json:"edits"`
	InTime    int `json:"edits_in_time"` // before a turn took the message up
	Albums    int `json:"albums"`
	Split     int `json:"albums_split"` // into several messages, as their parts came too far apart
	Files     int `json:"files"`
	Malformed int `json:"malformed"`
	Kept      int `json:"malformed_kept"`
	Answers   int `json:"answers"` // that were delivered whole
	Parts     int `json:"parts"`   // messages that they consist of
	Unknown   int `json:"unknown"` // attempts of which nobody knows
	Repeats   int `json:"repeats"` // parts that stand in a chat more than once, as recorded
	Marked    int `json:"marked"`  // parts that say that they may be repeats
	Deferred  int `json:"deferred"`
	Drafts    int `json:"drafts"` // that ended as an answer
	Stale     int `json:"drafts_stale"`
	Held      int `json:"held"` // answers with "retry after"
}

// Verdict is all that was found.
type Verdict struct {
	Violations []judge.Violation
	Counts     Counts
}
