import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { run } from '../../cli/run.ts'
import { crm, shop } from '../control/in-memory.ts'
import { control, operatorOf } from './in-memory.ts'

const lost = { kind: 'destination', id: 'lost', reason: 'it is not JSON', since: 0, isKept: false } as const

async function operating(...records: Parameters<typeof control>) {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-backup-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const memory = control(...records)
  const context = await operatorOf(memory)
  const file = join(folder, 'sluice.backup')
  return { folder, file, memory, context, ran: (...args: string[]) => run(args, context) }
}

async function aBackup(): Promise<string> {
  const { file, ran } = await operating({ sources: [shop], destinations: [crm] })
  expect(await ran('backup', '-o', file)).toBe(0)
  return readFile(file, 'utf8')
}

test('a backup says what it holds, and what no backup holds', async () => {
  const { file, context, ran } = await operating({ sources: [shop], destinations: [crm] })
  expect(await ran('backup', '-o', file)).toBe(0)
  expect(context.err.said).toEqual([
    `Wrote ${file}: suppressions 0, audiences 0, traits 0, destinations 1, sources 1, deletions 0.`,
    expect.stringMatching(/^Not in a backup: events, .* CONFIG_KEY is not in it either/),
  ])
  expect(context.out.said).toEqual([])
})

test('a backup without -o goes to standard output, and can be restored', async () => {
  const { context, ran } = await operating({ sources: [shop] })
  expect(await ran('backup')).toBe(0)
  const empty = await operating()
  await writeFile(empty.file, `${context.out.text()}\n`)
  expect(await empty.ran('restore', empty.file)).toBe(0)
  expect(empty.memory.settings.sources.get('shop')).toEqual(shop)
})

test('a backup that lacks a setting names it, and the exit code is 2', async () => {
  const { file, context, ran } = await operating({ sources: [shop], unreadable: [lost] })
  expect(await ran('backup', '-o', file)).toBe(2)
  expect(context.err.text()).toContain('control cannot read destination/lost')
})

test('a backup replaces an older one only with --force, and leaves no other file behind', async () => {
  const { folder, file, ran } = await operating({ sources: [shop] })
  await writeFile(file, 'older')
  expect(await ran('backup', '-o', file)).toBe(1)
  expect(await readFile(file, 'utf8')).toBe('older')
  expect(await ran('backup', '-o', file, '--force')).toBe(0)
  expect(await readFile(file, 'utf8')).toContain('source/shop ')
  expect(await readdir(folder)).toEqual(['sluice.backup'])
})

test('a backup that control cuts off does not replace an older one, and the command says what the reason may be', async () => {
  const { folder, file, context, ran } = await operating({ sources: [shop] })
  await writeFile(file, 'older')
  const server = createServer((_, response) => {
    response.write('{"sluice":"backup"', () => response.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  expect(await ran('backup', '--url', url, '--force', '-o', file)).toBe(1)
  expect(context.err.text()).toContain('the backup may have more than 256 MB')
  expect(await readFile(file, 'utf8')).toBe('older')
  expect(await readdir(folder)).toEqual(['sluice.backup'])
})

test('a restore shows what it would change, and a dry run changes nothing', async () => {
  const { file, memory, context, ran } = await operating()
  await writeFile(file, await aBackup())
  expect(await ran('restore', file, '--dry-run')).toBe(0)
  expect(context.out.said).toEqual([
    expect.stringMatching(/^Backup of 20\d\d-.*Z\.$/),
    'kind         create  replace  unchanged  keep',
    'source       1       0        0          0',
    'destination  1       0        0          0',
    'suppression  0       0        0          0',
    'audience     0       0        0          0',
    'trait        0       0        0          0',
    'deletion     0       0        0          0',
    'Dry run: nothing was changed.',
  ])
  expect(memory.topic.size).toBe(0)
})

test('a restore into a system with other settings names them and needs --force', async () => {
  const other = { ...shop, id: 'other', writeKey: 'other-write-key' }
  const { file, memory, context, ran } = await operating({ sources: [{ ...shop, name: 'Renamed' }, other] })
  await writeFile(file, await aBackup())
  expect(await ran('restore', file)).toBe(1)
  expect(context.out.text()).toContain('  replace source/shop\n  keep source/other\n')
  expect(context.err.text()).toContain('--force')
  expect(context.out.text().match(/needs --force/g)).toHaveLength(1)
  expect(memory.topic.size).toBe(0)
  expect(await ran('restore', file, '--force')).toBe(0)
  expect(context.out.text().match(/needs --force/g)).toHaveLength(1)
  expect(memory.settings.sources.get('shop')?.name).toBe('Shop')
  expect(memory.settings.sources.get('other')).toEqual(other)
})

test('a restore that breaks off says that it continues', async () => {
  const { file, memory, context, ran } = await operating()
  await writeFile(file, await aBackup())
  memory.meanwhile(async () => {
    throw new Error('killed')
  })
  expect(await ran('restore', file)).toBe(1)
  expect(context.err.text()).toContain('Run it again: it continues where it stopped.')
  memory.meanwhile(undefined)
  expect(await ran('restore', file)).toBe(0)
})

test.each([
  ['altered', (text: string) => text.replace('"Shop"', '"Ship"'), 'backup_altered'],
  ['cut off', (text: string) => text.slice(0, -20), 'backup_invalid'],
])('a backup that was %s is refused with its code', async (_, alter, code) => {
  const { file, context, ran } = await operating()
  await writeFile(file, alter(await aBackup()))
  expect(await ran('restore', file)).toBe(1)
  expect(context.err.text()).toContain(`(400 ${code})`)
})

test('a file that does not exist is named', async () => {
  const { context, ran } = await operating()
  expect(await ran('restore', '/nowhere/sluice.backup')).toBe(1)
  expect(context.err.text()).toContain('Cannot read /nowhere/sluice.backup')
})

test('a file that cannot be written is named', async () => {
  const { folder, file, context, ran } = await operating({ sources: [shop] })
  await writeFile(file, 'not a folder')
  expect(await ran('backup', '-o', join(folder, 'none', 'sluice.backup'))).toBe(1)
  expect(await ran('export', '-o', file)).toBe(1)
  expect(context.err.said).toEqual([
    expect.stringMatching(`^Cannot write ${folder}/none/sluice.backup: ENOENT`),
    expect.stringMatching(`^Cannot write ${file}/sources.yaml: EEXIST`),
  ])
})
