import type { Destination } from '../../api/destinations.ts'

/** `until`: ISO 8601; undefined until the secret is replaced or removed. */
export type Signature = { header: string; method: string; secret: string; until: string | undefined }

type Signed = Pick<
  Destination,
  'sharedSecret' | 'previousSecret' | 'previousSecretExpiresAt' | 'standardWebhooks'
>

const SHA1 = 'HMAC-SHA1 of the body'
const STANDARD = 'HMAC-SHA256 of id, time and body'

/** @param names of the secrets. @param now ms since 1970. */
export function signaturesOf(
  { sharedSecret, previousSecretExpiresAt: until, standardWebhooks }: Signed,
  now: number,
  names = { current: 'Current secret', previous: 'Previous secret' },
): Signature[] {
  if (sharedSecret === undefined) return []
  const isRotating = until !== undefined && Date.parse(until) > now
  const current = { secret: names.current, until: undefined }
  const previous = isRotating ? [{ secret: names.previous, until }] : []
  return [
    { header: 'X-Signature', method: SHA1, ...current },
    ...previous.map((one) => ({ header: 'X-Signature-Previous', method: SHA1, ...one })),
    ...(standardWebhooks
      ? [current, ...previous].map((one, index) => ({
          header: `webhook-signature${isRotating ? `, ${index === 0 ? 'first' : 'second'}` : ''}`,
          method: STANDARD,
          ...one,
        }))
      : []),
  ]
}

/** After a replacement of the secret. @param until ISO 8601; undefined: the current secret ends at once. */
export const signaturesAfter = (
  { standardWebhooks }: Pick<Destination, 'standardWebhooks'>,
  until: string | undefined,
  now: number,
): Signature[] =>
  signaturesOf(
    {
      sharedSecret: '***',
      standardWebhooks,
      ...(until !== undefined && { previousSecret: '***', previousSecretExpiresAt: until }),
    },
    now,
    { current: 'New secret', previous: 'Current secret' },
  )
