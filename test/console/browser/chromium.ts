import { existsSync } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Browser, chromium } from 'playwright-core'

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

/** Debian's, or what CHROMIUM names. */
export const chromiumPath: string | undefined = [process.env.CHROMIUM ?? '', ...PLACES].find(
  (path) => path !== '' && existsSync(path),
)

// root of a container has no sandbox to give; where there is no graphics card, being one costs more than painting
const ARGS = ['--no-sandbox', '--disable-gpu', '--in-process-gpu']

if (!chromiumPath)
  process.stderr.write(
    'There is no Chromium: the console is not tried in a browser (apt-get install chromium)\n',
  )

/** @throws where the built console is older than its sources: what would be tried is not what is there. */
export async function openChromium(): Promise<Browser> {
  const built = await newest(folderOf('dist')).catch(() => 0)
  if (built < (await newest(folderOf('src')))) throw new Error('the built console is old: npm run console')
  return chromium.launch({ executablePath: chromiumPath ?? '', args: ARGS })
}

const folderOf = (folder: string) => fileURLToPath(new URL(`../../../console/${folder}`, import.meta.url))

async function newest(folder: string): Promise<number> {
  const files = await readdir(folder, { recursive: true })
  const times = await Promise.all(files.map(async (file) => (await stat(join(folder, file))).mtimeMs))
  return Math.max(0, ...times)
}
