import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { apply } from '../../cli/settings/apply.ts'
import { type Declaration, declare } from '../../cli/settings/declare.ts'
import { asYaml, type Exported, exported } from '../../cli/settings/export.ts'
import { COLLECTIONS, type Collection, nameOf } from '../../cli/settings/form.ts'
import { shownFault } from '../../cli/settings/place.ts'
import { type Plan, plan } from '../../cli/settings/plan.ts'
import { readState } from '../../cli/settings/state.ts'
import { crm, shop } from '../control/in-memory.ts'
import { settings } from './generated.ts'
import { control } from './in-memory.ts'

const now = '2026-01-02T03:04:05.678Z'

function declaration(text: string, env = {}): Declaration {
  const declared = declare([{ name: 'f.yaml', text }], env)
  if ('faults' in declared) throw new Error(declared.faults.map(shownFault).join('\n'))
  return declared
}

type Options = { prune?: boolean; secrets?: boolean }
type Memory = ReturnType<typeof control>

async function planned(
  memory: Memory,
  declared: Declaration,
  { prune = false, secrets = false }: Options = {},
) {
  return plan(declared, await readState(memory.ask), { prune, secrets, now })
}

async function fits(memory: Memory, declared: Declaration, options?: Options): Promise<Plan> {
  const found = await planned(memory, declared, options)
  if ('faults' in found) throw new Error(found.faults.map(shownFault).join('\n'))
  return found
}

const steps = ({ steps }: Plan) => steps.map((step) => `${step.action} ${nameOf(step)}`)
const again = () => expect.fail('nobody else has changed anything')

const everything = `
destinations:
  - { id: crm, name: CRM, sourceIds: [web], webhooks: [{ url: "https://crm.example/hook", headers: { X-Team: new } }] }
traits: [{ id: ltv, name: LTV, sourceId: web }]
audiences: [{ id: vips, name: VIPs, sourceId: web }]
sources: [{ id: web, name: Web }]
`

describe('a plan', () => {
  test('makes what is named before what names it, wherever it stands in the file', async () => {
    const memory = control()
    expect(steps(await fits(memory, declaration(everything)))).toEqual([
      'create sources/web',
      'create destinations/crm',
      'create audiences/vips',
      'create traits/ltv',
    ])
  })

  test('removes, when told to, in the reverse order and after everything else', async () => {
    const memory = control({ sources: [shop], destinations: [crm] })
    const declared = declaration('sources: [{ id: web, name: Web }]\ndestinations: []')
    expect(steps(await fits(memory, declared, { prune: true }))).toEqual([
      'create sources/web',
      'remove destinations/crm',
      'remove sources/shop',
    ])
  })

  test('without being told to removes nothing, and says what is in no file', async () => {
    const memory = control({ sources: [shop], destinations: [crm] })
    const { steps, others } = await fits(memory, declaration('sources: []'))
    expect([steps, others]).toEqual([[], [{ collection: 'sources', id: 'shop' }]])
  })

  test('never looks at a kind of which the files have no list', async () => {
    const memory = control({ sources: [shop], destinations: [crm] })
    const declared = declaration('destinations: []')
    expect(steps(await fits(memory, declared, { prune: true }))).toEqual(['remove destinations/crm'])
  })

  test('that would take a source from a destination that stays is refused as a whole', async () => {
    const memory = control({ sources: [shop], destinations: [crm] })
    const found = await planned(memory, declaration('sources: []'), { prune: true })
    expect('faults' in found && found.faults.map(shownFault)).toEqual([
      'sources/shop is not in the files: destination crm is connected to it: disconnect that first (source_in_use)',
    ])
  })

  test('disconnects a source in the same run in which it is removed', async () => {
    const memory = control({ sources: [shop], destinations: [crm] })
    const declared = declaration(
      'sources: []\ndestinations: [{ id: crm, name: CRM, webhooks: [{ url: "https://crm.example/hook" }] }]',
    )
    expect(steps(await fits(memory, declared, { prune: true }))).toEqual([
      'replace destinations/crm',
      'remove sources/shop',
    ])
  })

  test('says what the API would refuse, at its place and all of it, before anything is changed', async () => {
    const memory = control({ sources: [shop] })
    const found = await planned(
      memory,
      declaration(`sources:
  - { id: web, name: Web, writeKey: shop-write-key }
destinations:
  - id: crm
    name: CRM
    sourceIds: [web, nowhere]
    sharedSecret: "***"
    webhooks: [{ url: "https://crm.example/" }]
audiences:
  - { id: vips, name: VIPs, sourceId: nowhere }
`),
    )
    expect(
      'faults' in found && found.faults.map(({ place, code }) => `${place?.line}:${place?.column} ${code}`),
    ).toEqual([
      '2:37 write_key_taken',
      // web is faulty, but it is there
      '6:22 unknown_source',
      '7:19 nothing_to_keep',
      '10:39 unknown_source',
    ])
  })

  test('replaces what differs, with the version that was read, and says what', async () => {
    const memory = control({ sources: [shop] })
    const { steps } = await fits(
      memory,
      declaration('sources: [{ id: shop, name: Shop 2, writeKey: new-write-key }]'),
    )
    expect(steps).toMatchObject([
      {
        action: 'replace',
        version: 3,
        changes: [
          { field: 'name', before: 'Shop', after: 'Shop 2' },
          { field: 'writeKey', before: '***', after: '***' },
        ],
      },
    ])
  })

  test('takes what a record does not name for not set, but for its write key', async () => {
    const limited = { ...shop, rateLimit: { perSecond: 1, burst: 1 }, enabled: false }
    const memory = control({ sources: [limited] })
    const { steps } = await fits(memory, declaration('sources: [{ id: shop, name: Shop }]'))
    expect(steps[0]?.changes).toEqual([
      { field: 'enabled', before: false, after: true },
      { field: 'rateLimit/perSecond', before: 1 },
      { field: 'rateLimit/burst', before: 1 },
    ])
  })

  test('leaves secrets that it cannot compare, and says which; told to, it writes them', async () => {
    const memory = control({ sources: [shop], destinations: [crm] })
    const text = `destinations:
  - { id: crm, name: CRM, sourceIds: [shop], sharedSecret: new, webhooks: [{ url: "https://crm.example/hook", headers: { X-Team: new } }] }`
    const left = await fits(memory, declaration(text))
    expect([left.steps, left.kept]).toEqual([
      [],
      [{ collection: 'destinations', id: 'crm', fields: ['sharedSecret', 'webhooks/0/headers/X-Team'] }],
    ])
    const written = await fits(memory, declaration(text), { secrets: true })
    expect(written.steps[0]?.changes.map(({ field }) => field)).toEqual([
      'webhooks/0/headers/X-Team',
      'sharedSecret',
    ])
    expect(written.kept).toEqual([])
  })

  test('begins a rotation with another expiry, and has nothing to do after it', async () => {
    const memory = control({ sources: [shop], destinations: [crm] })
    const declared = declaration(`destinations:
  - { id: crm, name: CRM, sourceIds: [shop], sharedSecret: new, previousSecretExpiresAt: "2126-02-01T00:00:00Z",
      webhooks: [{ url: "https://crm.example/hook", headers: { X-Team: "***" } }] }`)
    const first = await fits(memory, declared)
    expect(first.steps[0]?.changes.map(({ field }) => field)).toEqual([
      'sharedSecret',
      'previousSecretExpiresAt',
      'previousSecret',
    ])
    await apply(first, { ask: memory.ask, declaration: declared, again, onDone: () => undefined })
    expect(memory.settings.destinations.get('crm')).toMatchObject({
      sharedSecret: 'new',
      previousSecret: 'shared-secret',
    })
    expect((await fits(memory, declared)).steps).toEqual([])
  })
})

