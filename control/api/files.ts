import { readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import type { FastifyRequest } from 'fastify'
import { type FixedResponse, fixedResponse } from './response.ts'

/** `gzip`, `br`: compressed forms beside the file. */
type Files = { plain: FixedResponse; gzip: FixedResponse | undefined; br: FixedResponse | undefined }

/** Reads each file once (docs/decisions/013-console.md). The result returns undefined for a missing file. */
export function createFiles(describe: (name: string) => { path: string; headers: Record<string, string> }) {
  const known = new Map<string, Promise<Files | undefined>>()

  async function read(name: string): Promise<Files | undefined> {
    const { path, headers } = describe(name)
    const fixed = async (end: string, encoding?: string) => {
      const bytes = await readFile(path + end).catch(() => undefined)
      return bytes && fixedResponse(bytes, { ...headers, ...(encoding && { 'content-encoding': encoding }) })
    }
    const plain = await fixed('')
    return plain && { plain, gzip: await fixed('.gz', 'gzip'), br: await fixed('.br', 'br') }
  }

  return (name: string): Promise<Files | undefined> => {
    const reading = known.get(name) ?? read(name)
    known.set(name, reading)
    // it may be built later, and there are endless missing names
    void reading.then((found) => found ?? known.delete(name))
    return reading
  }
}

/** Simultaneous requests share a read. Otherwise each would open the file, and a process may open few. */
export function sharing<T>(read: () => Promise<T>): () => Promise<T> {
  let reading: Promise<T> | undefined
  return () => {
    reading ??= read().finally(() => {
      reading = undefined
    })
    return reading
  }
}

/** Browsers send less. */
const ENCODINGS_READ = 256

export function inBestEncoding({ plain, gzip, br }: Files, { headers }: FastifyRequest): FixedResponse {
  const names = (headers['accept-encoding']?.toString() ?? '')
    .slice(0, ENCODINGS_READ)
    .toLowerCase()
    .split(',')
  // without those refused by q=0
  const accepted = names.map((name) => name.replaceAll(' ', '')).filter((name) => !/;q=0(\.0*)?$/.test(name))
  const accepts = (encoding: string) => accepted.some((name) => name.split(';')[0] === encoding)
  return (accepts('br') && br) || (accepts('gzip') && gzip) || plain
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.yaml': 'application/yaml; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
}

export const typeOf = (name: string): string => TYPES[extname(name)] ?? 'application/octet-stream'
