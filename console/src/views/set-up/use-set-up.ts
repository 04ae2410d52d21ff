import { useState } from 'react'
import { ApiError, remainingFaults, uncorrected, validationError } from '../../api/client/errors.ts'
import {
  type Destination,
  useCreateDestination,
  useDestination,
  useReplaceDestination,
} from '../../api/destinations.ts'
import { useDraft } from '../../ui/form/draft.tsx'
import { useUnsaved } from '../../ui/form/unsaved.ts'
import { nextStep, STEPS } from '../destinations/set-up-progress.ts'
import { draftFaults, isWebhookPointer } from '../webhooks/draft.ts'
import { type Draft, draftFromDestination, emptyDraft, isEqual, toDestination } from './draft.ts'

export type SetUp = ReturnType<typeof useSetUp>

type Saved = { destination: Destination; draft: Draft }

/** @param unfinished a saved destination whose set-up continues. */
export function useSetUp(unfinished?: Destination) {
  const { step, hasMoved, goTo } = useStep(unfinished ? nextStep(unfinished) : STEPS.sources)
  const [draft, change] = useDraft(() => (unfinished ? draftFromDestination(unfinished) : emptyDraft()))
  const [saved, setSaved] = useState<Saved | undefined>(unfinished && { destination: unfinished, draft })
  const [failure, setFailure] = useState<Failure>()
  const { save, isSaving } = useSave(saved?.destination)
  const latest = useDestination(saved?.destination.id).data ?? saved?.destination
  const destination = newer(latest, saved?.destination)
  useUnsaved(!isEqual(saved?.draft ?? emptyDraft(), draft))

  /** Stays at the URL step if the form finds a fault. */
  function toSecret(): void {
    const error = draftError(draft)
    setFailure(error && { error, isLocal: true, sent: undefined })
    if (!error) goTo(STEPS.secret)
  }

  async function saveDraft(): Promise<void> {
    setFailure(undefined)
    try {
      setSaved({ destination: await save(draft), draft })
      goTo(STEPS.test)
    } catch (reason) {
      setFailure({ error: reason, isLocal: false, sent: toDestination(draft) })
      const faultyStep = stepOf(reason)
      if (faultyStep !== undefined) goTo(faultyStep)
    }
  }

  return {
    step,
    hasMoved,
    goTo,
    toSecret,
    draft,
    change,
    destination,
    error: failure && remaining(failure, draft),
    isSaving,
    save: saveDraft,
    isSaved: saved !== undefined && isEqual(saved.draft, draft),
    /** Another user has saved the destination. `keepMine` bases the draft on their version. */
    conflict: saved && {
      before: saved.destination,
      latest: destination ?? saved.destination,
      keepMine() {
        setFailure(undefined)
        if (destination) setSaved({ ...saved, destination })
      },
    },
    onSwitched: (switched: Destination) => saved && setSaved({ ...saved, destination: switched }),
  }
}

function useStep(first: number) {
  const [{ step, hasMoved }, setStep] = useState({ step: first, hasMoved: false })
  return { step, hasMoved, goTo: (next: number) => setStep({ step: next, hasMoved: true }) }
}

/** Creates the destination, off until the last step, or replaces it. */
function useSave(saved: Destination | undefined) {
  const create = useCreateDestination()
  const replace = useReplaceDestination()
  /** @throws ApiError */
  async function save(draft: Draft): Promise<Destination> {
    const fault = draftError(draft)
    if (fault) throw fault
    if (!saved) return create.mutateAsync({ ...toDestination(draft), enabled: false })
    // toDestination adds both if the draft keeps them
    const { sharedSecret: _, standardWebhooks: __, ...rest } = saved
    return replace.mutateAsync({ ...rest, ...toDestination(draft) })
  }
  return { save, isSaving: create.isPending || replace.isPending }
}

function draftError({ webhooks }: Draft): ApiError | undefined {
  const faults = draftFaults(webhooks)
  return faults.length > 0 ? validationError(faults) : undefined
}

/** `isLocal`: found by the form. `sent`: what the API refused. */
type Failure = { error: unknown; isLocal: boolean; sent: unknown }

/** Without corrected faults. */
function remaining({ error, isLocal, sent }: Failure, draft: Draft): unknown {
  if (!isLocal) return uncorrected(error, sent, toDestination(draft))
  const faults = error instanceof ApiError ? remainingFaults(error.faults, draftFaults(draft.webhooks)) : []
  return faults.length > 0 ? validationError(faults) : undefined
}

function stepOf(error: unknown): number | undefined {
  const pointers = error instanceof ApiError ? error.faults.map(({ pointer }) => pointer) : []
  if (pointers.some((pointer) => pointer.startsWith('/sourceIds'))) return STEPS.sources
  if (pointers.some((pointer) => isWebhookPointer(pointer) || pointer === '/name')) return STEPS.webhooks
  return undefined
}

const newer = (one: Destination | undefined, other: Destination | undefined) =>
  one && other && other.version > one.version ? other : one
