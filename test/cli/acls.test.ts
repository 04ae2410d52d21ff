import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { run } from '../../cli/run.ts'
import { USES } from '../../schemas/permissions.ts'
import { topics } from '../../schemas/topics.ts'
import { ROLES } from '../../settings/config-key.ts'
import { aContext } from './in-memory.ts'

async function acls(args: string[] = [], env: Record<string, string> = {}): Promise<string[]> {
  const context = aContext({ env })
  expect(await run(['acls', ...args], context)).toBe(0)
  return context.out.text().split('\n')
}

const KAFKA_ACLS = 'kafka-acls --bootstrap-server localhost:9092 --command-config admin.properties --add'

test('sluice acls prints one command for all resources on which a process has the same rights', async () => {
  const ingest = (await acls()).filter((line) => line.includes(' User:sluice-ingest '))
  const begin = `${KAFKA_ACLS} --allow-principal User:sluice-ingest`
  expect(ingest.slice(-4)).toEqual([
    `${begin} --operation Read --topic config`,
    `${begin} --operation Write --topic events --topic events.rejected --topic log-faults`,
    `${begin} --operation Read --operation Delete --resource-pattern-type prefixed --group table.`,
    `${begin} --operation Describe --cluster`,
  ])
})

test('names begin with TOPIC_PREFIX, and user names follow the template', async () => {
  const lines = await acls(['--principal', 'User:CN={process},O=A B', '--command', 'acls'], {
    TOPIC_PREFIX: 'eu.',
  })
  expect(lines).toContain(
    "acls --add --allow-principal 'User:CN=ingest,O=A B' --operation Read --topic eu.config",
  )
  expect(lines.join(' ')).toContain(' --resource-pattern-type prefixed --topic eu.deliveries.retry.')
  expect(await acls(['--topic-prefix', 'us.'], { TOPIC_PREFIX: 'eu.' })).not.toContain(
    expect.stringMatching(/eu\./),
  )
})

test('with --json, each permission is an object', async () => {
  const [document = ''] = await acls(['--json', '--principal', 'User:sluice'])
  expect(JSON.parse(document)).toContainEqual({
    process: 'router',
    principal: 'User:sluice',
    resource: 'group',
    name: 'router',
    pattern: 'literal',
    operations: ['Read'],
  })
})

test('each topic is written by a process, and the docs name its writers and readers', () => {
  const page = readFileSync('docs/reference/topics.md', 'utf8')
  const ofProcesses = (use: 'reads' | 'writes', topic: string) =>
    ROLES.filter((role) =>
      USES[role][use].some((name) => name === topic || (name.endsWith('.') && topic.startsWith(name))),
    )
  const ladder = [{ name: '5s', delayMs: 5_000 }]
  for (const { name } of topics({ ladder, windowMs: 1, dedupWindowMs: 1 })) {
    const row =
      page
        .split('\n')
        .find((line) => line.startsWith('| `') && line.split('|')[1]?.includes(`\`${name}\``)) ?? ''
    const [writers, readers] = row
      .split('|')
      .slice(3, 5)
      .map((cell) => cell.trim())
    expect({ name, writers }).toEqual({ name, writers: ofProcesses('writes', name).join(', ') || '-' })
    expect({ name, readers }).toEqual({ name, readers: ofProcesses('reads', name).join(', ') || '-' })
  }
})
