import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const FILE = fileURLToPath(new URL('../../process/log.ts', import.meta.url))

const text = 'a\r\nb\u2028{"audit":true}\u2029\u0085\u009b2J\u001b[31m\u202e'

function printed(isTTY: boolean): string {
  const code = `process.stdout.isTTY = ${isTTY}
    const { createLog } = await import('${FILE}')
    const log = createLog({ role: 'control', level: 'info' })
    log.info({ address: ${JSON.stringify(text)}, '\x9b': 1, err: new Error('\x9b2J') }, 'change')
    log.flush()`
  return execFileSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8' })
}

test('each entry is one line for every reader, and sends nothing to a terminal', () => {
  const line = printed(false)
  expect(JSON.parse(line)).toMatchObject({ address: text, msg: 'change' })
  expect(line.trimEnd()).toMatch(/^[\x20-\x7e]+$/)
})

test('on a terminal, entries are formatted, and their text sends nothing to it', () => {
  const lines = printed(true)
  expect(lines).toContain(
    String.raw`"address":"a\r\nb\u2028{\"audit\":true}\u2029\u0085\u009b2J\u001b[31m\u202e"`,
  )
  expect(lines.replaceAll('\n', '')).toMatch(/^[\x20-\x7e]+$/)
})
