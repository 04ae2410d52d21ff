/**
 * The snake_case form of a name, under which identify calls tell of it (docs/users.md, "Tell of an audience"): words are
 * runs of letters and digits of any script, and begin anew at a capital. `HTTPUsers2` is `http_users2`; a name without a letter
 * or digit has none, `''`. A library that splits words takes the vowel signs of Indian scripts for gaps between them.
 */
export function keyOf(name: string): string {
  return name
    .normalize('NFKC')
    .replace(/(\p{Ll}|\p{N})(\p{Lu})/gu, '$1_$2')
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1_$2')
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, '_')
    .replace(/^_+|_+$/g, '')
    .toLowerCase()
}
