import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Plugin } from 'vite'

export const LICENSES = 'licenses.md'

/** Of packages that carry no license file, the text from their repository: `<name>.txt`. */
const GIVEN = new URL('../licenses/', import.meta.url)

/** Completes what Vite writes (`build.license`). The build fails when the text of a bundled package's license is missing. */
export function licenses(): Plugin {
  return {
    name: 'sluice-licenses',
    apply: 'build',
    async writeBundle({ dir = '' }) {
      const file = join(dir, LICENSES)
      const [title, ...packages] = (await readFile(file, 'utf8')).split(/^(?=## )/m)
      const complete = await Promise.all(packages.map(withText))
      await writeFile(file, [title, ...complete].join(''))
    },
  }
}

async function withText(section: string): Promise<string> {
  const [heading = '', ...text] = section.trimEnd().split('\n')
  if (text.some((line) => line !== '')) return section
  const name = heading.split(' ')[1] ?? ''
  const given = await readFile(new URL(`${name}.txt`, GIVEN), 'utf8').catch(() => {
    throw new Error(
      `${name} is bundled and has no license file: write its license to console/licenses/${name}.txt`,
    )
  })
  return `${heading}\n\n${given}\n`
}
