package botapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

const (
	maxUpdate = 1 << 20 // a text of the largest size in escapes, with a quoted message and all entities, is a tenth of it
	maxDepth  = 64      // Telegram's go about ten deep
)

// DecodeUpdate reads one update. It takes what Telegram sends and more: fields that it does not know are passed over, halves
// of surrogate pairs and bytes that are not UTF-8 become U+FFFD. An error names the field and says what is wrong with it, and
// never quotes what somebody wrote; the Update then holds nothing but its number, if that could be read.
func DecodeUpdate(raw json.RawMessage) (Update, error) {
	if len(raw) > maxUpdate {
		return Update{}, fmt.Errorf("the update has %d bytes, and may have %d", len(raw), maxUpdate)
	}
	start := blank(raw, 0)
	if start >= len(raw) || raw[start] != '{' {
		return Update{}, errors.New("the update is not a JSON object")
	}
	if _, depth := nested(raw, start); depth > maxDepth {
		return Update{}, fmt.Errorf("the update is nested more than %d deep", maxDepth)
	}
	var u Update
	err := json.Unmarshal(raw, &u)
	if err == nil {
		err = missing(u)
	} else {
		err = inOurWords(err)
	}
	if err != nil {
		return Update{ID: u.ID}, err
	}
	return u, nil
}

// inOurWords describes an error of encoding/json, whose own text quotes the value.
func inOurWords(err error) error {
	var wrong *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &wrong):
		is, _, _ := strings.Cut(wrong.Value, " ") // "number 17": the number stays out
		return fmt.Errorf("the update's %s is a JSON %s, and should be %s", wrong.Field, is, kindOf(wrong.Type))
	case errors.As(err, &syntax):
		return fmt.Errorf("the update is not JSON from byte %d on", syntax.Offset)
	default:
		return errors.New("the update cannot be read as JSON")
	}
}

func kindOf(t reflect.Type) string {
	switch t.Kind() { // those that Update's fields have
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "a boolean"
	case reflect.Int, reflect.Int64:
		return "a whole number that fits"
	case reflect.Float64:
		return "a number"
	case reflect.Slice:
		return "an array"
	default:
		return "an object"
	}
}

// missing looks for the fields without which nobody can tell where an update belongs.
func missing(u Update) error {
	for _, f := range []struct {
		name   string
		absent bool
	}{
		{"update_id", u.ID <= 0},
		{"message.chat.id", u.Message != nil && u.Message.Chat.ID == 0},
		{"edited_message.chat.id", u.Edited != nil && u.Edited.Chat.ID == 0},
		{"callback_query.id", u.Callback != nil && u.Callback.ID == ""},
		{"callback_query.from.id", u.Callback != nil && u.Callback.From.ID == 0},
		{"message_reaction.chat.id", u.Reaction != nil && u.Reaction.Chat.ID == 0},
		{"my_chat_member.chat.id", u.Member != nil && u.Member.Chat.ID == 0},
	} {
		if f.absent {
			return fmt.Errorf("the update has no %s", f.name)
		}
	}
	return nil
}
