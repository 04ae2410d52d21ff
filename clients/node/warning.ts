/** Of the one warning that says that something is being tried again: Node can be told to leave it out by this. */
export const TRYING_AGAIN = 'SLUICE_TRYING_AGAIN'

/**
 * A warning of the process: one line on stderr, unless the program has it otherwise. Never with what calls hold. Resolves when it is
 * out: Node prints it in the next tick, and not at all if the process is ended before.
 */
export function warn(message: string, code?: typeof TRYING_AGAIN): Promise<void> {
  process.emitWarning(message, { type: 'AnalyticsWarning', ...(code && { code }) })
  return new Promise((resolve) => process.nextTick(resolve))
}
