import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { readConfig } from '../config.ts'
import { ConfigError } from '../process/config-error.ts'
import { derivedKeys } from '../settings/config-key.ts'

const least = {
  KAFKA_BROKERS: 'a:9092, b:9092',
  SCHEMA_REGISTRY_URL: 'http://me:pa%40ss@registry:8081/apis/ccompat/v7',
  CONFIG_KEY: Buffer.alloc(32, 'key 1 of the tests').toString('base64'),
}

function faults(env: Record<string, string | undefined>, role: Parameters<typeof readConfig>[1] = 'ingest') {
  try {
    readConfig(env, role)
    return []
  } catch (error) {
    if (error instanceof ConfigError) return error.faults
    throw error
  }
}

describe('sizes of storage', () => {
  test('are numbers with a unit, or absent', () => {
    expect(readConfig(least, 'ingest').storage).toEqual({ limit: undefined, reserve: undefined })
    const given = { ...least, STORAGE_LIMIT: '20GB', STORAGE_RESERVE: '1.5MB' }
    expect(readConfig(given, 'ingest').storage).toEqual({ limit: 20 * 1024 ** 3, reserve: 1.5 * 1024 ** 2 })
  })

  test.each(['20', '20 GB', '20gb', '0GB', '-1GB', 'GB', '1e3GB'])('%s is not a size', (size) => {
    expect(() => readConfig({ ...least, STORAGE_LIMIT: size }, 'ingest')).toThrow(
      `STORAGE_LIMIT: "${size}" is not a size: give a number above 0 with MB, GB or TB, like 20GB`,
    )
  })
})

describe('settings', () => {
  test('read localhost as 127.0.0.1, because Fastify would also open ::1, without limits', () => {
    expect(readConfig({ ...least, HOST: 'localhost' }, 'ingest').host).toBe('127.0.0.1')
    expect(readConfig({ ...least, HOST: '::1' }, 'ingest').host).toBe('::1')
  })

  test('have defaults where they are optional', () => {
    const config = readConfig(least, 'deliverer')
    expect(config.kafka).toMatchObject({
      brokers: ['a:9092', 'b:9092'],
      partitions: 12,
      replication: 1,
      topicPrefix: '',
    })
    expect(config.delivery.ladder.map(({ name, delayMs }) => [name, delayMs])).toEqual([
      ['5s', 5_000],
      ['30s', 30_000],
      ['2m', 120_000],
      ['5m', 300_000],
      ['15m', 900_000],
      ['30m', 1_800_000],
      ['60m', 3_600_000],
      ['60m', 3_600_000],
      ['60m', 3_600_000],
    ])
    expect(config.delivery).toMatchObject({
      windowMs: 14_400_000,
      responseTimeoutMs: 5_000,
      slots: 512,
    })
    expect(config.egress).toEqual({ allow: [], deny: [], ports: undefined, caFile: undefined })
  })

  test("take the registry's user and password out of its URL", () => {
    expect(readConfig(least, 'ingest').registry).toEqual({
      url: 'http://registry:8081/apis/ccompat/v7',
      auth: { username: 'me', password: 'pa@ss' },
    })
  })

  test("report the registry's password if it is not percent-encoded, and do not repeat it", () => {
    expect(faults({ ...least, SCHEMA_REGISTRY_URL: 'http://me:s3c%zzret@registry:8081' })).toEqual([
      'SCHEMA_REGISTRY_URL: its user and password must be percent-encoded: write %25 for a % in them',
    ])
  })

  test('that are empty count as absent', () => {
    expect(readConfig({ ...least, INGEST_PORT: '', EGRESS_ALLOW: '' }, 'ingest')).toMatchObject({
      port: 8080,
    })
  })
})

