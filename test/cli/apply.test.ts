import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { run } from '../../cli/run.ts'
import { VIEW } from '../control/api.ts'
import { crm, shop } from '../control/in-memory.ts'
import { temporaryFolder } from '../local/folders.ts'
import { aContext, control, operatorOf } from './in-memory.ts'

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
  const context = { ...(await operatorOf(memory, env)), readInput: async () => input }
  const code = await run(args.split(' '), context)
  return { code, out: context.out.text(), err: context.err.text() }
}

describe('apply', () => {
  test('prints the differences, applies them, and reports each change', async () => {
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
      'Not in the files, and kept (--prune removes them):',
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

  test('changes nothing the second time', async () => {
    const memory = control({ sources: [shop], destinations: [crm] })
    await sluice(memory, 'apply -', DESTINATION)
    expect(await sluice(memory, 'apply -', DESTINATION)).toEqual({
      code: 0,
      out: 'Nothing differs.',
      err: '',
    })
    expect(memory.settings.destinations.get('crm')?.version).toBe(3)
  })

  test('changes nothing the second time, also with -0, which is stored as 0', async () => {
    const memory = control({ sources: [shop], destinations: [crm] })
    const file = DESTINATION.replace('id: crm', 'id: crm, rules: { shape: { total: -0, list: [-0] } }')
    await sluice(memory, 'apply -', file)
    expect((await sluice(memory, 'diff -', file)).out).toBe('Nothing differs.')
  })

  test('refuses a file that is not UTF-8', async () => {
    const file = join(await temporaryFolder(), 'latin-1.yaml')
    await writeFile(file, Buffer.from('sources: [{ id: cafe, name: Caf\xe9 }]', 'latin1'))
    const { code, err } = await sluice(control(), `apply ${file}`)
    expect([code, err]).toEqual([1, `${file} is not UTF-8: convert it first`])
  })

  test('refuses the shape that an export with the view token contains, instead of storing its asterisks', async () => {
    const rules = { shape: { routing_key: 'secret', list: [1, '{{event}}'] } }
    const memory = control({ sources: [shop], destinations: [{ ...crm, rules }] })
    const { out } = await sluice(memory, 'export', '', { CONTROL_TOKEN: VIEW })
    const { code, err } = await sluice(memory, 'apply -', out)
    expect([code, memory.writes]).toEqual([1, []])
    expect(err).toContain('destinations/crm rules/shape/routing_key: "***"')
    expect(err).toContain('destinations/crm rules/shape/list/1: "***"')
    expect((await sluice(memory, 'diff -', out, { CONTROL_TOKEN: VIEW })).code).toBe(0)
  })

  test('changes nothing in a dry run', async () => {
    const memory = control({ sources: [shop], destinations: [crm] })
    const { code, out } = await sluice(memory, 'apply --dry-run -', DESTINATION)
    expect([code, out.split('\n').at(-1)]).toEqual([0, 'Dry run: nothing was changed.'])
    expect(memory.topic.size).toBe(0)
  })

  test('removes unlisted records with --prune', async () => {
    const memory = control({ sources: [shop], destinations: [crm] })
    expect((await sluice(memory, 'apply --prune -', 'sources: []\ndestinations: []')).code).toBe(0)
    expect([memory.settings.sources.size, memory.settings.destinations.size]).toEqual([0, 0])
  })

  test('reports all faults with their places, and changes nothing', async () => {
    const memory = control({ sources: [shop] })
    const { code, err } = await sluice(
      memory,
      'apply -',
      'sources:\n  - { id: web, name: Web }\n  - { id: app, name: "${APP}" }\ntraits: 7',
    )
    expect([code, memory.topic.size]).toEqual([1, 0])
    expect(err.split('\n')).toEqual([
      '(standard input):3:22: the variable APP is not set in the environment (variable_missing)',
      '(standard input):4:9: must be a list of records; use [] for none (invalid_form)',
      '2 faults. Nothing was changed.',
    ])
  })

  test('reports faults that only the API can find at their places, before it changes anything', async () => {
    const egress = { faultOf: async () => 'leads to an address that is not public' }
    const memory = control({ sources: [shop] }, { egress })
    const text =
      'sources: [{ id: web, name: Web }]\ndestinations:\n  - { id: crm, name: CRM, webhooks: [{ url: "http://10.0.0.1/" }] }'
    expect(await sluice(memory, 'apply -', text)).toEqual({
      code: 1,
      out: '',
      err:
        '(standard input):3:45: destinations/crm webhooks/0/url: leads to an address that is not public (address_forbidden)\n' +
        '1 fault. Nothing was changed.',
    })
    expect(memory.topic.size).toBe(0)
  })

  describe('of files with faults', () => {
    const egress = { faultOf: async () => 'leads to an address that is not public' }
    const text = (sources: string) =>
      `sources:\n  ${sources}\ndestinations:\n  - { id: crm, name: CRM, sourceIds: [nowhere], webhooks: [{ url: "http://10.0.0.1/" }] }`

    test('reports those that only the API can find at once with the others, even with a wrong id', async () => {
      const memory = control({ sources: [shop] }, { egress })
      const { code, err } = await sluice(memory, 'apply -', text('- { id: Web, name: 7 }'))
      expect([code, memory.topic.size]).toEqual([1, 0])
      expect(err.split('\n')).toEqual([
        expect.stringMatching(/^\(standard input\):2:11: .* \(invalid_id\)$/),
        '(standard input):2:22: sources[0] name: give a string (invalid_type)',
        expect.stringMatching(/^\(standard input\):4:39: .* \(unknown_source\)$/),
        '(standard input):4:67: destinations/crm webhooks/0/url: leads to an address that is not public (address_forbidden)',
        '4 faults. Nothing was changed.',
      ])
    })

    test('reports no unknown source if sources could not be read', async () => {
      const { err } = await sluice(control(), 'diff -', text('- web'))
      expect(err.split('\n')).toEqual([
        '(standard input):2:5: must be a record: an object with an id (invalid_form)',
        '1 fault. Nothing was changed.',
      ])
    })

    test('reports each fault once', async () => {
      const memory = control({ sources: [shop] })
      const { err } = await sluice(memory, 'diff --prune -', 'sources: [{ id: web, name: 7, colour: red }]')
      expect(err.split('\n').map((line) => line.match(/\(\w+\)$/)?.[0])).toEqual([
        '(invalid_type)',
        '(unknown_field)',
        undefined,
      ])
    })

    test('reports those that are found without control, if control does not answer', async () => {
      const context = aContext({
        env: { SLUICE_URL: 'http://127.0.0.1:1', CONTROL_TOKEN: 'x' },
        input: 'sources: 7',
      })
      expect(await run(['apply', '-'], context)).toBe(1)
      expect(context.err.text().split('\n')).toEqual([
        '(standard input):1:10: must be a list of records; use [] for none (invalid_form)',
        '1 fault. Nothing was changed.',
        expect.stringMatching(/^Control may find more faults\. It could not check: .*ECONNREFUSED/),
      ])
    })
  })

  test('reports a late refusal of the API at its place, and how many changes were made', async () => {
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

  test('prints one JSON document without secrets', async () => {
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
      unreadable: [],
      applied: [{ collection: 'destinations', id: 'crm' }],
    })
    expect(memory.settings.destinations.get('crm')).toMatchObject({ sharedSecret: 'hidden-1' })
    expect(memory.settings.destinations.get('crm')?.webhooks[0]?.headers).toEqual({ 'X-Team': 'hidden-2' })
  })
})

describe('a change by someone else in the meantime', () => {
  const rename = (memory: ReturnType<typeof control>, name: string) => async () => {
    const { version = 0, ...record } = memory.settings.destinations.get('crm') ?? expect.fail('it is there')
    await memory.ask({
      method: 'PUT',
      path: 'destinations/crm',
      json: { ...record, name },
      ifMatch: version,
    })
  }

  test('causes a new plan, so that the declared settings win', async () => {
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
    expect([code, err]).toEqual([0, 'Someone else has changed settings in the meantime; planning again.'])
    expect(out).toContain('    name: "Theirs" -> "CRM 2"')
    expect(out.split('\n').filter((line) => line.startsWith('replaced'))).toEqual([
      'replaced sources/shop',
      'replaced destinations/crm',
    ])
    expect(memory.settings.destinations.get('crm')).toMatchObject({ name: 'CRM 2', version: 4 })
  })

  test('stops the command the second time', async () => {
    const memory = control({ sources: [shop], destinations: [crm] })
    let time = 0
    memory.meanwhile(() => rename(memory, `Theirs ${++time}`)())
    const { code, err } = await sluice(memory, 'apply -', DESTINATION)
    expect([code, time]).toEqual([1, 2])
    expect(err.split('\n').at(-1)).toBe(
      'Someone else is changing destinations/crm. Stopped; run the command again.',
    )
    expect(memory.settings.destinations.get('crm')?.name).toBe('Theirs 2')
  })

  test('is noticed for a created or removed record too', async () => {
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
  test('exits with 2 if something differs, 0 if nothing does, 1 on failure', async () => {
    const memory = control({ sources: [shop] })
    const codeOf = async (input: string, args = 'diff -') => (await sluice(memory, args, input)).code
    expect(await codeOf('sources: [{ id: shop, name: Other }]')).toBe(2)
    expect(await codeOf('sources: [{ id: shop, name: Shop }]')).toBe(0)
    expect(await codeOf('sources: []')).toBe(0)
    expect(await codeOf('sources: []', 'diff --prune -')).toBe(2)
    expect(await codeOf('sources: [{ id: shop }]')).toBe(1)
    expect(memory.topic.size).toBe(0)
  })

  test('prints one JSON document', async () => {
    const { out } = await sluice(control({ sources: [shop] }), 'diff --json -', 'sources: []')
    expect(JSON.parse(out)).toEqual({
      changes: [],
      hidden: [],
      others: [{ collection: 'sources', id: 'shop' }],
      unreadable: [],
    })
  })

  test('lists the secrets that a view token cannot compare', async () => {
    const memory = control({ sources: [shop], destinations: [crm] })
    const text = `sources: [{ id: shop, name: Shop, writeKey: another-write-key }]${DESTINATION.replace('"***"', 'another')}`
    const { code, out, err } = await sluice(memory, 'diff -', text, { CONTROL_TOKEN: 'view-token-123456' })
    expect([code, err, out.split('\n')]).toEqual([
      2,
      '',
      [
        '~ destinations/crm',
        '    name: "CRM" -> "CRM 2"',
        'Secrets that a read-only token cannot compare:',
        '    sources/shop writeKey',
        '    destinations/crm sharedSecret, webhooks/0/url',
      ],
    ])
    const exported = `sources: [{ id: shop, name: Shop, writeKey: "***" }]${DESTINATION.replace('CRM 2', 'CRM')}`
    expect(await sluice(memory, 'diff -', exported, { CONTROL_TOKEN: 'view-token-123456' })).toEqual({
      code: 0,
      out: 'Nothing differs.\nSecrets that a read-only token cannot compare:\n    destinations/crm webhooks/0/url',
      err: '',
    })
  })

  test('with a view token, recognizes a source whose write key is being replaced', async () => {
    const until = '2036-01-01T00:00:00.000Z'
    const rotated = { ...shop, previousWriteKey: 'earlier-write-key', previousWriteKeyExpiresAt: until }
    const memory = control({ sources: [rotated, { ...rotated, id: 'web', name: 'Web' }] })
    const view = { CONTROL_TOKEN: 'view-token-123456' }
    const { out: exported } = await sluice(memory, 'export', '', view)
    expect(exported).toContain('previousWriteKey: "***"')
    expect(await sluice(memory, 'diff -', exported, view)).toEqual({
      code: 0,
      out: 'Nothing differs.',
      err: '',
    })
  })

  test('with a view token, shows a replacement of a write key as a change', async () => {
    const memory = control({ sources: [shop] })
    const text =
      'sources: [{ id: shop, name: Shop, writeKey: next-write-key, previousWriteKeyExpiresAt: "2036-01-01T00:00:00Z" }]'
    const { code, out, err } = await sluice(memory, 'diff -', text, { CONTROL_TOKEN: 'view-token-123456' })
    expect([code, err, out.split('\n')]).toEqual([
      2,
      '',
      [
        '~ sources/shop',
        '    writeKey: "***" -> "***"',
        '    previousWriteKeyExpiresAt: (none) -> "2036-01-01T00:00:00Z"',
        '    previousWriteKey: (none) -> "***"',
      ],
    ])
  })
})

test('a refusal of the API is printed with its code, and the exit code is 1', async () => {
  const memory = control()
  expect(await sluice(memory, 'diff -', 'sources: []', { CONTROL_TOKEN: 'no-token-of-anybody' })).toEqual({
    code: 1,
    out: '',
    err: expect.stringMatching(/^Refused: .* \(401 unauthorized\)$/),
  })
})

test("an error that quotes a file or control's answer cannot control a terminal", async () => {
  const { err } = await sluice(control(), 'diff -', '"\\e]0;x\\a\\x9b2J\\u202e": []')
  expect(err).toMatch(/unknown key \\u001b]0;x\\u0007\\u009b2J\\u202e: .*\n1 fault/)
})

test('an unreachable address is named', async () => {
  const context = aContext({
    env: { SLUICE_URL: 'http://127.0.0.1:1', CONTROL_TOKEN: 'x' },
    input: 'sources: []',
  })
  expect(await run(['diff', '-'], context)).toBe(1)
  expect(context.err.text()).toMatch(/^http:\/\/127\.0\.0\.1:1 does not answer: .*ECONNREFUSED/)
})

describe('the value of a variable', () => {
  const before = { ...shop, name: 'yesterdays-secret', labels: { 'a\u001b[2J': 'b' } }
  const file = 'sources: [{ id: shop, name: "${TEAM_TOKEN}", labels: { token: "Bearer ${TEAM_TOKEN}" } }]'
  const env = { TEAM_TOKEN: 'todays "secret"' }

  test.each(['diff -', 'diff --json -', 'apply --dry-run -', 'apply -'])(
    'is not printed by %s, nor is the value that it replaces',
    async (args) => {
      const { out, err } = await sluice(control({ sources: [before] }), args, file, env)
      for (const hidden of ['todays', 'yesterdays', '\u001b']) expect(`${out}${err}`).not.toContain(hidden)
      expect(out).toContain('"***"')
    },
  )

  test('is not printed in a refusal', async () => {
    const asked =
      'destinations: [{ id: crm, name: CRM, sourceIds: ["${ID}"], webhooks: [{ url: "https://a.example" }] }]'
    const { code, err } = await sluice(control({}), 'diff -', asked, { ID: 'a-secret-id' })
    expect([code, err]).toEqual([1, expect.stringContaining('***')])
    expect(err).not.toContain('a-secret-id')
  })

  test('cannot come from a variable of Sluice itself', async () => {
    for (const name of ['CONTROL_TOKEN', 'CONFIG_KEY', 'SLUICE_WRITE_KEY', 'KAFKA_SASL_PASSWORD']) {
      const asked = `sources: [{ id: shop, name: "\${${name}}" }]`
      const { code, err } = await sluice(control({}), 'diff -', asked, { [name]: 'a-token-of-20-letters' })
      expect([code, err]).toEqual([1, expect.stringContaining(`${name} is a variable of Sluice itself`)])
    }
  })

  test('is written unchanged', async () => {
    const memory = control({ sources: [shop] })
    await sluice(memory, 'apply -', file, env)
    expect(memory.settings.sources.get('shop')).toMatchObject({ name: 'todays "secret"' })
  })
})
