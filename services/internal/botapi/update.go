package botapi

import "encoding/json"

// The types hold the fields that jetclaw uses and no others: a field of the Bot API that changes its form, or is new, breaks
// nothing that does not read it.

// Update is one thing that happened (Bot API: Update). At most one of the pointers is set; none for a kind that was not asked for.
type Update struct {
	ID       int64            `json:"update_id"`
	Message  *Message         `json:"message"`
	Edited   *Message         `json:"edited_message"`
	Callback *CallbackQuery   `json:"callback_query"`
	Reaction *MessageReaction `json:"message_reaction"`
	Member   *MemberUpdate    `json:"my_chat_member"`
}

// AllowedUpdates are the kinds that getUpdates and setWebhook ask for.
var AllowedUpdates = []string{"message", "edited_message", "callback_query", "message_reaction", "my_chat_member"}

// RawUpdate is an update that was not read yet: each is decoded alone, so that one that cannot be read stops no other.
type RawUpdate struct {
	ID     int64
	MadeUp bool // the update has no number that can be read, and ID is a guess: see GetUpdates
	Data   json.RawMessage
}

// Message is a message (Bot API: Message).
type Message struct {
	ID         int64    `json:"message_id"`
	Thread     int64    `json:"message_thread_id"`
	IsTopic    bool     `json:"is_topic_message"`
	From       *User    `json:"from"`
	SenderChat *Chat    `json:"sender_chat"` // set: From is made up
	Chat       Chat     `json:"chat"`
	Date       int64    `json:"date"`      // Unix seconds
	EditDate   int64    `json:"edit_date"` // Unix seconds
	Text       string   `json:"text"`
	Entities   []Entity `json:"entities"`

	Caption         string   `json:"caption"`
	CaptionEntities []Entity `json:"caption_entities"`
	MediaGroup      string   `json:"media_group_id"` // the messages of an album share it

	ReplyTo       *Message       `json:"reply_to_message"`
	Quote         *TextQuote     `json:"quote"`
	ForwardOrigin *ForwardOrigin `json:"forward_origin"`
	ForwardDate   int64          `json:"forward_date"`         // of servers before Bot API 7.0, which know no forward_origin
	IsAutoForward bool           `json:"is_automatic_forward"` // a channel's post in its discussion group
	ViaBot        *User          `json:"via_bot"`              // the inline bot that has written it: the sender has only picked it

	Photo     []PhotoSize `json:"photo"` // the same picture in several sizes
	Document  *Attachment `json:"document"`
	Voice     *Attachment `json:"voice"`
	Audio     *Attachment `json:"audio"`
	Video     *Attachment `json:"video"`
	VideoNote *Attachment `json:"video_note"`
	Animation *Attachment `json:"animation"` // Document is set, too
	Sticker   *Sticker    `json:"sticker"`
	Location  *Location   `json:"location"`
	Venue     *Venue      `json:"venue"`
	Contact   *Contact    `json:"contact"`
	Poll      *Poll       `json:"poll"`
	Dice      *Dice       `json:"dice"`

	MigrateTo   int64 `json:"migrate_to_chat_id"`   // this group is now the supergroup of that number
	MigrateFrom int64 `json:"migrate_from_chat_id"` // this supergroup was the group of that number
}

// User is a person or a bot (Bot API: User).
type User struct {
	ID        int64  `json:"id"`
	IsBot     bool   `json:"is_bot"`
	FirstName string `json:"first_name"`
	LastName  string `json:"last_name"`
	Username  string `json:"username"` // without @
}

// Chat is a conversation (Bot API: Chat).
type Chat struct {
	ID       int64  `json:"id"`
	Type     string `json:"type"` // private, group, supergroup, channel
	Title    string `json:"title"`
	Username string `json:"username"`
	IsForum  bool   `json:"is_forum"`
}

// Entity marks a part of a text (Bot API: MessageEntity). Offset and Length are UTF-16 code units.
type Entity struct {
	Type     string `json:"type"`
	Offset   int    `json:"offset"`
	Length   int    `json:"length"`
	URL      string `json:"url,omitempty"`
	User     *User  `json:"user,omitempty"` // text_mention
	Language string `json:"language,omitempty"`
}

