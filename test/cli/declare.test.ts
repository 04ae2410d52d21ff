import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { declare } from '../../cli/settings/declare.ts'
import { asYaml } from '../../cli/settings/export.ts'
import { shownFault } from '../../cli/settings/location.ts'
import { settings } from './generated.ts'

const env = { SECRET: 's3cret' }

/** As `line:column code`. */
function faults(text: string): string[] {
  return declare([{ name: 'f.yaml', text }], env).faults.map(
    ({ location, code }) => `${location?.line}:${location?.column} ${code}`,
  )
}

describe('a file', () => {
  test('is read with all its documents, kinds, variables and anchors', () => {
    const text = `
sources:
  - id: shop
    name: Shop
    labels: &labels { team: growth }
  - { id: web, name: Web, labels: *labels }
audiences: []
---
destinations:
  - id: crm
    name: CRM
    webhooks: [{ url: "https://crm.example/", headers: { X-Key: "\${SECRET}" } }]
---
`
    const declared = declare([{ name: 'f.yaml', text }], env)
    expect(declared.faults.map(shownFault)).toEqual([])
    expect([...declared.collections].sort()).toEqual(['audiences', 'destinations', 'sources'])
    expect(declared.records.map(({ collection, id, body }) => [collection, id, body])).toEqual([
      ['sources', 'shop', { id: 'shop', name: 'Shop', labels: { team: 'growth' } }],
      ['sources', 'web', { id: 'web', name: 'Web', labels: { team: 'growth' } }],
      [
        'destinations',
        'crm',
        {
          id: 'crm',
          name: 'CRM',
          webhooks: [{ url: 'https://crm.example/', headers: { 'X-Key': 's3cret' } }],
        },
      ],
    ])
  })

  test('with several faults reports all of them, each at its place', () => {
    expect(
      faults(`sources:
  - id: shop
    name: ''
    enabled: maybe
    colour: red
  - id: Not An Id
    name: x
    colour: red
  - name: 8
  - 7
destinations:
  - id: crm
    webhooks:
      - url: ftp://x.example/
        headers: { Host: a, "b c": d }
      - url: \${NOWHERE}/in
`),
    ).toEqual([
      '3:11 too_short',
      '4:14 invalid_type',
      '5:5 unknown_field',
      '6:9 invalid_id',
      // other fields of a record without a valid id are checked too
      '8:5 unknown_field',
      '9:5 invalid_id',
      '9:11 invalid_type',
      '10:5 invalid_form',
      '12:5 required',
      '14:14 invalid_url',
      '15:20 reserved_header',
      '15:29 invalid_header_name',
      '16:14 variable_missing',
    ])
  })

  test.each([
    ['sources: [', '1:11 invalid_yaml'],
    ['sources: []\nsources: []', '2:1 invalid_yaml'],
    ['sources: !!python/object []', '1:10 invalid_yaml'],
    ['sources: *nowhere', '1:10 invalid_yaml'],
    ['- sources', '1:1 invalid_form'],
    ['source: []', '1:1 invalid_form'],
    ['others: []', '1:1 invalid_form'],
    ['suppressions: [{ id: a, userId: u }]', '1:16 required'],
    ['suppressions: [{ sourceId: a, userId: u }, { sourceId: a, userId: u }]', '1:44 id_twice'],
    ['sources:', '1:9 invalid_form'],
    ['sources: { id: a }', '1:10 invalid_form'],
    ['sources: [{ id: a, name: a, labels: { __proto__: x } }]', '1:39 invalid_form'],
    ['? [a]\n: []', '1:3 invalid_yaml'],
  ])('%j is refused', (text, wanted) => {
    expect(faults(text)).toContain(wanted)
  })

  test.each([
    ['rules: { filter: { path: p[*].sku, in: [a] }}', /^f:1:27: Unexpected .*\. Put text with brackets, /],
    ['rules:\n  shape: {{event}}', /^f:2:11: .*\. Put text with brackets, braces or \* in quotes /],
  ])('%j has one fault, which says what needs quotes', (text, fault) => {
    const found = declare([{ name: 'f', text }], env).faults.map(shownFault)
    expect(found).toEqual([expect.stringMatching(fault)])
  })

  test('with aliases that expand to too much is refused', () => {
    const bomb = ['a: &a [x, x, x, x, x, x, x, x, x, x]']
    for (let level = 1; level < 9; level++) {
      const [name, before] = ['abcdefghij'.charAt(level), 'abcdefghij'.charAt(level - 1)]
      bomb.push(`${name}: &${name} [${Array(10).fill(`*${before}`).join(', ')}]`)
    }
    expect(faults(bomb.join('\n'))).toContain('1:1 invalid_yaml')
  })

  test.each(['', '# nothing\n', '---\n---\n'])('%j declares nothing', (text) => {
    expect(declare([{ name: 'f', text }], env)).toMatchObject({ records: [], collections: new Set() })
  })

  test('a message names the file, the record, the field, and what is wrong', () => {
    const declared = declare(
      [{ name: 'dir/f.yaml', text: 'traits:\n  - id: ltv\n    sourceId: A\n    name: x' }],
      env,
    )
    const [fault] = declared.faults
    expect(fault && shownFault(fault)).toBe(
      'dir/f.yaml:3:15: traits/ltv sourceId: 1 to 64 of a-z, 0-9, _ and - (invalid_format)',
    )
  })
})

