import type { Made } from './noun.ts'

/** The client's own id, else one made of the name. */
export const namedId = (given: { id?: string | undefined; name: string }, { idSuffix }: Made): string =>
  given.id ?? idFor(given.name, idSuffix)

/** An id that says what it names: `Café Nord` and the suffix `a1b2` make `cafe-nord-a1b2`. Fits the shape of ids. */
export function idFor(name: string, suffix: string): string {
  const slug = name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 64 - suffix.length - 1)
    .replace(/^-+|-+$/g, '')
  return slug ? `${slug}-${suffix}` : suffix
}
