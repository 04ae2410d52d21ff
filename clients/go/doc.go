// Package analytics sends analytics calls (identify, track, page, group, alias) to Sluice from server code.
//
//	client := analytics.New("shop-write-key")
//	if err := client.Track(&analytics.Track{UserId: "u1", Event: "Signed Up"}); err != nil {
//		log.Print(err)
//	}
//	...
//	if err := client.Close(); err != nil { // sends what waits
//		log.Fatal(err)
//	}
//
// A call is checked and encoded at once, and queued in memory; it makes no HTTP request itself. A goroutine that starts
// when the client is first used sends what waits in batches, one at a time and in the order of the calls, and sends again what may
// succeed later, for 45 minutes at most. When that begins a line is logged.
// What it cannot send goes to [Client.OnFailure] or, without one, is logged too: nothing is lost in silence while the process lives.
// Call [Client.Close] before it ends: a signal, os.Exit and log.Fatal run nothing that is deferred. A server waits for SIGTERM with
// [os/signal.NotifyContext], shuts down, and then closes the client, as examples/server does.
//
// All methods may be used from many goroutines at once. None of them panics.
//
// # Messages
//
// What [Identify], [Track], [Page], [Group] and [Alias] have in common:
//
//   - UserId is the id of the user in your database, AnonymousId stands in while the user is unknown. An empty string is absent.
//   - A nil map is absent, an empty one is sent as {}. Maps are written with their keys in ascending order, and their values as
//     encoding/json writes them. Nobody may change them during the call; after it they are yours again.
//   - Context is about the circumstances (device, address, page) and is no attribute of the user.
//   - Integrations has destinations as keys and booleans as values; "All" set to false turns off every destination but those that
//     are set to true. Webhooks are "Webhooks".
//   - Timestamp is when it happened, ISO 8601; without one it is the time of the call. One in the past makes a historical import. Given or
//     not, the service moves it by how far its clock is ahead of this machine's when the batch arrives.
//   - MessageId is the id by which the service drops what comes twice, at most 100 characters; a UUIDv7 is made without one.
package analytics
