import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { lossOf } from '../../kafka/admin/lost-records.ts'
import { packMetadata, unpackMetadata } from '../../kafka/consume/commits.ts'
import { cutAt, MAX_SPAN, packAhead, unpackAhead } from '../../kafka/consume/tracker.ts'
import { judge, judgeRange } from '../../kafka/log-faults.ts'
import {
  decodeEpochEnds,
  decodeMetadata,
  encodeEpochQuestions,
  encodeMetadata,
} from '../../kafka/patches/log-watch/requests.ts'

const ID = 'AAAAAAAAAAAAAAAAAAAAAA'
const OTHER = 'BAAAAAAAAAAAAAAAAAAAAA'
const known = { id: ID, epoch: 3 }

describe('a place in a log', () => {
  test.each([
    ['is valid while the epoch is the same', { id: ID }, undefined],
    ['is valid when its epoch ended there', { id: ID, epochEnd: 100 }, undefined],
    ['is valid if its epoch ended after it', { id: ID, epochEnd: 170 }, undefined],
    ['goes back to where its epoch ended', { id: ID, epochEnd: 60 }, { cause: 'truncated', to: 60 }],
    [
      'goes back in time if no broker knows its epoch',
      { id: ID, epochEnd: -1 },
      { cause: 'truncated', to: 'time' },
    ],
    [
      'goes to the beginning of another topic',
      { id: OTHER, epochEnd: 170 },
      { cause: 'recreated', to: 'beginning' },
    ],
  ] as const)('%s', (_, now, verdict) => {
    expect(judge({ offset: 100 }, known, now)).toEqual(verdict)
  })

  test.each([
    ['is valid at the beginning of an empty log, whose leader knows no epoch', { offset: 0 }, -1, undefined],
    ['is valid up to the end that was seen', { offset: 100, end: 170 }, 170, undefined],
    [
      'tells of a cut before the end that was seen',
      { offset: 100, end: 171 },
      170,
      { cause: 'truncated', to: 170 },
    ],
  ] as const)('%s', (_, place, epochEnd, verdict) => {
    expect(judge(place, known, { id: ID, epochEnd })).toEqual(verdict)
  })

  test.each([
    ['is valid within the log', 10, 100, undefined],
    ['is valid at its end', 10, 50, undefined],
    ['goes to the first record that there is', 60, 100, { cause: 'removed', to: 60 }],
    ['goes back in time when the log ends before it', 0, 40, { cause: 'truncated', to: 'time' }],
  ] as const)('%s', (_, low, high, verdict) => {
    expect(judgeRange({ offset: 50 }, { low: low as number, high: high as number })).toEqual(verdict)
  })

  test('keeps settled offsets before the cut, and none behind it', () => {
    fc.assert(
      fc.property(fc.nat(1_000), fc.uniqueArray(fc.nat(400)), fc.nat(1_500), (offset, ahead, cut) => {
        const settled = ahead.map((each) => offset + each)
        const after = cutAt({ offset, ahead: packAhead(offset, settled) }, cut)
        expect(after.offset).toBe(Math.min(offset, cut))
        const kept = cut > offset ? settled.filter((each) => each < cut) : []
        expect(unpackAhead(after.offset, after.ahead)).toEqual(kept.toSorted((a, b) => a - b))
      }),
    )
  })
})

describe('the metadata of a commit', () => {
  const said = fc.record({
    ahead: fc.uint8Array({ maxLength: 40 }).map((bits) => Buffer.from(bits).toString('base64')),
    log: fc.record({
      id: fc.uint8Array({ minLength: 16, maxLength: 16 }).map((id) => Buffer.from(id).toString('base64url')),
      // -1: there is none
      epoch: fc.integer({ min: -1 }),
    }),
    time: fc.option(fc.integer({ min: -1, max: 4_102_444_800_000 }), { nil: undefined }),
  })

  test('is read as it was written', () => {
    fc.assert(fc.property(said, (all) => void expect(unpackMetadata(packMetadata(all))).toEqual(all)))
    expect(unpackMetadata(packMetadata({ ahead: 'AQ==' }))).toEqual({ ahead: 'AQ==' })
    expect(packMetadata({ ahead: '' })).toBe('s1:')
  })

  test("fits Kafka's limit at the widest span", () => {
    const ahead = packAhead(
      7,
      Array.from({ length: MAX_SPAN + 10 }, (_, index) => 7 + index),
    )
    const log = { id: ID, epoch: 2_147_483_647 }
    expect(packMetadata({ ahead, log, time: 4_102_444_800_000 }).length).toBeLessThanOrEqual(4_096)
  })

  test('of another program reads as foreign', () => {
    for (const text of ['', 'by hand', 'AAAA', 's2:', 's2:short.1.a:AQ==', 's3:AQ=='])
      expect(unpackMetadata(text)).toEqual({ ahead: '', foreign: true })
  })
})

describe('what a log has lost', () => {
  test.each([
    [
      'removed at the front',
      { cause: 'removed', offset: 100, to: 300, end: 250 },
      { lost: 200, unread: 200 },
    ],
    [
      'cut off, and all of it read',
      { cause: 'truncated', offset: 500, to: 300, end: 500 },
      { lost: 200, unread: 0 },
    ],
    [
      'cut off, and not all read',
      { cause: 'truncated', offset: 400, to: 300, end: 500 },
      { lost: 200, unread: 100 },
    ],
    [
      'cut off before it was read',
      { cause: 'truncated', offset: 200, to: 300, end: 500 },
      { lost: 200, unread: 200 },
    ],
    ['cut off, with an unknown end', { cause: 'truncated', offset: 400, to: 300 }, { lost: 100, unread: 0 }],
    ['created again', { cause: 'recreated', offset: 400, to: 0, end: 450 }, { lost: 50, unread: 50 }],
  ] as const)('%s', (_, fault, loss) => {
    expect(lossOf(fault)).toEqual(loss)
  })
})

describe('the requests, by the protocol guide', () => {
  test('names topics in compact form, without ids', () => {
    const name = 'x'.repeat(130)
    const encoded = encodeMetadata(['ab', name])
    // tags of the header, two topics, no id, two letters, tags
    const first = [0, 3, ...Array(16).fill(0), 3, 0x61, 0x62, 0]
    // 131 takes two bytes
    const second = [...Array(16).fill(0), 0x83, 0x01, ...Buffer.from(name), 0]
    expect([...encoded]).toEqual([...first, ...second, 0, 0, 0])
  })

  test('asks for the end of an epoch', () => {
    const encoded = encodeEpochQuestions([{ topic: 'ab', partition: 5, current: 7, epoch: 6 }])
    expect(encoded.toString('hex')).toBe('ffffffff00000001000261620000000100000005' + '0000000700000006')
  })

  test('a truncated or nonsensical response is an error', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (noise) => {
        for (const decode of [decodeMetadata, decodeEpochEnds])
          try {
            decode(Buffer.from(noise))
          } catch (error) {
            expect(error).toBeInstanceOf(Error)
          }
      }),
    )
  })
})
