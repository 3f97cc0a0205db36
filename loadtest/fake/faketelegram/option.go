package faketelegram

// saying is a message that a person is about to send.
type saying struct {
	s        *Server
	b        *bot
	c        *chat
	m        *message
	replyTo  int
	topic    int
	entities []Entity
}

// Option makes a message more than a text.
type Option func(*saying)

// ReplyTo makes it an answer to a message of the chat.
func ReplyTo(messageID int) Option { return func(y *saying) { y.replyTo = messageID } }

// InTopic puts it into a topic of a forum, which is made if need be. Its id must not be that of another message.
func InTopic(id int) Option { return func(y *saying) { y.topic = id } }

// Entities adds these to the ones that Telegram finds itself.
func Entities(list ...Entity) Option { return func(y *saying) { y.entities = list } }

// Photo attaches a picture; the bot sees a small and a large one.
func Photo(a Attachment) Option {
	return func(y *saying) {
		small, large := y.s.keep(Attachment{Data: []byte("small"), Name: a.Name}, "thumbnails"), y.s.keep(a, "photos")
		first, last := small.media(), large.media()
		first.Name, first.Mime, first.Width, first.Height = "", "", 90, 67 // a photo has neither
		last.Name, last.Mime, last.Width, last.Height = "", "", 1280, 960
		y.m.Photo = []media{first, last}
	}
}

// Document attaches a file.
func Document(a Attachment) Option {
	return func(y *saying) { m := y.s.keep(a, "documents").media(); y.m.Document = &m }
}

// Voice attaches a voice note.
func Voice(a Attachment) Option {
	return func(y *saying) {
		m := y.s.keep(a, "voice").media()
		m.Name, m.Duration = "", 3
		y.m.Voice = &m
	}
}

// Audio attaches a piece of music.
func Audio(a Attachment) Option {
	return func(y *saying) { m := y.s.keep(a, "music").media(); m.Duration = 180; y.m.Audio = &m }
}

// Video attaches a film.
func Video(a Attachment) Option {
	return func(y *saying) {
		m := y.s.keep(a, "videos").media()
		m.Width, m.Height, m.Duration = 640, 480, 12
		y.m.Video = &m
	}
}

// Sticker makes it one; it has no text.
func Sticker(emoji string) Option {
	return func(y *saying) {
		m := y.s.keep(Attachment{Name: "s.webp", Data: []byte("sticker")}, "stickers").media()
		m.Name, m.Emoji, m.Type, m.Width, m.Height = "", emoji, "regular", 512, 512
		y.m.Sticker = &m
	}
}

// Location makes it a place.
func Location(latitude, longitude float64) Option {
	return func(y *saying) { y.m.Location = &location{latitude, longitude} }
}

// Album puts it into a group of messages; each is said for itself.
func Album(group string) Option { return func(y *saying) { y.m.MediaGroup = group } }

// ForwardedFrom makes it a forward of a person's message.
func ForwardedFrom(u User) Option {
	return func(y *saying) { y.m.ForwardOrigin = &origin{Type: "user", Date: y.m.Date, User: &u} }
}

// ForwardedFromHidden makes it a forward of a message whose sender hides their account.
func ForwardedFromHidden(name string) Option {
	return func(y *saying) { y.m.ForwardOrigin = &origin{Type: "hidden_user", Date: y.m.Date, Name: name} }
}

// ForwardedFromChannel makes it a forward of a channel's message.
func ForwardedFromChannel(c Chat, messageID int) Option {
	return func(y *saying) {
		y.m.ForwardOrigin = &origin{Type: "channel", Date: y.m.Date, Chat: &c, ChannelMsg: messageID}
	}
}

// AsChat has it said in the name of a chat: of the group itself (an anonymous administrator), or of a channel.
func AsChat(c Chat) Option {
	return func(y *saying) {
		who := channelBot
		if c.ID == y.c.ID {
			who = anonymousAdmin
		}
		y.m.From, y.m.SenderChat = &who, &c
	}
}
