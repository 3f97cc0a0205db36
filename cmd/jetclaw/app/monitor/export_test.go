package monitor

import "time"

// Forget has the next question asked anew.
func (r *Readiness) Forget() {
	r.asking.Lock()
	defer r.asking.Unlock()
	r.at = time.Time{}
}
