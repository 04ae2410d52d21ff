import { cp, mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import { Analytics } from '../../../clients/node/index.ts'
import { until } from '../../helpers/until.ts'
import { run } from './program.ts'
import { DEAD_ENDPOINT, startService } from './service.ts'

describe('a process that has nothing left to do', () => {
  test('ends with a client that has no calls', async () => {
    const service = await startService()
    expect(await run('calls-and-ends', [service.endpoint, '0']).ended).toEqual({ code: 0, signal: null })
  })

  test('ends with a client whose connection is still open', async () => {
    const service = await startService()
    expect(await run('calls-and-ends', [service.endpoint, '3', 'flush']).ended).toMatchObject({ code: 0 })
    expect(service.calls()).toHaveLength(3)
  })

  test('sends queued calls without waiting for flushAfter, and ends', async () => {
    const service = await startService()
    const { ended, complained } = run('calls-and-ends', [service.endpoint, '3'])
    expect(await ended).toMatchObject({ code: 0 })
    expect(service.calls()).toHaveLength(3)
    expect(complained()).toBe('')
  })

  test('retries maxRetries times, reports the failure, and ends', async () => {
    const { ended, complained } = run('calls-and-ends', [DEAD_ENDPOINT, '3'])
    expect(await ended).toMatchObject({ code: 0 })
    const [first, second] = complained()
      .split('\n')
      .filter((line) => line.includes('AnalyticsWarning'))
    expect(first).toContain(
      `[SLUICE_TRYING_AGAIN] AnalyticsWarning: Calls cannot be delivered to ${DEAD_ENDPOINT}v1/batch at the moment; retrying: connect ECONNREFUSED`,
    )
    expect(second).toMatch(/AnalyticsWarning: 3 calls could not be delivered \(gave_up\).*ECONNREFUSED/)
  })

  test('reports only the failure if the retry warning is disabled', async () => {
    const flags = ['--disable-warning=SLUICE_TRYING_AGAIN']
    const { ended, complained } = run('calls-and-ends', [DEAD_ENDPOINT, '3'], flags)
    await ended
    expect(complained()).toMatch(/3 calls could not be delivered/)
    expect(complained()).not.toContain('SLUICE_TRYING_AGAIN')
  })
})

describe('on SIGTERM', () => {
  test('clients with closeOnSigterm send queued calls, then the signal ends the process', async () => {
    const service = await startService()
    const { printed, kill, ended } = run('terminated', [service.endpoint])
    await until(() => printed() === 'ready\n')
    kill('SIGTERM')
    expect(await ended).toEqual({ code: null, signal: 'SIGTERM' })
    expect(service.calls()).toHaveLength(2)
  })

  test.each(['on', 'once'])(
    'a listener of the program (%s) must end the process, and is called once',
    async (how) => {
      const service = await startService()
      const { printed, kill, ended } = run('terminated', [service.endpoint, how])
      await until(() => printed() === 'ready\n')
      kill('SIGTERM')
      expect(await ended).toEqual({ code: 7, signal: null })
      expect(printed()).toBe('ready\nown\n')
      expect(service.calls()).toHaveLength(2)
    },
  )

  test('a listener that leaves the exit to others does not keep the process running', async () => {
    const service = await startService()
    const { printed, kill, ended } = run('terminated', [service.endpoint, 'signal-exit'])
    await until(() => printed() === 'ready\n')
    kill('SIGTERM')
    expect(await ended).toEqual({ code: null, signal: 'SIGTERM' })
    expect(printed()).toBe('ready\nalone\n')
    expect(service.calls()).toHaveLength(2)
  })

  test.each([
    ['where the library closes the clients', '', { signal: 'SIGTERM' }, /^.*1 call could not be delivered/gm],
    ['where the listener of the README does', 'readme', { code: 0 }, /^.*1 call could not be delivered/gm],
    ['where onFailure throws', 'throws', { signal: 'SIGTERM' }, /^.*onFailure has failed/gm],
  ])('the process reports calls it could not deliver before it ends, %s', async (_where, how, end, line) => {
    const service = await startService(() => ({ status: 401 }))
    const { printed, complained, kill, ended } = run('terminated', [service.endpoint, how])
    await until(() => printed() === 'ready\n')
    kill('SIGTERM')
    expect(await ended).toMatchObject(end)
    expect(complained().match(line)).toHaveLength(2)
  })

  /** @returns the main file of something like another version */
  async function copied(): Promise<string> {
    const project = fileURLToPath(new URL('../../../', import.meta.url))
    const folder = await mkdtemp(join(tmpdir(), 'sluice-copy-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    const isSource = (path: string) => !/\/dist$|\.tgz$/.test(path)
    await cp(join(project, 'clients/node'), join(folder, 'node'), { recursive: true, filter: isSource })
    await symlink(join(project, 'node_modules'), join(folder, 'node_modules'))
    return join(folder, 'node/index.ts')
  }

  test('two copies of the library in one process send queued calls, and the process ends', async () => {
    const service = await startService()
    const { printed, complained, kill, ended } = run('terminated', [service.endpoint, '', await copied()])
    await until(() => printed() === 'ready\n', { message: complained })
    kill('SIGTERM')
    expect(await ended).toEqual({ code: null, signal: 'SIGTERM' })
    expect(service.calls()).toHaveLength(2)
  })

  test('there is no listener without closeOnSigterm or after close()', async () => {
    const options = { writeKey: 'k', endpoint: 'http://localhost:1/' }
    const before = process.listenerCount('SIGTERM')
    new Analytics(options)
    expect(process.listenerCount('SIGTERM')).toBe(before)
    const clients = [1, 2].map(() => new Analytics({ ...options, closeOnSigterm: true }))
    expect(process.listenerCount('SIGTERM')).toBe(before + 1)
    for (const client of clients) await client.close()
    expect(process.listenerCount('SIGTERM')).toBe(before)
  })
})

describe('memory is bounded by maxQueueBytes', () => {
  const BYTES = 8 * 1024 * 1024
  // the calls, their objects, and one batch with its gzip
  const MEMORY = BYTES * 1.5 + 2 * 1024 * 1024

  test.each([
    ['nothing listens', async () => DEAD_ENDPOINT],
    ['nothing answers', async () => (await startService(() => 'hang')).endpoint],
    ['onFailure is done with nothing', async () => (await startService(() => ({ status: 400 }))).endpoint],
  ])('while %s', async (_what, endpoint) => {
    const args = [await endpoint(), String(BYTES), String(MEMORY)]
    const { printed, complained, ended } = run('floods', args, ['--expose-gc'])
    expect(await ended, complained()).toMatchObject({ code: 0 })
    const { taken, grown } = JSON.parse(printed())
    // a call has some 950 bytes of JSON
    expect(taken).toBeGreaterThan(8_000)
    expect(taken).toBeLessThan(9_000)
    expect(grown).toBeLessThan(MEMORY)
  })
})
