import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import {
  CHART,
  cronJob,
  type Deployment,
  deployment,
  hasHelm,
  helm,
  renderedAs,
  renderedChart,
  set,
} from './manifests.ts'
import { configOf, ROLES } from './settings.ts'

const deployments = (...values: string[]): Deployment[] =>
  renderedChart(...set(...values)).flatMap((each) =>
    each.kind === 'Deployment' ? deployment.parse(each) : [],
  )
/** Of each process. */
const mounts = (...values: string[]): Record<string, string[]> =>
  Object.fromEntries(
    deployments(...values).map(({ metadata, spec }) => [
      metadata.name.replace('sluice-', ''),
      spec.template.spec.containers[0].volumeMounts.map(({ mountPath }) => mountPath),
    ]),
  )
/** Of all processes. */
function settings(...values: string[]): Record<string, string> {
  const [first, ...others] = deployments(...values).map(({ spec }) =>
    Object.fromEntries(spec.template.spec.containers[0].env.map(({ name, value }) => [name, value])),
  )
  for (const other of others) expect(other).toEqual(first)
  return first ?? {}
}
const of = (kind: string, ...values: string[]) =>
  renderedChart(...set(...values)).filter((each) => each.kind === kind)
const policy = z.object({ policyTypes: z.array(z.string()), ingress: z.unknown().optional() })

