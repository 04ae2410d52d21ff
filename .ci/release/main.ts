import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { stdout } from 'node:process'
import { parseArgs } from 'node:util'
import { readOrExit } from '../../harness/command-line.ts'
import { FILES, notesOf, type Plan, planRelease } from './plan.ts'

const USAGE = `npm run release -- VERSION            checks whether VERSION can be released, and prints what would change
npm run release -- VERSION --apply    also writes and commits the files and creates the tags; pushes nothing
npm run release -- VERSION --notes    prints the release notes of a version
`

const say = (text: string) => stdout.write(`${text}\n`)
const git = (...args: string[]) => execFileSync('git', args, { encoding: 'utf8' }).trim()
const linesOf = (text: string) => text.split('\n').filter((line) => line !== '')

/** @throws for an unknown option, or unless one version is given */
function readArguments() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { apply: { type: 'boolean' }, notes: { type: 'boolean' } },
  })
  const [version, ...more] = positionals
  if (version === undefined || more.length > 0) throw new Error('Give one VERSION')
  return { version, ...values }
}

function main(): number {
  const { version, notes, apply } = readOrExit(USAGE, readArguments)
  if (notes) return printNotes(version)
  const plan = planRelease({
    version,
    now: new Date(),
    branch: git('branch', '--show-current'),
    unclean: linesOf(git('status', '--porcelain')).map((line) => line.slice(2).trim()),
    tags: linesOf(git('tag', '--list')),
    files: new Map(FILES.map((path) => [path, readFileSync(path, 'utf8')])),
  })
  describe(plan)
  if (plan.faults.length > 0) return 1
  if (spawnSync('npm', ['run', '--silent', 'check'], { stdio: 'inherit' }).status !== 0) {
    say('`npm run check` failed.')
    return 1
  }
  if (apply) makeRelease(plan, version)
  else say('Nothing has changed. To make the release, run this again with --apply.')
  return 0
}

function printNotes(version: string): number {
  const notes = notesOf(readFileSync('CHANGELOG.md', 'utf8'), version)
  say(notes ?? `CHANGELOG.md has no section for ${version}.`)
  return notes === undefined ? 1 : 0
}

function describe({ faults, writes, tags }: Plan): void {
  for (const fault of faults) say(`cannot release: ${fault}`)
  for (const path of writes.keys()) say(`writes ${path}`)
  for (const tag of tags) say(`tags ${tag}`)
}

function makeRelease({ writes, tags }: Plan, version: string): void {
  for (const [path, text] of writes) {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
  }
  git('add', '--', ...writes.keys())
  git('commit', '--message', `Release ${version}`)
  for (const tag of tags) git('tag', '--annotate', tag, '--message', `Sluice ${version}`)
  say(`Committed and tagged. Nothing is public yet. To publish it:
  git push --atomic origin main ${tags.join(' ')}
To undo it:
  git tag --delete ${tags.join(' ')} && git reset --hard HEAD~`)
}

process.exitCode = main()
