package faketelegram

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
)

const (
	maxUnits     = 4096
	maxTextBytes = 32 << 10
	maxEntities  = 100
	maxOffset    = 1000000
)

// styles can contain and be part of all others but code.
const (
	styles   = " bold italic underline strikethrough spoiler "
	code     = " code pre "
	quotes   = " blockquote expandable_blockquote "
	detected = " mention hashtag cashtag bot_command url email phone_number bank_card_number " // Telegram finds them itself
)

func (e Entity) is(kinds string) bool { return strings.Contains(kinds, " "+e.Type+" ") }
func (e Entity) end() int             { return e.Offset + e.Length }
func (e Entity) holds(o Entity) bool  { return e.Offset <= o.Offset && o.end() <= e.end() }
func (e Entity) meets(o Entity) bool  { return e.Offset < o.end() && o.Offset < e.end() }

// Units is the length of a text in UTF-16 code units.
func Units(text string) int {
	n := 0
	for _, r := range text {
		n += max(utf16.RuneLen(r), 1)
	}
	return n
}

// formatted reads a text with its entities, as Telegram would show them.
func (s *Server) formatted(text, entities string) (string, []Entity, error) {
	if len(text) > maxTextBytes {
		return "", nil, bad("text is too long")
	}
	list, err := readEntities(entities)
	if err != nil {
		return "", nil, err
	}
	out, list, err := clean(text, list)
	if err != nil {
		return "", nil, err
	}
	if !s.o.Lenient {
		if err := strict(out, list); err != nil {
			return "", nil, err
		}
	}
	if out, list = trim(out, list); len(out) == 0 || empty(out) {
		return "", nil, bad("text must be non-empty")
	}
	done := string(out)
	if Units(done) > maxUnits {
		return "", nil, bad("message is too long")
	}
	return done, list, nil
}

func readEntities(arg string) ([]Entity, error) {
	var raws []json.RawMessage
	_ = json.Unmarshal([]byte(arg), &raws) // Telegram, too, passes by what is not an array
	var list []Entity
	for _, raw := range raws {
		const failed = "can't parse MessageEntity: "
		has := struct {
			Offset *int `json:"offset"`
			Length *int `json:"length"`
		}{}
		var e Entity
		if json.Unmarshal(raw, &e) != nil || json.Unmarshal(raw, &has) != nil {
			return nil, bad(failed + "expected an Object")
		}
		_, badID := strconv.ParseInt(e.CustomEmojiID, 10, 64)
		switch {
		case has.Offset == nil:
			return nil, bad(failed + `Can't find field "offset"`)
		case has.Length == nil:
			return nil, bad(failed + `Can't find field "length"`)
		case e.Type == "":
			return nil, bad(failed + "Type is not specified")
		case e.Type == "text_mention" && e.User == nil:
			return nil, bad(failed + `Can't find field "user"`)
		case e.Type == "custom_emoji" && badID != nil:
			return nil, bad(failed + `Field "custom_emoji_id" must be a valid Number`)
		case e.Offset < 0 || e.Offset > maxOffset:
			return nil, bad(fmt.Sprintf("receive an entity with incorrect offset %d", e.Offset))
		case e.Length < 0 || e.Length > maxOffset:
			return nil, bad(fmt.Sprintf("receive an entity with incorrect length %d", e.Length))
		case e.Type == "text_link":
			if err := checkLink(e.URL); err != nil {
				return nil, err
			}
		case e.is(detected):
			continue
		case !e.is(styles + code + quotes + " text_mention custom_emoji date_time "):
			return nil, bad(failed + "Unsupported type specified")
		}
		list = append(list, e)
	}
	slices.SortStableFunc(list, func(a, b Entity) int {
		return cmp.Or(cmp.Compare(a.Offset, b.Offset), cmp.Compare(b.Length, a.Length))
	})
	return list, nil
}

func checkLink(link string) error {
	scheme, rest, ok := strings.Cut(link, "://")
	if !ok {
		scheme, rest = "http", link
	}
	host, _, _ := strings.Cut(rest, "/")
	why := ""
	switch strings.ToLower(scheme) {
	case "http", "https":
		if host == "" {
			why = "URL host is empty"
		} else if !strings.Contains(host, ".") || strings.ContainsFunc(host, unicode.IsSpace) {
			why = "Wrong HTTP URL"
		}
	case "tg", "ton", "tonsite":
	default:
		why = "Unsupported URL protocol"
	}
	if why != "" {
		return bad(fmt.Sprintf("entity URL '%s' is invalid: %s", link, why))
	}
	return nil
}