describe.skipIf(!hasHelm)('the chart', () => {
  test('passes helm lint', () => {
    expect(helm('lint', ...set())).toContain('0 chart(s) failed')
  })

  test('has the version of Sluice', () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
    expect(parse(readFileSync(`${CHART}/Chart.yaml`, 'utf8'))).toMatchObject({ version, appVersion: version })
  })

  test('by default starts two of each process, and nothing that needs an operator', () => {
    expect(deployments().map(({ spec }) => spec.replicas)).toEqual([2, 2, 2, 2])
    const kinds = new Set(renderedChart(...set()).map(({ kind }) => kind))
    expect([...kinds].toSorted()).toEqual(['Deployment', 'PodDisruptionBudget', 'Service', 'ServiceAccount'])
  })

  test('has object names that Kubernetes accepts, whatever the name of the release', () => {
    // Helm's limit
    const release = 'a'.repeat(53)
    const backup = set('backup.enabled=true', 'backup.existingClaim=backups')
    // Kubernetes appends 11 characters to a CronJob's name for each Job
    const most = ({ kind }: { kind: string }) => (kind === 'CronJob' ? 52 : 63)
    const names = renderedAs(release, ...backup).filter((each) => each.metadata.name.length > most(each))
    expect(names.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual([])
  })

  test('refuses to render without brokers', () => {
    expect(() => helm('template')).toThrow(/kafka.brokers is required: host:port/)
  })

  test.each([
    ['a misspelt name', 'kafka.borkers=kafka:9092', /borkers/],
    ['a misspelt name of a process', 'ingest.replica=3', /replica/],
    ['brokers without a port', 'kafka.brokers=kafka', /brokers/],
    ['an unknown mechanism', 'kafka.sasl.mechanism=gssapi', /mechanism/],
    ['a number as text', 'topics.partitions=many', /partitions/],
    ['a digest that is none', 'image.digest=latest', /digest/],
    ['a secret among the settings', 'settings.CONFIG_KEY=abc', /CONFIG_KEY|settings/],
    ['a setting that has its own value', 'settings.PARTITIONS=24', /PARTITIONS|settings/],
    ['a port that probes and services do not know', 'settings.INGEST_PORT=9000', /INGEST_PORT|settings/],
    ['a setting that is no variable', 'settings.logLevel=debug', /logLevel|settings/],
    ['a schedule that is none', 'backup.schedule=daily', /schedule/],
    ['backups without a place', 'backup.enabled=true', /backup.existingClaim is required/],
    ["useKafkaCa without Kafka's CA", 'schemaRegistry.useKafkaCa=true', /kafka.tls.caConfigMap is required/],
    [
      'two CAs of the registry',
      'kafka.tls.caConfigMap=a,schemaRegistry.useKafkaCa=true,schemaRegistry.caConfigMap=b',
      /either useKafkaCa or caConfigMap/,
    ],
    ['a file that is not mounted', 'settings.EGRESS_CA=/ca.crt', /EGRESS_CA|settings/],
    ['a port that is none', 'networkPolicy.kafkaPorts[0]=http', /kafkaPorts/],
  ])('refuses %s', (_, value, fault) => {
    expect(() => helm('template', ...set(value))).toThrow(fault)
  })

  test('lets nobody connect if no peer is listed, although an empty list means everyone to Kubernetes', () => {
    const values = set('networkPolicy.enabled=true')
    const none = (name: string) => ['--set-json', `networkPolicy.${name}=[]`]
    const closed = ['ingestFrom', 'controlFrom', 'prometheusFrom'].flatMap(none)
    const policies = renderedChart(...values, ...closed).filter(({ kind }) => kind === 'NetworkPolicy')
    const names = ['sluice', 'sluice-control', 'sluice-ingest']
    for (const name of names) {
      const found = policies.find(({ metadata }) => metadata.name === name)
      const { policyTypes, ingress } = policy.parse(found?.spec)
      expect([policyTypes[0], ingress]).toEqual(['Ingress', undefined])
    }
    for (const name of ['kafkaTo', 'dnsTo'])
      expect(() => helm('template', ...values, ...none(name))).toThrow(name)
  })

  describe('with network policies', () => {
    const rules = z.looseObject({ egress: z.array(z.looseObject({ to: z.unknown(), ports: z.unknown() })) })
    const egressOf = (name: string, ...values: string[]) => {
      const policies = of('NetworkPolicy', 'networkPolicy.enabled=true', ...values)
      return rules.parse(policies.find(({ metadata }) => metadata.name === name)?.spec).egress
    }
    const ports = (...numbers: number[]) => numbers.map((port) => ({ protocol: 'TCP', port }))

    test('opens the ports of the brokers and the registry, or those that are listed instead', () => {
      const kafka = (...values: string[]) => egressOf('sluice', ...values)[1]?.ports
      expect(kafka()).toEqual(ports(80, 9092))
      const addresses = [
        'kafka.brokers=a:9096\\, b:9098\\,c:9096',
        'schemaRegistry.url=https://registry/apis/ccompat/v7',
      ]
      expect(kafka(...addresses)).toEqual(ports(443, 9096, 9098))
      expect(kafka('schemaRegistry.url=http://registry:8080/v7')).toEqual(ports(8080, 9092))
      expect(kafka(...addresses, 'networkPolicy.kafkaPorts={9092,8081}')).toEqual(ports(9092, 8081))
      expect(() => kafka('schemaRegistry.url=')).toThrow(
        /kafkaPorts is required if schemaRegistry.url is empty/,
      )
      expect(kafka('schemaRegistry.url=', 'networkPolicy.kafkaPorts={9092,8081}')).toEqual(ports(9092, 8081))
    })

    test('lets deliveries reach what EGRESS_ALLOW allows, and adds further rules for every process', () => {
      const allowed = 'settings.EGRESS_ALLOW=10.1.0.0/16\\, fd00::/8'
      const closed = egressOf('sluice-webhooks')
      const [webhooks] = egressOf('sluice-webhooks', allowed)
      expect(webhooks).toEqual({
        ...closed[0],
        to: [
          ...z.array(z.unknown()).parse(closed[0]?.to),
          { ipBlock: { cidr: '10.1.0.0/16' } },
          { ipBlock: { cidr: 'fd00::/8' } },
        ],
      })
      expect(egressOf('sluice', allowed)).toEqual(egressOf('sluice'))
      const extra = ['ports[0].port=4318', 'to[0].podSelector.matchLabels.app=collector']
      expect(egressOf('sluice', ...extra.map((each) => `networkPolicy.extraEgress[0].${each}`))).toEqual([
        ...egressOf('sluice'),
        { ports: [{ port: 4318 }], to: [{ podSelector: { matchLabels: { app: 'collector' } } }] },
      ])
    })
  })

  test("keeps clients' addresses behind a load balancer if asked", () => {
    const policies = (...values: string[]) =>
      of('Service', ...values).map(
        ({ spec }) =>
          z.looseObject({ externalTrafficPolicy: z.string().optional() }).parse(spec).externalTrafficPolicy,
      )
    expect(policies()).toEqual([undefined, undefined])
    const local = policies('ingest.service.type=LoadBalancer', 'ingest.service.externalTrafficPolicy=Local')
    expect(local.toSorted()).toEqual(['Local', undefined])
  })

  test('passes settings from its values to the processes', () => {
    const values = [
      'kafka.tls.enabled=true',
      'kafka.tls.caConfigMap=ca',
      'kafka.tls.clientSecret=client',
      'topics.prefix=a.',
      'settings.LOG_LEVEL=warn',
    ]
    const env = settings(...values)
    for (const role of ROLES)
      expect(configOf(role, { ...env, CONFIG_KEY: '', CONTROL_TOKEN: '' })).toMatchObject({
        kafka: { topicPrefix: 'a.', partitions: 12, replication: 3 },
        logLevel: 'warn',
      })
    expect(env).toMatchObject({
      KAFKA_SSL_CA: '/etc/sluice/kafka/ca.crt',
      KAFKA_SSL_CERT: '/etc/sluice/client/tls.crt',
    })
    expect(mounts(...values)).toEqual({
      ingest: ['/etc/sluice/kafka', '/etc/sluice/client'],
      router: ['/etc/sluice/kafka', '/etc/sluice/client'],
      deliverer: ['/etc/sluice/kafka', '/etc/sluice/client'],
      control: ['/etc/sluice/kafka', '/etc/sluice/client'],
    })
  })

  test('mounts the CAs of the registry and of webhooks where they are read', () => {
    const values = [
      'schemaRegistry.caConfigMap=registry-ca',
      'schemaRegistry.caKey=root.pem',
      'egress.caConfigMap=webhooks-ca',
    ]
    expect(settings(...values)).toMatchObject({
      SCHEMA_REGISTRY_CA: '/etc/sluice/registry/root.pem',
      EGRESS_CA: '/etc/sluice/egress/ca.crt',
    })
    expect(mounts(...values)).toEqual({
      ingest: ['/etc/sluice/registry'],
      router: ['/etc/sluice/registry'],
      deliverer: ['/etc/sluice/registry', '/etc/sluice/egress'],
      control: ['/etc/sluice/registry', '/etc/sluice/egress'],
    })
    const volumes = deployments(...values).flatMap(({ spec }) => spec.template.spec.volumes)
    expect(volumes).toContainEqual({ name: 'registry-ca', configMap: { name: 'registry-ca' } })
    expect(volumes).toContainEqual({ name: 'egress-ca', configMap: { name: 'webhooks-ca' } })
  })

  test('mounts further files, such as the CA of a collector, next to its own', () => {
    const values = [
      'egress.caConfigMap=webhooks-ca',
      'extraVolumes[0].name=collector',
      'extraVolumes[0].secret.secretName=collector-ca',
      'extraVolumeMounts[0].name=collector',
      'extraVolumeMounts[0].mountPath=/etc/collector',
    ]
    expect(mounts(...values)).toEqual({
      ingest: ['/etc/collector'],
      router: ['/etc/collector'],
      deliverer: ['/etc/sluice/egress', '/etc/collector'],
      control: ['/etc/sluice/egress', '/etc/collector'],
    })
    for (const { spec } of deployments(...values))
      expect(spec.template.spec.volumes).toContainEqual({
        name: 'collector',
        secret: { secretName: 'collector-ca' },
      })
  })

  test('passes a setting as it is, although Kubernetes expands $(NAME), and $$ to $', () => {
    const value = 'a=$(HOST)$,b=$$'
    const { OTEL_RESOURCE_ATTRIBUTES: env = '' } = settings(
      `settings.OTEL_RESOURCE_ATTRIBUTES=${value.replaceAll(',', '\\,')}`,
    )
    expect(env.replaceAll('$$', '')).not.toContain('$')
    expect(env.replaceAll('$$', () => '$')).toBe(value)
  })

  test('passes large numbers with all digits, although Helm reads numbers of a file as 64-bit floats', () => {
    const json = JSON.stringify({ A: 33_554_432, B: 0.5, C: -3, D: true })
    const [first] = renderedChart(...set(), '--set-json', `settings=${json}`)
      .filter(({ kind }) => kind === 'Deployment')
      .map((each) => deployment.parse(each).spec.template.spec.containers[0].env)
    const given = first?.filter(({ name }) => name.length === 1).map(({ name, value }) => [name, value])
    expect(Object.fromEntries(given ?? [])).toEqual({ A: '33554432', B: '0.5', C: '-3', D: 'true' })
  })

  test('changed settings replace the pods; running pods keep their old settings', () => {
    const templates = (...values: string[]) => deployments(...values).map(({ spec }) => spec.template)
    expect(templates('settings.LOG_LEVEL=warn')).not.toEqual(templates())
    expect(templates()).toEqual(templates())
    const shared = templates().flatMap(({ spec }) =>
      spec.containers[0].envFrom.filter((from) => 'configMapRef' in from),
    )
    expect(shared).toEqual([])
  })

  test('names the image by version or digest', () => {
    const images = (...values: string[]) =>
      new Set(deployments(...values).map(({ spec }) => spec.template.spec.containers[0].image))
    const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
    expect(images()).toEqual(new Set([`sluice:${version}`]))
    const digest = `sha256:${'0'.repeat(64)}`
    expect(images('image.repository=example.com/a', 'image.tag=1.2.3', `image.digest=${digest}`)).toEqual(
      new Set([`example.com/a:1.2.3@${digest}`]),
    )
  })

  test('gives a process its own secret', () => {
    const secrets = deployments('router.existingSecret=only-router').map(({ spec }) =>
      spec.template.spec.containers[0].envFrom.flatMap((from) =>
        'secretRef' in from ? from.secretRef.name : [],
      ),
    )
    expect(secrets.toSorted()).toEqual([
      ['only-router'],
      ['sluice'],
      ['sluice'],
      ['sluice', 'sluice-control'],
    ])
  })

  describe('with backups', () => {
    const BACKUP = ['backup.enabled=true', 'backup.existingClaim=backups', 'backup.keepDays=7']

    test("gives the job the Service of control and control's token, and no other secret", () => {
      const [container] = backupJob().containers
      expect(container.env).toEqual([
        { name: 'SLUICE_URL', value: 'http://sluice-control:80' },
        { name: 'KEEP_DAYS', value: '7' },
        {
          name: 'CONTROL_TOKEN',
          valueFrom: { secretKeyRef: { name: 'sluice-control', key: 'CONTROL_TOKEN' } },
        },
      ])
    })

    test('runs on the nodes that are chosen for it', () => {
      const nodes = ['backup.nodeSelector.arch=arm', 'backup.tolerations[0].key=only-sluice']
      const [job] = of('CronJob', ...BACKUP, ...nodes)
      expect(cronJob.parse(job).spec.jobTemplate.spec.template.spec).toMatchObject({
        nodeSelector: { arch: 'arm' },
        tolerations: [{ key: 'only-sluice' }],
      })
    })

    test('lets its pods reach control', () => {
      const policies = of('NetworkPolicy', ...BACKUP, 'networkPolicy.enabled=true')
      const control = policies.find(({ metadata }) => metadata.name === 'sluice-control')
      const peer = { podSelector: { matchLabels: { 'app.kubernetes.io/name': 'sluice-backup' } } }
      expect(control?.spec).toMatchObject({ ingress: [{ from: [{}, peer] }] })
    })

    test('removes backups that are too old, but only after a new one is complete', () => {
      const folder = mkdtempSync(join(tmpdir(), 'sluice-test-'))
      onTestFinished(() => rmSync(folder, { recursive: true }))
      const backups = join(folder, 'backups')
      mkdirSync(join(folder, 'cli'))
      mkdirSync(backups)
      for (const [file, days] of [
        ['sluice-old.backup', 9],
        ['sluice-recent.backup', 2],
        ['notes-old.txt', 9],
      ] as const) {
        writeFileSync(join(backups, file), '')
        const time = Date.now() / 1000 - days * 86_400
        utimesSync(join(backups, file), time, time)
      }
      const { command, args } = backupJob().containers[0]
      function run(program: string) {
        writeFileSync(join(folder, 'cli/sluice'), `#!/bin/sh\n${program}\n`, { mode: 0o755 })
        const [shell = '', ...flags] = [...command, args[0].replaceAll('/backups', backups)]
        return spawnSync(shell, flags, { cwd: folder, env: { PATH: process.env.PATH, KEEP_DAYS: '7' } })
          .status
      }
      expect(run('exit 2')).toBe(2)
      expect(readdirSync(backups)).toContain('sluice-old.backup')
      expect(run('echo > "$4"')).toBe(0)
      expect(readdirSync(backups).toSorted()).toEqual([
        'notes-old.txt',
        expect.stringMatching(/^sluice-\d{4}-\d\d-\d\dT\d{4}Z\.backup$/),
        'sluice-recent.backup',
      ])
    })

    function backupJob() {
      const [job] = of('CronJob', ...BACKUP)
      return cronJob.parse(job).spec.jobTemplate.spec.template.spec
    }
  })

  test('is packaged with files, not links', () => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-test-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
    expect(spawnSync('helm', ['package', CHART, '--destination', folder]).status).toBe(0)
    const archive = join(folder, `sluice-${version}.tgz`)
    const packed = (file: string) =>
      execFileSync('tar', ['-xzOf', archive, `sluice/${file}`], { encoding: 'utf8' })
    expect(packed('files/sluice.json')).toBe(readFileSync('ops/grafana/sluice.json', 'utf8'))
    expect(packed('values.schema.json')).toBe(readFileSync(`${CHART}/values.schema.json`, 'utf8'))
  })
})
