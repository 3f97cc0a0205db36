package botapi

import (
	"context"
	"encoding/json"
	"errors"
	"unicode/utf16"
)

// Send is a message to send.
type Send struct {
	Chat     int64
	Thread   int64 // topic; 0 for none. The general topic of a forum is 0, too: the server refuses its number, 1
	Text     string
	Entities []Entity
	Reply    int64 // the message that it answers; it is sent all the same when that is gone. 0 for none
	Buttons  [][]Button
	Silent   bool // without a sound
}

// Edit is what a message is to be from now on.
type Edit struct {
	Chat     int64
	Message  int64
	Text     string
	Entities []Entity
	Buttons  [][]Button // nil: the buttons that it has go
}

// Button is a button below a message (Bot API: InlineKeyboardButton). Data comes back in a CallbackQuery: 1 to 64 bytes.
type Button struct {
	Text string `json:"text"`
	Data string `json:"callback_data"`
}

// Command is one that a client offers while somebody types (Bot API: BotCommand).
type Command struct {
	Name        string `json:"command"` // without the slash
	Description string `json:"description"`
}

type keyboard struct {
	Rows [][]Button `json:"inline_keyboard"`
}

func keyboardOf(rows [][]Button) *keyboard {
	if len(rows) == 0 {
		return nil
	}
	return &keyboard{rows}
}

type preview struct {
	Disabled bool `json:"is_disabled"`
}

// noPreview keeps the server from fetching what an answer links to, and from showing it.
var noPreview = preview{Disabled: true}

type replyParams struct {
	Message int64 `json:"message_id"`
	Anyway  bool  `json:"allow_sending_without_reply"`
}

type sendParams struct {
	Chat     int64        `json:"chat_id"`
	Thread   int64        `json:"message_thread_id,omitempty"`
	Text     string       `json:"text"`
	Entities []Entity     `json:"entities,omitempty"`
	Preview  preview      `json:"link_preview_options"`
	Silent   bool         `json:"disable_notification,omitempty"`
	Reply    *replyParams `json:"reply_parameters,omitempty"`
	Keyboard *keyboard    `json:"reply_markup,omitempty"`
}

// SendMessage sends a text, and gives the number of the message. The server knows no key for repeats: what was Unknown may be
// shown twice when it is sent again.
func (c *Client) SendMessage(ctx context.Context, s Send) (messageID int64, err error) {
	const method = "sendMessage"
	p := sendParams{
		Chat: s.Chat, Thread: s.Thread, Text: s.Text, Entities: s.Entities, Preview: noPreview, Silent: s.Silent,
		Keyboard: keyboardOf(s.Buttons),
	}
	if s.Reply != 0 {
		p.Reply = &replyParams{Message: s.Reply, Anyway: true}
	}
	result, err := c.call(ctx, ask{method: method, params: p})
	if err != nil {
		return 0, err
	}
	var got struct {
		ID int64 `json:"message_id"`
	}
	if json.Unmarshal(result, &got) != nil || got.ID == 0 {
		return 0, unreadable(method)
	}
	return got.ID, nil
}

type editParams struct {
	Chat     int64     `json:"chat_id"`
	Message  int64     `json:"message_id"`
	Text     string    `json:"text"`
	Entities []Entity  `json:"entities,omitempty"`
	Preview  preview   `json:"link_preview_options"`
	Keyboard *keyboard `json:"reply_markup,omitempty"`
}

// EditMessageText makes a message what it is to be. One that is so already is a success: the call may be repeated.
func (c *Client) EditMessageText(ctx context.Context, e Edit) error {
	return done(c.do(ctx, "editMessageText", editParams{
		Chat: e.Chat, Message: e.Message, Text: e.Text, Entities: e.Entities, Preview: noPreview, Keyboard: keyboardOf(e.Buttons),
	}))
}

type buttonParams struct {
	Chat     int64     `json:"chat_id"`
	Message  int64     `json:"message_id"`
	Keyboard *keyboard `json:"reply_markup,omitempty"`
}

// EditButtons changes the buttons below a message, or takes them away. As with EditMessageText, so already is a success.
func (c *Client) EditButtons(ctx context.Context, chat, message int64, buttons [][]Button) error {
	return done(c.do(ctx, "editMessageReplyMarkup", buttonParams{Chat: chat, Message: message, Keyboard: keyboardOf(buttons)}))
}

// done is the outcome of an edit.
func done(err error) error {
	if e, ok := errors.AsType[*Error](err); ok && e.unmodified() {
		return nil
	}
	return err
}

type actionParams struct {
	Chat   int64  `json:"chat_id"`
	Thread int64  `json:"message_thread_id,omitempty"`
	Action string `json:"action"`
}

// ChatAction shows for five seconds what the bot does: "typing".
func (c *Client) ChatAction(ctx context.Context, chat, thread int64, action string) error {
	return c.do(ctx, "sendChatAction", actionParams{Chat: chat, Thread: thread, Action: action})
}

type callbackParams struct {
	ID    string `json:"callback_query_id"`
	Text  string `json:"text,omitempty"`
	Alert bool   `json:"show_alert,omitempty"`
	Cache int    `json:"cache_time"`
}

const maxCallbackText = 200 // UTF-16 code units

// AnswerCallback ends the waiting after a tap. The text is shown for a moment, or with alert until it is closed; it is cut to
// what the server takes. The same tap is never answered from a cache: the next one may mean something else.
func (c *Client) AnswerCallback(ctx context.Context, id, text string, alert bool) error {
	return c.do(ctx, "answerCallbackQuery", callbackParams{ID: id, Text: cutUnits(text, maxCallbackText), Alert: alert})
}

// cutUnits shortens s to at most so many UTF-16 code units, not within a character.
func cutUnits(s string, most int) string {
	units, fits := 0, 0 // fits: where a cut with a sign behind it would be
	for i, r := range s {
		if units < most {
			fits = i
		}
		if units += max(utf16.RuneLen(r), 1); units > most {
			return s[:fits] + "…"
		}
	}
	return s
}

type reactionParams struct {
	Chat     int64      `json:"chat_id"`
	Message  int64      `json:"message_id"`
	Reaction []Reaction `json:"reaction"`
}

// React shows an emoji below a message, in the place of what the bot has shown there before. The server takes some emoji only.
func (c *Client) React(ctx context.Context, chat, message int64, emoji string) error {
	return c.do(ctx, "setMessageReaction", reactionParams{Chat: chat, Message: message, Reaction: []Reaction{{Type: "emoji", Emoji: emoji}}})
}

type commandParams struct {
	Commands []Command `json:"commands"`
}

// SetCommands sets what clients offer; none takes the offer away.
func (c *Client) SetCommands(ctx context.Context, commands []Command) error {
	return c.do(ctx, "setMyCommands", commandParams{Commands: append([]Command{}, commands...)})
}
