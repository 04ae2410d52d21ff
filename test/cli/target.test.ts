import { execFileSync } from 'node:child_process'
import { describe, expect, test } from 'vitest'
import { run } from '../../cli/run.ts'
import { chooseTarget, type Known } from '../../cli/target.ts'
import { errorAnswer } from '../../ingest/answer.ts'
import { publishRunning } from '../../local/running.ts'
import { temporaryFolder } from '../local/folders.ts'
import { aContext, control, listening } from './in-memory.ts'

const local = {
  control: 'http://127.0.0.1:8081',
  ingest: 'http://127.0.0.1:8080',
  brokers: '127.0.0.1:9092',
  registry: 'http://127.0.0.1:8085/apis/ccompat/v7',
  token: 'local-token',
}
const nothing: Known = {
  url: undefined,
  ingestUrl: undefined,
  brokers: undefined,
  registry: undefined,
  token: undefined,
  local: undefined,
}
const choose = (known: Partial<Known>) => chooseTarget({ ...nothing, ...known })

describe('the target system', () => {
  test('is the local one if no other is named', () => {
    expect(choose({ local })).toEqual(local)
    expect(choose({ local, token: 'given' })).toMatchObject({ control: local.control, token: 'given' })
  })

  test('is the named one', () => {
    const url = 'https://sluice.example:8081/prefix/'
    const given = { token: 'given', brokers: 'kafka:9092', registry: 'http://registry:8081' }
    expect(choose({ url, ingestUrl: 'https://in.example/', ...given, local })).toEqual({
      control: 'https://sluice.example:8081/prefix',
      ingest: 'https://in.example',
      ...given,
    })
  })

  test('never gets the local token unless it is the local one', () => {
    expect(() => choose({ url: 'https://sluice.example', local })).toThrow(
      /No token for https:\/\/sluice.example/,
    )
  })

  test('is asked for if none is known', () => {
    expect(() => choose({ token: 'given' })).toThrow(/set SLUICE_URL or --url/)
  })

  test.each(['sluice.example', 'ftp://sluice.example', ''])('cannot be at %j', (url) => {
    expect(() => choose({ url, token: 'given' })).toThrow(/is not an address/)
    expect(() => choose({ local, ingestUrl: url })).toThrow(/is not an address/)
  })

  test.each(['https://ann:pa55@sluice.example', 'ann:pa55@sluice.example'])(
    'cannot have a password, which no error repeats: %s',
    async (url) => {
      for (const named of [{ SLUICE_URL: url }, { SLUICE_INGEST_URL: url }]) {
        const context = aContext({ env: { CONTROL_TOKEN: 'given', SLUICE_WRITE_KEY: 'key', ...named } })
        expect(await run(['send', 'track', '--user', 'u1', '--event', 'e'], context)).toBe(1)
        expect(context.err.text()).toMatch(/must not contain @/)
        expect(context.err.text()).not.toContain('pa55')
      }
    },
  )

  test('removes a line break at the end of CONTROL_TOKEN', async () => {
    const named = { SLUICE_URL: 'https://sluice.example', CONTROL_TOKEN: 'given\n' }
    const context = aContext({ env: named })
    expect(await run(['env'], context)).toBe(0)
    expect(context.out.said).toContain('TOKEN=given')
    for (const token of ['tök€n', 'to\nken', 'to ken']) {
      const other = aContext({ env: { ...named, CONTROL_TOKEN: token } })
      expect(await run(['status'], other)).toBe(1)
      expect(other.err.text()).toMatch(/^CONTROL_TOKEN is not a token: /)
      expect(other.err.text()).not.toContain(token)
    }
  })
})

describe('sluice env', () => {
  test('prints the addresses and the token of the running npm start, as a shell reads them', async () => {
    const folder = await temporaryFolder()
    const { registry: registryUrl, token: controlToken, ...rest } = local
    await publishRunning(folder, { ...rest, registryUrl: `${registryUrl}?a=b's`, controlToken })
    const context = aContext({ env: { SLUICE_DATA: folder } })
    expect(await run(['env'], context)).toBe(0)
    const script = `${context.out.text()}\nprintf '%s\\n' "$CONTROL" "$INGEST" "$BROKERS" "$REGISTRY" "$TOKEN"`
    expect(execFileSync('/bin/sh', ['-c', script], { encoding: 'utf8' }).trim().split('\n')).toEqual([
      local.control,
      local.ingest,
      local.brokers,
      `${local.registry}?a=b's`,
      local.token,
    ])
    expect(context.err.text()).toBe('')
  })

  test('of another system prints what is set, and names what is not', async () => {
    const env = {
      SLUICE_URL: 'https://sluice.example',
      CONTROL_TOKEN: 'given',
      KAFKA_BROKERS: 'k1:9092,k2:9092',
    }
    const context = aContext({ env })
    expect(await run(['env'], context)).toBe(0)
    expect(context.out.said).toEqual([
      'CONTROL=https://sluice.example',
      'BROKERS=k1:9092,k2:9092',
      'TOKEN=given',
    ])
    expect(context.err.said).toEqual(['Not known: INGEST, REGISTRY (see sluice help env).'])
    const json = aContext({ env })
    await run(['env', '--json'], json)
    expect(JSON.parse(json.out.text())).toEqual({
      control: 'https://sluice.example',
      brokers: 'k1:9092,k2:9092',
      token: 'given',
    })
  })
})

describe('the address of another process', () => {
  const ingest = () => {
    const { status, body } = errorAnswer('not_found')
    return listening({ asked: async () => ({ status, text: body, headers: {}, json: undefined }) })
  }

  test.each(['dead', 'tail shop', 'export', 'delete-user u1'])(
    'is recognized by %s as that of ingest',
    async (args) => {
      const context = aContext({ env: { SLUICE_URL: await ingest(), CONTROL_TOKEN: 'given' } })
      expect(await run(args.split(' '), context)).toBe(1)
      expect(context.err.text()).toMatch(
        /^This is the address of ingest.*Set SLUICE_URL \(or --url\) .*8081/s,
      )
    },
  )

  test('is refused by send, which says how to set that of ingest', async () => {
    const url = await listening(control())
    const context = aContext()
    expect(await run(['send', 'track', '--write-key', 'k', '--ingest-url', url], context)).toBe(1)
    expect([context.out.said, context.err.text()]).toEqual([
      [],
      `${url} is not the address of ingest: it has no /v1. Set SLUICE_INGEST_URL (or --ingest-url), by default on port 8080.`,
    ])
  })
})
