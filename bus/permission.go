package bus

// inboxPrefix is the root of a user's own replies. Only the user may subscribe below it.
func inboxPrefix(service string) string { return inboxRoot + service }

const inboxRoot = "_INBOX_"

// Permissions are what one user may do on the bus.
type Permissions struct {
	Publish   []string
	Subscribe []string
	Respond   bool // it may answer, once and in time, to the reply subject of a message that it received
}

// AdminPermissions are those of the topology's owner: everything.
func AdminPermissions() Permissions {
	return Permissions{Publish: []string{">"}, Subscribe: []string{">"}, Respond: true}
}

// Admin is the user that owns the topology; no service runs as it.
const Admin = "admin"
