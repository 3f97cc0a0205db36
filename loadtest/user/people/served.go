package people

import "github.com/jetclaw/jetclaw/loadtest/fake/faketelegram"

// Counted is what the fake Telegram has counted.
type Counted struct {
	Polls     int `json:"polls"`
	Overlaps  int `json:"overlaps"` // polls that came while another one waited
	Sent      int `json:"sent"`     // updates, repeated ones each time
	Confirmed int `json:"confirmed"`
	Pending   int `json:"pending"`
	Messages  int `json:"messages"` // of the bot
	Edits     int `json:"edits"`
	Vain      int `json:"edits_in_vain"` // that would have changed nothing
	Faults    int `json:"faults"`        // that were arranged, and happened
	TooMany   int `json:"too_many"`
	Exceeded  int `json:"limits_exceeded"` // by the strict measure, whether that was refused or not
}

// Served takes the counts from its report.
func Served(r faketelegram.Report) Counted {
	return Counted{
		Polls: r.Polls, Overlaps: r.Overlaps, Sent: r.Sent, Confirmed: r.Confirmed, Pending: r.Pending, Messages: r.Messages, Edits: r.Edits,
		Vain: r.Unmodified, Faults: r.Faults, TooMany: r.TooMany, Exceeded: r.Violations.Sum(),
	}
}
