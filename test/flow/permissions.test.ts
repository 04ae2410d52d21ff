import { readFile } from 'node:fs/promises'
import got from 'got'
import { AclOperationTypes, AclPermissionTypes, AclResourceTypes, ResourcePatternTypes } from 'kafkajs'
import { expect, inject, test } from 'vitest'
import { run } from '../../cli/run.ts'
import { withAdmin } from '../../harness/kafka/topics.ts'
import type { Permission } from '../../schemas/permissions.ts'
import { ROLES, type Role } from '../../settings/config-key.ts'
import { aContext } from '../cli/in-memory.ts'
import { hasOpenssl } from '../helpers/certificate.ts'
import { closing, connectTo } from '../helpers/cluster.ts'
import { startSecuredBroker } from '../helpers/secured-broker.ts'
import { aReceiver, startSystem } from '../helpers/system.ts'
import { until } from '../helpers/until.ts'

const RESOURCES = {
  topic: AclResourceTypes.TOPIC,
  group: AclResourceTypes.GROUP,
  cluster: AclResourceTypes.CLUSTER,
  'transactional-id': AclResourceTypes.TRANSACTIONAL_ID,
}
const OPERATIONS = {
  Create: AclOperationTypes.CREATE,
  Delete: AclOperationTypes.DELETE,
  Describe: AclOperationTypes.DESCRIBE,
  DescribeConfigs: AclOperationTypes.DESCRIBE_CONFIGS,
  Read: AclOperationTypes.READ,
  Write: AclOperationTypes.WRITE,
}

const password = (role: Role) => `password-of-${role}`

type Granted = Permission & { principal: string }

const aclsOf = ({ principal, resource, name, pattern, operations }: Granted) =>
  operations.map((operation) => ({
    principal,
    host: '*',
    permissionType: AclPermissionTypes.ALLOW,
    resourceType: RESOURCES[resource],
    resourceName: name,
    resourcePatternType: ResourcePatternTypes[pattern === 'prefixed' ? 'PREFIXED' : 'LITERAL'],
    operation: OPERATIONS[operation],
  }))

async function granted(prefix: string): Promise<Granted[]> {
  const context = aContext()
  await run(['acls', '--topic-prefix', prefix, '--principal', 'User:{process}', '--json'], context)
  return JSON.parse(context.out.text())
}

test.skipIf(!hasOpenssl)(
  'each process works with its own user and the permissions that sluice acls prints',
  async () => {
    const broker = closing(
      await startSecuredBroker({
        'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
        'super.users': 'User:ANONYMOUS',
        'listener.name.sasl_ssl.plain.sasl.jaas.config': `org.apache.kafka.common.security.plain.PlainLoginModule required ${ROLES.map(
          (role) => `user_${role}="${password(role)}"`,
        ).join(' ')};`,
      }),
    )
    const prefix = 'least.'
    const acl = (await granted(prefix)).flatMap(aclsOf)
    await withAdmin(connectTo(broker.open), (admin) => admin.createAcls({ acl }))
    const settingsOf = (role: Role) => ({ KAFKA_SASL_USERNAME: role, KAFKA_SASL_PASSWORD: password(role) })
    const system = closing(
      await startSystem(
        {
          TOPIC_PREFIX: prefix,
          KAFKA_BROKERS: broker.sasl,
          KAFKA_SSL: 'true',
          KAFKA_SSL_CA: broker.files.ca,
          KAFKA_SASL_MECHANISM: 'plain',
          SCHEMA_REGISTRY_URL: inject('registryUrl'),
          ...settingsOf('control'),
        },
        ['control'],
      ),
    )
    const { INGEST_PORT = '', ROUTER_PORT = '' } = system.env
    for (const role of ['ingest', 'router', 'deliverer'] as const)
      await system.another(role, { INGEST_PORT, ROUTER_PORT, ...settingsOf(role) })
    const receiver = await aReceiver()
    const bodies = (path: string) =>
      receiver.arrivals.filter((arrival) => arrival.path === path).map(({ body }) => JSON.parse(body))
    const api = async (method: 'get' | 'post', path: string, json?: object) => {
      const { status, body } = await system.api(method, path, json)
      expect([path, status, body.code]).toEqual([path, expect.toBeOneOf([200, 201, 202]), undefined])
      return body
    }
    const done = async (path: string) => until(async () => (await api('get', path)).state === 'done')

    // deliveries, retries, dead letters and rejected calls
    await system.destination('crm', [`${receiver.url}/crm`])
    await system.destination('flaky', [`${receiver.url}/flaky/2`])
    const shape = { all: Array.from({ length: 20 }, () => '{{properties.text}}') }
    await system.destination('failing', [receiver.url], { rules: { shape }, eventTypes: ['page'] })
    await system.destination('refusing', [`${receiver.url}/refusing`])
    receiver.behave('/refusing', '/status/404')
    await system.send([
      { type: 'track', userId: 'u1', event: 'Paid', messageId: 'm1' },
      { type: 'page', userId: 'u1', properties: { text: 'x'.repeat(20_000) } },
      { type: 'track' },
    ])
    await until(() => bodies('/crm').length === 2 && bodies('/flaky/2').length === 6)
    for (const id of ['refusing', 'failing'])
      await until(async () => ((await api('get', `dead?destinationId=${id}`)).items as unknown[]).length > 0)
    const outcomes = async () =>
      ((await api('get', 'attempts?destinationId=flaky')).items as { outcome: string }[]).map(
        ({ outcome }) => outcome,
      )
    await until(async () => (await outcomes()).includes('delivered'))
    await api('get', 'events?messageId=m1')
    await api('get', 'deliveries?destinationId=crm')

    // tasks
    const period = { from: '2026-01-01T00:00:00Z' }
    const { id: replay } = await api('post', 'replays', {
      destinationId: 'refusing',
      what: 'dead',
      ...period,
    })
    await done(`replays/${replay}`)
    const { id: past } = await api('post', 'replays', { destinationId: 'crm', what: 'events', ...period })
    await done(`replays/${past}`)
    const { id: deletion } = await api('post', 'deletions', { userIds: ['u1'], suppress: true })
    await done(`deletions/${deletion}`)

    await api('post', 'audiences', { id: 'vip', name: 'VIP', sourceId: 'shop' })
    const upload = await got.put(`${system.control}/api/audiences/vip/members`, {
      body: 'u2\nu3\n',
      headers: { authorization: `Bearer ${system.env.CONTROL_TOKEN}`, 'content-type': 'text/plain' },
      responseType: 'json',
    })
    await until(() => bodies('/crm').filter(({ type }) => type === 'identify').length === 2, {
      message: () => `after ${JSON.stringify(upload.body)}: ${JSON.stringify(bodies('/crm'))}`,
    })

    // what control observes
    const lag = async () => (await api('get', 'lag')).items as { group: string; committed: number | null }[]
    await until(async () => {
      const groups = (await lag()).filter(({ committed }) => committed !== null).map(({ group }) => group)
      return ['router', 'deliverer', 'deliverer.due', 'deliverer.rungs'].every((group) =>
        groups.includes(group),
      )
    })
    await api('get', 'audit')
    // a group that has just started may count as stopped
    await until(async () => ((await api('get', 'status')).problems as unknown[]).length === 0)
    const log = await readFile(broker.logFile, 'utf8')
    expect(log.split('\n').filter((line) => line.includes('Denied'))).toEqual([])

    // with the user of another process, it does not wait silently
    await expect(system.another('router', settingsOf('ingest'))).rejects.toThrow(/Group authorization failed/)
  },
)