// clean drops and replaces what Telegram does not show, and moves the entities with it.
func clean(text string, list []Entity) ([]rune, []Entity, error) {
	units := Units(text)
	at := make([]int, units+1) // new offset of each old one; -1 within a pair
	bytes := make([]int, units+1)
	var out []rune
	old, now := 0, 0
	for i, r := range text {
		at[old], bytes[old] = now, i
		n := max(utf16.RuneLen(r), 1)
		if n == 2 {
			at[old+1], bytes[old+1] = -1, i+4
		}
		old += n
		switch {
		case r == '\r', r >= 0x2028 && r <= 0x202e, r == 0x333, r == 0x33f, r == 0x30a: // gone
		case r < ' ' && r != '\n':
			out, now = append(out, ' '), now+1
		default:
			out, now = append(out, r), now+n
		}
	}
	at[old], bytes[old] = now, len(text)
	var kept []Entity
	for _, e := range list {
		switch {
		case e.Offset > units || e.Offset == units && e.Length > 0:
			return nil, nil, bad(fmt.Sprintf("entity begins after the end of the text at UTF-16 offset %d", e.Offset))
		case e.end() > units:
			return nil, nil, bad(fmt.Sprintf("entity beginning at UTF-16 offset %d ends after the end of the text at UTF-16 offset %d",
				e.Offset, e.end()))
		case at[e.Offset] < 0:
			return nil, nil, bad(fmt.Sprintf("entity begins in a middle of a UTF-16 symbol at byte offset %d", bytes[e.Offset]))
		case at[e.end()] < 0:
			return nil, nil, bad(fmt.Sprintf("entity beginning at UTF-16 offset %d ends in a middle of a UTF-16 symbol at byte offset %d",
				e.Offset, bytes[e.end()]))
		}
		end := at[e.end()]
		e.Offset = at[e.Offset]
		e.Length = end - e.Offset
		kept = append(kept, e)
	}
	return out, kept, nil
}

// trim cuts white space off both ends: at the front up to the first entity only, as Telegram does.
func trim(text []rune, list []Entity) ([]rune, []Entity) {
	blank := func(r rune) bool { return r == ' ' || r == '\n' }
	for len(text) > 0 && blank(text[len(text)-1]) {
		text = text[:len(text)-1]
	}
	n := 0
	for n < len(text) && blank(text[n]) && (len(list) == 0 || n < list[0].Offset) {
		n++
	}
	text = text[n:]
	end := Units(string(text))
	var kept []Entity
	for _, e := range list {
		e.Offset -= n
		if e.Length = min(e.Length, end-e.Offset); e.Length > 0 {
			kept = append(kept, e)
		}
	}
	return text, kept
}

func invisible(r rune) bool {
	return unicode.IsSpace(r) || r >= 0x200b && r <= 0x200f || r >= 0x2060 && r <= 0x2064 || r == 0xfeff || r == 0x2800
}

func empty(text []rune) bool {
	return !slices.ContainsFunc(text, func(r rune) bool { return !invisible(r) })
}

// strict refuses what Telegram would mend: see "MessageEntity" and "Formatting options" in its documentation.
func strict(text []rune, list []Entity) error {
	say := func(e Entity, what string) error {
		return bad(fmt.Sprintf("strict: %s entity at UTF-16 offset %d %s", e.Type, e.Offset, what))
	}
	if len(list) > maxEntities {
		return bad(fmt.Sprintf("strict: %d entities", len(list)))
	}
	units := utf16.Encode(text)
	for i, e := range list {
		if e.Length == 0 || empty(utf16.Decode(units[e.Offset:e.end()])) {
			return say(e, "has nothing to show")
		}
		for _, o := range list[i+1:] {
			switch {
			case !e.meets(o):
			case e.is(code) || o.is(code):
				return say(o, "shares text with "+e.Type)
			case !e.holds(o) && !o.holds(e):
				return say(o, "is partly in "+e.Type)
			case e.is(quotes) && o.is(quotes):
				return say(o, "is a quotation within another")
			case !e.is(styles+quotes) && !o.is(styles+quotes):
				return say(o, "is within "+e.Type)
			}
		}
	}
	return nil
}
