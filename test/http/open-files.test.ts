import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const FILE = fileURLToPath(new URL('../../http/open-files.ts', import.meta.url))

test.skipIf(process.platform !== 'linux').each([
  [4_096, [3_596, 1_000]],
  [1_024, [524, 524]],
  [600, [300, 300]],
  [8_192, [5_000, 1_000]],
])('with %i open files, connections leave some for the rest of the process', (limit, most) => {
  const code = `import { connectionsWithin } from '${FILE}'; console.log(connectionsWithin(5_000), connectionsWithin(1_000))`
  const run = `ulimit -n ${limit} && exec "$0" --input-type=module -e "$1"`
  expect(execFileSync('sh', ['-c', run, process.execPath, code], { encoding: 'utf8' })).toBe(
    `${most.join(' ')}\n`,
  )
})
