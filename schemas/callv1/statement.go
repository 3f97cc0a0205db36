package callv1

import (
	"crypto/ed25519"
	"encoding/json"
	"time"

	"github.com/jetclaw/jetclaw/schemas/session"
)

// statement is what a signature is over. Its domain keeps it from being taken for anything else.
type statement struct {
	Domain     string   `json:"domain"`
	Approval   string   `json:"approval"`
	Decision   Decision `json:"decision"`
	By         string   `json:"by"`
	Shown      string   `json:"shown"`
	Expires    string   `json:"expires"`
	At         string   `json:"at"`
	Grant      string   `json:"grant"`
	Session    string   `json:"session"`
	Turn       string   `json:"turn"`
	Call       string   `json:"call"`
	Index      int      `json:"index"`
	Tool       string   `json:"tool"`
	Executor   string   `json:"executor"`
	Arguments  string   `json:"arguments"`
	ToolDigest string   `json:"tool_digest"`
	Level      int      `json:"level"`
	Policy     string   `json:"policy"`
	Files      []File   `json:"files"`
}

// Statement is the bytes that an approval's signature is over: all of the decision and of the request but the arguments,
// which stand there by their digest.
func Statement(s session.ID, r Request, a Approval) []byte {
	raw, err := json.Marshal(statement{
		Domain: "jetclaw approval v1", Approval: a.ID, Decision: a.Decision, By: a.By, Shown: a.Shown,
		Expires: a.Expires.UTC().Format(time.RFC3339Nano), At: a.At.UTC().Format(time.RFC3339Nano), Grant: a.Grant,
		Session: string(s), Turn: r.Turn, Call: r.Call, Index: r.Index, Tool: r.Tool, Executor: r.Executor,
		Arguments: r.Digest, ToolDigest: r.ToolDigest, Level: int(r.Level), Policy: r.Policy, Files: r.Files,
	})
	if err != nil {
		return nil // no such value; an empty statement has no valid signature
	}
	return raw
}

// grantStatement is what a GrantSignature is over.
func grantStatement(s session.ID, toolDigest string, a Approval) []byte {
	raw, err := json.Marshal([]string{
		"jetclaw grant v1", string(s), toolDigest, a.ID, string(a.Decision), a.By, a.At.UTC().Format(time.RFC3339Nano), a.Grant,
	})
	if err != nil {
		return nil
	}
	return raw
}

// Signed is a with its signatures.
func (a Approval) Signed(key ed25519.PrivateKey, s session.ID, r Request) Approval {
	a.Signature = ed25519.Sign(key, Statement(s, r, a))
	if a.Grant != "" {
		a.GrantSignature = ed25519.Sign(key, grantStatement(s, r.ToolDigest, a))
	}
	return a
}

// Verify says whether a was signed by the holder of key for exactly this request, in time, and the request's arguments are
// those that its digest names.
func (a Approval) Verify(key ed25519.PublicKey, s session.ID, r Request) bool {
	text := Statement(s, r, a)
	return len(key) == ed25519.PublicKeySize && len(text) > 0 && a.Decision.Allows() && a.At.Before(a.Expires) &&
		r.Digest != "" && r.Sum() == r.Digest && ed25519.Verify(key, text, a.Signature)
}

// VerifyGrant says whether a is a decision "always" about the tool of that digest in session s, signed by the holder of key.
// Which calls its Grant holds for is for the gate to say.
func (a Approval) VerifyGrant(key ed25519.PublicKey, s session.ID, toolDigest string) bool {
	text := grantStatement(s, toolDigest, a)
	return len(key) == ed25519.PublicKeySize && len(text) > 0 && a.Decision == AllowAlways && a.Grant != "" &&
		ed25519.Verify(key, text, a.GrantSignature)
}