describe('faults', () => {
  test('are reported together, each with the name of its setting', () => {
    const wrong = {
      INGEST_PORT: '99999',
      EGRESS_ALLOW: '0.0.0.0/0',
      EGRESS_DENY: '10/8',
      EGRESS_PORTS: '443,0',
      TRUST_PROXY: '10.1.2.3/8',
      RETRY_LADDER: '5s,soon',
      CONFIG_KEY: 'short',
      LOG_LEVEL: 'loud',
    }
    expect(
      faults(wrong)
        .map((fault) => fault.slice(0, fault.indexOf(':')))
        .toSorted(),
    ).toEqual([
      'CONFIG_KEY',
      'EGRESS_ALLOW',
      'EGRESS_DENY',
      'EGRESS_PORTS',
      'INGEST_PORT',
      'KAFKA_BROKERS',
      'LOG_LEVEL',
      'RETRY_LADDER',
      'SCHEMA_REGISTRY_URL',
      'TRUST_PROXY',
    ])
  })

  test.each(['0.0.0.0/0', '::/0'])(
    'TRUST_PROXY %s is refused, because it trusts every client',
    (everyone) => {
      expect(faults({ ...least, TRUST_PROXY: `10.0.0.1/32,${everyone}` })).toEqual([
        `TRUST_PROXY: "${everyone}" lets every client claim any address: list only your load balancers`,
      ])
    },
  )

  test.each(['localhost', 'localhost:', 'a:9092;b:9092', 'a:65536', 'a:0', 'kafka://a:9092', '[::1]:9092'])(
    '%j is not a broker',
    (broker) => {
      const message = `KAFKA_BROKERS: "${broker}" is not host:port, with a name or an IPv4 address as host`
      expect(faults({ ...least, KAFKA_BROKERS: `a:9092,${broker}` })).toEqual([message])
    },
  )

  test.each(['5', '5 s', '1d', '-1s', 's', '1e3ms', '5s30m'])('%j is not a duration', (duration) => {
    expect(faults({ ...least, RESPONSE_TIMEOUT: duration })).toHaveLength(1)
  })

  test.each(['x', '0', '1.5', '10001', ' '])('%j is not a number of partitions', (PARTITIONS) => {
    expect(faults({ ...least, PARTITIONS })).toEqual([
      `PARTITIONS: "${PARTITIONS}" is not a whole number from 1 to 10000`,
    ])
  })

  test('numbers are bounded', () => {
    expect(
      faults({ ...least, PARTITIONS: '10000', REPLICATION: '10', DELIVERY_SLOTS: '65536', INGEST_PORT: '0' }),
    ).toEqual([])
    expect(
      faults({
        ...least,
        REPLICATION: 'three',
        DELIVERY_SLOTS: '0',
        DELIVERY_IDLE_CONNECTIONS: '-1',
        INGEST_PORT: 'http',
      }),
    ).toEqual([
      'REPLICATION: "three" is not a whole number from 1 to 10',
      'INGEST_PORT: "http" is not a whole number from 0 to 65535',
      'DELIVERY_SLOTS: "0" is not a whole number from 1 to 65536',
      'DELIVERY_IDLE_CONNECTIONS: "-1" is not a whole number from 0 to 65536',
    ])
  })

  test('RESPONSE_TIMEOUT is above 0 and at most a minute', () => {
    const of = (RESPONSE_TIMEOUT: string) => faults({ ...least, RESPONSE_TIMEOUT })
    expect([of('1ms'), of('60s'), of('1m')]).toEqual([[], [], []])
    expect(of('0s')).toEqual(['RESPONSE_TIMEOUT: must be above 0'])
    for (const long of ['60001ms', '600h'])
      expect(of(long)).toEqual([
        'RESPONSE_TIMEOUT: must be at most 1m: a POST that waits for its response occupies a slot',
      ])
  })

  test('control needs its token, and the read-only token must differ', () => {
    expect(faults(least, 'control')).toEqual(['CONTROL_TOKEN: not set'])
    expect(faults({}, 'control')).toContain('CONTROL_TOKEN: not set')
    const same = 'a-token-of-20-letters'
    expect(faults({ ...least, CONTROL_TOKEN: same, CONTROL_VIEW_TOKEN: same }, 'control')).toHaveLength(1)
  })

  test('a retry window that leaves no time for an outage within the retention is refused', () => {
    expect(faults({ ...least, RETRY_WINDOW: '48h' })).toEqual([])
    expect(faults({ ...least, RETRY_WINDOW: '49h' })).toEqual([
      'RETRY_WINDOW: at most 48h: deliveries are kept for 72h, which leaves 24h for an outage',
    ])
  })

  test('a user or password for Kafka needs a mechanism, and the reverse', () => {
    const given = { ...least, KAFKA_SASL_USERNAME: 'sluice', KAFKA_SASL_PASSWORD: 'hush' }
    expect(faults(given)).toEqual([
      'KAFKA_SASL_USERNAME: has no effect without KAFKA_SASL_MECHANISM',
      'KAFKA_SASL_PASSWORD: has no effect without KAFKA_SASL_MECHANISM',
    ])
    expect(faults({ ...given, KAFKA_SASL_MECHANISM: 'plain' })).toEqual([])
    expect(faults({ ...least, KAFKA_SASL_USERNAME: '', KAFKA_SASL_PASSWORD: '' })).toEqual([])
  })

  test('a file of certificates without effect is refused', () => {
    expect(faults({ ...least, KAFKA_SSL_CA: '/ca.pem' })).toEqual([
      'KAFKA_SSL_CA: has no effect without KAFKA_SSL=true',
    ])
    expect(faults({ ...least, KAFKA_SSL: 'true', KAFKA_SSL_CA: '/ca.pem' })).toEqual([])
    expect(faults({ ...least, KAFKA_SSL: 'true', KAFKA_SSL_CERT: '/cert.pem' })).toEqual([
      'KAFKA_SSL_CERT, KAFKA_SSL_KEY: set both or neither',
    ])
    expect(faults({ ...least, SCHEMA_REGISTRY_CA: '/ca.pem' })).toEqual([
      'SCHEMA_REGISTRY_CA: has no effect, because SCHEMA_REGISTRY_URL is not https://',
    ])
  })

  test('no fault repeats a secret', () => {
    expect(faults({ ...least, CONFIG_KEY: 'c2VjcmV0LWtleQ==' }).join()).not.toContain('c2VjcmV0')
  })
})

