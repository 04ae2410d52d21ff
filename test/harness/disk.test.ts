import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { endsOf, goneBetween } from '../../harness/kafka/disk.ts'
import { measure, writeBatch } from '../../kafka/protocol/encode-produce.ts'

function aBatch(firstOffset: number, values: readonly string[]): Buffer {
  const measured = measure({
    messages: values.map((value) => ({ key: 'k', value, headers: {} })),
    ...{
      timestamp: 1_764_000_000_000,
      producerId: 7n,
      producerEpoch: 0,
      firstSequence: 0,
      transactional: false,
    },
  })
  const bytes = Buffer.alloc(measured.bytes)
  writeBatch(bytes, 0, measured)
  // the checksum does not cover the offset
  bytes.writeBigInt64BE(BigInt(firstOffset), 0)
  return bytes
}

async function disk(segments: Readonly<Record<number, Buffer[]>>): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'sluice-test-'))
  onTestFinished(() => rm(directory, { recursive: true }))
  const folder = join(directory, 'data', 'work-3')
  await mkdir(folder, { recursive: true })
  for (const [first, batches] of Object.entries(segments))
    await writeFile(join(folder, `${first.padStart(20, '0')}.log`), Buffer.concat(batches))
  return directory
}

test('records that a disk has lost are found in all segments', async () => {
  const first = aBatch(0, ['a', 'b'])
  const segments = {
    0: [first, aBatch(2, ['c', 'd'])],
    4: [aBatch(4, ['e'])],
    5: [aBatch(5, ['f', 'g'])],
  }
  const [before, after] = await Promise.all([disk(segments), disk({ 0: [first] })])
  const gone = await goneBetween(await endsOf(before, ['work']), await endsOf(after, ['work']))
  expect(gone).toMatchObject([{ topic: 'work', partition: 3, from: 2, to: 7 }])
  const values = [...(gone[0]?.values ?? [])].map(([offset, value]) => `${offset} ${value}`)
  expect(values).toEqual(['2 c', '3 d', '4 e', '5 f', '6 g'])
})

test('after an unclean election, lost records are found even if the new leader has others at their offsets', async () => {
  const common = aBatch(0, ['a', 'b'])
  const [before, after] = await Promise.all([
    disk({ 0: [common, aBatch(2, ['c']), aBatch(3, ['d', 'e'])] }),
    disk({ 0: [common, aBatch(2, ['x', 'c'])] }),
  ])
  const logs = await Promise.all([endsOf(before, ['work']), endsOf(after, ['work'])])
  const gone = await goneBetween(...logs)
  const at = { topic: 'work', partition: 3 }
  expect(gone).toMatchObject([
    { ...at, from: 2, to: 4, isReplaced: true },
    { ...at, from: 4, to: 5 },
  ])
  const values = gone.map((each) => [...each.values].map(([offset, value]) => `${offset} ${value}`))
  expect(values).toEqual([['2 c', '3 d'], ['4 e']])
  expect(await goneBetween(...(logs.toReversed() as typeof logs))).toMatchObject([
    { ...at, from: 2, to: 4, isReplaced: true },
  ])
})