/** As a file that has lists of these collections alone. */
const fileOf = (wanted: Exported, collections: readonly Collection[] = COLLECTIONS) =>
  declaration(asYaml(wanted, collections))

const made = (ask: Memory['ask'], declared: Declaration) => ({
  ask,
  declaration: declared,
  again,
  onDone: () => undefined,
})

describe('any settings', () => {
  test('become those that are declared, or are refused before anything is changed; then nothing differs', async () => {
    const memory = control()
    const cases = { pruned: 0, made: 0 }
    const property = fc.asyncProperty(
      settings,
      settings,
      fc.subarray([...COLLECTIONS]),
      fc.boolean(),
      async (before, wanted, collections, prune) => {
        memory.clear()
        const first = fileOf(before)
        await apply(await fits(memory, first), made(memory.ask, first))
        memory.writes.length = 0
        const declared = fileOf(wanted, collections)
        const found = await planned(memory, declared, { prune })
        if ('faults' in found) {
          expect(memory.writes).toEqual([])
          return
        }
        await apply(found, made(memory.ask, declared))
        cases.made += found.steps.length
        cases.pruned += found.steps.filter(({ action }) => action === 'remove').length
        const after = await fits(memory, declared, { prune })
        expect([after.steps, after.kept.length]).toEqual([[], expect.any(Number)])
        if (prune)
          for (const each of collections) expect(memory.settings[each].size).toBe(wanted[each].length)
      },
    )
    await fc.assert(property, { numRuns: 30 })
    expect(Math.min(...Object.values(cases))).toBeGreaterThan(0)
  }, 30_000)

  test('exported and applied change nothing', async () => {
    const memory = control()
    await fc.assert(
      fc.asyncProperty(settings, fc.boolean(), async (wanted, writeKeys) => {
        memory.clear()
        const declared = fileOf(wanted)
        await apply(await fits(memory, declared), made(memory.ask, declared))
        const text = asYaml(exported(await readState(memory.ask), { writeKeys }))
        const { steps, others, kept } = await fits(memory, declaration(text), { prune: true, secrets: true })
        expect([steps, others, kept]).toEqual([[], [], []])
      }),
      { numRuns: 15 },
    )
  }, 30_000)

  test('are exported without a secret in clear', async () => {
    const memory = control({ sources: [shop], destinations: [crm] })
    const text = asYaml(exported(await readState(memory.ask), { writeKeys: false }))
    for (const secret of ['shop-write-key', 'header-secret', 'shared-secret'])
      expect(text).not.toContain(secret)
    expect(asYaml(exported(await readState(memory.ask), { writeKeys: true }))).toContain('shop-write-key')
  })
})
