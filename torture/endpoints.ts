import { type Arrival, type Receiver, startReceiver } from '../harness/receiver.ts'
import type { Answered } from './account.ts'
import type { Behaviour } from './plan.ts'

/** `rejected`: 404 to everything. `later`: 429, with a Retry-After of more than a minute. */
export type EndpointBehaviour = Behaviour | 'rejected' | 'later'

/** A webhook whose behaviour changes. */
export type Endpoint = {
  url: string
  answered: readonly Answered[]
  behave(behaviour: EndpointBehaviour): Promise<void>
}

export type Post = Answered & {
  /** The number of the endpoint on its host. */
  endpoint: number
  status: number
  /** From 1. */
  attempt: number
  body: string
}

export type Host = { endpoints: readonly Endpoint[]; close(): Promise<void> }

/** Paths of the receiver. An endpoint alone on its host refuses connections by not listening. */
const PATHS: Readonly<Record<EndpointBehaviour, string>> = {
  answers: '/id',
  failing: '/status/503',
  silent: '/hang',
  late: '/slow/7000/503',
  reset: '/reset',
  refusing: '/reset',
  drip: '/drip',
  rejecting: '/rejecting',
  rejected: '/status/404',
  later: '/later/90',
  extensions: '/extensions',
  informational: '/informational',
  unsolicited: '/unsolicited',
}

/** One host with a webhook for each destination: `/0`, `/1` and so on. */
export async function startHost(
  destinationIds: readonly string[],
  onPost: (post: Post) => void = () => {},
): Promise<Host> {
  const tallies = destinationIds.map((): Answered[] => [])
  const indexOf = ({ path }: Arrival) => Number(path.slice(1))
  const urlOf = (endpoint: number) => `${receiver.url}/${endpoint}`
  const receiver = await startReceiver({
    onArrival: () => {}, // it would keep them all
    onAnswer(arrival) {
      const { status = 0, headers, body } = arrival
      const endpoint = indexOf(arrival)
      const answered: Answered = {
        webhook: urlOf(endpoint),
        destinationId: destinationIds[endpoint] ?? '',
        messageId: String(headers['x-message-id']),
        deliveryId: String(headers['x-delivery-id']),
      }
      onPost({ ...answered, endpoint, status, attempt: Number(headers['x-attempt']), body })
      if (status < 300) tallies[endpoint]?.push(answered)
    },
  })
  const isAlone = destinationIds.length === 1
  return {
    endpoints: tallies.map((answered, index) => ({
      answered,
      url: urlOf(index),
      behave: (behaviour) => behave(receiver, { index, behaviour, isAlone }),
    })),
    close: receiver.close,
  }
}

type Change = { index: number; behaviour: EndpointBehaviour; isAlone: boolean }

async function behave(receiver: Receiver, { index, behaviour, isAlone }: Change): Promise<void> {
  receiver.behave(`/${index}`, PATHS[behaviour])
  if (isAlone) await receiver.refuse(behaviour === 'refusing')
}
