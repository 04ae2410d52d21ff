export { postedAgain, withoutRetries } from '../../harness/arrivals.ts'
export { type Arrival, type Receiver, startReceiver } from '../../harness/receiver.ts'
