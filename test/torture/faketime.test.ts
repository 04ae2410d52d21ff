import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { spawnChild } from '../../local/processes/child-process.ts'
import { findFaketime, openClock, removeShared, thisMachine } from '../../torture/faketime.ts'
import { until } from '../helpers/until.ts'

const found = (platform: string, arch: string, ...paths: string[]) =>
  findFaketime({ platform, arch, exists: (path) => paths.includes(path) })

test.each([
  ['Debian on x86', 'x64', '/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1'],
  ['Debian on ARM', 'arm64', '/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1'],
  ['Fedora', 'x64', '/usr/lib64/faketime/libfaketimeMT.so.1'],
  ['Arch', 'x64', '/usr/lib/faketime/libfaketimeMT.so.1'],
  ['one built by hand', 's390x', '/usr/local/lib/faketime/libfaketimeMT.so.1'],
])('%s has the library in its folder', (_, arch, path) => {
  expect(found('linux', arch, path)).toBe(path)
})

test('where it is in no known folder there is none', () => {
  expect(found('linux', 'x64')).toBeUndefined()
})

test("another processor's library is none of ours", () => {
  expect(found('linux', 'x64', '/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1')).toBeUndefined()
})

test('there is none on macOS', () => {
  expect(found('darwin', 'arm64', '/usr/local/lib/faketime/libfaketimeMT.so.1')).toBeUndefined()
})

const library = findFaketime(thisMachine) ?? ''

/** Prints its clocks twenty times a second. */
const TELLS = 'setInterval(() => console.log(JSON.stringify([Date.now(), performance.now()])), 50)'
const MINUTES = 60_000

test.skipIf(!library)(
  "a running process's wall clock is set forward and back, and nothing else of it",
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'sluice-clock-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    const clock = await openClock(library, join(folder, 'clock'))
    let wall = Number.NaN
    const monotonic: number[] = []
    const tied = spawnChild(process.execPath, {
      args: ['-e', TELLS],
      env: clock.env,
      onLine(line) {
        const [now, since] = JSON.parse(line)
        wall = now
        monotonic.push(since)
      },
    })
    onTestFinished(async () => {
      await tied.kill()
      await removeShared(tied.pid)
    })
    const isOffBy = (minutes: number) => Math.abs(wall - Date.now() - minutes * MINUTES) < MINUTES

    await until(() => isOffBy(0))
    for (const minutes of [10, -10, 0]) {
      await clock.set(minutes * 60)
      await until(() => isOffBy(minutes))
    }
    expect(monotonic).toEqual(monotonic.toSorted((one, other) => one - other))
    expect((monotonic.at(-1) ?? 0) - (monotonic[0] ?? 0)).toBeLessThan(5 * MINUTES)

    await tied.kill()
    await removeShared(tied.pid)
    expect(existsSync(`/dev/shm/faketime_shm_${tied.pid}`)).toBe(false)
    expect(existsSync(`/dev/shm/sem.faketime_sem_${tied.pid}`)).toBe(false)
  },
)