describe('CONFIG_KEY', () => {
  const whole = Buffer.from(least.CONFIG_KEY, 'base64')

  test('may be derived for this role, also from several keys', () => {
    const CONFIG_KEY = [whole, randomBytes(32)].map((key) => derivedKeys('router', key)).join()
    const { configKeys } = readConfig({ ...least, CONFIG_KEY }, 'router')
    expect(configKeys.records).toHaveLength(2)
    expect(configKeys.records[0]).toEqual(readConfig(least, 'router').configKeys.records[0])
  })

  test('derived for another role is refused, and not repeated', () => {
    const CONFIG_KEY = derivedKeys('ingest', whole)
    expect(faults({ ...least, CONFIG_KEY }, 'deliverer')).toEqual([
      'CONFIG_KEY: this key is derived for ingest, but the process is deliverer',
    ])
    expect(faults({ ...least, CONFIG_KEY: CONFIG_KEY.slice(0, -1) }).join()).not.toContain(
      CONFIG_KEY.slice(8, 20),
    )
  })

  test.each([
    ['LOG_LEVEL', 'verbose', '"verbose" is not one of fatal, error, warn, info, debug, trace, silent'],
    ['KAFKA_SASL_MECHANISM', 'PLAIN', '"PLAIN" is not one of plain, scram-sha-256, scram-sha-512'],
    ['UNSIGNED_SETTINGS', 'yes', '"yes" is not one of accept, refuse'],
  ])('%s takes only certain words, and the fault names them', (name, value, fault) => {
    expect(faults({ ...least, [name]: value })).toContain(`${name}: ${fault}`)
  })

  test('UNSIGNED_SETTINGS defaults to refuse', () => {
    expect(readConfig(least, 'ingest').configKeys.takesUnsigned).toBe(false)
    expect(readConfig({ ...least, UNSIGNED_SETTINGS: 'accept' }, 'ingest').configKeys.takesUnsigned).toBe(
      true,
    )
  })
})

describe('keys and tokens that are easy to guess', () => {
  const control = { ...least, CONTROL_TOKEN: 'an-admin-token-of-ours' }

  test.each([
    ['CONFIG_KEY', Buffer.alloc(32).toString('base64')],
    ['CONFIG_KEY', Buffer.alloc(32, 'secret').toString('base64')],
    ['CONTROL_TOKEN', 'a'.repeat(32)],
    ['CONTROL_VIEW_TOKEN', '1234'.repeat(8)],
  ])('%s=%s is refused, with a command to generate one', (name, value) => {
    const env = { ...control, [name]: value }
    expect(() => readConfig(env, 'control')).toThrow(new RegExp(`${name}: .*openssl rand`))
  })

  test.each([
    'correct horse battery staple',
    'tab\tand 16 characters',
    'a-token-from-a-file\n',
    'sechzehn-zeichen-für-uns',
  ])('the token %j is refused, as headers cannot carry it', (CONTROL_TOKEN) => {
    expect(() => readConfig({ ...control, CONTROL_TOKEN }, 'control')).toThrow(
      /CONTROL_TOKEN: .*outside ASCII/,
    )
  })

  test('an old key may stand behind a new one', () => {
    const CONFIG_KEY = `${randomBytes(32).toString('base64')},${Buffer.alloc(32, 1).toString('base64')}`
    expect(readConfig({ ...control, CONFIG_KEY }, 'control').configKeys.records).toHaveLength(2)
  })

  test('random ones are accepted', () => {
    for (let times = 0; times < 1_000; times++) {
      const env = {
        ...least,
        CONFIG_KEY: randomBytes(32).toString('base64'),
        CONTROL_TOKEN: randomBytes(24).toString('hex'),
      }
      expect(() => readConfig(env, 'control')).not.toThrow()
    }
  })
})

