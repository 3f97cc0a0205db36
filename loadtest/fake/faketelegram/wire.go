package faketelegram

import "encoding/json"

// User is a person or a bot, as on the wire.
type User struct {
	ID           int64  `json:"id"`
	IsBot        bool   `json:"is_bot"`
	FirstName    string `json:"first_name"`
	LastName     string `json:"last_name,omitempty"`
	Username     string `json:"username,omitempty"`
	LanguageCode string `json:"language_code,omitempty"`
}

// Chat is a chat, as on the wire. Its type is "private", "group", "supergroup" or "channel".
type Chat struct {
	ID        int64  `json:"id"`
	Type      string `json:"type"`
	Title     string `json:"title,omitempty"`
	Username  string `json:"username,omitempty"`
	FirstName string `json:"first_name,omitempty"`
	LastName  string `json:"last_name,omitempty"`
	IsForum   bool   `json:"is_forum,omitempty"`
}

// Private is the chat of a person with a bot.
func Private(u User) Chat {
	return Chat{ID: u.ID, Type: "private", FirstName: u.FirstName, LastName: u.LastName, Username: u.Username}
}

// Group is a basic group; Telegram gives them ids like -123456.
func Group(id int64, title string) Chat { return Chat{ID: id, Type: "group", Title: title} }

// Supergroup is a group with an id like -1001234567890.
func Supergroup(id int64, title string) Chat { return Chat{ID: id, Type: "supergroup", Title: title} }

// Forum is a supergroup with topics.
func Forum(id int64, title string) Chat {
	return Chat{ID: id, Type: "supergroup", Title: title, IsForum: true}
}

// Channel is a channel, with an id like a supergroup's.
func Channel(id int64, title string) Chat { return Chat{ID: id, Type: "channel", Title: title} }

func (c Chat) isPrivate() bool { return c.Type == "private" }
func (c Chat) isGroup() bool   { return c.Type == "group" || c.Type == "supergroup" }

// Entity is a MessageEntity: offset and length are UTF-16 code units.
type Entity struct {
	Type          string `json:"type"`
	Offset        int    `json:"offset"`
	Length        int    `json:"length"`
	URL           string `json:"url,omitempty"`
	User          *User  `json:"user,omitempty"`
	Language      string `json:"language,omitempty"`
	CustomEmojiID string `json:"custom_emoji_id,omitempty"`
	UnixTime      int64  `json:"unix_time,omitempty"`
}

// Button is one of an inline keyboard.
type Button struct {
	Text         string `json:"text"`
	CallbackData string `json:"callback_data,omitempty"`
	URL          string `json:"url,omitempty"`
}

// markup is what is kept of reply_markup: an inline keyboard, or another kind as it came.
type markup struct {
	Inline [][]Button `json:"inline_keyboard,omitempty"`
	other  json.RawMessage
}

func (m *markup) MarshalJSON() ([]byte, error) {
	if m.other != nil {
		return m.other, nil
	}
	return json.Marshal(struct {
		Inline [][]Button `json:"inline_keyboard"`
	}{m.Inline})
}

// letter is a Message, as on the wire.
type letter struct {
	ID              int             `json:"message_id"`
	Thread          int             `json:"message_thread_id,omitempty"`
	From            *User           `json:"from,omitempty"`
	SenderChat      *Chat           `json:"sender_chat,omitempty"`
	Date            int64           `json:"date"`
	EditDate        int64           `json:"edit_date,omitempty"`
	Chat            Chat            `json:"chat"`
	ForwardOrigin   *origin         `json:"forward_origin,omitempty"`
	IsTopic         bool            `json:"is_topic_message,omitempty"`
	ReplyTo         *letter         `json:"reply_to_message,omitempty"`
	MediaGroup      string          `json:"media_group_id,omitempty"`
	Text            string          `json:"text,omitempty"`
	Entities        []Entity        `json:"entities,omitempty"`
	LinkPreview     json.RawMessage `json:"link_preview_options,omitempty"`
	Photo           []media         `json:"photo,omitempty"`
	Document        *media          `json:"document,omitempty"`
	Voice           *media          `json:"voice,omitempty"`
	Audio           *media          `json:"audio,omitempty"`
	Video           *media          `json:"video,omitempty"`
	Sticker         *media          `json:"sticker,omitempty"`
	Location        *location       `json:"location,omitempty"`
	Caption         string          `json:"caption,omitempty"`
	CaptionEntities []Entity        `json:"caption_entities,omitempty"`
	TopicCreated    *topicCreated   `json:"forum_topic_created,omitempty"`
	MigrateTo       int64           `json:"migrate_to_chat_id,omitempty"`
	MigrateFrom     int64           `json:"migrate_from_chat_id,omitempty"`
	Markup          *markup         `json:"reply_markup,omitempty"`
}

type origin struct {
	Type       string `json:"type"` // "user", "hidden_user", "channel"
	Date       int64  `json:"date"`
	User       *User  `json:"sender_user,omitempty"`
	Name       string `json:"sender_user_name,omitempty"`
	Chat       *Chat  `json:"chat,omitempty"`
	ChannelMsg int    `json:"message_id,omitempty"`
}

// media is any kind of file in a message; each kind has some of its fields.
type media struct {
	FileID   string `json:"file_id"`
	UniqueID string `json:"file_unique_id"`
	Size     int64  `json:"file_size,omitempty"`
	Name     string `json:"file_name,omitempty"`
	Mime     string `json:"mime_type,omitempty"`
	Width    int    `json:"width,omitempty"`
	Height   int    `json:"height,omitempty"`
	Duration int    `json:"duration,omitempty"`
	Emoji    string `json:"emoji,omitempty"`
	Type     string `json:"type,omitempty"` // of a sticker: "regular"
}

type location struct {
	Latitude  float64 `json:"latitude"`
	Longitude float64 `json:"longitude"`
}

type topicCreated struct {
	Name  string `json:"name"`
	Color int    `json:"icon_color"`
}

func encode(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // our own types, and JSON that was read before
	}
	return b
}
