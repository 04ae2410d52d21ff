import { authenticator, type Tokens, type Who } from '../auth.ts'
import { type Answer, problem } from '../http/answer.ts'
import type { Guesses } from './guesses.ts'

/** Whose a token from an address is; undefined: nobody's. Or what to answer after too many wrong ones. */
export type Judge = (token: string, ip: string) => Who | Answer | undefined

/** Told of each wrong token. `isOneOfMany`: too many have come from there of late. */
export type OnWrong = (address: string, isOneOfMany: boolean) => void

/**
 * A right token always passes: whoever sends wrong ones cannot keep others out, from whatever address. What makes guessing
 * hopeless is that tokens have 16 characters at least (config.ts), compared in constant time; that too many wrong ones are told to
 * wait only tells of it.
 */
export function createJudge(tokens: Tokens, guesses: Guesses, { onWrong }: { onWrong: OnWrong }): Judge {
  const authenticate = authenticator(tokens)
  return (token, ip) => {
    const who = authenticate(token)
    if (who) return who
    const seconds = guesses.wrong(ip)
    onWrong(ip, seconds !== undefined)
    return seconds === undefined ? undefined : tooMany(seconds)
  }
}

const tooMany = (seconds: number): Answer =>
  problem(
    { code: 'too_many_attempts', message: `This is no token of this system; try the next in ${seconds} s` },
    { 'retry-after': String(seconds) },
  )
