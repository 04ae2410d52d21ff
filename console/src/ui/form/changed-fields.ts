const NAMES: Record<string, string> = {
  name: 'name',
  enabled: 'on/off',
  paused: 'paused/resumed',
  sourceIds: 'sources',
  webhooks: 'URLs and headers',
  eventTypes: 'event types',
  sharedSecret: 'secret',
  previousSecret: 'secret',
  previousSecretExpiresAt: 'secret',
  rules: 'rules',
  hashKey: 'hash key',
  retryOn: 'retried statuses',
  standardWebhooks: 'Standard Webhooks',
  writeKey: 'write key',
  previousWriteKey: 'write key',
  previousWriteKeyExpiresAt: 'write key',
  rateLimit: 'rate limit',
  kind: 'kind',
  ip: 'IP addresses',
  dedup: 'duplicates',
  labels: 'labels',
}
const ALWAYS_CHANGED = ['version', 'updatedAt']

/** The console writes `false`, and other clients may leave it out. */
const OFF_BY_DEFAULT = ['standardWebhooks', 'paused']

/** Masked secrets look unchanged. */
export function changedFields(before: object, after: object): string[] {
  const [old, now] = [new Map(Object.entries(before)), new Map(Object.entries(after))]
  const changed = [...new Set([...old.keys(), ...now.keys()])]
    .filter((name) => !ALWAYS_CHANGED.includes(name))
    .filter((name) => textOf(name, old.get(name)) !== textOf(name, now.get(name)))
  return [...new Set(changed.map((name) => NAMES[name] ?? name))]
}

const textOf = (name: string, value: unknown): string | undefined =>
  JSON.stringify(OFF_BY_DEFAULT.includes(name) ? (value ?? false) : value)