test('a record without a valid id is named by its place in the list', () => {
  const { faults: found } = declare([{ name: 'f.yaml', text: 'sources:\n  - { id: Shop, name: 7 }' }], env)
  expect(found.map(shownFault)).toEqual([
    'f.yaml:2:11: each record needs an id: 1 to 64 of a-z, 0-9, _ and - (invalid_id)',
    'f.yaml:2:23: sources[0] name: give a string (invalid_type)',
  ])
})

test('a record in two files is reported with both places', () => {
  const text = 'sources:\n  - name: Shop\n    id: shop'
  const declared = declare(
    [
      { name: 'a.yaml', text },
      { name: 'b.yaml', text: `# later\n${text}` },
    ],
    env,
  )
  const told = declared.faults.map(shownFault)
  expect(told).toEqual(['b.yaml:4:9: sources/shop id: appears twice; first at a.yaml:3 (id_twice)'])
})

test('a fault does not reveal secrets', () => {
  const text =
    'destinations:\n  - { id: crm, name: CRM, sharedSecret: [hidden-1], webhooks: [{ url: "${SECRET}", headers: { a: "é hidden-2" } }] }'
  const declared = declare([{ name: 'f', text }], { SECRET: 'hidden-3' })
  const told = declared.faults.map(shownFault).join()
  expect(told).toContain('invalid_url')
  expect(told).not.toContain('hidden')
})

test.each([
  '|hidden-1',
  '>hidden-1',
  '*hidden-1',
  '!hidden-1',
  'abc${hidden-1',
  '"a\\q hidden-1"',
  ']hidden-1',
])('nor does a secret without quotes: %s', (secret) => {
  const text = `destinations:\n  - id: crm\n    sharedSecret: ${secret}\n    name: CRM`
  const told = declare([{ name: 'f', text }], env).faults.map(shownFault)
  expect(told).not.toEqual([])
  expect(told.join()).not.toContain('hidden')
})

test('an invalid field in any settings is reported at its line', () => {
  fc.assert(
    fc.property(settings, fc.nat(), (wanted, at) => {
      const lines = asYaml(wanted).split('\n')
      const named = lines.flatMap((line, index) => (/^ +enabled: /.test(line) ? [index] : []))
      const index = named[at % named.length]
      fc.pre(index !== undefined)
      lines[index ?? 0] = (lines[index ?? 0] ?? '').replace(/enabled: .*/, 'enabled: perhaps')
      expect(faults(lines.join('\n'))).toEqual([`${(index ?? 0) + 1}:14 invalid_type`])
    }),
    { numRuns: 50 },
  )
})