describe('single sign-on', () => {
  const control = { ...least, CONTROL_TOKEN: 'a-token-of-20-letters' }
  const given = {
    ...control,
    OIDC_ISSUER: 'https://id.example.com/realms/main',
    OIDC_CLIENT_ID: 'sluice',
    OIDC_CLIENT_SECRET: 'client-secret',
    CONSOLE_URL: 'https://Sluice.example.com/',
    OIDC_ADMINS: "ann.o'neil@example.com, groups=platform team",
    OIDC_VIEWERS: '@example.com,https://example.com/roles=viewer=1',
  }

  test('is off by default', () => {
    expect(readConfig(control, 'control')).toMatchObject({
      oidc: undefined,
      tokens: { admin: control.CONTROL_TOKEN },
    })
    expect(readConfig(control, 'control').tokens).not.toHaveProperty('singleSignOn')
  })

  test('lists people by email address, domain and claim', () => {
    expect(readConfig(given, 'control').oidc).toEqual({
      issuer: 'https://id.example.com/realms/main',
      clientId: 'sluice',
      clientSecret: 'client-secret',
      scope: 'openid email profile',
      consoleUrl: 'https://sluice.example.com',
      admins: [
        { name: 'email', value: "ann.o'neil@example.com" },
        { name: 'groups', value: 'platform team' },
      ],
      viewers: [
        { name: 'email', value: '@example.com' },
        { name: 'https://example.com/roles', value: 'viewer=1' },
      ],
    })
  })

  test('is only for control: other processes may have some of its settings', () => {
    const { OIDC_CLIENT_SECRET: _, ...shared } = given
    for (const role of ['ingest', 'router', 'deliverer'] as const) {
      expect(faults(shared, role)).toEqual([])
      expect(readConfig(given, role).oidc).toBeUndefined()
    }
  })

  test('ties sessions to the settings that decide who may sign in, but not to the client secret', () => {
    const markOf = (env: object) => readConfig({ ...given, ...env }, 'control').tokens
    expect(markOf({ OIDC_CLIENT_SECRET: 'another' })).toEqual(markOf({}))
    const others = [
      { OIDC_ADMINS: 'ann@example.com' },
      { OIDC_VIEWERS: '' },
      { OIDC_ISSUER: 'https://id.example.com' },
    ]
    for (const other of [...others, { OIDC_CLIENT_ID: 'other' }])
      expect(markOf(other)).not.toEqual(markOf({}))
  })

  test.each([
    [
      { OIDC_ISSUER: '' },
      ['OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET', 'CONSOLE_URL', 'OIDC_ADMINS', 'OIDC_VIEWERS'],
    ],
    [{ OIDC_CLIENT_ID: '', OIDC_CLIENT_SECRET: '' }, ['OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET']],
    [{ CONSOLE_URL: '' }, ['CONSOLE_URL']],
    [{ OIDC_ADMINS: '', OIDC_VIEWERS: '' }, ['OIDC_ADMINS, OIDC_VIEWERS']],
    [{ OIDC_ADMINS: 'ann' }, ['OIDC_ADMINS']],
    [{ OIDC_ADMINS: 'ann@' }, ['OIDC_ADMINS']],
    [{ OIDC_ADMINS: 'groups=' }, ['OIDC_ADMINS']],
    [{ OIDC_ADMINS: '*@example.com' }, ['OIDC_ADMINS']],
    [{ OIDC_ADMINS: '"ann@example.com"' }, ['OIDC_ADMINS']],
    [{ OIDC_ADMINS: "groups='platform'" }, ['OIDC_ADMINS']],
    [{ OIDC_ISSUER: 'https://me:secret@id.example.com' }, ['OIDC_ISSUER']],
    [{ OIDC_ISSUER: 'https://id.example.com?tenant=1' }, ['OIDC_ISSUER']],
    [{ OIDC_ISSUER: ' https://id.example.com' }, ['OIDC_ISSUER']],
    [{ CONSOLE_URL: 'localhost:8081' }, ['CONSOLE_URL']],
    [{ OIDC_ISSUER: 'http://id.example.com' }, ['OIDC_ISSUER']],
    [{ CONSOLE_URL: 'http://sluice.example.com' }, ['CONSOLE_URL']],
    [{ CONSOLE_URL: 'https://example.com/sluice' }, ['CONSOLE_URL']],
    [{ CONSOLE_URL: 'https://me@example.com' }, ['CONSOLE_URL']],
    [{ OIDC_SCOPE: 'email' }, ['OIDC_SCOPE']],
    [{ OIDC_SCOPE: 'openid  email' }, ['OIDC_SCOPE']],
  ])('refuses %o', (env, named) => {
    expect(faults({ ...given, ...env }, 'control').map((fault) => fault.split(':')[0])).toEqual(named)
  })

  test.each(['http://localhost:8081', 'http://127.0.0.1:8081', 'http://[::1]:8081'])(
    'allows %s',
    (CONSOLE_URL) => {
      expect(readConfig({ ...given, CONSOLE_URL }, 'control').oidc).toMatchObject({ consoleUrl: CONSOLE_URL })
    },
  )
})
