import type { FastifyInstance } from 'fastify'
import { isDeeper } from '../../http/json-depth.ts'
import { isObject } from '../settings/members.ts'
import { type Answer, invalid, problem } from './answer.ts'
import { pointer } from './pointer.ts'

/** A body that is JSON and goes beyond what any of ours needs. */
export class UnfitBody extends Error {
  readonly answer: Answer

  constructor(answer: Answer) {
    super('a body is refused')
    this.answer = answer
  }
}

const MOST_LEVELS = 32
/** In one object. What is given for each of many is an array, or an upload. */
const MOST_MEMBERS = 1_000

const tooDeep = problem({ code: 'too_deep', message: `A body is nested at most ${MOST_LEVELS} levels deep` })

/** Bodies of other types are refused, but for those that a route reads itself. */
export function takeOnlyJson(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error')
  app.removeAllContentTypeParsers()
  app.addContentTypeParser<Buffer>('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    // many clients name the type with every request, a DELETE without a body too
    if (body.length === 0) return done(null, undefined)
    // what recurses over it later would exhaust the stack
    if (isDeeper(body, MOST_LEVELS)) return done(new UnfitBody(tooDeep))
    parse(request, body.toString(), (error, value) => {
      const crowded = error ? undefined : crowdedIn(value, [])
      if (crowded === undefined) done(error, value)
      else {
        const message = `has too many members: at most ${MOST_MEMBERS.toLocaleString('en-US')}`
        done(new UnfitBody(invalid([{ pointer: pointer(crowded), code: 'too_many', message }])))
      }
    })
  })
}

/** @returns where an object has more members than any needs. */
function crowdedIn(
  value: unknown,
  path: readonly (string | number)[],
): readonly (string | number)[] | undefined {
  if (!Array.isArray(value) && !isObject(value)) return undefined
  const members = Object.entries(value)
  if (!Array.isArray(value) && members.length > MOST_MEMBERS) return path
  for (const [name, member] of members) {
    const found = typeof member === 'object' ? crowdedIn(member, [...path, name]) : undefined
    if (found) return found
  }
  return undefined
}
