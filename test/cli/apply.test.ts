import { describe, expect, test } from 'vitest'
import { run } from '../../cli/run.ts'
import { crm, shop } from '../control/in-memory.ts'
import { aWorld, control, operatorOf } from './in-memory.ts'

const DESTINATION = `
destinations:
  - { id: crm, name: CRM 2, sourceIds: [shop], sharedSecret: "***", webhooks: [{ url: "https://crm.example/hook", headers: { X-Team: "***" } }] }`

/** `sluice <args>` with files from standard input. */
async function sluice(
  memory: ReturnType<typeof control>,
  args: string,
  input = '',
  env: Record<string, string> = {},
) {
  const world = { ...(await operatorOf(memory, env)), readInput: async () => input }
  const code = await run(args.split(' '), world)
  return { code, out: world.out.text(), err: world.err.text() }
}

describe('apply', () => {
  test('prints the difference, makes it, and says what is done', async () => {
    const memory = control({ sources: [shop], destinations: [crm] })
    const { code, out } = await sluice(memory, 'apply -', `sources: [{ id: web, name: Web }]${DESTINATION}`)
    expect([code, memory.writes.length]).toEqual([0, 0])
    expect(out.split('\n')).toEqual([
      '+ sources/web',
      '    name: "Web"',
      '    enabled: true',
      '    writeKey: "***"',
      '~ destinations/crm',
      '    name: "CRM" -> "CRM 2"',
      'In no file, and left alone (--prune removes them):',
      '    sources/shop',
      'created sources/web',
      'replaced destinations/crm',
      '2 of 2 changes made.',
    ])
    expect(memory.settings.destinations.get('crm')).toMatchObject({
      ...crm,
      name: 'CRM 2',
      version: 3,
      updatedAt: expect.any(String),
    })
  })

  test('has nothing to do the second time', async () => {
    const memory = control({ sources: [shop], destinations: [crm] })
    await sluice(memory, 'apply -', DESTINATION)
    expect(await sluice(memory, 'apply -', DESTINATION)).toEqual({
      code: 0,
      out: 'Nothing differs.',
      err: '',
    })
    expect(memory.settings.destinations.get('crm')?.version).toBe(3)
  })

  test('as a dry run changes nothing', async () => {
    const memory = control({ sources: [shop], destinations: [crm] })
    const { code, out } = await sluice(memory, 'apply --dry-run -', DESTINATION)
    expect([code, out.split('\n').at(-1)]).toEqual([0, 'A dry run: nothing was changed.'])
    expect(memory.topic.size).toBe(0)
  })

  test('prunes', async () => {
    const memory = control({ sources: [shop], destinations: [crm] })
    expect((await sluice(memory, 'apply --prune -', 'sources: []\ndestinations: []')).code).toBe(0)
    expect([memory.settings.sources.size, memory.settings.destinations.size]).toEqual([0, 0])
  })

  test('tells all faults with their places, and changes nothing', async () => {
    const memory = control({ sources: [shop] })
    const { code, err } = await sluice(
      memory,
      'apply -',
      'sources:\n  - { id: web, name: Web }\n  - { id: app, name: "${APP}" }\ntraits: 7',
    )
    expect([code, memory.topic.size]).toEqual([1, 0])
    expect(err.split('\n')).toEqual([
      '(standard input):3:22: the variable APP is not set in the environment (variable_missing)',
      '(standard input):4:9: give a list of records; [] says that there are none (invalid_form)',
      '2 things are wrong: nothing is changed.',
    ])
  })

  test('says what the API alone knows to be wrong at its place, before anything is changed', async () => {
    const egress = { faultOf: async () => 'leads to an address that is not public' }
    const memory = control({ sources: [shop] }, { egress })
    const text =
      'sources: [{ id: web, name: Web }]\ndestinations:\n  - { id: crm, name: CRM, webhooks: [{ url: "http://10.0.0.1/" }] }'
    expect(await sluice(memory, 'apply -', text)).toEqual({
      code: 1,
      out: '',
      err:
        '(standard input):3:45: destinations/crm webhooks/0/url: leads to an address that is not public (address_forbidden)\n' +
        'One thing is wrong: nothing is changed.',
    })
    expect(memory.topic.size).toBe(0)
  })

  test('says what the API refuses after all at its place, and how far it came', async () => {
    let lookups = 0
    const egress = {
      faultOf: async () => (++lookups > 1 ? 'leads to an address that is not public' : undefined),
    }
    const memory = control({ sources: [shop] }, { egress })
    const text =
      'sources: [{ id: web, name: Web }]\ndestinations:\n  - { id: crm, name: CRM, webhooks: [{ url: "http://10.0.0.1/" }] }'
    const { code, out, err } = await sluice(memory, 'apply -', text)
    expect(code).toBe(1)
    expect(out.split('\n').slice(-2)).toEqual(['created sources/web', '1 of 2 changes made.'])
    expect(err).toBe(
      'Refused: One error in the request: see errors (400 validation_failed)\n' +
        '(standard input):3:45: destinations/crm webhooks/0/url: leads to an address that is not public (address_forbidden)',
    )
  })

  test('as JSON is one document, without a secret', async () => {
    const memory = control({ sources: [shop], destinations: [crm] })
    const text = DESTINATION.replace('"***"', 'hidden-1').replace('"***"', 'hidden-2')
    const { out } = await sluice(memory, 'apply --json -', text)
    expect(JSON.parse(out)).toEqual({
      changes: [
        {
          collection: 'destinations',
          id: 'crm',
          action: 'replace',
          fields: [
            { field: 'name', before: 'CRM', after: 'CRM 2' },
            { field: 'webhooks/0/headers/X-Team', before: '***', after: '***' },
            { field: 'sharedSecret', before: '***', after: '***' },
          ],
        },
      ],
      hidden: [],
      others: [],
      applied: [{ collection: 'destinations', id: 'crm' }],
    })
    expect(memory.settings.destinations.get('crm')).toMatchObject({ sharedSecret: 'hidden-1' })
    expect(memory.settings.destinations.get('crm')?.webhooks[0]?.headers).toEqual({ 'X-Team': 'hidden-2' })
  })
})

