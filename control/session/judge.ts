import { type Answer, problem } from '../answer.ts'
import { authenticator, type Tokens, type Who } from '../auth.ts'
import type { Guesses } from './guesses.ts'

/** Whose a token from an address is; undefined: nobody's. Or what to answer after too many wrong ones. */
export type Judge = (token: string, ip: string) => Who | Answer | undefined

/**
 * After too many wrong tokens none is looked at for a while: who guesses does not learn whether one was right. But from where
 * a right one has come before, right ones pass: else whoever shares an address with others could keep them out.
 */
export function createJudge(tokens: Tokens, guesses: Guesses): Judge {
  const authenticate = authenticator(tokens)
  return (token, ip) => {
    const seconds = guesses.wait(ip)
    const who = seconds === undefined || guesses.knows(ip) ? authenticate(token) : undefined
    if (who) guesses.succeeded(ip)
    else if (seconds !== undefined) return tooMany(seconds)
    else guesses.failed(ip)
    return who
  }
}

const tooMany = (seconds: number): Answer =>
  problem(
    { code: 'too_many_attempts', message: `Too many wrong tokens: try again in ${seconds} s` },
    { 'retry-after': String(seconds) },
  )
