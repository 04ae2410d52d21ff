import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { render } from '../../delivery/render.ts'
import { CATALOG } from '../../rules/catalog.ts'
import { compileRules } from '../../rules/compile.ts'
import {
  MAX_CONDITIONS,
  MAX_DEPTH,
  MAX_PATTERNS,
  MAX_PLACEHOLDERS,
  MAX_REDACTIONS,
  MAX_RULES_CHARACTERS,
  MAX_VALUES,
  rulesFaults,
} from '../../rules/faults.ts'
import { ROOT_NAMES } from '../../rules/path.ts'
import { MAX_PATTERN_LENGTH } from '../../rules/pattern.ts'
import { PLACEHOLDER_FILTERS } from '../../rules/placeholder-filters.ts'
import { OPERATORS, REDACTIONS, rulesShape } from '../../rules/rules.ts'
import type { Event } from '../../schemas/event.ts'
import { anEvent } from '../helpers/events.ts'

/** Runs the examples in docs/guides/rules.md. */
const page = readFileSync('docs/guides/rules.md', 'utf8')
const [reference = '', recipes = ''] = page.split('\n## Recipes\n')
const [intro = '', ...sections] = recipes.split('\n### ')
const call: Record<string, unknown> = JSON.parse(block(intro, 'json') ?? '')
const hashKey = Buffer.from('the key of this page')

function block(text: string, language: string): string | undefined {
  return new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\n\`\`\``).exec(text)?.[1]
}

/** With its JSON columns as strings. */
function eventOf({ timestamp, ...fields }: Record<string, unknown>): Event {
  const columns = ['properties', 'traits', 'context'].map((name) => [
    name,
    fields[name] === undefined ? null : JSON.stringify(fields[name]),
  ])
  return anEvent({ ...fields, timestamp: Date.parse(String(timestamp)), ...Object.fromEntries(columns) })
}

const recipesOf = sections.map((section) => ({
  title: section.split('\n')[0] ?? '',
  rules: rulesShape.parse(parse(block(section, 'yaml') ?? '')),
  body: block(section, 'json'),
  rows: [...section.matchAll(/^\| `(\{.*?\})` \| (.+) \|$/gm)].map(([, fields = '', result = '']) => ({
    fields,
    result,
  })),
}))

test('there are at least ten recipes', () => {
  expect(recipesOf.length).toBeGreaterThanOrEqual(10)
})

describe.each(recipesOf)('$title', ({ rules, body, rows }) => {
  const { run } = compileRules(rules, hashKey, render)

  test('can be saved, and shows its effect', () => {
    expect(rulesFaults(rules, [])).toEqual([])
    expect(rows.length + (body === undefined ? 0 : 1)).toBeGreaterThan(0)
  })

  test.each(rows)('with $fields: $result', ({ fields, result }) => {
    const found = run(eventOf({ ...call, ...JSON.parse(fields) }))
    const condition = found.outcome === 'filtered' ? ` by \`${found.condition}\`` : ''
    expect(`${found.outcome.replace('_', ' ')}${condition}`).toBe(result)
  })

  test('gives the body that it shows, if any', () => {
    const found = run(eventOf(call))
    if (body !== undefined)
      expect(found.outcome === 'sent' ? found.body : found).toBe(JSON.stringify(JSON.parse(body)))
  })
})

test.each(CATALOG)('the recipe for $title is the shape of the catalog', ({ shape, documentation }) => {
  expect(recipesOf.map(({ rules }) => rules.shape)).toContainEqual(shape)
  expect(page).toContain(documentation)
})

test('the first example can be saved', () => {
  expect(rulesFaults(rulesShape.parse(parse(block(page, 'yaml') ?? '').rules), [])).toEqual([])
})

test('the page names every path, operator, redaction and filter', () => {
  const prose = reference.replaceAll(/```[\s\S]*?```/g, '')
  const named = new Set([...prose.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name.split(':')[0]))
  for (const name of [...ROOT_NAMES, ...OPERATORS, ...REDACTIONS, ...Object.keys(PLACEHOLDER_FILTERS)])
    expect(named, name).toContain(name)
})

test('the page names the limits', () => {
  const limits = (reference.split('\n## Limits\n')[1] ?? '').split('\n\n')[0] ?? ''
  const numbers = [
    MAX_RULES_CHARACTERS,
    MAX_CONDITIONS,
    MAX_DEPTH,
    MAX_PATTERNS,
    MAX_VALUES,
    MAX_PATTERN_LENGTH,
    MAX_REDACTIONS,
    MAX_PLACEHOLDERS,
  ]
  for (const number of numbers) expect(limits).toMatch(new RegExp(`\\b${number.toLocaleString('en-US')}\\b`))
})

test('the table of shapes shows the actual results', () => {
  const rows = [...reference.matchAll(/^\| `"(.+?)"`(?:, \w+)? \| .*?`(.+?)`/gm)].map(
    ([, text = '', result = '']) => ({
      text: JSON.parse(`"${text}"`),
      result: JSON.parse(result),
    }),
  )
  expect(rows).toHaveLength(4)
  for (const { text, result } of rows) {
    const found = compileRules({ shape: [text] }, hashKey, render).run(eventOf(call))
    expect(found.outcome === 'sent' && JSON.parse(found.body)).toEqual([result])
  }
})
