import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { controlDescription } from '../../control/description.ts'
import { goPackage } from '../../site/reference/go.ts'
import { nodePackage } from '../../site/reference/node.ts'
import { apiPages } from '../../site/reference/openapi.ts'
import { fieldTable, typeOf } from '../../site/reference/shape.ts'
import { api } from '../control/api.ts'

test('the description of control without Kafka is what control serves', async () => {
  const { text } = await api().ask({ url: '/api/openapi.json' })
  expect(await controlDescription()).toBe(text)
})

describe('an API', () => {
  const missing = { description: '`not_found`: It does not exist.\n\n`gone`: It is gone.' }
  const broken = { description: '`internal`: Internal error.' }
  const shape = { $ref: '#/components/schemas/Thing' }
  const document = {
    info: { description: 'About it.' },
    paths: {
      '/api/things/{id}': {
        get: {
          operationId: 'a',
          tags: ['things'],
          summary: 'Show a thing',
          description: 'With all fields.',
          parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }],
          responses: {
            200: { description: 'The thing.', content: { 'application/json': { schema: shape } } },
            404: missing,
            500: broken,
          },
        },
      },
      '/api/t/{id}': {},
      '/api/things': {
        get: {
          operationId: 'b',
          tags: ['things'],
          summary: 'List things',
          responses: { 204: { description: 'None.' }, 500: broken },
        },
      },
      '/api/list': {
        get: {
          operationId: 'c',
          tags: ['things'],
          summary: 'List things',
          responses: { 204: { description: 'None.' }, 500: broken },
        },
      },
    },
    components: {
      schemas: {
        Thing: { type: 'object', properties: { a: { type: 'string', description: 'A.' } }, required: ['a'] },
        Problem: {},
      },
      securitySchemes: { bearer: { description: 'A token.' } },
    },
  }
  const pages = apiPages(document, { title: 'API', folder: 'reference/api' })
  const textOf = (path: string) => pages.find((page) => page.path === path)?.text ?? ''

  test('has an overview, a page for each tag, and one for its shapes', () => {
    expect(pages.map(({ path }) => path)).toEqual([
      'reference/api/index.md',
      'reference/api/things.md',
      'reference/api/shapes.md',
    ])
    expect(textOf('reference/api/index.md')).toContain(
      '[Show a thing](things.md#show-a-thing) | `GET /api/things/{id}`',
    )
  })

  test('has parameters, responses and errors of each operation', () => {
    const [, shown = ''] = textOf('reference/api/things.md').split(/^(?=## )/m)
    expect(shown).toContain('With all fields.')
    expect(shown).toContain('| `id` | path | string | yes |  |')
    expect(shown).toContain('`200` The thing: [Thing](shapes.md#thing)')
    expect(shown).toContain('- `404` `not_found`: It does not exist.\n- `404` `gone`: It is gone.')
  })

  test('lists errors of every operation once', () => {
    expect(textOf('reference/api/index.md')).toContain('- `500` `internal`: Internal error.')
    expect(textOf('reference/api/things.md')).not.toContain('internal')
  })

  test('shows paths that do the same as one operation', () => {
    expect(textOf('reference/api/things.md')).toContain(
      '## List things\n\n`GET /api/things`, `GET /api/list`',
    )
    expect(textOf('reference/api/things.md').match(/^## /gm)).toHaveLength(2)
  })
})

test.each([
  [{ type: ['string', 'null'], minLength: 1, maxLength: 36 }, 'string or null (1 to 36 characters)'],
  [{ type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER }, 'integer (at least 0)'],
  [{ type: 'integer', minimum: 1, maximum: 9, default: 3 }, 'integer (1 to 9; default `3`)'],
  [{ enum: ['a', 'b'] }, '`"a"`, `"b"`'],
  [{ const: null }, '`null`'],
  [{ anyOf: [{ $ref: '#/x/Thing' }, { type: 'null' }] }, '[Thing](at.md#thing) or null'],
  [{ allOf: [{ $ref: '#/x/Call' }, { required: ['event'] }] }, '[Call](at.md#call), with `event`'],
  [{ type: 'array', items: { type: 'string' }, maxItems: 5 }, 'array of string (at most 5 items)'],
  [{ type: 'object', additionalProperties: { type: 'string' } }, 'object with values: string'],
  [{}, 'any'],
])('the type %j is written as %s', (schema, text) => {
  expect(typeOf(schema, 'at.md')).toBe(text)
})

test('nested fields have their path, and text that would end a cell is escaped', () => {
  const items = { type: 'object', properties: { url: { type: 'string', pattern: 'a|b' } }, required: ['url'] }
  const text = fieldTable({ type: 'object', properties: { webhooks: { type: 'array', items } } }, '')
  expect(text).toContain('| `webhooks` | array of object |  |  |')
  expect(text).toContain('| `webhooks[].url` | string (matches `a\\|b`) | yes |  |')
})

describe('the Go reference', () => {
  const sourcesIn = (folder: string) =>
    readdirSync(folder)
      .filter((name) => name.endsWith('.go') && !name.endsWith('_test.go'))
      .map((name) => readFileSync(join(folder, name), 'utf8'))

  test('has what is exported, with its comments', () => {
    const text = goPackage('Title', 'example.com/x', [
      `// Package x does things.
//
// # Part
//
//	code()
//
// See [Thing] and [time.Time]:
//
//   - one
package x

// hidden is not shown.
type hidden struct{}

const (
	inner = 1
)

// Thing is a thing.
type Thing struct {
	// Name is its name.
	Name string

	// secret is secret.
	secret string
}

// New returns a [Thing].
func New(name string) *Thing { return &Thing{name, ""} }

// Do does it.
func (t *Thing) Do() error {
	return nil
}

func (h hidden) Do() {}
`,
    ])
    expect(text).toContain('Package x does things.\n\n### Part\n\n```go\ncode()\n```')
    expect(text).toContain('See [Thing](#type-thing) and `time.Time`:\n\n- one')
    expect(text).toContain(
      '## type Thing\n\n```go\ntype Thing struct {\n\t// Name is its name.\n\tName string\n}\n```\n\nThing is a thing.',
    )
    expect(text).toContain(
      '### func New\n\n```go\nfunc New(name string) *Thing\n```\n\nNew returns a [Thing](#type-thing).',
    )
    expect(text).toContain('### func Thing.Do\n\n```go\nfunc (t *Thing) Do() error\n```')
    expect(text).not.toMatch(/hidden|secret|inner|Constants/)
  })

  test.skipIf(spawnSync('go', ['version']).status !== 0).each(['clients/go', 'clients/go/analytics-go'])(
    'of %s has exactly what go doc has',
    (folder) => {
      const { stdout } = spawnSync('go', ['doc', '-all', '.'], { cwd: folder, encoding: 'utf8' })
      const declared = (text: string) =>
        [...text.matchAll(/^(func .*|type \w+|const \w+|var \w+|\t(?:Err|Default)\w+)/gm)]
          .map(([line]) => line.trim())
          .toSorted()
      const found = declared(goPackage('', '', sourcesIn(folder)))
      expect(found.length).toBeGreaterThan(20)
      expect(found).toEqual(declared(stdout))
    },
  )
})

test('the Node reference has what is exported, and the types that it uses', () => {
  const files = new Map([
    [
      'index.d.ts',
      "export { Client } from './client.ts';\nexport type {\n  Options,\n} from './options.ts';\n",
    ],
    [
      'client.d.ts',
      `import type { Options } from './options.ts';
/**
 * Sends things.
 *
 * Twice.
 */
export declare class Client {
    #private;
    /** @throws Error if it fails. */
    constructor(options: Options);
    /** Sends. */
    send(call: Call): void;
}
/** One call. */
type Call = Id & {
    a?: string;
};
type Id = string;
type Unused = number;
export {};
`,
    ],
    [
      'options.d.ts',
      `/** Its options. */\nexport type Options = {\n    /** The a|b. */\n    ab?: 'a' | 'b' | null | undefined;\n};\n`,
    ],
  ])
  const text = nodePackage('Title', 'x', files)
  expect(text.match(/^## .*/gm)).toEqual(['## Client', '## Options', '## Call', '## Id'])
  expect(text).toContain(
    '## Client\n\nSends things.\n\nTwice.\n\n### constructor\n\n```ts\nconstructor(options: Options);\n```\n\nThrows Error if it fails.',
  )
  expect(text).toContain("| `ab` | `'a' \\| 'b'` |  | The a\\|b. |")
  expect(text).not.toMatch(/#private|Unused/)
})
