import { useState } from 'react'
import { type Destination, useCreateDestination, useReplaceDestination } from '../../api/destinations.ts'
import { Refused } from '../../api/problem.ts'
import {
  headerFaults,
  isWebhookPointer,
  newWebhook,
  type WebhookDraft,
  webhooksOf,
} from '../webhooks/draft.ts'

/** The destination as it is being set up. */
export type SetUp = ReturnType<typeof useSetUp>

export const STEPS = { sources: 0, webhooks: 1, secret: 2, test: 3, on: 4 } as const

export function useSetUp() {
  const [step, goTo] = useState<number>(STEPS.sources)
  const [name, setName] = useState('Webhooks')
  const [sourceIds, setSourceIds] = useState<readonly string[]>()
  const [webhooks, setWebhooks] = useState<readonly WebhookDraft[]>(() => [newWebhook()])
  const [secret, setSecret] = useState('')
  const [destination, setDestination] = useState<Destination>()
  const [error, setError] = useState<unknown>()
  const create = useCreateDestination()
  const replace = useReplaceDestination()

  function fail(reason: unknown): void {
    setError(reason)
    const pointers = reason instanceof Refused ? reason.faults.map(({ pointer }) => pointer) : []
    // back to where it can be put right
    if (pointers.some((pointer) => pointer.startsWith('/sourceIds'))) goTo(STEPS.sources)
    else if (pointers.some((pointer) => isWebhookPointer(pointer) || pointer === '/name'))
      goTo(STEPS.webhooks)
  }

  /** Saved, it is off until the last step; and saved again, when one has gone back. */
  async function save(): Promise<void> {
    setError(undefined)
    const errors = headerFaults(webhooks)
    const message = 'Something in the form is not right yet'
    if (errors.length > 0) return fail(new Refused({ code: 'validation_failed', message, errors }, 400))
    const given = {
      name,
      sourceIds: [...(sourceIds ?? [])],
      webhooks: webhooksOf(webhooks),
      ...(secret !== '' && { sharedSecret: secret }),
    }
    try {
      const saved = destination
        ? await replace.mutateAsync({ ...destination, ...given })
        : await create.mutateAsync({ ...given, enabled: false })
      setDestination(saved)
      goTo(STEPS.test)
    } catch (reason) {
      fail(reason)
    }
  }

  const isSaving = create.isPending || replace.isPending
  return {
    ...{ step, goTo, name, setName, sourceIds, setSourceIds, webhooks, setWebhooks, secret, setSecret },
    ...{ destination, setDestination, error, save, isSaving },
  }
}
