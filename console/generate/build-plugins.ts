import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { Plugin } from 'vite'

const { BROTLI_PARAM_QUALITY, BROTLI_MAX_QUALITY } = constants

/** Compresses each asset as `.br` and `.gz`, at the highest level. */
export function compressed(): Plugin {
  return {
    name: 'sluice-compressed',
    apply: 'build',
    async writeBundle({ dir = '' }) {
      const assets = join(dir, 'assets')
      await Promise.all((await readdir(assets)).map((name) => compress(join(assets, name))))
    },
  }
}

async function compress(file: string): Promise<void> {
  const content = await readFile(file)
  const params = { [BROTLI_PARAM_QUALITY]: BROTLI_MAX_QUALITY }
  await Promise.all([
    promisify(brotliCompress)(content, { params }).then((small) => writeFile(`${file}.br`, small)),
    promisify(gzip)(content, { level: 9 }).then((small) => writeFile(`${file}.gz`, small)),
  ])
}

export const LICENSES = 'licenses.md'

/** License texts (`<name>.txt`) of packages that ship without one. */
const TEXTS = new URL('../licenses/', import.meta.url)

/** Completes Vite's list (`build.license`). Fails the build if a license text is missing. */
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
  const [heading = '', ...lines] = section.trimEnd().split('\n')
  if (lines.some((line) => line !== '')) return section
  const name = heading.split(' ')[1] ?? ''
  const text = await readFile(new URL(`${name}.txt`, TEXTS), 'utf8').catch(() => {
    throw new Error(
      `${name} is bundled but has no license file. Add its license as console/licenses/${name}.txt`,
    )
  })
  return `${heading}\n\n${text}\n`
}
