import { bodies } from './calls.ts'
import type { LoadOptions } from './process.ts'

/** A request as bytes on the wire. `idAt`: the position of the first call's messageId. */
export type Prepared = { bytes: Buffer; idAt: number }

const DIGITS = 10

/** Requests of many users, with the write keys in turn. */
export function prepareRequests({ url, path, writeKeys, batch, isStraight }: LoadOptions): Prepared[] {
  const { hostname } = new URL(url)
  return bodies(batch).map((body, index) => {
    const key = writeKeys[index % writeKeys.length]
    const authorization = `Basic ${Buffer.from(`${key}:`).toString('base64')}`
    const numbered = isStraight ? `\r\nX-Message-Id: ${'0'.repeat(DIGITS)}` : ''
    const head = `POST ${path} HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: ${authorization}\r\nContent-Type: application/json${numbered}`
    const bytes = Buffer.from(`${head}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)
    const id = isStraight ? 'X-Message-Id: ' : '"messageId":"'
    return { bytes, idAt: bytes.indexOf(id) + id.length }
  })
}

/** Gives a single call a unique messageId that begins with its number and has the same length. */
export function putNumber({ bytes, idAt }: Prepared, call: number): void {
  bytes.write(String(call).padStart(DIGITS, '0'), idAt, 'latin1')
}

/** @returns the call's number. */
export const numberIn = (messageId: string) => Number(messageId.slice(0, DIGITS))
