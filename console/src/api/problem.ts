import type { components } from './schema.ts'

export type Problem = components['schemas']['Problem']
export type Fault = components['schemas']['Fault']

/** What the API refused, in its own words; or that it cannot be reached. */
export class Refused extends Error {
  override name = 'Refused'
  readonly code: string
  readonly status: number
  readonly faults: readonly Fault[]

  /** @param status 0: there was no answer. */
  constructor(
    { code, message, errors }: { code: string; message: string; errors: readonly Fault[] },
    status: number,
  ) {
    super(message)
    this.code = code
    this.status = status
    this.faults = errors
  }
}

export const unreachable = () =>
  new Refused(
    {
      code: 'unreachable',
      message:
        'Sluice does not answer. Is its control process running, and this computer online? It is tried again by itself.',
      errors: [],
    },
    0,
  )

/** What is wrong at one place of a form: a JSON pointer, as `/webhooks/0/url`. */
export const faultAt = (error: unknown, pointer: string): string | undefined =>
  error instanceof Refused ? error.faults.find((fault) => fault.pointer === pointer)?.message : undefined

/** Faults that none of the named places shows. */
export const otherFaults = (error: unknown, isShown: (pointer: string) => boolean): readonly Fault[] =>
  error instanceof Refused ? error.faults.filter(({ pointer }) => !isShown(pointer)) : []
