import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const FILE = fileURLToPath(new URL('../../process/log.ts', import.meta.url))

test('each entry is one line for every reader, and sends nothing to a terminal', () => {
  const name = 'a\r\nb\u2028{"audit":true}\u2029\u0085\u009b2J\u001b[31m\u202e'
  const code = `import { createLog } from '${FILE}'
    const log = createLog({ role: 'control', level: 'info' })
    log.info({ name: ${JSON.stringify(name)} }, 'change')
    log.flush()`
  const run = ['--input-type=module', '-e', code]
  const printed = execFileSync(process.execPath, run, { encoding: 'utf8' })
  expect(JSON.parse(printed)).toMatchObject({ name, msg: 'change' })
  expect(printed.trimEnd()).toMatch(/^[\x20-\x7e]+$/)
})
