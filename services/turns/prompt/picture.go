package prompt

import (
	"slices"
	"strings"

	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

// What pictures of one request may take. The newest are sent; the others stay as lines.
const (
	MaxPictures     = 8
	MaxPictureBytes = 8 << 20

	pictureTokens = 1000 // a rule of thumb: providers count between 85 and 1,600, by the size
	picturesShare = 2    // pictures together take at most a half of the budget
)

// pictureTypes are the media types of pictures that models read.
var pictureTypes = []string{"image/jpeg", "image/png", "image/gif", "image/webp"}

// IsPicture says whether models read pictures of a media type.
func IsPicture(mediaType string) bool { return slices.Contains(pictureTypes, mediaType) }

// isPicture says whether a file seems to be one. Its first bytes decide, once they are there.
func isPicture(f *messagev1.File) bool {
	if f.Digest == "" {
		return false
	}
	kind, _, _ := strings.Cut(strings.ToLower(f.Type), ";")
	return IsPicture(strings.TrimSpace(kind)) || f.Kind == messagev1.Photo && f.Type == ""
}

// sight is which files of a request the model is shown, and what it can do about the others.
type sight struct {
	blind  bool                     // it cannot see any picture
	shown  map[*messagev1.File]bool // pictures, by their place in the state, which nobody writes to
	reader string                   // the tool that it reads documents with, "" for none
}

// see chooses the newest pictures, as many as may be. Each is shown once, where it stands last.
func see(sees bool, past []turn.Exchange, now *turn.Turn, tokens int) sight {
	if !sees {
		return sight{blind: true}
	}
	s := sight{}
	left, room := min(MaxPictures, tokens/pictureTokens), int64(MaxPictureBytes)
	taken := map[string]bool{}
	look := func(entries []turn.Entry) {
		for _, e := range slices.Backward(entries) {
			if e.Beside == nil || left <= 0 {
				continue
			}
			for i := min(len(e.Beside.Files), maxFiles) - 1; i >= 0; i-- {
				f := &e.Beside.Files[i]
				if left <= 0 || f.Size > room || taken[f.Digest] || !isPicture(f) {
					continue
				}
				if s.shown == nil {
					s.shown = make(map[*messagev1.File]bool, MaxPictures)
				}
				s.shown[f], taken[f.Digest] = true, true
				left--
				room -= max(0, f.Size)
			}
		}
	}
	if now != nil {
		look(now.Entries)
	}
	for _, x := range slices.Backward(past) {
		look(x.Entries)
	}
	return s
}
