package telegram

import (
	"context"
	"errors"
	"mime"
	"net/http"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/services/internal/botapi"
)

const (
	maxFile  = 20 << 20 // bytes: what the public Bot API gives out
	sideGoal = 1600     // pixels: a photo is taken in the largest size that is not larger, as models scale it down anyway
	fetches  = 4        // files that a bot fetches at a time
	fetchTry = 3        // times, where the network is the trouble
	maxName  = 200      // bytes of a file's name
	tooMany  = "so many came at once that others had to wait: send it again"
	tooBig   = "it is larger than 20 MB, which is the most that a bot can fetch"
)

// attachment is a file of a message before it is fetched. What it says of itself comes from the sender.
type attachment struct {
	id   string
	file messagev1.File
}

// mediaOf is what is to be fetched of a message: one thing at most.
func mediaOf(m *botapi.Message) []attachment {
	one := func(k messagev1.Kind, a *botapi.Attachment) []attachment {
		f := messagev1.File{
			Kind: k, Name: fileName(a.FileName), Type: mediaType(a.MimeType), Size: max(a.FileSize, 0),
			Width: max(a.Width, a.Length, 0), Height: max(a.Height, a.Length, 0), Seconds: max(a.Duration, 0),
		}
		return []attachment{{a.FileID, f}}
	}
	switch {
	case len(m.Photo) > 0:
		p := sizeOf(m.Photo)
		return []attachment{{p.FileID, messagev1.File{
			Kind: messagev1.Photo, Type: "image/jpeg", Size: max(p.FileSize, 0), Width: max(p.Width, 0), Height: max(p.Height, 0),
		}}}
	case m.Animation != nil: // before the document that it is, too
		return one(messagev1.Animation, m.Animation)
	case m.Document != nil:
		return one(messagev1.Document, m.Document)
	case m.Voice != nil:
		return one(messagev1.Voice, m.Voice)
	case m.Audio != nil:
		return one(messagev1.Audio, m.Audio)
	case m.Video != nil:
		return one(messagev1.Video, m.Video)
	case m.VideoNote != nil:
		return one(messagev1.Video, m.VideoNote)
	case m.Sticker != nil && isPictured(m.Sticker):
		s := m.Sticker
		return []attachment{{s.FileID, messagev1.File{ // who cannot see it knows it by its emoji
			Kind: messagev1.Sticker, Name: brief(s.Emoji, maxName), Type: "image/webp", Size: max(s.FileSize, 0),
			Width: max(s.Width, 0), Height: max(s.Height, 0),
		}}}
	}
	return nil
}

// isPictured says whether a sticker is a picture: what moves is not fetched.
func isPictured(s *botapi.Sticker) bool { return !s.IsAnimated && !s.IsVideo }

// sizeOf is the largest size within the goal, else the smallest beyond it.
func sizeOf(sizes []botapi.PhotoSize) botapi.PhotoSize {
	best := sizes[0]
	for _, p := range sizes[1:] {
		side, now := max(p.Width, p.Height), max(best.Width, best.Height)
		if side <= sideGoal && (now > sideGoal || side > now) || side > sideGoal && side < now {
			best = p
		}
	}
	return best
}

// files fetches all of a message, in its order.
func (c *clerk) files(ctx context.Context, sid session.ID, chat int64, media []attachment) ([]messagev1.File, error) {
	if len(media) == 0 {
		return nil, nil
	}
	out := make([]messagev1.File, len(media))
	var work sync.WaitGroup
	for i, a := range media {
		work.Go(func() {
			err := c.contained(func() (err error) {
				out[i], err = c.file(ctx, sid, chat, a)
				return err
			})
			if err != nil { // the message goes on without it
				out[i] = a.file
				out[i].Missing = "it could not be fetched: " + err.Error()
			}
		})
	}
	work.Wait()
	if ctx.Err() != nil {
		return nil, errStopped
	}
	return out, nil
}

