/** Of the one warning that says that something is being tried again: Node can be told to leave it out by this. */
export const TRYING_AGAIN = 'SLUICE_TRYING_AGAIN'

/** A warning of the process: one line on stderr, unless the program has it otherwise. Never with what calls hold. */
export function warn(message: string, code?: typeof TRYING_AGAIN): void {
  process.emitWarning(message, { type: 'AnalyticsWarning', ...(code && { code }) })
}