// TextQuote is the part of a message that a reply names (Bot API: TextQuote).
type TextQuote struct {
	Text string `json:"text"`
}

// ForwardOrigin says where a forwarded message comes from (Bot API: MessageOrigin): type is user, hidden_user, chat or channel.
type ForwardOrigin struct {
	Type       string `json:"type"`
	SenderUser *User  `json:"sender_user"`
	SenderName string `json:"sender_user_name"`
	SenderChat *Chat  `json:"sender_chat"`
	Chat       *Chat  `json:"chat"` // channel
}

// PhotoSize is a picture in one size (Bot API: PhotoSize).
type PhotoSize struct {
	FileID       string `json:"file_id"`
	FileUniqueID string `json:"file_unique_id"`
	Width        int    `json:"width"`
	Height       int    `json:"height"`
	FileSize     int64  `json:"file_size"`
}

// Attachment is a file of any kind but a photo (Bot API: Document, Voice, Audio, Video, VideoNote, Animation).
type Attachment struct {
	FileID       string `json:"file_id"`
	FileUniqueID string `json:"file_unique_id"`
	FileName     string `json:"file_name"`
	MimeType     string `json:"mime_type"`
	FileSize     int64  `json:"file_size"`
	Width        int    `json:"width"`
	Height       int    `json:"height"`
	Length       int    `json:"length"`   // VideoNote: its diameter
	Duration     int    `json:"duration"` // seconds
}

// Sticker is a sticker (Bot API: Sticker).
type Sticker struct {
	FileID     string `json:"file_id"`
	FileSize   int64  `json:"file_size"`
	Width      int    `json:"width"`
	Height     int    `json:"height"`
	Emoji      string `json:"emoji"`
	SetName    string `json:"set_name"`
	IsAnimated bool   `json:"is_animated"`
	IsVideo    bool   `json:"is_video"`
}

// Location is a place (Bot API: Location).
type Location struct {
	Latitude  float64 `json:"latitude"`
	Longitude float64 `json:"longitude"`
}

// Venue is a place with a name (Bot API: Venue).
type Venue struct {
	Location Location `json:"location"`
	Title    string   `json:"title"`
	Address  string   `json:"address"`
}

// Contact is a person of an address book (Bot API: Contact).
type Contact struct {
	PhoneNumber string `json:"phone_number"`
	FirstName   string `json:"first_name"`
	LastName    string `json:"last_name"`
}

// Poll is a question with options (Bot API: Poll).
type Poll struct {
	Question string `json:"question"`
	Options  []struct {
		Text string `json:"text"`
	} `json:"options"`
}

// Dice is a thrown emoji (Bot API: Dice).
type Dice struct {
	Emoji string `json:"emoji"`
	Value int    `json:"value"`
}

// CallbackQuery is a tap on a button (Bot API: CallbackQuery).
type CallbackQuery struct {
	ID      string   `json:"id"`
	From    User     `json:"from"`
	Message *Message `json:"message"` // with the button; of one that is too old only Chat and ID
	Data    string   `json:"data"`
}

// MessageReaction is a change of somebody's reactions to a message (Bot API: MessageReactionUpdated).
type MessageReaction struct {
	Chat      Chat       `json:"chat"`
	MessageID int64      `json:"message_id"`
	User      *User      `json:"user"`
	ActorChat *Chat      `json:"actor_chat"` // instead of User: an anonymous one
	Old       []Reaction `json:"old_reaction"`
	New       []Reaction `json:"new_reaction"`
}

// Reaction is one of them (Bot API: ReactionType): type is emoji, custom_emoji or paid.
type Reaction struct {
	Type   string `json:"type"`
	Emoji  string `json:"emoji"`
	Custom string `json:"custom_emoji_id,omitempty"`
}

// MemberUpdate says that the bot was added, removed, blocked… (Bot API: ChatMemberUpdated).
type MemberUpdate struct {
	Chat Chat   `json:"chat"`
	From User   `json:"from"`
	New  Member `json:"new_chat_member"`
}

// Member is somebody's place in a chat (Bot API: ChatMember): status is creator, administrator, member, restricted, left or kicked.
type Member struct {
	Status string `json:"status"`
}
