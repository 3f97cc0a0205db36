package faketelegram

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"
)

const (
	maxFile = 20 << 20 // that a bot can download
	linkTTL = time.Hour
)

// Attachment is a file in a message.
type Attachment struct {
	Name string
	Mime string
	Data []byte
	// Size is what Telegram says of it; default: of Data. Beyond Data it is filled with zeros, which take no memory.
	Size int64
}

// file is one that was attached. All is guarded by Server.mu.
type file struct {
	Attachment
	id, unique string
	path       string
	until      time.Time // the path can be used
}

// keep gives an attachment its ids; s.mu is held.
func (s *Server) keep(a Attachment, folder string) *file {
	s.serial++
	f := &file{Attachment: a, id: fmt.Sprintf("BQACAgFAKE%08d", s.serial), unique: fmt.Sprintf("AgADfake%06d", s.serial)}
	f.Size = orElse(f.Size, int64(len(f.Data)))
	f.path = fmt.Sprintf("%s/file_%d%s", folder, s.serial, path.Ext(a.Name))
	s.files[f.id] = f
	return f
}

func (f *file) media() media {
	return media{FileID: f.id, UniqueID: f.unique, Size: f.Size, Name: f.Name, Mime: f.Mime}
}

func (s *Server) getFile(q *query) (any, error) {
	id := q.args["file_id"]
	f := s.files[id]
	switch {
	case id == "":
		return nil, bad("file_id not specified")
	case f == nil:
		return nil, bad("invalid file_id")
	case f.Size > maxFile:
		return nil, bad("file is too big")
	}
	f.until = s.o.Now().Add(linkTTL)
	return struct {
		ID     string `json:"file_id"`
		Unique string `json:"file_unique_id"`
		Size   int64  `json:"file_size,omitempty"`
		Path   string `json:"file_path"`
	}{f.id, f.unique, f.Size, f.path}, nil
}

// download serves /file/bot<token>/<path>, of which rest is what comes after "bot". A fault's method for it is "file".
func (s *Server) download(w http.ResponseWriter, r *http.Request, rest string) {
	token, name, _ := strings.Cut(rest, "/")
	now := s.o.Now()
	s.mu.Lock()
	b := s.bots[token]
	var found *file
	for _, f := range s.files {
		if f.path == name && now.Before(f.until) {
			found = f
		}
	}
	s.mu.Unlock()
	call := Call{At: now, Method: "file", Params: map[string]string{"path": name}, Status: http.StatusOK}
	var err error
	switch {
	case b == nil || b.revoked:
		err = refuse(http.StatusUnauthorized, "Unauthorized")
	case found == nil:
		err = refuse(http.StatusNotFound, "Not Found")
	default:
		call.Bot = b.Username
		res, failed := s.spoiled(&query{ctx: r.Context(), bot: b, name: "file", args: call.Params})
		if failed {
			call.Status, call.Description = res.status, res.text
			s.record(call)
			write(w, res)
			return
		}
	}
	if no, ok := errors.AsType[*refusal](err); ok {
		call.Status, call.Description = no.code, no.text
	}
	s.record(call)
	if err != nil {
		write(w, answer(nil, err))
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", strconv.FormatInt(found.Size, 10))
	data := found.Data[:min(int64(len(found.Data)), found.Size)]
	_, _ = io.Copy(w, io.MultiReader(bytes.NewReader(data), io.LimitReader(zeros{}, found.Size-int64(len(data)))))
}

// zeros never ends.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
