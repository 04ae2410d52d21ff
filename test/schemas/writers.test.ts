import avro from 'avsc'
import { expect, test, vi } from 'vitest'
import { codec, schemaText } from '../../schemas/codec.ts'
import { anEvent } from '../helpers/events.ts'

const type = avro.Type.forSchema(JSON.parse(schemaText('event')))
const away = Object.assign(new Error('Timeout'), { status: 400 })
const noSuch = Object.assign(new Error('no such id'), { status: 404 })

/** The last answer is repeated. Also returns a value of the schema. */
function asked(...answers: (unknown | Error)[]) {
  let questions = 0
  const getSchema = async () => {
    const answer = answers[Math.min(questions++, answers.length - 1)]
    if (answer instanceof Error) throw answer
    return answer as never
  }
  const value = codec('event', 7, { client: { getSchema } }).encode(anEvent())
  return { client: { getSchema }, value, questions: () => questions }
}

test('a schema is requested once, for any number of records', async () => {
  const { client, value, questions } = asked(type)
  const events = codec('event', 8, { client })
  const first = [events.decode(value), events.decode(value)]
  expect(await Promise.all(first)).toEqual(Array(2).fill({ ok: true, value: anEvent() }))
  expect(events.decode(value)).toEqual({ ok: true, value: anEvent() })
  expect(questions()).toBe(1)
})

test('requests are repeated while the registry is away', async () => {
  const { client, value, questions } = asked(away, away, type)
  const events = codec('event', 8, { client, waitMs: 60_000, retryMs: 1 })
  expect(await events.decode(value)).toEqual({ ok: true, value: anEvent() })
  expect(questions()).toBe(3)
})

test('after a bounded time records wait no more, and they are read once the registry answers', async () => {
  let answer: unknown = away
  const getSchema = () =>
    answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer as never)
  const { value } = asked(type)
  const events = codec('event', 8, { client: { getSchema }, waitMs: 20, retryMs: 5 })
  const failed = { ok: false, reason: 'registry_unreachable', message: 'Timeout' }
  expect(await events.decode(value)).toEqual(failed)
  expect(events.decode(value)).toEqual(failed)
  answer = type
  await vi.waitUntil(
    () => !(events.decode(value) instanceof Promise) && 'value' in (events.decode(value) as object),
  )
})

test('the return of the registry is noticed before a schema is needed: records then wait again', async () => {
  let answer: unknown = away
  const getSchema = vi.fn(async () => {
    if (answer instanceof Error) throw answer
    return answer as never
  })
  const { value } = asked(type)
  const events = codec('event', 8, { client: { getSchema }, waitMs: 20, retryMs: 5 })
  await events.decode(value)
  answer = type
  const { length } = getSchema.mock.calls
  await vi.waitUntil(() => getSchema.mock.calls.length > length)
  await vi.waitUntil(() => !('reason' in (events.decode(value) as object)))
  answer = away
  value.writeUInt32BE(50, 1)
  expect(events.decode(value)).toBeInstanceOf(Promise)
})

test('while the registry stays away, other ids do not wait, and only few requests run at once', async () => {
  let under = 0
  const getSchema = () => {
    under += 1
    return new Promise<never>((_, reject) => setTimeout(reject, 40, away))
  }
  const { value } = asked(type)
  const withId = (id: number) => {
    value.writeUInt32BE(id, 1)
    return value
  }
  const events = codec('event', 8, { client: { getSchema }, waitMs: 20, retryMs: 5 })
  await events.decode(withId(100))
  under = 0
  for (let id = 101; id < 200; id++)
    expect(events.decode(withId(id))).toMatchObject({ reason: 'registry_unreachable' })
  expect(under).toBe(10)
})

test('an unknown id is not waited for, and many records with it cause few requests', async () => {
  const { client, value, questions } = asked(noSuch)
  const events = codec('event', 8, { client, waitMs: 60_000 })
  const unknown = { ok: false, reason: 'unknown_schema', message: 'no such id' }
  expect(await events.decode(value)).toEqual(unknown)
  for (let times = 0; times < 100; times++) expect(events.decode(value)).toEqual(unknown)
  expect(questions()).toBe(1)
})

test('a bounded number of unknown ids is remembered', async () => {
  const { client, value } = asked(noSuch)
  const events = codec('event', 8, { client })
  for (let id = 100; id < 1_200; id++) {
    value.writeUInt32BE(id, 1)
    await events.decode(value)
  }
  // the first ones are known to be unknown
  value.writeUInt32BE(100, 1)
  expect(events.decode(value)).toBeInstanceOf(Promise)
})
