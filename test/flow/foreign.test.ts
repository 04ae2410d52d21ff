import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { signature } from '../../delivery/signatures.ts'

const file = (name: string) => fileURLToPath(new URL(`../foreign/${name}`, import.meta.url))

// a machine may lack it; .ci/run installs it
const go = spawnSync('go', ['version']).status === 0

test.skipIf(!go)("Go's standard HMAC agrees on the signature", async () => {
  const body = '{"type":"track","event":"Grüße ✓","n":1.5}'
  const { status, stdout } = spawnSync('go', ['run', file('signature.go'), 'sécret'], {
    input: body,
    encoding: 'utf8',
  })
  expect([status, stdout.trim()]).toEqual([0, signature(body, 'sécret')])
})
