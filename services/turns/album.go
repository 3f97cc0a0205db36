package turns

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/services/turns/model"
	"github.com/jetclaw/jetclaw/services/turns/prompt"
)

// Files has the attachments of sessions.
type Files interface {
	GetFile(ctx context.Context, s session.ID, digest string) ([]byte, error)
}

// loadTime bounds the loading of all pictures of one call: an answer without them is better than none.
const loadTime = 10 * time.Second

// Why the model is not shown a picture.
const (
	notLoaded = "it could not be loaded"
	noPicture = "it is not a picture that models read (JPEG, PNG, GIF, WebP)"
	tooMany   = "the pictures are too large together"
	notTaken  = "the model's provider does not take it"
)

// album loads the pictures of one model call, just before it. Each is loaded once, also when a fallback is asked. It is for one
// goroutine.
type album struct {
	files   Files
	session session.ID
	log     *slog.Logger
	seen    map[string]model.Image // by digest; without Data: it could not be loaded
}

// fill gives the pictures of msgs their bytes, newest first. One that cannot be shown is taken out, and the text says so: a
// picture never fails a call.
func (a *album) fill(ctx context.Context, msgs []model.Message) {
	ctx, cancel := context.WithTimeout(ctx, loadTime)
	defer cancel()
	room := prompt.MaxPictureBytes
	for i := len(msgs) - 1; i >= 0; i-- {
		m := &msgs[i]
		for j := len(m.Images) - 1; j >= 0; j-- {
			switch got := a.load(ctx, m.Images[j].Digest); {
			case got.Data == nil:
				m.Withhold(j, notLoaded)
			case got.Type == "":
				m.Withhold(j, noPicture)
			case len(got.Data) > room:
				m.Withhold(j, tooMany)
			default:
				room -= len(got.Data)
				m.Images[j].Type, m.Images[j].Data = got.Type, got.Data
			}
		}
	}
}

func (a *album) load(ctx context.Context, digest string) model.Image {
	if got, ok := a.seen[digest]; ok {
		return got
	}
	var got model.Image
	data, err := a.files.GetFile(ctx, a.session, digest)
	if err != nil {
		a.log.Warn("a picture could not be loaded", "session", a.session, "digest", digest, "err", err)
	} else {
		got.Data = data
		// What the first bytes say, whatever the sender's device has called it.
		if kind := http.DetectContentType(data); prompt.IsPicture(kind) {
			got.Type = kind
		}
	}
	if a.seen == nil {
		a.seen = map[string]model.Image{}
	}
	a.seen[digest] = got
	return got
}
