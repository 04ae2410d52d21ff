// pages without https lack `crypto.randomUUID`

/** 128 random bits in hex. */
export const newId = (): string =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('')

/** 192 random bits in base64. */
export const newKey = (): string => btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(24))))

/** Base64 that URLs and every language accept. */
export const urlSafe = (base64: string): string => base64.replaceAll('+', '-').replaceAll('/', '_')
