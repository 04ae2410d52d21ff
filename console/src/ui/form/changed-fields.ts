const NAMES: Record<string, string> = {
  name: 'name',
  enabled: 'on or off',
  sourceIds: 'sources',
  webhooks: 'URLs and headers',
  eventTypes: 'events',
  sharedSecret: 'secret',
  previousSecret: 'secret',
  previousSecretExpiresAt: 'secret',
  retryOn: 'statuses that are tried again',
  standardWebhooks: 'Standard Webhooks',
  writeKey: 'write key',
  rateLimit: 'limit',
  kind: 'kind',
  ip: 'IP addresses',
  dedup: 'duplicates',
  labels: 'labels',
}
const EACH_TIME = ['version', 'updatedAt']

/** What is different in two versions of a record, in words. Of secrets nobody is shown whether they are others. */
export function changedNames(before: object, after: object): string[] {
  const [old, now] = [new Map(Object.entries(before)), new Map(Object.entries(after))]
  const changed = [...new Set([...old.keys(), ...now.keys()])]
    .filter((name) => !EACH_TIME.includes(name))
    .filter((name) => JSON.stringify(old.get(name)) !== JSON.stringify(now.get(name)))
  return [...new Set(changed.map((name) => NAMES[name] ?? name))]
}
