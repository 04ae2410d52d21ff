import { execFile, spawnSync } from 'node:child_process'
import { randomBytes, randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, inject, onTestFinished, test } from 'vitest'
import { ADMIN, type Control, startControl } from '../control/process.ts'

const run = promisify(execFile)
const config = fileURLToPath(new URL('../schemathesis/schemathesis.toml', import.meta.url))

// a machine may lack it; .ci/run installs it
const hasSchemathesis = spawnSync('python3', ['-c', 'import schemathesis']).status === 0

/** Makes the settings that the tried bodies refer to. Nothing listens at the webhook. */
async function make({ ask }: Control): Promise<void> {
  const [id, name, sourceId] = ['0', 'Zero', '0']
  const webhooks = [{ url: 'http://127.0.0.1:9/', headers: { 'X-Team': 'crm' } }]
  const made = {
    sources: { id, name },
    destinations: { id, name, sourceIds: [sourceId], sharedSecret: 's3cret', webhooks },
    audiences: { id, name, sourceId },
    traits: { id, name: 'Nought', sourceId },
  }
  for (const [path, body] of Object.entries(made))
    expect((await ask('POST', `/api/${path}`, { body })).status, path).toBeLessThan(300)
}

test.skipIf(!hasSchemathesis)(
  'every answer matches the API description: no internal error, and no invalid request is accepted',
  { timeout: 600_000 },
  async () => {
    const control = startControl({
      kafkaBrokers: inject('kafkaBrokers'),
      registryUrl: inject('registryUrl'),
      topicPrefix: `t${randomUUID().slice(0, 8)}.`,
      key: randomBytes(32),
      settings: { EGRESS_ALLOW: '127.0.0.0/8' },
    })
    onTestFinished(async () => void (await control.stop()))
    const document = `${await control.ready()}/api/openapi.json`
    await make(control)
    const args = ['-m', 'schemathesis.cli', '--config-file', config, 'run', document, '--no-color']
    // it writes files into its working directory
    const cwd = await mkdtemp(join(tmpdir(), 'sluice-schemathesis-'))
    onTestFinished(() => rm(cwd, { recursive: true, force: true }))
    const headers = ['--header', `Authorization: Bearer ${ADMIN}`]
    const report = await run('python3', [...args, ...headers], { cwd }).catch(({ stdout, stderr }) =>
      expect.fail(`${stdout}\n${stderr}`),
    )
    expect(report.stdout).toMatch(/No issues found/)
    expect(control.lines.join('\n')).not.toContain('"level":"error"')
  },
)
