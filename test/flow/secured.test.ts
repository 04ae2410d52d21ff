import { AclOperationTypes, AclPermissionTypes, AclResourceTypes, ResourcePatternTypes } from 'kafkajs'
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest'
import { type Config, readConfig } from '../../config.ts'
import { NODE_FLAGS } from '../../harness/launch.ts'
import { connect } from '../../kafka/client.ts'
import { spawnChild } from '../../local/processes/child-process.ts'
import { ConfigError } from '../../process/config-error.ts'
import { createLog } from '../../process/log.ts'
import { prepareKafka } from '../../schemas/prepare-kafka.ts'
import { ATTEMPTS } from '../../schemas/topics.ts'
import { hasOpenssl } from '../helpers/certificate.ts'
import { readAttempts } from '../helpers/decoded.ts'
import { planted } from '../helpers/planted.ts'
import { openRegistryDoor, type RegistryDoor } from '../helpers/registry-door.ts'
import { type SecuredBroker, startSecuredBroker, USER } from '../helpers/secured-broker.ts'
import { aReceiver, type System, startSystem } from '../helpers/system.ts'
import { until } from '../helpers/until.ts'

/** Like a read-only container without rights: no written files, no programs, no threads. */
const READ_ONLY = '--permission --allow-fs-read=* --allow-addons'

const withoutPassword = { KAFKA_SASL_MECHANISM: '', KAFKA_SASL_USERNAME: '', KAFKA_SASL_PASSWORD: '' }

