// Package natsconf writes the configuration of nats-server for a jetclaw: one node of a cluster, and who may do what there.
//
// Users are the services (and the owner of the topology, the command line, servers of other MCP clients), each with an nkey and
// the least permissions that it needs: the same table as that of the embedded server. A file of users names public keys by
// variables (NKEY_TURNS), which stand in a file of their own, so that the table is the same for everybody and can lie in a
// repository, while the keys are made where they are used. No password is written anywhere.
package natsconf
