import { useState } from 'react'
import {
  type Destination,
  useCreateDestination,
  useDestination,
  useReplaceDestination,
} from '../../api/destinations.ts'
import { ApiError, validationError } from '../../api/errors.ts'
import { useUnsaved } from '../../ui/form/unsaved.ts'
import { nextStep, STEPS } from '../destinations/set-up-progress.ts'
import { draftFaults, isWebhookPointer } from '../webhooks/draft.ts'
import { type Draft, draftFromDestination, emptyDraft, isEqual, toDestination } from './draft.ts'

export type SetUp = ReturnType<typeof useSetUp>

type Saved = { destination: Destination; draft: Draft }

/** The state of the set-up. @param unfinished a saved destination whose set-up continues. */
export function useSetUp(unfinished?: Destination) {
  const [{ step, hasMoved }, setStep] = useState<{ step: number; hasMoved: boolean }>({
    step: unfinished ? nextStep(unfinished) : STEPS.sources,
    hasMoved: false,
  })
  const [draft, setDraft] = useState(() => (unfinished ? draftFromDestination(unfinished) : emptyDraft()))
  const [saved, setSaved] = useState<Saved | undefined>(unfinished && { destination: unfinished, draft })
  const [error, setError] = useState<unknown>()
  const { save, isSaving } = useSave(saved?.destination)
  const latest = useDestination(saved?.destination.id).data ?? saved?.destination
  const destination = newer(latest, saved?.destination)
  useUnsaved(!isEqual(saved?.draft ?? emptyDraft(), draft))

  const goTo = (next: number) => setStep({ step: next, hasMoved: true })

  /** Leaves the URL step unless the form finds a fault. */
  function toSecret(): void {
    const fault = draftError(draft)
    setError(fault)
    if (!fault) goTo(STEPS.secret)
  }

  async function saveDraft(): Promise<void> {
    setError(undefined)
    try {
      setSaved({ destination: await save(draft), draft })
      goTo(STEPS.test)
    } catch (reason) {
      setError(reason)
      const faultyStep = stepOf(reason)
      if (faultyStep !== undefined) goTo(faultyStep)
    }
  }

  return {
    ...{ step, hasMoved, goTo, toSecret, draft, destination, error, isSaving },
    save: saveDraft,
    isSaved: saved !== undefined && isEqual(saved.draft, draft),
    change: (changed: Partial<Draft>) => setDraft((before) => ({ ...before, ...changed })),
    /** Another user has saved the destination. Keeping the draft bases it on their version. */
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

/** Creates the destination, turned off until the last step, or replaces the saved one. */
function useSave(saved: Destination | undefined) {
  const create = useCreateDestination()
  const replace = useReplaceDestination()
  /** @throws ApiError */
  async function save(draft: Draft): Promise<Destination> {
    const fault = draftError(draft)
    if (fault) throw fault
    if (!saved) return create.mutateAsync({ ...toDestination(draft), enabled: false })
    // toDestination adds the secret again if the draft keeps it
    const { sharedSecret: _, ...rest } = saved
    return replace.mutateAsync({ ...rest, ...toDestination(draft) })
  }
  return { save, isSaving: create.isPending || replace.isPending }
}

function draftError({ webhooks }: Draft): ApiError | undefined {
  const faults = draftFaults(webhooks)
  return faults.length > 0 ? validationError(faults) : undefined
}

/** The step whose fields have a fault. */
function stepOf(error: unknown): number | undefined {
  const pointers = error instanceof ApiError ? error.faults.map(({ pointer }) => pointer) : []
  if (pointers.some((pointer) => pointer.startsWith('/sourceIds'))) return STEPS.sources
  if (pointers.some((pointer) => isWebhookPointer(pointer) || pointer === '/name')) return STEPS.webhooks
  return undefined
}

const newer = (one: Destination | undefined, other: Destination | undefined) =>
  one && other && other.version > one.version ? other : one