describe.skipIf(!hasOpenssl)('Kafka and registry behind TLS and passwords', () => {
  let broker: SecuredBroker
  let door: RegistryDoor
  let sluice: System

  beforeAll(async () => {
    broker = await startSecuredBroker({
      'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
      'super.users': 'User:ANONYMOUS',
      'allow.everyone.if.no.acl.found': 'true',
    })
    door = await openRegistryDoor(inject('registryUrl'), { ...broker.own, ...USER })
    sluice = await startSystem({
      KAFKA_BROKERS: broker.sasl,
      KAFKA_SSL: 'true',
      KAFKA_SSL_CA: broker.files.ca,
      KAFKA_SASL_MECHANISM: 'scram-sha-512',
      KAFKA_SASL_USERNAME: USER.username,
      KAFKA_SASL_PASSWORD: USER.password,
      SCHEMA_REGISTRY_URL: door.url,
      SCHEMA_REGISTRY_CA: broker.files.ca,
      NODE_OPTIONS: READ_ONLY,
    })
  })
  afterAll(async () => {
    await sluice?.close()
    door?.close()
    await broker?.close()
  })

  const configWith = (changed: Record<string, string>): Config =>
    readConfig({ ...sluice.env, ...changed }, 'router')

  /** Starts like each process does. */
  async function starting(changed: Record<string, string>): Promise<void> {
    const config = configWith(changed)
    await prepareKafka(
      connect(config.kafka, { clientId: 'test', log: createLog({ role: 'start', level: 'silent' }) }),
      config,
      () => undefined,
    )
  }

  async function ended(changed: Record<string, string>): Promise<{ code: number | null; printed: string }> {
    const printed: string[] = []
    planted.settings(changed)
    const { exited } = spawnChild(process.execPath, {
      args: [...NODE_FLAGS, 'router/main.ts'],
      env: { PATH: process.env.PATH, ...sluice.env, ROUTER_PORT: '0', ...changed },
      onLine(line) {
        printed.push(line)
        planted.heard(line)
      },
    })
    return { code: (await exited).code, printed: printed.join('\n') }
  }

  test('an event is delivered, and no process writes a file or starts another process', async () => {
    const receiver = await aReceiver()
    await sluice.destination('crm', [receiver.url], { eventTypes: ['track'] })
    await sluice.send([{ type: 'track', userId: 'u1', event: 'Paid' }])
    await until(() => receiver.arrivals.length === 1)
  })

  test('PLAIN and client certificates are accepted', async () => {
    await starting({ KAFKA_SASL_MECHANISM: 'plain' })
    const { cert, key } = broker.files
    await starting({
      KAFKA_BROKERS: broker.mutual,
      ...withoutPassword,
      KAFKA_SSL_CERT: cert,
      KAFKA_SSL_KEY: key,
    })
  })

  const saysOf = (said: string) =>
    sluice.logged('deliverer').filter(({ level, msg }) => level !== 'debug' && msg.includes(said))

  test('without permission to write attempts, events are still delivered, a line names the setting, and attempts follow once permitted', async () => {
    const rule = {
      resourceName: sluice.connection.named(ATTEMPTS),
      resourceType: AclResourceTypes.TOPIC,
      principal: `User:${USER.username}`,
      host: '*',
      operation: AclOperationTypes.WRITE,
      permissionType: AclPermissionTypes.DENY,
    }
    const config = { brokers: [broker.open], ssl: false, sasl: undefined, topicPrefix: '' } as const
    const { kafka } = connect(
      { ...config, brokers: [broker.open], partitions: 1, replication: 1 },
      { clientId: 'test', log: createLog({ role: 'start', level: 'silent' }) },
    )
    const open = kafka.admin()
    await open.connect()
    onTestFinished(() => open.disconnect())
    const receiver = await aReceiver()
    await sluice.destination('flaky', [`${receiver.url}/flaky/1`], { eventTypes: ['identify'] })
    await open.createAcls({ acl: [{ ...rule, resourcePatternType: ResourcePatternTypes.LITERAL }] })
    await sluice.send([{ type: 'identify', userId: 'u1' }])
    await until(() => receiver.arrivals.length === 2, { message: 'it is tried again, and delivered' })
    await until(() => saysOf('a send failed').length > 0)
    await until(() => saysOf('Kafka does not take writes').length === 1)
    expect(saysOf('a send failed')).toMatchObject([
      { topics: [rule.resourceName], settings: 'KAFKA_SASL_USERNAME' },
    ])
    await open.deleteAcls({
      filters: [{ ...rule, resourcePatternType: ResourcePatternTypes.LITERAL }],
    })
    await until(async () => (await readAttempts(sluice, 'flaky')).length === 2, {
      message: 'attempts are written',
    })
  })

  describe.concurrent('a refused process ends and names the setting:', () => {
    test('with a wrong password, which is not shown', async () => {
      const { code, printed } = await ended({ KAFKA_SASL_PASSWORD: 'quite-wrong' })
      expect(code).toBe(2)
      expect(printed).toMatch(
        /^ {2}KAFKA_SASL_USERNAME, KAFKA_SASL_PASSWORD: SASL SCRAM SHA512 authentication failed/m,
      )
      expect(printed).not.toContain('quite-wrong')
    })

    test('with a broker certificate under no trusted root', async () => {
      const { code, printed } = await ended({ KAFKA_SSL_CA: broker.files.strange })
      expect(code).toBe(2)
      expect(printed).toMatch(/^ {2}KAFKA_SSL_CA: Connection error: unable to verify the first certificate/m)
      expect(printed).not.toContain(USER.password)
    })

    test.each([
      [
        'a mechanism that the broker does not have',
        { KAFKA_SASL_MECHANISM: 'scram-sha-256' },
        'KAFKA_SASL_MECHANISM: ',
      ],
      [
        'a wrong password in PLAIN',
        { KAFKA_SASL_MECHANISM: 'plain', KAFKA_SASL_PASSWORD: 'wrong' },
        'KAFKA_SASL_USERNAME, ',
      ],
      [
        'a registry under another root',
        () => ({ SCHEMA_REGISTRY_CA: broker.files.strange }),
        'SCHEMA_REGISTRY_CA: ',
      ],
      [
        'a wrong password to the registry',
        () => ({ SCHEMA_REGISTRY_URL: door.url.replace('sluice', 'else') }),
        'SCHEMA_REGISTRY_URL: ',
      ],
      [
        "a registry's address without its path",
        () => ({ SCHEMA_REGISTRY_URL: new URL('/', door.url).href }),
        'SCHEMA_REGISTRY_URL: https://127.0.0.1',
      ],
      [
        'no certificate where one is asked for',
        () => ({ KAFKA_BROKERS: broker.mutual, ...withoutPassword }),
        'KAFKA_SSL_CERT, KAFKA_SSL_KEY: ',
      ],
    ])('%s', async (_, changed, setting) => {
      const failed = starting(typeof changed === 'function' ? changed() : changed)
      await expect(failed).rejects.toThrow(ConfigError)
      await expect(failed).rejects.toThrow(setting)
    })
  })
})
