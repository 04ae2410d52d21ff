import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { textOf } from '../../../control/api/body-stream.ts'

function read(body: Readable, encoding: string): AsyncIterable<Buffer> {
  const found = textOf({ body, headers: { 'content-encoding': encoding } }, 'lines')
  return 'text' in found ? found.text : expect.fail('it can be read')
}

const LINES = Buffer.from('user-1\nuser-2\n')
const reset = Object.assign(new Error('aborted'), { code: 'ECONNRESET' })

describe.each([
  ['identity', LINES],
  ['gzip', gzipSync(LINES)],
])('a body that comes as %s', (encoding, bytes) => {
  test('is read to its end', async () => {
    expect(await buffer(read(Readable.from([bytes]), encoding))).toEqual(LINES)
  })

  test('that breaks off gives its reader an error', async () => {
    const body = new Readable({ read() {} })
    body.push(bytes.subarray(0, 12))
    const reading = buffer(read(body, encoding))
    body.destroy(reset)
    await expect(reading).rejects.toBe(reset)
  })

  test('that broke off before it was read gives its reader an error', async () => {
    const body = new Readable({ read() {} })
    const text = read(body, encoding)
    await new Promise((resolve) =>
      body
        .once('close', resolve)
        .on('error', () => {})
        .destroy(reset),
    )
    await expect(buffer(text)).rejects.toBe(reset)
  })

  test('is not destroyed by a reader that stops early', async () => {
    const body = new Readable({ read() {} })
    body.push(bytes)
    for await (const piece of read(body, encoding)) {
      expect(piece).toEqual(LINES)
      break
    }
    expect(body.destroyed).toBe(false)
  })
})

test('a body that is not gzip fails when read, and is not destroyed', async () => {
  const body = new Readable({ read() {} })
  body.push(LINES)
  await expect(buffer(read(body, 'gzip'))).rejects.toThrow(expect.objectContaining({ code: 'Z_DATA_ERROR' }))
  expect(body.destroyed).toBe(false)
})
