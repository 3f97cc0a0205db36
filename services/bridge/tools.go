package bridge

import "github.com/modelcontextprotocol/go-sdk/mcp"

// tools are the nine tools, each as what adds it to a server.
func (b *Bridge) tools() []func(*mcp.Server) error {
	reads := &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: new(false)}
	sends := &mcp.ToolAnnotations{DestructiveHint: new(false), OpenWorldHint: new(true)}
	decides := &mcp.ToolAnnotations{DestructiveHint: new(true), IdempotentHint: true, OpenWorldHint: new(true)}
	conversation := property{says: "sessionKey of the conversation", bound: filled}
	types := property{bound: oneOf, says: "only these types; without it all but claude_permission_resolved, turn_started, turn_completed " +
		"and delivery"}
	timeout := property{bound: between(1, int(waitMost.Milliseconds())), says: "how long to wait, in milliseconds; 30000 unless given"}
	texts := property{bound: between(1, textMost), says: "bytes of a text at most; 20000 unless given; cutBytes says what was left out"}
	return []func(*mcp.Server) error{
		add(tool{
			name: "conversations_list", title: "List conversations", hints: reads,
			says: "List conversations of jetclaw's agents with people, the last active first.",
			properties: properties{
				"limit":   {says: "how many at most; 50 unless given", bound: between(1, 500)},
				"search":  {says: "part of a title, a name or a session key, in any case"},
				"channel": {says: "of this channel only: telegram, http, terminal"},
				"cursor":  {says: "next of the answer before: the conversations behind it"},

				"includeDerivedTitles": {says: "with the beginning of the first message of each"},
				"includeLastMessage":   {says: "with the beginning of the last message of each"},
			},
		}, b.conversationsList),
		add(tool{
			name: "conversation_get", title: "Get a conversation", hints: reads,
			says:       "Get one conversation by its session key.",
			properties: properties{"session_key": conversation},
		}, b.conversationGet),
		add(tool{
			name: "messages_read", title: "Read messages", hints: reads,
			says: "Read messages of one conversation, oldest first: the last ones, or those before or after a cursor.",
			properties: properties{
				"session_key": conversation,
				"limit":       {says: "how many at most; 20 unless given", bound: between(1, 200)},
				"before":      {says: "the last ones before this cursor", bound: between(1, most)},
				"after":       {says: "the first ones after this cursor; 0 is the beginning", bound: between(0, most)},
				"text_limit":  texts,
			},
		}, b.messagesRead),
		add(tool{
			name: "attachments_fetch", title: "List attachments", hints: reads,
			says: "List the attachments of one message, with links to their bytes.",
			properties: properties{
				"session_key": conversation,
				"message_id":  {says: "id of the message", bound: filled},
				"limit":       {says: "how many attachments at most; all unless given", bound: between(1, 200)},
			},
		}, b.attachmentsFetch),
		add(tool{
			name: "events_poll", title: "Poll events", hints: reads,
			says: "What has happened since a cursor, oldest first. A cursor stays good across restarts of this server and of jetclaw.",
			properties: properties{
				"after_cursor": {bound: between(0, most), says: "events behind this cursor: next_cursor of the answer before. 0 is the " +
					"beginning of all. Without it: what has happened since this server began"},
				"session_key": {says: "of this conversation only"},
				"limit":       {says: "how many events at most; 20 unless given", bound: between(1, pollMost)},
				"types":       types,
				"text_limit":  texts,
			},
		}, b.eventsPoll),
		add(tool{
			name: "events_wait", title: "Wait for an event", hints: reads,
			says: "Wait for the next event behind a cursor, or until the time is over.",
			properties: properties{
				"after_cursor": {bound: between(0, most), says: "the first event behind this cursor: next_cursor of the answer before. " +
					"Without it: the next that happens"},
				"session_key": {says: "of this conversation only"},
				"timeout_ms":  timeout,
				"types":       types,
				"text_limit":  texts,
			},
		}, b.eventsWait),
		add(tool{
			name: "messages_send", title: "Send a message", hints: sends,
			says: "Send a text to the person, where the conversation takes place, in order with the agent's own answers. Events of " +
				"type delivery tell later what becomes of it.",
			properties: properties{
				"session_key":     conversation,
				"text":            {says: "what the person is to read", bound: filled},
				"wait":            {says: "wait until the channel has it, or has refused it"},
				"timeout_ms":      timeout,
				"idempotency_key": {says: "the same key and text again send nothing new, as long as it is among the last 256 of the conversation"},
			},
		}, b.messagesSend),
		add(tool{
			name: "permissions_list_open", title: "List open approvals", hints: reads,
			says: "List what agents want to do and may not before a person allows it.",
		}, b.permissionsListOpen),
		add(tool{
			name: "permissions_respond", title: "Answer an approval", hints: decides,
			says: "Allow or deny one open approval. The first answer counts, wherever it comes from.",
			properties: properties{
				"kind": {says: "exec or plugin, as it was listed", bound: among("exec", "plugin")},
				"id":   {says: "id of the approval", bound: filled},
				"decision": {bound: among("allow-once", "allow-always", "deny"), says: "allow-once; allow-always: later calls like it, too, " +
					"where that is offered; deny"},
				"reason": {says: "of a denial; the agent is told"},
			},
		}, b.permissionsRespond),
	}
}