describe('what somebody else changes meanwhile', () => {
  const rename = (memory: ReturnType<typeof control>, name: string) => async () => {
    const { version = 0, ...record } = memory.settings.destinations.get('crm') ?? expect.fail('it is there')
    await memory.ask({
      method: 'PUT',
      path: 'destinations/crm',
      json: { ...record, name },
      ifMatch: version,
    })
  }

  test('is read again and decided anew: what is declared is what is there then', async () => {
    const memory = control({ sources: [shop], destinations: [crm] })
    const theirs = rename(memory, 'Theirs')
    memory.meanwhile(async () => {
      memory.meanwhile(undefined)
      await theirs()
    })
    const { code, err, out } = await sluice(
      memory,
      'apply -',
      `sources: [{ id: shop, name: Shop 2 }]${DESTINATION}`,
    )
    expect([code, err]).toEqual([
      0,
      'Somebody else has changed settings meanwhile: read again, and decided anew.',
    ])
    expect(out).toContain('    name: "Theirs" -> "CRM 2"')
    expect(out.split('\n').filter((line) => line.startsWith('replaced'))).toEqual([
      'replaced sources/shop',
      'replaced destinations/crm',
    ])
    expect(memory.settings.destinations.get('crm')).toMatchObject({ name: 'CRM 2', version: 4 })
  })

  test('a second time ends it', async () => {
    const memory = control({ sources: [shop], destinations: [crm] })
    let time = 0
    memory.meanwhile(() => rename(memory, `Theirs ${++time}`)())
    const { code, err } = await sluice(memory, 'apply -', DESTINATION)
    expect([code, time]).toEqual([1, 2])
    expect(err.split('\n').at(-1)).toBe(
      'destinations/crm is being changed by somebody else: nothing more is done here. Run it again.',
    )
    expect(memory.settings.destinations.get('crm')?.name).toBe('Theirs 2')
  })

  test('is seen where a record was made or removed, too', async () => {
    const memory = control({ sources: [shop], destinations: [crm] })
    memory.meanwhile(async () => {
      memory.meanwhile(undefined)
      await memory.ask({ method: 'POST', path: 'sources', json: { id: 'web', name: 'Theirs' } })
      await memory.ask({ method: 'DELETE', path: 'destinations/crm' })
    })
    const { code } = await sluice(
      memory,
      'apply --prune -',
      'sources: [{ id: shop, name: Shop }, { id: web, name: Web }]\ndestinations: []',
    )
    expect(code).toBe(0)
    expect(memory.settings.sources.get('web')).toMatchObject({ name: 'Web', version: 2 })
  })
})

