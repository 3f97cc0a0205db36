package model

import "slices"

// Image is a picture that a person's message carries. Its bytes are there only for the call itself: until then it is a
// reference.
type Image struct {
	Type   string `json:"type,omitempty"` // image/jpeg, image/png, image/gif or image/webp, once there is Data
	Data   []byte `json:"-"`
	Digest string `json:"digest"` // under which its session has it in the object store
	Label  string `json:"label"`  // what the text of the message calls it
}

// Withhold takes the picture at i out of m, and lets the text say why it is not there.
func (m *Message) Withhold(i int, why string) {
	m.Text += "\n[not shown: " + m.Images[i].Label + ": " + why + "]"
	if m.Images = slices.Delete(slices.Clone(m.Images), i, i+1); len(m.Images) == 0 {
		m.Images = nil
	}
}

// HasImages says whether any message carries a picture.
func (r Request) HasImages() bool {
	return slices.ContainsFunc(r.Messages, func(m Message) bool { return len(m.Images) > 0 })
}

// WithoutImages is r with none of its pictures. Each message that had some says why.
func (r Request) WithoutImages(why string) Request {
	r.Messages = slices.Clone(r.Messages)
	for i := range r.Messages {
		for m := &r.Messages[i]; len(m.Images) > 0; {
			m.Withhold(0, why)
		}
	}
	return r
}
