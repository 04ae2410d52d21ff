import { spawnSync } from 'node:child_process'
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import { request } from '../../delivery/request.ts'
import type { Destination } from '../../settings/settings.ts'
import { aDelivery, aDestination } from '../helpers/events.ts'

const EXAMPLES = fileURLToPath(new URL('../../examples/verify', import.meta.url))
const SCHEMES = ['sha1', 'standard-webhooks'] as const
type Scheme = (typeof SCHEMES)[number]

type Case = { body: string; headers: Record<string, string>; secret: string }

/** A machine may lack these; .ci/run installs them. Each driver reads cases and prints a verdict for each. */
const LANGUAGES: Record<string, { version: [string, ...string[]]; driver: string; run: string[] }> = {
  mjs: {
    version: ['node', '--version'],
    run: ['node', 'driver.mjs'],
    driver: `import { readFileSync } from 'node:fs'
import { isGenuine } from './verify.mjs'
const verdict = ({ body, headers, secret }) => isGenuine(Buffer.from(body), Object.fromEntries(
  Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])), secret)
console.log(JSON.stringify(JSON.parse(readFileSync(0, 'utf8')).map(verdict)))`,
  },
  py: {
    version: ['python3', '--version'],
    run: ['python3', 'driver.py'],
    driver: `import json, sys
from verify import is_genuine
class Headers(dict):
    def get(self, name, default=None):
        return next((self[key] for key in self if key.lower() == name.lower()), default)
cases = json.loads(sys.stdin.buffer.read())
print(json.dumps([is_genuine(case["body"].encode(), Headers(case["headers"]), case["secret"]) for case in cases]))`,
  },
  go: {
    version: ['go', 'version'],
    run: ['go', 'run', 'driver.go', 'verify.go'],
    driver: `package main
import ("encoding/json"; "net/http"; "os")
func main() {
	var cases []struct{ Body, Secret string; Headers map[string]string }
	if err := json.NewDecoder(os.Stdin).Decode(&cases); err != nil { panic(err) }
	verdicts := []bool{}
	for _, each := range cases {
		headers := http.Header{}
		for name, value := range each.Headers { headers.Set(name, value) }
		verdicts = append(verdicts, IsGenuine([]byte(each.Body), headers, each.Secret))
	}
	json.NewEncoder(os.Stdout).Encode(verdicts)
}`,
  },
  php: {
    version: ['php', '--version'],
    run: ['php', 'driver.php'],
    driver: `<?php
require __DIR__ . '/verify.php';
$cases = json_decode(stream_get_contents(STDIN), true);
echo json_encode(array_map(fn($each) => isGenuine($each['body'], $each['headers'], $each['secret']), $cases));`,
  },
  rb: {
    version: ['ruby', '--version'],
    run: ['ruby', 'driver.rb'],
    driver: `require 'json'
require_relative 'verify'
class Headers < Hash
  def [](name) = find { |key, _| key.downcase == name.downcase }&.last
end
puts JSON.dump(JSON.parse($stdin.read).map { |c| genuine?(c['body'], Headers[c['headers']], c['secret']) })`,
  },
}

const isInstalled = ([command, ...args]: [string, ...string[]]) => spawnSync(command, args).status === 0

async function verdicts(scheme: Scheme, language: string, cases: readonly Case[]): Promise<boolean[]> {
  const { run: [command = '', ...args] = [], driver } = LANGUAGES[language] ?? { driver: '' }
  const folder = await mkdtemp(join(tmpdir(), 'sluice-verify-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const example = join(folder, `verify.${language}`)
  await copyFile(join(EXAMPLES, scheme, `verify.${language}`), example)
  // the example is of package webhooks
  if (language === 'go')
    await writeFile(example, (await readFile(example, 'utf8')).replace('package webhooks', 'package main'))
  await writeFile(join(folder, `driver.${language}`), driver)
  const ran = spawnSync(command, args, { cwd: folder, input: JSON.stringify(cases), encoding: 'utf8' })
  expect(ran.stderr).toBe('')
  return JSON.parse(ran.stdout)
}

const body = '{"type":"track","event":"Grüße ✓","n":1.5}'
const HOUR = 3_600_000
const [SECRET, OLDER] = ['a secret of twenty-four.', 'another secret of 27 bytes.'].map(
  (text) => `whsec_${Buffer.from(text).toString('base64')}`,
) as [string, string]

/** `secret`: the receiver's. */
function sent(fields: Partial<Destination>, secret: string, at = Date.now()): Case {
  const destination = aDestination(fields)
  const { headers } = request(aDelivery({ body }), { destination, urlIndex: 0, attempt: 1, now: at })
  return { body, headers, secret }
}

const rotating = {
  sharedSecret: SECRET,
  previousSecret: OLDER,
  previousSecretExpiresAt: new Date(Date.now() + HOUR).toISOString(),
}

function casesOf(scheme: Scheme): { genuine: Case[]; forged: Case[] } {
  const standardWebhooks = scheme === 'standard-webhooks'
  const plain = sent({ sharedSecret: SECRET, standardWebhooks }, SECRET)
  const header = standardWebhooks ? 'webhook-signature' : 'X-Signature'
  const signature = plain.headers[header] ?? ''
  const withSignature = (value: string): Case => ({
    ...plain,
    headers: { ...plain.headers, [header]: value },
  })
  const { [header]: _, ...unsigned } = plain.headers
  return {
    genuine: [
      plain,
      sent({ sharedSecret: 'sécret', standardWebhooks }, 'sécret'),
      sent({ ...rotating, standardWebhooks }, SECRET),
      sent({ ...rotating, standardWebhooks }, OLDER),
    ],
    forged: [
      { ...plain, body: `${body} ` },
      { ...plain, secret: OLDER },
      { ...plain, headers: unsigned },
      { ...plain, headers: {} },
      ...['', 'v1,', 'v1', signature.slice(0, -4), `v2${signature.slice(2)}`, 'grüße'].map(withSignature),
      ...(standardWebhooks
        ? [
            sent({ sharedSecret: SECRET, standardWebhooks }, SECRET, Date.now() - 10 * 60_000),
            sent({ sharedSecret: SECRET, standardWebhooks }, SECRET, Date.now() + 10 * 60_000),
            { ...plain, headers: { ...plain.headers, 'webhook-timestamp': 'now' } },
            { ...plain, headers: { ...plain.headers, 'webhook-id': 'other' } },
          ]
        : []),
    ],
  }
}

test.each(SCHEMES)('the guide shows the example of %s in Node', async (scheme) => {
  const guide = await readFile(new URL('../../docs/guides/receivers.md', import.meta.url), 'utf8')
  expect(guide).toContain(`\`\`\`js\n${await readFile(join(EXAMPLES, scheme, 'verify.mjs'), 'utf8')}\`\`\``)
})

describe.each(SCHEMES)('the examples of %s', (scheme) => {
  for (const [language, { version }] of Object.entries(LANGUAGES))
    test.skipIf(!isInstalled(version))(
      `in ${language} accept what Sluice signs and nothing else`,
      async () => {
        const { genuine, forged } = casesOf(scheme)
        expect(await verdicts(scheme, language, genuine)).toEqual(genuine.map(() => true))
        expect(await verdicts(scheme, language, forged)).toEqual(forged.map(() => false))
      },
    )
})
