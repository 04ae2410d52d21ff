import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import ms, { type StringValue } from 'ms'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { SETTINGS } from '../../config.ts'
import { SHUTDOWN_MS } from '../../lifecycle.ts'
import { configOf, opsPort, ROLES } from './settings.ts'

const file = new URL('../../docker-compose.yml', import.meta.url)
const text = await readFile(file, 'utf8')

const one = z.looseObject({
  command: z.string(),
  /** Null: as it is outside, if it is there. */
  environment: z.record(z.string(), z.string().nullable()),
  read_only: z.literal(true),
  cap_drop: z.tuple([z.literal('ALL')]),
  security_opt: z.tuple([z.literal('no-new-privileges:true')]),
  stop_grace_period: z.string(),
  healthcheck: z.object({
    test: z.tuple([z.literal('CMD'), z.literal('node'), z.literal('-e'), z.string()]),
    interval: z.string(),
    timeout: z.string(),
    retries: z.number(),
    start_period: z.string(),
    start_interval: z.string(),
  }),
  ports: z.array(z.string()).default([]),
})
const { services } = z
  .object({
    services: z.looseObject({ ingest: one, router: one, deliverer: one, control: one }),
  })
  .parse(parse(text, { merge: true }), { reportInput: true })

/** As compose puts them in: `${NAME:-default}`, `${NAME:?what is missing}`, here with nothing set. */
const unset = (value: string) =>
  value.replace(/\$\{(\w+)(?::([-?])([^}]*))?\}/g, (_, _name, sign, rest) => (sign === '-' ? rest : ''))

describe.each(ROLES)('%s in docker-compose.yml', (role) => {
  const { command, environment, healthcheck, ports, stop_grace_period } = services[role]
  const given = Object.entries(environment).flatMap(([name, value]) =>
    value === null ? [] : [[name, value] as const],
  )
  const env = Object.fromEntries(given.map(([name, value]) => [name, unset(value)]))

  test('is its own program', () => {
    expect(command).toBe(`${role}/main.ts`)
    expect(existsSync(new URL(command, file))).toBe(true)
  })

  test('is given settings that there are, and that it starts with', () => {
    const asked = given.flatMap(([, value]) => value.match(/(?<=\$\{)\w+/g) ?? [])
    expect([...Object.keys(environment), ...asked].filter((name) => !SETTINGS.includes(name))).toEqual([])
    expect(configOf(role, env).kafka).toMatchObject({ replication: 3, brokers: { length: 3 } })
  })

  test('is asked where it answers, and published where it listens', () => {
    const config = configOf(role, env)
    expect(healthcheck.test[3]).toContain(`'http://127.0.0.1:${opsPort(config)}/readyz'`)
    for (const port of ports) expect(port).toMatch(new RegExp(`:${config.port}$`))
  })

  test('has the time that it takes to end', () => {
    expect(ms(stop_grace_period as StringValue)).toBeGreaterThan(SHUTDOWN_MS)
  })
})

const here = fileURLToPath(new URL('.', import.meta.url))

/** As compose itself loads it: anchors, variables, schema, and what services say of one another. */
const load = (env: Record<string, string>) =>
  spawnSync('go', ['run', 'load_compose.go', fileURLToPath(file)], {
    cwd: here,
    env: { ...process.env, ...env },
    encoding: 'utf8',
  })

// Go, or the modules that it would have to fetch, may be missing; .ci/run installs the one and fetches the others
const canLoad = spawnSync('go', ['build', '-o', '/dev/null', 'load_compose.go'], { cwd: here }).status === 0

test.skipIf(!canLoad)(
  'docker-compose.yml is what compose takes, once the secrets are given',
  { timeout: 120_000 },
  () => {
    const { stdout, stderr } = load({ CONFIG_KEY: 'a key', CONTROL_TOKEN: 'a token', CONTROL_VIEW_TOKEN: '' })
    expect(stderr).toBe('')
    const { environment } = JSON.parse(stdout).services.control
    expect(environment).toMatchObject({
      CONFIG_KEY: 'a key',
      CONTROL_TOKEN: 'a token',
      CONTROL_VIEW_TOKEN: '',
    })
    expect(load({ CONFIG_KEY: 'a key', CONTROL_TOKEN: '' }).stderr).toMatch(/CONTROL_TOKEN is missing/)
  },
)
