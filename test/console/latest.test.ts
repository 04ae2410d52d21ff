import { expect, test } from 'vitest'
import { type Answer, latestOnly } from '../../console/src/views/rules/preview/latest.ts'

function requests() {
  const running: { input: string; answer: (value: string) => void; fail: (error: unknown) => void }[] = []
  const answers: Answer<string>[] = []
  const latest = latestOnly<string, string>({
    request: (input) => new Promise((answer, fail) => running.push({ input, answer, fail })),
    onAnswer: (answer) => answers.push(answer),
  })
  return { running, answers, latest, inputs: () => running.map(({ input }) => input) }
}

/** Lets all ready promises run. */
const settled = () => new Promise((resolve) => setImmediate(resolve))

test('one request runs at a time, and only the newest input waits', async () => {
  const { running, answers, latest, inputs } = requests()
  for (const input of ['a', 'b', 'c']) latest.ask(input)
  await settled()
  expect(inputs()).toEqual(['a'])
  running[0]?.answer('of a')
  await settled()
  expect([inputs(), answers]).toEqual([['a', 'c'], []])
  running[1]?.answer('of c')
  await settled()
  expect(answers).toEqual([{ value: 'of c' }])
})

test('a failed request counts as an answer, and the next one runs', async () => {
  const { running, answers, latest, inputs } = requests()
  latest.ask('a')
  running[0]?.fail('down')
  await settled()
  latest.ask('b')
  expect([answers, inputs()]).toEqual([[{ error: 'down' }], ['a', 'b']])
})

test('after close, nothing is requested or answered', async () => {
  const { running, answers, latest, inputs } = requests()
  latest.ask('a')
  latest.ask('b')
  latest.close()
  running[0]?.answer('of a')
  await settled()
  expect([answers, inputs()]).toEqual([[], ['a']])
})
