// Package analytics has the types and functions of Segment's analytics-go v3, and sends to Sluice. To move a program, replace its import
// path github.com/segmentio/analytics-go/v3 by the one of this package:
//
//	client, err := analytics.NewWithConfig("shop-write-key", analytics.Config{Endpoint: "http://localhost:8080"})
//	...
//	err = client.Enqueue(analytics.Track{
//		UserId:     "u1",
//		Event:      "Signed Up",
//		Properties: analytics.NewProperties().SetRevenue(9.90),
//	})
//	...
//	err = client.Close() // sends all queued messages
//
// The calls have the same content, but are sent as the root package describes: one batch at a time and in order, with more retries, and
// with ids that let the service drop duplicates. The differences:
//
//   - [DefaultEndpoint] is a local Sluice.
//   - BatchSize starts a batch but does not limit it; 1 still means a request per message.
//   - Enqueue also returns an error if the message is too large ([ErrMessageTooBig]) or the queue is full ([ErrTooManyRequests]).
//     Compare with errors.Is. The callback is called for queued messages only.
//   - A batch is attempted up to 26 times within 45 minutes. Of the 4xx answers, 408 and 429 are retried, and for a short time 401 (a new
//     source) and 403 (a disabled one).
//   - Close retries for up to 30 seconds and returns an error if messages could not be sent.
//   - Timestamps are sent in UTC with milliseconds.
package analytics
