import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'

/** Of packages bundled into the site. */
export const LICENSES = 'licenses.txt'

type Finished = { folder: string; base: string; codeStyles: string }

/**
 * Moves inline scripts and styles to files, as the content security policy requires, and compresses all files.
 * @param finished.codeStyles of highlighted code.
 */
export async function finish({ folder, base, codeStyles }: Finished): Promise<void> {
  const pages = filesIn(folder).filter((name) => name.endsWith('.html'))
  const scripts = new Set<string>()
  const asset = (name: string, content: string) => {
    const file = `assets/${withHash(name, content)}`
    writeFileSync(join(folder, file), content)
    return base + file
  }
  const styles = `<link rel="stylesheet" href="${asset('code.css', codeStyles)}">`
  for (const page of pages) {
    const { html, script } = withoutInline(readFileSync(join(folder, page), 'utf8'))
    if (!scripts.has(script)) asset('early.js', script)
    scripts.add(script)
    const early = `<script src="${base}assets/${withHash('early.js', script)}"></script>`
    writeFileSync(join(folder, page), html.replace('</head>', `${styles}${early}</head>`))
  }
  await Promise.all(
    filesIn(folder)
      .filter((name) => /\.(html|js|css|json|yaml|txt|svg)$/.test(name))
      .map((name) => compress(join(folder, name))),
  )
}

/** Brotli would make the build four times as long. */
async function compress(file: string): Promise<void> {
  writeFileSync(`${file}.gz`, await promisify(gzip)(readFileSync(file), { level: 9 }))
}

function withHash(name: string, content: string): string {
  const hash = createHash('sha256').update(content).digest('hex').slice(0, 8)
  return name.replace('.', `.${hash}.`)
}

/**
 * Each page has two short scripts, which set the theme before it is painted. VitePress's own scripts set the two
 * `style` attributes again.
 */
export function withoutInline(html: string): { html: string; script: string } {
  const scripts: string[] = []
  const rest = html
    .replaceAll(/ *<script(?: id="[\w-]+")?>([\s\S]*?)<\/script>\n?/g, (_, script: string) => {
      scripts.push(script)
      return ''
    })
    .replaceAll(/(<[a-z][^>]*?) style="[^"]*"/g, '$1')
  return { html: rest, script: scripts.map((script) => `${script}\n`).join('') }
}

/** Paths within a folder, at every depth. */
export const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
