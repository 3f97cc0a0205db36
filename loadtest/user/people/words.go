package people

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/jetclaw/jetclaw/loadtest/fake/faketelegram"
)

const tableRows = 100

var saidWords = strings.Fields("when where why coffee tomorrow train the a perhaps 7 never again ünïcödé שלום مرحبا 你好 👨‍👩‍👧‍👦 🏳️‍🌈 𝒜𝒷𝒸 z̴͑a̷l̶g̵o")

func words(rnd *rand.Rand) string {
	out := make([]string, 1+rnd.IntN(12))
	for i := range out {
		out[i] = saidWords[rnd.IntN(len(saidWords))]
	}
	return strings.Join(out, " ")
}

// table is short as it is written, and longer than one message as it is shown.
func table(rnd *rand.Rand) string {
	var b strings.Builder
	b.WriteString("this is a table:\n\n| one | two |\n| --- | --- |\n| " + strings.Repeat("wide", 20) + " | 0 |\n")
	for range tableRows {
		fmt.Fprintf(&b, "| %d | %d |\n", rnd.IntN(10), rnd.IntN(10))
	}
	return b.String()
}

// unreadable are updates that nobody can read, around a marker. The first numbered of them are given a number; the others can
// be had only once, as nobody can confirm them.
var unreadable = []string{
	`{"message":%q}`,
	`{"message":{"message_id":1,"chat":%q}}`,
	`{"callback_query":{"id":7,"from":%q}}`,
	`{"edited_message":{"message_id":{"a":%q},"date":"x"}}`,
	`{"update_id":%q}`,
	`{"message":{"message_id":1,"text":%q`,
}

const numbered = 4

// stickerDigest is that of all stickers of the fake Telegram.
var stickerDigest = digestOf([]byte("sticker"))

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func attachment(name, text string) (a faketelegram.Attachment, digest string) {
	data := []byte(text)
	if name == "picture" {
		data = append([]byte("\xff\xd8\xff\xe0\x00\x10JFIF\x00"), data...) // as a JPEG begins
	}
	return faketelegram.Attachment{Name: name + ".bin", Mime: "application/octet-stream", Data: data}, digestOf(data)
}
