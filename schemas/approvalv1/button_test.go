package approvalv1_test

import (
	"testing"

	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/callv1"
)

func TestButtons(t *testing.T) {
	for _, d := range []callv1.Decision{callv1.AllowOnce, callv1.AllowAlways, callv1.Deny} {
		b := approvalv1.Button{Approval: "ab2c3d4e5f6", Decision: d}
		if n := len(b.Data()); n > 64 {
			t.Errorf("%s has %d bytes", b.Data(), n)
		}
		if got, ok := approvalv1.ParseButton(b.Data()); !ok || got != b {
			t.Errorf("%s is read as %+v %t", b.Data(), got, ok)
		}
	}
	for _, data := range []string{"", "ap:", "ap:allow", "ap:deny:", "ap:yes:ab2c3d4e5f6", "deny:ab2c3d4e5f6", "ap::ab2c3d4e5f6"} {
		if b, ok := approvalv1.ParseButton(data); ok {
			t.Errorf("%q is read as %+v", data, b)
		}
	}
}
