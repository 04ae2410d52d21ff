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