describe('diff', () => {
  test('ends with 2 where something differs, with 0 where nothing does, with 1 where it cannot be told', async () => {
    const memory = control({ sources: [shop] })
    const codeOf = async (input: string, args = 'diff -') => (await sluice(memory, args, input)).code
    expect(await codeOf('sources: [{ id: shop, name: Other }]')).toBe(2)
    expect(await codeOf('sources: [{ id: shop, name: Shop }]')).toBe(0)
    expect(await codeOf('sources: []')).toBe(0)
    expect(await codeOf('sources: []', 'diff --prune -')).toBe(2)
    expect(await codeOf('sources: [{ id: shop }]')).toBe(1)
    expect(memory.topic.size).toBe(0)
  })

  test('as JSON is one document', async () => {
    const { out } = await sluice(control({ sources: [shop] }), 'diff --json -', 'sources: []')
    expect(JSON.parse(out)).toEqual({
      changes: [],
      hidden: [],
      others: [{ collection: 'sources', id: 'shop' }],
    })
  })

  test('with a view token says which secrets it cannot compare', async () => {
    const memory = control({ sources: [shop], destinations: [crm] })
    const text = `sources: [{ id: shop, name: Shop, writeKey: another-write-key }]${DESTINATION.replace('"***"', 'another')}`
    const { code, out, err } = await sluice(memory, 'diff -', text, { CONTROL_TOKEN: 'view-token-123456' })
    expect([code, err, out.split('\n')]).toEqual([
      2,
      '',
      [
        '~ destinations/crm',
        '    name: "CRM" -> "CRM 2"',
        'Secrets that a token that may only read cannot compare:',
        '    sources/shop writeKey',
        '    destinations/crm sharedSecret, webhooks/0/url',
      ],
    ])
    const exported = `sources: [{ id: shop, name: Shop, writeKey: "***" }]${DESTINATION.replace('CRM 2', 'CRM')}`
    expect(await sluice(memory, 'diff -', exported, { CONTROL_TOKEN: 'view-token-123456' })).toEqual({
      code: 0,
      out: 'Nothing differs.\nSecrets that a token that may only read cannot compare:\n    destinations/crm webhooks/0/url',
      err: '',
    })
  })
})

test('a refusal of the API is told with its code, and the exit code is 1', async () => {
  const memory = control()
  expect(await sluice(memory, 'diff -', 'sources: []', { CONTROL_TOKEN: 'no-token-of-anybody' })).toEqual({
    code: 1,
    out: '',
    err: expect.stringMatching(/^Refused: .* \(401 unauthorized\)$/),
  })
})

test('nobody there is told with the address', async () => {
  const world = aWorld({
    env: { SLUICE_URL: 'http://127.0.0.1:1', CONTROL_TOKEN: 'x' },
    input: 'sources: []',
  })
  expect(await run(['diff', '-'], world)).toBe(1)
  expect(world.err.text()).toMatch(/^http:\/\/127\.0\.0\.1:1 does not answer: .*ECONNREFUSED/)
})

describe('what a variable fills in', () => {
  const before = { ...shop, name: 'yesterdays-secret', labels: { 'a\u001b[2J': 'b' } }
  const file = 'sources: [{ id: shop, name: "${TEAM_TOKEN}", labels: { token: "Bearer ${TEAM_TOKEN}" } }]'
  const env = { TEAM_TOKEN: 'todays "secret"' }

  test.each(['diff -', 'diff --json -', 'apply --dry-run -', 'apply -'])(
    'is not printed by %s, nor what it takes the place of',
    async (args) => {
      const { out, err } = await sluice(control({ sources: [before] }), args, file, env)
      for (const hidden of ['todays', 'yesterdays', '\u001b']) expect(`${out}${err}`).not.toContain(hidden)
      expect(out).toContain('"***"')
    },
  )

  test('is not in what is refused', async () => {
    const asked =
      'destinations: [{ id: crm, name: CRM, sourceIds: ["${ID}"], webhooks: [{ url: "https://a.example" }] }]'
    const { code, err } = await sluice(control({}), 'diff -', asked, { ID: 'a-secret-id' })
    expect([code, err]).toEqual([1, expect.stringContaining('***')])
    expect(err).not.toContain('a-secret-id')
  })

  test('is nothing that Sluice itself goes by', async () => {
    for (const name of ['CONTROL_TOKEN', 'CONFIG_KEY', 'SLUICE_WRITE_KEY', 'KAFKA_SASL_PASSWORD']) {
      const asked = `sources: [{ id: shop, name: "\${${name}}" }]`
      const { code, err } = await sluice(control({}), 'diff -', asked, { [name]: 'a-token-of-20-letters' })
      expect([code, err]).toEqual([1, expect.stringContaining(`${name} is a variable of Sluice itself`)])
    }
  })

  test('is written as it is', async () => {
    const memory = control({ sources: [shop] })
    await sluice(memory, 'apply -', file, env)
    expect(memory.settings.sources.get('shop')).toMatchObject({ name: 'todays "secret"' })
  })
})
