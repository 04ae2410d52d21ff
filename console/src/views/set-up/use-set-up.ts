import { useState } from 'react'
import {
  type Destination,
  useCreateDestination,
  useDestination,
  useReplaceDestination,
} from '../../api/destinations.ts'
import { faulty, Refused } from '../../api/errors.ts'
import { useUnsaved } from '../../ui/form/unsaved.ts'
import { nextStep, STEPS } from '../destinations/set-up-progress.ts'
import { draftFaults, isWebhookPointer } from '../webhooks/draft.ts'
import { type Draft, emptyDraft, givenBy, isSame, storedDraft } from './draft.ts'

/** The destination as it is being set up. */
export type SetUp = ReturnType<typeof useSetUp>

type Saved = { destination: Destination; draft: Draft }

/** @param left one that is there already: its set-up goes on. */
export function useSetUp(left?: Destination) {
  const [{ step, hasMoved }, setAt] = useState<{ step: number; hasMoved: boolean }>({
    step: left ? nextStep(left) : STEPS.sources,
    hasMoved: false,
  })
  const [draft, setDraft] = useState(() => (left ? storedDraft(left) : emptyDraft()))
  const [saved, setSaved] = useState<Saved | undefined>(left && { destination: left, draft })
  const [error, setError] = useState<unknown>()
  const create = useCreateDestination()
  const replace = useReplaceDestination()
  const latest = useDestination(saved?.destination.id).data ?? saved?.destination
  const destination = newer(latest, saved?.destination)
  const isSaved = saved !== undefined && isSame(saved.draft, draft)
  useUnsaved(!isSame(saved?.draft ?? emptyDraft(), draft))

  const goTo = (next: number) => setAt({ step: next, hasMoved: true })

  function fail(reason: unknown): void {
    setError(reason)
    const pointers = reason instanceof Refused ? reason.faults.map(({ pointer }) => pointer) : []
    // back to where it can be put right
    if (pointers.some((pointer) => pointer.startsWith('/sourceIds'))) goTo(STEPS.sources)
    else if (pointers.some((pointer) => isWebhookPointer(pointer) || pointer === '/name'))
      goTo(STEPS.webhooks)
  }

  /** On from the URLs, when there is nothing to be seen that is wrong with them. */
  function toSecret(): void {
    const faults = draftFaults(draft.webhooks)
    setError(faults.length > 0 ? faulty(faults) : undefined)
    if (faults.length === 0) goTo(STEPS.secret)
  }

  /** Saved, it is off until the last step; and saved again, when one has gone back. */
  async function save(): Promise<void> {
    setError(undefined)
    const faults = draftFaults(draft.webhooks)
    if (faults.length > 0) return fail(faulty(faults))
    try {
      const made = saved
        ? await replace.mutateAsync(over(saved.destination, draft))
        : await create.mutateAsync({ ...givenBy(draft), enabled: false })
      setSaved({ destination: made, draft })
      goTo(STEPS.test)
    } catch (reason) {
      fail(reason)
    }
  }

  return {
    ...{ step, hasMoved, goTo, toSecret, draft, save, isSaved, destination, error },
    isSaving: create.isPending || replace.isPending,
    change: (changed: Partial<Draft>) => setDraft((before) => ({ ...before, ...changed })),
    /** Somebody else has saved it meanwhile: what was typed is now a change on theirs. */
    conflict: saved && {
      before: saved.destination,
      latest: destination ?? saved.destination,
      keepMine() {
        setError(undefined)
        if (destination) setSaved({ ...saved, destination })
      },
    },
    onSwitched: (switched: Destination) => saved && setSaved({ ...saved, destination: switched }),
  }
}

/** What was left empty is taken away. */
function over({ sharedSecret: _, ...before }: Destination, draft: Draft): Destination {
  return { ...before, ...givenBy(draft) }
}

const newer = (one: Destination | undefined, other: Destination | undefined) =>
  one && other && other.version > one.version ? other : one
