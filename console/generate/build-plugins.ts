import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { Plugin } from 'vite'

const { BROTLI_PARAM_QUALITY, BROTLI_MAX_QUALITY } = constants

/** Beside each asset it in brotli (`.br`) and gzip (`.gz`), compressed once and as small as can be. */
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
