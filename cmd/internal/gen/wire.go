package main

import (
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/subject"
)

// envelopeSchema describes the headers of every event.
func envelopeSchema() yaml.MapSlice {
	header := func(text string, more ...any) yaml.MapSlice {
		return append(object("type", "string", "description", text), object(more...)...)
	}
	return object(
		"type", "object",
		"description", "CloudEvents 1.0 in binary mode over NATS, and what makes the chain of a session. Bytes that are not printable ASCII, "+
			"the space, '\"' and '%' are written %HH.",
		"required", []string{
			envelope.HeaderID, envelope.HeaderType, envelope.HeaderSource, envelope.HeaderSpec, envelope.HeaderTime, envelope.HeaderPrev,
		},
		"properties", object(
			envelope.HeaderID, header("Unique for each attempt to append, reused by its retries.", "minLength", 1),
			envelope.HeaderType, header("<noun>.<verb>.v<N>: the name of the message.", "pattern", `^[a-z]+\.[a-z]+\.v[1-9][0-9]*$`),
			envelope.HeaderSource, header("<service>/<instance> that appended it."),
			envelope.HeaderSpec, header("Version of CloudEvents.", "const", "1.0"),
			envelope.HeaderTime, header("By the clock of who appended it, UTC.", "format", "date-time"),
			envelope.HeaderPrev, header("Stream sequence of the session's event before this one; 0 for the first.", "pattern", "^[0-9]+$"),
			envelope.HeaderCause, header("Id of the event or request that led to it."),
			envelope.HeaderKey, header("The source's own key of a fact from outside; a second event with the same key in a session is ignored."),
			envelope.HeaderRules, header("Digest of what the machine that decided it was configured with."),
			envelope.HeaderTrace, header("W3C trace context."),
			envelope.HeaderBlob, header("The body was too large: name of the object in the store "+subject.Blobs+" that holds it instead."),
		),
	)
}

func parameters() yaml.MapSlice {
	p := func(text string) yaml.MapSlice { return object("description", text) }
	return object(
		"vp", p("Virtual partition of the session, two digits: fnv1a of the session id, modulo 64."),
		"agent", p("First token of the session id. In each token a byte that is not a letter, a digit, '_' or '-' is written =HH."),
		"channel", p("Second token of the session id: telegram, http, terminal…"),
		"account", p("Third token of the session id: the bot, the token's name…"),
		"peer", p("Fourth token of the session id: who is talked with."),
		"executor", p("The executor that ran the call, escaped like a session token."),
		"service", p("A service."),
		"instance", p("One running worker of a service."),
		"verb", p("What is asked, or what has happened."),
		"item", p("What it happened to, escaped like a session token: the name of an MCP server."),
	)
}

// families are the subjects that carry no event. Live deltas and the endpoints of services get their messages here once
// they have contracts of their own.
func families() yaml.MapSlice {
	tokens := []string{"agent", "channel", "account", "peer"}
	anySession := session.ID("{agent}.{channel}.{account}.{peer}")
	family := func(address, text string, names ...string) yaml.MapSlice {
		return object("address", address, "description", text, "parameters", parameterRefs(names))
	}
	return object(
		"live", family(subject.Live(anySession),
			"Deltas of the answer that is being made, typing. Lossy, and never the only copy of anything.", tokens...),
		"timer", family(subject.Timer("{service}", anySession), "A stored timer rings for a session; the owner of the decision appends what follows.",
			append([]string{"service"}, tokens...)...),
		"worker", family(subject.Worker("{service}", "{instance}"), "Asks and nudges to one running worker.", "service", "instance"),
		"sys", family(strings.Replace(subject.OfSystem("{service}", "item", "{verb}"), ".item.", ".{item}.", 1),
			"What happened to a thing of a service: mcp tells connected, failed, paused, resumed, catalog and closed of each server.",
			"service", "item", "verb"),
		"svc", family(subject.Service("{service}", "{verb}"), "A question that wants an answer (request and reply, NATS micro).", "service", "verb"),
	)
}
