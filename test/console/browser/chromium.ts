import { existsSync } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Browser, chromium } from 'playwright-core'

// the first needs a third less CPU than a whole browser without a window
const PLACES = [
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
]

/** CHROMIUM, or one from the usual places. */
export const chromiumPath: string | undefined = [process.env.CHROMIUM ?? '', ...PLACES].find(
  (path) => path !== '' && existsSync(path),
)

// root in a container has no sandbox; emulating a graphics card costs more than painting; and optimizing code costs more
// than it saves on pages that live for seconds
const ARGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--in-process-gpu',
  '--js-flags=--no-opt --no-maglev --sparkplug',
]

if (!chromiumPath)
  process.stderr.write(
    'Chromium is missing, so the browser tests of the console and the documentation are skipped (apt-get install chromium-headless-shell)\n',
  )

/** @throws if the built console is older than its sources */
export async function openChromium(): Promise<Browser> {
  const built = await newest(folderOf('dist')).catch(() => 0)
  if (built < (await newest(folderOf('src'))))
    throw new Error('the built console is out of date: run npm run console')
  return launchChromium()
}

export const launchChromium = (): Promise<Browser> =>
  chromium.launch({ executablePath: chromiumPath ?? '', args: ARGS })

const folderOf = (folder: string) => fileURLToPath(new URL(`../../../console/${folder}`, import.meta.url))

async function newest(folder: string): Promise<number> {
  const files = await readdir(folder, { recursive: true })
  const times = await Promise.all(files.map(async (file) => (await stat(join(folder, file))).mtimeMs))
  return Math.max(0, ...times)
}
