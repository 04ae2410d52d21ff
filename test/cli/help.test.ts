import { readFile } from 'node:fs/promises'
import { Ajv } from 'ajv'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { run } from '../../cli/run.ts'
import { jsonSchema } from '../../cli/settings/schema.ts'
import { aContext } from './in-memory.ts'

const said = (...args: string[]) => saidOn(undefined, ...args)

async function saidOn(columns: number | undefined, ...args: string[]) {
  const context = aContext({ columns })
  const code = await run(args, context)
  return { code, out: context.out.text(), err: context.err.text() }
}

const COMMANDS = [
  'diff',
  'apply',
  'export',
  'keys',
  'schema',
  'send',
  'tail',
  'test',
  'preview',
  'events',
  'health',
  'deliveries',
  'attempts',
  'dead',
  'replay',
  'lag',
  'delete-user',
  'deletions',
  'replace-write-key',
  'pause',
  'resume',
  'upload',
  'env',
  'help',
]

test('--version prints the version, without an address or a token', async () => {
  const { version } = JSON.parse(await readFile('package.json', 'utf8'))
  expect(await said('--version')).toEqual({ code: 0, out: version, err: '' })
})

describe('help', () => {
  test('lists every command and every exit code', async () => {
    const { code, out } = await said('help')
    expect(code).toBe(0)
    for (const command of COMMANDS) expect(out).toMatch(new RegExp(`^  ${command} `, 'm'))
    expect(out).toMatch(/Exit codes:\n {2}0 .*\n {2}1 .*\n( {5}.*\n)? {2}2 /)
  })

  test.each(COMMANDS)('for %s has an example', async (command) => {
    const { code, out } = await said('help', command)
    expect([code, out]).toEqual([
      0,
      expect.stringMatching(new RegExp(`Examples?:\n(.*\n)*  \\$.* sluice ${command}`)),
    ])
  })

  test.each([
    ['start', '--per-second'],
    ['list', '--limit'],
    ['show', '<id>'],
    ['cancel', '<id>'],
  ])('for replay %s shows that command, in each of three ways', async (command, has) => {
    const ways = [
      ['help', 'replay', command],
      ['replay', 'help', command],
      ['replay', command, '--help'],
    ]
    for (const way of ways)
      expect(await said(...way)).toMatchObject({
        code: 0,
        out: expect.stringMatching(new RegExp(`^Usage: sluice replay ${command} .*(.*\\n)*.*${has}`)),
      })
  })
})

describe('help on a terminal', () => {
  const [none, ...pages]: string[][] = [[], ...COMMANDS.map((name) => [name]), ['replay', 'start']]
  const linesOn = async (width: number | undefined) => {
    const { err } = await saidOn(width, ...(none ?? []))
    const texts = await Promise.all(pages.map(async (page) => (await saidOn(width, 'help', ...page)).out))
    return [err, ...texts].join('\n').split('\n')
  }

  test.each([
    [70, 70],
    [80, 80],
    [100, 100],
    [250, 100],
    ['no', 80],
  ])('of %s columns has no longer line than %i', async (columns, most) => {
    const lines = await linesOn(columns === 'no' ? undefined : Number(columns))
    expect(lines.length).toBeGreaterThan(300)
    expect(lines.filter((line) => line.length > most)).toEqual([])
    // paragraphs use the width
    expect(lines.filter((line) => line.length > most - 12).length).toBeGreaterThan(20)
  })

  test('that is narrow has descriptions below the options', async () => {
    const { out } = await saidOn(50, 'help', 'send')
    expect(out).toContain("  --write-key <key>\n      the source's write key (SLUICE_WRITE_KEY)\n")
    expect(out.split('\n').filter((line) => line.length > 50)).toEqual([])
  })

  test('keeps examples that can be copied, and lists with their columns', async () => {
    const { out } = await saidOn(60, 'help', 'send')
    expect(out).toContain(
      `  $ sluice send track --source shop --user u1 \\\n      --event 'Signed Up' --properties '{"plan": "pro"}'\n`,
    )
    const { out: all } = await saidOn(60, 'help')
    expect(all).toContain(
      '\n  2  diff: something differs; status: something is wrong;\n     backup: a setting is missing\n',
    )
    expect(all).toMatch(/\n {2}1 {2}failed: .*\n {5}\S/)
    expect(all).toContain('  $ sluice diff settings/\n      # show what would change, field by field\n')
  })
})

test.each([
  [[], /Usage: sluice/],
  [['nothing'], /unknown command 'nothing'/],
  [['help', 'nothing'], /unknown command 'nothing'/],
  [['help', 'replay', 'nothing'], /unknown command 'nothing'/],
  [['diff'], /missing required argument 'files'/],
  [['dead', '--limit', '0'], /a whole number above 0/],
  [['dead', '--limits', '1'], /unknown option '--limits'/],
  [['lag', 'more'], /too many arguments/],
  [['diff', '/no/such/folder'], /no such file or folder: \/no\/such\/folder/],
  [['dead', '--since', 'then'], /is not a time/],
  [['tail', 'shop', '--source', 'shop'], /tail events --source shop/],
])('sluice %j exits with 1 and says why', async (args, wanted) => {
  const { code, out, err } = await said(...args)
  expect([code, out, err]).toEqual([1, '', expect.stringMatching(wanted)])
})

test('the schema in the checkout equals the printed one (update it with npm run schemas)', async () => {
  const checkedIn = JSON.parse(
    await readFile(new URL('../../cli/sluice.schema.json', import.meta.url), 'utf8'),
  )
  expect(checkedIn).toEqual(jsonSchema())
  expect(JSON.parse((await said('schema')).out)).toEqual(checkedIn)
})

const EXAMPLES = ['sources.yaml', 'destinations.yaml', 'computations.yaml']

test.each(EXAMPLES)('the schema accepts the example %s, and rejects it with an extra field', async (name) => {
  const isRight = new Ajv({ validateFormats: false }).compile(jsonSchema())
  const example = parse(await readFile(new URL(`../../examples/settings/${name}`, import.meta.url), 'utf8'))
  expect([isRight(example), isRight.errors]).toEqual([true, null])
  for (const [first] of Object.values<object[]>(example)) {
    Object.assign(first ?? {}, { colour: 'red' })
    expect(isRight(example)).toBe(false)
  }
})