// file fetches and keeps one. What does not work is said in it.
func (c *clerk) file(ctx context.Context, sid session.ID, chat int64, a attachment) (messagev1.File, error) {
	f := a.file
	select {
	case c.fetching <- struct{}{}:
		defer func() { <-c.fetching }()
	case <-ctx.Done():
		return f, errStopped
	}
	if f.Size > maxFile {
		f.Missing = tooBig
		return f, nil
	}
	left := c.allowance(chat)
	if left <= 0 {
		f.Missing = tooMany
		return f, nil
	}
	began := time.Now()
	data, err := c.fetch(ctx, a.id, left)
	c.spend(chat, time.Since(began))
	if ctx.Err() != nil {
		return f, errStopped
	}
	if err != nil {
		f.Missing = "it could not be fetched: " + reason(err)
		if errors.Is(err, botapi.ErrTooBig) || strings.Contains(reason(err), "file is too big") {
			f.Missing = tooBig
		}
		c.log.Info("a file of a telegram message could not be fetched", "session", sid, "kind", f.Kind, "bytes", f.Size, "error", err)
		return f, nil
	}
	f.Size, f.Type = int64(len(data)), typeOf(f, data)
	err = c.persist(ctx, func(ctx context.Context) (err error) {
		if f.Digest, err = c.desk.Keep(ctx, sid, data); fault.KindOf(err) == fault.Full {
			return fault.New(fault.TooLarge, "there is no room for it") // the message need not wait for that
		}
		return err
	})
	switch {
	case errors.Is(err, errStopped):
		return f, err
	case err != nil:
		f.Digest, f.Missing = "", "it could not be kept: "+err.Error()
	}
	return f, nil
}

// allowance is how long a file of a chat may take. While the queue is so long that what others write cannot come before it gets
// shorter, all files of a chat together may take no longer than a quarter of what one may take otherwise.
func (c *clerk) allowance(chat int64) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.crowded == nil || !c.crowded() {
		clear(c.spent)
		return c.pace.Fetch
	}
	return c.pace.Fetch/4 - c.spent[chat]
}

func (c *clerk) spend(chat int64, took time.Duration) {
	if c.crowded == nil || !c.crowded() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.spent == nil {
		c.spent = map[int64]time.Duration{}
	}
	c.spent[chat] += took
}

// fetch tries a few times where trying again can help.
func (c *clerk) fetch(ctx context.Context, id string, limit time.Duration) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	wait := c.pace.retry()
	for try := 1; ; try++ {
		data, err := c.fetchOnce(ctx, id)
		e, ok := errors.AsType[*botapi.Error](err)
		if err == nil || !ok || e.Class == botapi.Refused || e.Class == botapi.Unauthorized || try == fetchTry {
			return data, err
		}
		if !pause(ctx, max(wait.step(), e.RetryAfter)) {
			return nil, err
		}
	}
}

func (c *clerk) fetchOnce(ctx context.Context, id string) ([]byte, error) {
	f, err := c.api.GetFile(ctx, id)
	if err != nil {
		return nil, err
	}
	if f.Size > maxFile {
		return nil, botapi.ErrTooBig
	}
	return c.api.Download(ctx, f.Path, maxFile)
}

// reason is what to tell a person of a call that failed.
func reason(err error) string {
	if e, ok := errors.AsType[*botapi.Error](err); ok {
		return e.Description
	}
	return err.Error()
}

// typeOf goes by the first bytes for pictures, and by the sender for all else: but not where they say that it is a picture,
// and the bytes do not.
func typeOf(f messagev1.File, data []byte) string {
	seen, _, _ := strings.Cut(http.DetectContentType(data), ";")
	if isPicture(seen) || isPicture(f.Type) || f.Type == "" {
		return seen
	}
	return f.Type
}

func isPicture(mediaType string) bool { return strings.HasPrefix(mediaType, "image/") }

// mediaType is a sender's word, if it is one: "" else.
func mediaType(s string) string {
	t, _, err := mime.ParseMediaType(s)
	if err != nil || len(t) > 100 || !strings.Contains(t, "/") {
		return ""
	}
	return t
}

// fileName is a sender's name for a file, as one short line without a path and without what would change how it is read.
func fileName(s string) string {
	s = s[strings.LastIndexAny(s, `/\`)+1:]
	s = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) && r != '\u200d' { // turns the direction of writing; but joins emoji
			return -1
		}
		return r
	}, s)
	return brief(s, maxName)
}
