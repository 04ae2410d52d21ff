// Package analytics sends analytics calls (identify, track, page, screen, group, alias) to Sluice from server code.
//
//	client := analytics.New("shop-write-key")
//	if err := client.Track(&analytics.Track{UserId: "u1", Event: "Signed Up"}); err != nil {
//		log.Print(err)
//	}
//	...
//	if err := client.Close(); err != nil { // sends all queued calls
//		log.Fatal(err)
//	}
//
// A call is checked, encoded and queued in memory. A goroutine, started at the first use of the client, sends the queue in batches,
// one at a time and in order. It retries failed batches for up to 45 minutes, and logs a line when that begins. Calls that it cannot
// send go to [Client.OnFailure], or to the log if that is nil: while the process lives, nothing is lost silently. Call
// [Client.Close] before the process ends: a signal, os.Exit and log.Fatal do not run deferred functions. examples/server shows how.
//
// All methods are safe for concurrent use. None of them panics.
//
// # Messages
//
// Common fields of [Identify], [Track], [Page], [Screen], [Group] and [Alias]:
//
//   - UserId is the user's id in your database; AnonymousId identifies an unknown user. An empty string counts as absent.
//   - A nil map is absent; an empty map is sent as {}. Keys are written in ascending order, values as encoding/json writes them.
//     Do not change a map during the call.
//   - Context describes the circumstances (device, address, page), not the user.
//   - Integrations maps destinations to booleans; "All": false turns off all except those set to true. The key for webhooks is
//     "Webhooks".
//   - Timestamp is when it happened, in ISO 8601. Time is the same as a [time.Time]; set one of the two. Default: the time of the
//     call. The service corrects timestamps by this machine's clock error.
//   - MessageId identifies duplicates; at most 100 characters. Default: a new UUIDv7.
//
// # Programs that use analytics-go v3
//
// The package analytics-go in this module has the types of Segment's analytics-go v3: such a program needs only another import path.
package analytics
