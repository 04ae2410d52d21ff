import { existsSync } from 'node:fs'
import { glob, readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const sources = fileURLToPath(new URL('../../console/src', import.meta.url))
const styles = join(dirname(createRequire(import.meta.url).resolve('@mantine/core/styles.css')), 'styles')

async function usedParts(): Promise<Set<string>> {
  const used = new Set<string>()
  for await (const file of glob('**/*.tsx', { cwd: sources })) {
    const text = await readFile(join(sources, file), 'utf8')
    for (const [, names = ''] of text.matchAll(/import \{([^}]*)\} from '@mantine\/core'/g))
      for (const name of names.split(',')) used.add(name.trim())
  }
  return used
}

test('the styles of every used library component are loaded', async () => {
  const loaded = await readFile(join(sources, 'theme/library.css'), 'utf8')
  const used = await usedParts()
  expect(used).toContain('Button')
  const styled = [...used].filter((name) => existsSync(join(styles, `${name}.css`)))
  expect(styled.filter((name) => !loaded.includes(`/${name}.css"`))).toEqual([])
})
