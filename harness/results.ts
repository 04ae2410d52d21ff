import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { cpus, totalmem } from 'node:os'
import { promisify } from 'node:util'

const FILE = new URL('../bench/RESULTS.md', import.meta.url)
const TITLE =
  '# Benchmarks\n\nWritten by `npm run bench`; one section by `npm run bench -- <name>`. `cluster`, `torture` and `upgrade` are written by `npm run cluster`, `npm run torture` and `npm run upgrade`, each with `-- --write`; `profile` by hand.\n'

/** Replaces the section of this name in bench/RESULTS.md. */
export async function writeSection(name: string, text: string): Promise<void> {
  const before = await readFile(FILE, 'utf8').catch(() => TITLE)
  const section = `## ${name}\n\n${text}\n\n*${machine()}${await commit()}*\n`
  const [title = TITLE, ...sections] = before.split(/^(?=## )/m)
  const others = sections.filter((other) => !other.startsWith(`## ${name}\n`)).map((other) => other.trimEnd())
  await writeFile(FILE, [title.trimEnd(), ...[...others, section.trimEnd()].sort()].join('\n\n').concat('\n'))
}

export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}

function machine(): string {
  const [first] = cpus()
  const gigabytes = Math.round(totalmem() / 2 ** 30)
  return `${new Date().toISOString().slice(0, 10)}, Node ${process.version}, ${cpus().length} x ${first?.model ?? 'CPU'}, ${gigabytes} GB`
}

/** The measured commit; empty outside a checkout. */
const commit = () =>
  promisify(execFile)('git', ['rev-parse', '--short', 'HEAD'], { cwd: import.meta.dirname }).then(
    ({ stdout }) => `, commit ${stdout.trim()}`,
    () => '',
  )
